//! `ratchet batch view --watch` and `ratchet view --watch`: the live dashboard at a terminal.
//!
//! Behaviour does not belong here. The kernel tells that files have changed, a look is taken, and [`crate::watch`] makes the
//! picture; what a key asks for is done by the code of the command of that name. A clock ticks only while something shown
//! changes with the time.

mod feed;
mod gather;
mod terminal;

use std::io;
use std::pin::Pin;
use std::time::Duration;

use crossterm::event::{Event, EventStream};
use ratchet_engine::name::{BatchName, StepKey};
use ratchet_engine::shell::quoted;
use ratchet_spawn::Folders;
use ratchet_supervisor::event::StepEvent;
use ratchet_supervisor::follow::Stored;
use ratchet_supervisor::news;
use ratchet_supervisor::project::{Project, Report};
use tokio::task::{JoinError, JoinHandle};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval, sleep_until};
use tokio_stream::StreamExt as _;

use self::feed::{Fed, Feed};
pub(super) use self::gather::Scope;
use self::gather::{Interest, gather};
use self::terminal::Screen;
use super::batch::cancel;
use super::report::with_words;
use super::watching::on_this_thread;
use super::{Ended, failed};
use crate::args::Format;
use crate::diagnostic::Failure;
use crate::exit::Exit;
use crate::render::page::Page;
use crate::signals::{Signal, Signals};
use crate::ui::{Ear, Ui};
use crate::watch::board::{Board, Wish};
use crate::watch::look::Look;
use crate::watch::pager::Room;

/// The time between the beginnings of two looks at least, so that an agent that writes a thousand files is not looked at a
/// thousand times. What is heard meanwhile is seen by the next look.
const LOOKS_APART: Duration = Duration::from_millis(100);

/// How much output is taken in before it is shown.
const AT_ONCE: usize = 16;

/// Shows the dashboard until the person leaves.
pub(super) fn run(project: Project, scope: &Scope, format: Format, ui: Ui) -> Ended {
    if format == Format::Json {
        return Err(needs_terminal("--watch is a live screen, and --json is one document", scope));
    }
    if !terminal::is_there(project.environment()) {
        return Err(needs_terminal(
            "--watch needs a terminal to draw on and to be typed at",
            scope,
        ));
    }
    on_this_thread(async {
        let mut watch = Watch::new(project, scope.clone(), ui)?;
        let exit = watch.until_left().await;
        // The terminal comes back before anything else is said.
        drop(watch);
        exit
    })?
}

fn needs_terminal(what: &str, scope: &Scope) -> Failure {
    let once = match scope {
        Scope::One(batch) => {
            let batch = quoted(batch.as_str());
            format!(
                "for how it stands now: 'ratchet batch view {batch}', with --json for programs; for the output of the step \
                 that runs: 'ratchet batch attach {batch}'"
            )
        }
        Scope::All => {
            "for how it stands now: 'ratchet view' and 'ratchet batch list', with --json for programs".to_owned()
        }
    };
    Failure::new(what).help(once).code("terminal-needed")
}

/// What is done for the person, and what is then said.
type Doing = Pin<Box<dyn Future<Output = Result<Told, Failure>>>>;

/// What is said when something is done.
type Told = Box<dyn FnOnce(&mut Page)>;

struct Watch {
    board: Board,
    project: Project,
    scope: Scope,
    ears: Folders,
    interest: Interest,
    looks: Looks,
    running: Option<Feed<StepEvent>>,
    stored: Option<Feed<Stored>>,
    doing: Option<Doing>,
    ticking: Interval,
    signals: Signals,
    ear: Ear,
    keys: EventStream,
    /// Last, so that everything else has ended when the terminal comes back.
    screen: Screen,
}

/// The looks at the disk, one at a time.
struct Looks {
    going: Option<JoinHandle<(Look, Interest)>>,
    /// Something may have changed since the last one began.
    due: Option<Instant>,
    began: Instant,
}

/// How far a look is.
enum LookIs {
    /// It may begin.
    Due,
    /// It is over.
    Taken(Result<(Look, Interest), JoinError>),
}

/// What happened.
enum Happened {
    Terminal(Option<io::Result<Event>>),
    News,
    Look(LookIs),
    Running(Fed<StepEvent>),
    Stored(Fed<Stored>),
    Done(Result<Told, Failure>),
    Told(String),
    Tick,
    Signal(Signal),
}

impl Watch {
    fn new(project: Project, scope: Scope, ui: Ui) -> Result<Self, Failure> {
        let io = |error: io::Error| Failure::from_error(&error);
        let signals = Signals::take().map_err(io)?;
        let ears = Folders::new().map_err(deaf)?;
        let screen = Screen::take().map_err(io)?;
        let room = screen.room().map_err(io)?;
        let mut ticking = interval(Duration::from_secs(1));
        ticking.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let now = Instant::now();
        Ok(Self {
            board: Board::new(ui.out(), title(&project), project.now(), room),
            project,
            scope,
            ears,
            interest: Interest::default(),
            looks: Looks { going: None, due: Some(now), began: now },
            running: None,
            stored: None,
            doing: None,
            ticking,
            signals,
            ear: Ear::new(),
            keys: EventStream::new(),
            screen,
        })
    }

    async fn until_left(&mut self) -> Ended {
        loop {
            self.screen.show(&self.board).map_err(|error| Failure::from_error(&error))?;
            let happened = self.next().await;
            if let Some(exit) = self.take(happened)? {
                return Ok(exit);
            }
            self.follow_the_chosen();
        }
    }

    async fn next(&mut self) -> Happened {
        let ticks = self.board.ticks();
        tokio::select! {
            biased;
            signal = self.signals.next() => Happened::Signal(signal),
            event = self.keys.next() => Happened::Terminal(event),
            done = ended(&mut self.doing) => Happened::Done(done),
            look = self.looks.next() => Happened::Look(look),
            () = self.ears.news() => Happened::News,
            told = self.ear.hear() => Happened::Told(told),
            _ = self.ticking.tick(), if ticks => Happened::Tick,
            fed = feed::next(&mut self.running) => Happened::Running(fed),
            fed = feed::next(&mut self.stored) => Happened::Stored(fed),
        }
    }

    /// Takes one event in; returns how the dashboard ends, if it does.
    fn take(&mut self, happened: Happened) -> Result<Option<Exit>, Failure> {
        match happened {
            Happened::Terminal(Some(Ok(event))) => return self.terminal(event),
            Happened::Terminal(Some(Err(error))) => return Err(Failure::from_error(&error)),
            // Nobody can type any more.
            Happened::Terminal(None) => return Ok(Some(Exit::Success)),
            Happened::Signal(signal) => return Ok(Some(Exit::BySignal(signal))),
            Happened::News => self.looks.ask(),
            Happened::Look(LookIs::Due) => self.look()?,
            Happened::Look(LookIs::Taken(looked)) => self.looked(looked)?,
            Happened::Running(fed) => self.hear(fed),
            Happened::Stored(fed) => self.read(fed),
            Happened::Done(done) => self.done(done),
            Happened::Told(text) => self.board.say(|page| {
                page.put(text);
            }),
            Happened::Tick => self.board.tick(self.project.now()),
        }
        Ok(None)
    }

    fn terminal(&mut self, event: Event) -> Result<Option<Exit>, Failure> {
        match event {
            Event::Key(key) => match self.board.press(key) {
                Some(Wish::Leave) => return Ok(Some(Exit::Success)),
                Some(Wish::Interrupt) => return Ok(Some(Exit::BySignal(Signal::Interrupt))),
                Some(Wish::Refresh) => {
                    self.screen.wipe().map_err(|error| Failure::from_error(&error))?;
                    self.looks.ask();
                }
                Some(Wish::Report { batch, key, report }) => self.report(batch, key, report),
                Some(Wish::Cancel { batch }) => self.cancel(batch),
                Some(Wish::ReadLog { batch, keys }) => self.open_log(&batch, &keys),
                None => {}
            },
            Event::Paste(text) => self.board.paste(&text),
            Event::Resize(width, height) => {
                self.board.resize(Room { width: width.into(), height: height.into() });
            }
            Event::FocusGained | Event::FocusLost | Event::Mouse(_) => {}
        }
        Ok(None)
    }

    /// Begins a look. What it depends on is listened to first, so that nothing between two looks is missed.
    fn look(&mut self) -> Result<(), Failure> {
        // Why they cannot be named is told by the look itself.
        self.interest.batches = gather::batches(&self.project, &self.scope).unwrap_or_default();
        let mut folders = news::folders(self.project.layout(), &self.interest.batches);
        folders.extend(self.interest.waiting.iter().cloned());
        self.ears.listen_to(folders).map_err(deaf)?;
        let (project, scope) = (self.project.clone(), self.scope.clone());
        self.looks.begin(tokio::task::spawn_blocking(move || gather(&project, &scope)));
        Ok(())
    }

    fn looked(&mut self, looked: Result<(Look, Interest), JoinError>) -> Result<(), Failure> {
        let (look, interest) = looked.map_err(|error| Failure::from_error(&error))?;
        // What was not listened to may have changed since.
        if interest != self.interest {
            self.interest = interest;
            self.looks.ask();
        }
        self.board.found(look, self.project.now());
        Ok(())
    }

    /// Follows the step of the batch that is chosen; one that is over stays in sight until another begins.
    fn follow_the_chosen(&mut self) {
        let wanted = self.board.wanted().map(|(batch, step)| (batch.clone(), step.clone()));
        match wanted {
            Some((_, step)) if self.board.follows(&step) => {}
            Some((batch, step)) => {
                self.running = Some(Feed::of_running(self.project.clone(), batch.clone()));
                self.board.follow(batch, &step);
            }
            None => {
                if self.board.drop_foreign_output() {
                    self.running = None;
                }
            }
        }
        if self.board.reading().is_none() {
            self.stored = None;
        }
    }

    fn hear(&mut self, fed: Fed<StepEvent>) {
        match fed {
            Fed::More(event) => {
                self.board.hear(event);
                for _ in 1..AT_ONCE {
                    let Some(event) = self.running.as_mut().and_then(Feed::at_hand) else { return };
                    self.board.hear(event);
                }
            }
            Fed::Over(why) => {
                self.board.hear_no_more(why.map(|why| why.sentence()).as_deref());
                // Its end may be written nowhere: a shim that was killed leaves no note.
                self.looks.ask();
            }
        }
    }

    fn read(&mut self, fed: Fed<Stored>) {
        let Some(output) = self.board.reading() else { return };
        match fed {
            Fed::More(piece) => {
                output.push(piece.stream, &piece.bytes);
                for _ in 1..AT_ONCE {
                    let Some(piece) = self.stored.as_mut().and_then(Feed::at_hand) else { return };
                    output.push(piece.stream, &piece.bytes);
                }
            }
            Fed::Over(Some(why)) => output.remark(&why.sentence()),
            Fed::Over(None) => output.finish(),
        }
    }

    fn report(&mut self, batch: BatchName, key: StepKey, report: Report) {
        let project = self.project.clone();
        self.begin(format!("Recording it for {key}"), async move {
            let report = with_words(report)?;
            // It may have to wait for the lock of the journal.
            let reported =
                tokio::task::spawn_blocking(move || project.report(&batch, &key, &report));
            let reported = reported.await.map_err(|error| Failure::from_error(&error))?;
            let text = reported.map_err(failed)?.text;
            Ok(said(move |page| {
                page.put(text).end();
            }))
        });
    }

    fn cancel(&mut self, batch: BatchName) {
        let project = self.project.clone();
        self.begin(format!("Stopping the step of {batch}"), async move {
            let stopped = cancel::stop(&project, &batch).await?;
            Ok(said(move |page| match stopped {
                Some(step) => cancel::draw(page, &step),
                None => {
                    page.put(format_args!("No step of batch '{batch}' is running.")).end();
                }
            }))
        });
    }

    fn open_log(&mut self, batch: &BatchName, keys: &[StepKey]) {
        match feed::latest(&self.project, batch, keys, self.board.ink()) {
            Ok(output) => {
                let spawn = output.spawn.clone();
                self.stored = Some(Feed::of_stored(self.project.clone(), spawn));
                self.board.read(output);
            }
            Err(failure) => self.board.say(|page| failure.draw(page)),
        }
    }

    fn begin(
        &mut self,
        what: String,
        doing: impl Future<Output = Result<Told, Failure>> + 'static,
    ) {
        if self.doing.is_none() {
            self.board.begin(what);
            self.doing = Some(Box::pin(doing));
        }
    }

    fn done(&mut self, done: Result<Told, Failure>) {
        self.board.done();
        match done {
            Ok(told) => self.board.say(told),
            Err(failure) => self.board.say(|page| failure.draw(page)),
        }
        self.looks.ask();
    }
}

impl Looks {
    /// Has a look taken, as soon as the last one is long enough ago.
    fn ask(&mut self) {
        self.due.get_or_insert(self.began + LOOKS_APART);
    }

    fn begin(&mut self, going: JoinHandle<(Look, Interest)>) {
        self.going = Some(going);
        self.due = None;
        self.began = Instant::now();
    }

    /// Waits for the look that is going on, or until the next one may begin. Safe to drop.
    async fn next(&mut self) -> LookIs {
        match (&mut self.going, self.due) {
            (Some(going), _) => {
                let taken = going.await;
                self.going = None;
                LookIs::Taken(taken)
            }
            (None, Some(due)) => {
                sleep_until(due).await;
                LookIs::Due
            }
            (None, None) => std::future::pending().await,
        }
    }
}

/// Waits for what is being done.
async fn ended(doing: &mut Option<Doing>) -> Result<Told, Failure> {
    let Some(some) = doing else { return std::future::pending().await };
    let done = some.await;
    *doing = None;
    done
}

fn said(draw: impl FnOnce(&mut Page) + 'static) -> Told {
    Box::new(draw)
}

fn deaf(error: io::Error) -> Failure {
    Failure::new("changes of the project's files cannot be heard of")
        .because(error.to_string())
        .help("raise fs.inotify.max_user_watches or fs.inotify.max_user_instances, or look from time to time: 'ratchet batch view'")
        .code("cannot-watch")
}

/// Names the project by its folder.
fn title(project: &Project) -> String {
    let root = project.root();
    root.file_name().unwrap_or(root.as_os_str()).to_string_lossy().into_owned()
}
