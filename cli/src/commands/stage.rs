//! Runs steps for a command: finds the supervisor, or starts one in this process, shows the live output, and turns signals
//! into stops.
//!
//! Behaviour does not belong here. Commands that run no step never come here, so they start no thread.

mod asking;
mod host;
mod wait;

use std::num::NonZeroUsize;
use std::pin::pin;
use std::time::Duration;

use ratchet_engine::name::BatchName;
use ratchet_engine::outcome::StepResult;
use ratchet_engine::report::ApplyReport;
use ratchet_supervisor::Options;
use ratchet_supervisor::clock::Clock;
use ratchet_supervisor::event::{EVENT_BACKLOG, EventSink};
use ratchet_supervisor::project::Project;
use ratchet_supervisor::request::{ApplyRequest, ChangeStepRequest, StopReason};
use ratchet_supervisor::store::layout::RunHome;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use self::asking::{Asking, What};
use self::host::Host;
pub(super) use self::host::refused;
pub(crate) use self::wait::Waited;

use crate::SHIM;
use crate::args::Format;
use crate::diagnostic::Failure;
use crate::exit::Exit;
use crate::live::{self, CtrlC, Told};
use crate::render::page::Tone;
use crate::signals::{Signal, Signals};
use crate::ui::Ui;

/// A command runs one step at a time, so there is never more than one.
pub(super) const LOCAL_CAPACITY: NonZeroUsize = NonZeroUsize::MIN;

/// How long a person who has signalled twice waits at most for the stop to be on disk, so that nothing goes on unseen.
const LONGEST_ASKING: Duration = Duration::from_secs(2);

/// A supervisor and what stands between it and the person.
pub(crate) struct Stage {
    host: Host,
    project: Project,
    signals: Signals,
    asked: Option<Signal>,
    ui: Ui,
    format: Format,
    told: Told,
    clock: Clock,
    asking: Asking,
}

/// Finds the supervisor and has `play` use it; one that is started here ends with it. Returns what `play` returns, and the signal if one came.
pub(crate) fn play<T>(
    project: Project,
    ui: Ui,
    format: Format,
    play: impl AsyncFnOnce(&mut Stage) -> Result<T, Failure>,
) -> Result<(T, Option<Signal>), Failure> {
    // The actors share one thread, so that what one tells another never waits for a processor. Signals are this thread's.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .map_err(|error| Failure::from_error(&error))?;
    runtime.block_on(async {
        let signals = Signals::take().map_err(|error| Failure::from_error(&error))?;
        let clock = project.clock();
        let host = Host::find(&project).await?;
        let (told, asking) = (Told::default(), Asking::new(&project));
        let mut stage =
            Stage { host, project, signals, asked: None, ui, format, told, clock, asking };
        let played = play(&mut stage).await;
        stage.asking.end(played.as_ref().err());
        let asked = stage.asked;
        played.map(|answer| (answer, asked))
    })
}

impl Stage {
    /// Runs the next step of a batch.
    pub(crate) async fn apply(&mut self, request: ApplyRequest) -> Result<ApplyReport, Failure> {
        let home = RunHome::Batch(request.batch.clone());
        let work =
            async |host: Host, project: &Project, sink| host.apply(project, request, sink).await;
        self.act(What::Apply, home, work).await
    }

    /// Runs one forced step of a change.
    pub(crate) async fn change(
        &mut self,
        request: ChangeStepRequest,
    ) -> Result<StepResult, Failure> {
        let home = RunHome::Change(request.change.clone());
        let work =
            async |host: Host, project: &Project, sink| host.change(project, request, sink).await;
        self.act(What::Change, home, work).await
    }

    /// Says that the steps from now on belong to one run of a batch.
    pub(crate) fn begin_run(&mut self, batch: &BatchName) {
        self.asking.begin_run(batch.as_str());
    }

    /// Says whether a signal has asked for the end.
    pub(crate) fn asked(&self) -> Option<Signal> {
        self.asked
    }

    async fn act<T>(
        &mut self,
        what: What,
        home: RunHome,
        work: impl AsyncFnOnce(Host, &Project, EventSink) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let (sink, events) = mpsc::channel(EVENT_BACKLOG);
        let (ui, format, told) = (self.ui, self.format, self.told.clone());
        let shown =
            tokio::task::spawn_blocking(move || live::show(events, ui, format, CtrlC::Stops, told));
        let trace = self.asking.ask(what, &self.host);
        let mut work = pin!(async {
            let done = trace.scope(work(self.host.clone(), &self.project, sink)).await;
            asking::end(&trace, done.as_ref().err());
            // The sink is gone, so the last output is on its way; the answer comes after it.
            (done, shown.await)
        });
        let mut stopping = Stopping::No;
        loop {
            tokio::select! {
                (done, shown) = &mut work => {
                    report_lost_output(ui, shown);
                    return done;
                }
                failure = stopping.fails() => tell_unstopped(ui, &failure),
                signal = self.signals.next() => match self.asked {
                    None => {
                        self.asked = Some(signal);
                        tell_stopping(ui, signal);
                        let (host, project) = (self.host.clone(), self.project.clone());
                        let asking = host.stop(project, home.clone(), reason(signal));
                        stopping = Stopping::Asking(tokio::spawn(asking));
                    }
                    Some(_) => {
                        stopping.asked().await;
                        leave_at_once(signal);
                    }
                },
            }
        }
    }
}

/// How far a stop is.
enum Stopping {
    No,
    /// The supervisor is being asked.
    Asking(JoinHandle<Result<(), Failure>>),
    /// It has been asked.
    Asked,
}

impl Stopping {
    /// Waits for a stop that could not be asked for.
    async fn fails(&mut self) -> Failure {
        if let Self::Asking(asking) = self {
            let asked = asking.await;
            *self = Self::Asked;
            match asked {
                Ok(Ok(())) => {}
                Ok(Err(failure)) => return failure,
                Err(error) => return Failure::from_error(&error),
            }
        }
        std::future::pending().await
    }

    /// Waits until the stop has been asked for. A second signal does not wait for the step's end.
    async fn asked(&mut self) {
        if let Self::Asking(asking) = self {
            let _asked_or_late = tokio::time::timeout(LONGEST_ASKING, asking).await;
        }
    }
}

/// How this process hosts a supervisor: its own binary is the shim, and what agents report with.
pub(super) fn hosting(local_capacity: NonZeroUsize) -> Result<Options, Failure> {
    let ratchet = std::env::current_exe().map_err(|error| {
        Failure::from_error(&error).help("ratchet cannot find its own binary; was it replaced?")
    })?;
    Ok(Options { shim: vec![ratchet.clone().into(), SHIM.into()], ratchet, local_capacity })
}

fn tell_stopping(ui: Ui, signal: Signal) {
    ui.tell(|page| {
        page.tone(Tone::Warn, format_args!("{}: stopping the step", signal.name()));
        page.tone(Tone::Dim, " (again to leave at once; the step is stopped all the same)").end();
    });
}

fn tell_unstopped(ui: Ui, failure: &Failure) {
    ui.tell(|page| {
        page.tone(Tone::Warn, "⚠ the step could not be asked to stop: ").put(failure.sentence());
        page.put(". Stop it yourself: ratchet batch cancel").end();
    });
}

fn reason(signal: Signal) -> StopReason {
    match signal {
        Signal::Interrupt => StopReason::Interrupt,
        Signal::Terminate => StopReason::Terminate,
    }
}

/// Dies by the signal. The step's stop was asked for before and goes on without this process.
fn leave_at_once(signal: Signal) {
    Exit::BySignal(signal).leave();
}

/// Says that live output was lost, if it was.
pub(super) fn report_lost_output(
    ui: Ui,
    shown: Result<Option<std::io::Error>, tokio::task::JoinError>,
) {
    let why = match shown {
        Ok(None) => return,
        Ok(Some(error)) => error.to_string(),
        Err(error) => error.to_string(),
    };
    ui.tell(|page| {
        page.tone(Tone::Warn, "⚠ some live output was not shown: ").put(why);
        page.put(". It is stored: ratchet batch log --last").end();
    });
}
