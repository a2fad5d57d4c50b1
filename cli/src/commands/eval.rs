//! `ratchet eval …`: whether tests notice faults, invariants hold and cases pass (spec `eval`, seed `mutation-harness`).

mod baseline;
mod mutate;
mod record;
mod refusal;
mod replay;
mod report;
mod run;
mod set;

use std::ffi::OsString;
use std::sync::Arc;
use std::sync::mpsc;

use ratchet_eval::case::Scope;
use ratchet_eval::harness::Patience;
use ratchet_eval::mutate::{Options, Whereabouts};
use ratchet_eval::place::Place;
use ratchet_eval::report::Overall;
use ratchet_eval::run_id::RunId;
use ratchet_eval::scratch::Ignored;
use ratchet_eval::shim::Spawner;
use ratchet_eval::skip::Holdout;
use ratchet_supervisor::project::Project;
use ratchet_supervisor::request::OverrideConsent;

use super::{Ended, stage};
use crate::args::eval::{Eval, Evaluating, IgnoredFiles, Planting, Scoping};
use crate::diagnostic::Failure;
use crate::exit::Exit;
use crate::render::page::Tone;
use crate::signals::{Signal, Signals};
use crate::ui::Ui;

pub(crate) use baseline::Promoted;
pub(crate) use mutate::{MutationResult, MutationRun};
pub(crate) use record::Recorded;
pub(crate) use replay::ReplayedMutant;
pub(crate) use run::EvalRun;
pub(crate) use set::EvalSet;

/// Runs one verb.
pub(super) fn run(verb: &Eval, ui: Ui) -> Ended {
    match verb {
        Eval::Set(args) => set::run(args, ui),
        Eval::Run(args) => run::run(args, ui),
        Eval::Report(args) => report::run(args, ui),
        Eval::Record(args) => record::run(args, ui),
        Eval::Baseline(args) => baseline::run(args, ui),
        Eval::Mutate(args) => mutate::run(args, ui),
        Eval::Replay(args) => replay::run(args, ui),
    }
}

fn place(project: &Project) -> Place {
    Place::new(project.root())
}

fn scope(args: &Scoping) -> Result<(Scope, Holdout), Failure> {
    let scope = match (args.changes, &args.change, &args.path) {
        (false, None, None) => Scope::Store,
        (true, None, None) => Scope::Changes,
        (false, Some(name), None) => Scope::Change(name.clone()),
        (false, None, Some(path)) => Scope::Path(path.clone()),
        _ => {
            let what = "give at most one of --changes, --change <name>, or --path <dir-or-file>";
            return Err(Failure::new(what).code("bad-eval-scope"));
        }
    };
    let holdout = match (args.holdout, args.no_holdout) {
        (true, _) => Holdout::Only,
        (false, true) => Holdout::Without,
        (false, false) => Holdout::Either,
    };
    Ok((scope, holdout))
}

fn parsed(run: &str) -> Result<RunId, Failure> {
    RunId::parse(run).map_err(|error| refusal::bad_run_id(&error))
}

fn consent(args: &Evaluating) -> OverrideConsent {
    if args.allow_agent_override { OverrideConsent::Given } else { OverrideConsent::NotGiven }
}

fn exit(args: &Evaluating, overall: Overall) -> Exit {
    match overall {
        Overall::Fail if args.exit_code => Exit::EvalFailed,
        Overall::Fail | Overall::Pass => Exit::Success,
    }
}

fn options(args: &Planting) -> Options {
    Options {
        jobs: usize::from(args.jobs),
        whereabouts: if args.in_place { Whereabouts::InPlace } else { Whereabouts::Copies },
        ignored: ignored(args.ignored),
        baseline_runs: args.baseline_runs,
        patience: Patience {
            oracle_ms: args.test_timeout_ms,
            oracle_idle_ms: args.test_idle_ms,
            agent_ms: args.agent_timeout_ms,
            memory_bytes: args.memory_mib.map(|mib| mib.saturating_mul(1 << 20)),
            ..Patience::default()
        },
        ..Options::default()
    }
}

fn ignored(files: IgnoredFiles) -> Ignored {
    match files {
        IgnoredFiles::Copy => Ignored::Copy,
        IgnoredFiles::Link => Ignored::Link,
        IgnoredFiles::None => Ignored::None,
    }
}

/// The command that starts a shim: this very binary.
fn shim() -> Result<Vec<OsString>, Failure> {
    Ok(stage::hosting(stage::LOCAL_CAPACITY)?.shim)
}

/// Has the first signal stop whatever runs for an evaluation, and the second leave at once. Copies that are left then are
/// swept by the next evaluation.
struct Stopping {
    seen: mpsc::Receiver<Signal>,
}

impl Stopping {
    fn watch(spawner: Arc<Spawner>, ui: Ui) -> Result<Self, Failure> {
        let (tell, seen) = mpsc::channel();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Failure::from_error(&error))?;
        let signals = runtime.block_on(async { Signals::take() });
        let mut signals = signals.map_err(|error| Failure::from_error(&error))?;
        let watch = std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
            runtime.block_on(async {
                let first = signals.next().await;
                // Whoever would hear it may be done by now.
                let _heard_or_late = tell.send(first);
                ui.tell(|page| {
                    page.tone(Tone::Warn, format_args!("{}: stopping", first.name()));
                    page.tone(Tone::Dim, " (again to leave at once)").end();
                });
                spawner.stop();
                Exit::BySignal(signals.next().await).leave();
            });
        });
        watch.map_err(|error| Failure::from_error(&error))?;
        Ok(Self { seen })
    }

    /// Gives the signal that stopped it, if one did.
    fn signal(&self) -> Option<Signal> {
        self.seen.try_recv().ok()
    }
}
