//! The mirror of one spawn that runs on a worker: a process of its own, as a shim is, that outlives whoever asked for the
//! spawn. It asks the worker to run the command, keeps in the spawn's folder what the worker tells, takes over what the agent
//! reports, brings the result into the project, and only then records the end.
//!
//! Killed at any moment, the next one goes on: output from the frame that is missing, reports from the first that is not in the
//! journal, the result from wherever bringing it in was. It decides nothing about the step.

mod ending;
mod relay;

use std::ffi::OsString;
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use prost::Message as _;
use ratchet_proto::runtime::v1 as wire;
use ratchet_proto::runtime::v1::attach_response::Event;
use ratchet_spawn::shim::{Mirror, Taken};
use ratchet_spawn::{End, Frame, NotStarted, SpawnDir};
use secrecy::SecretString;
use tokio::net::unix::pipe;
use tokio_stream::StreamExt as _;

use self::relay::Relay;
use crate::environment::Environment;
use crate::error::with_causes;
use crate::runtime::remote::RemoteError;
use crate::runtime::remote::client::{Client, LONGEST_SILENCE};
use crate::runtime::remote::errand::Errand;
pub use crate::runtime::remote::mirrored::MIRROR;

/// How long is waited before a worker is asked again: a little at first, and no longer than this.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// The most that is read of the standard input: a token and a request.
const LARGEST_ORDER: u64 = 64 * 1024 * 1024;

/// Runs the mirror of the spawn whose folder is `dir`, to the end. The token, a newline and the request, if the worker has
/// not got it, come through the standard input.
///
/// The code is 0 if the spawn is over, 75 if there was nothing to do, 70 if it failed; then another may go on.
#[must_use]
pub fn run(dir: &Path) -> ExitCode {
    // A session of its own, so that nobody's Ctrl-C reaches it. The leader of one has it already.
    let _ = rustix::process::setsid();
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(4).build();
    let done = runtime.map_err(Failure::from).and_then(|runtime| {
        runtime.block_on(async {
            let lived = live(dir).await;
            if lived.is_err() {
                // The next one is started at once, and what stood in the way, such as a full disk, is still there.
                tokio::time::sleep(LONGEST_PAUSE).await;
            }
            lived
        })
    });
    match done {
        Ok(Life::Over) => ExitCode::SUCCESS,
        Ok(Life::NotOurs) => ExitCode::from(75),
        Err(Failure(why)) => {
            let _nobody_else_to_tell = writeln!(io::stderr(), "{why}");
            ExitCode::from(70)
        }
    }
}

enum Life {
    Over,
    NotOurs,
}

/// Why a mirror cannot go on. Another may.
struct Failure(String);

impl<E: std::error::Error + 'static> From<E> for Failure {
    fn from(error: E) -> Self {
        Self(with_causes(&error))
    }
}

async fn live(dir: &Path) -> Result<Life, Failure> {
    let dir = SpawnDir::at(dir)?;
    let (token, order) = told()?;
    let Some(mirror) = Mirror::take(&dir)? else { return Ok(Life::NotOurs) };
    let errand = Errand::read(&dir)?;
    let environment = Environment::from_process()?;
    let client = Client::lazy(&errand.address, errand.tls_ca.as_deref(), &token)?;
    let bell = bell(mirror.bell()?)?;
    let relay = Relay::of(&errand, &environment, dir.id().as_str())?;
    say_ready();
    let stopped = mirror.stop_request().is_some();
    let watch = Watch {
        dir,
        mirror,
        errand,
        environment,
        client,
        bell,
        relay,
        stopped,
        reached: Instant::now(),
        pause: FIRST_PAUSE,
    };
    watch.live(order).await
}

/// Reads what no disk may hold.
fn told() -> Result<(SecretString, Option<wire::SpawnRequest>), Failure> {
    let mut bytes = Vec::new();
    io::stdin().take(LARGEST_ORDER).read_to_end(&mut bytes)?;
    let end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
    let token = SecretString::from(String::from_utf8_lossy(&bytes[..end]).into_owned());
    let order = bytes.get(end + 1..).filter(|order| !order.is_empty());
    Ok((token, order.map(wire::SpawnRequest::decode).transpose()?))
}

/// Says that the spawn is held, and nothing more ever.
fn say_ready() {
    // Whoever started it may be gone: then nobody needs to hear it.
    let _ = io::stdout().write_all(b"r").and_then(|()| io::stdout().flush());
}

fn bell(fd: OwnedFd) -> io::Result<pipe::Receiver> {
    pipe::Receiver::from_owned_fd(fd)
}

/// A spawn being mirrored.
struct Watch {
    dir: SpawnDir,
    mirror: Mirror,
    errand: Errand,
    environment: Environment,
    client: Client,
    bell: pipe::Receiver,
    relay: Relay,
    /// Somebody wants it stopped, and the worker was not told yet.
    stopped: bool,
    /// When the worker last said something.
    reached: Instant,
    pause: Duration,
}

/// What becomes of a spawn that the worker was asked about.
enum Told {
    /// It ended there.
    Ended(Box<wire::Ended>),
    /// The worker never started it, and will not.
    Refused(RemoteError),
    /// The worker was not heard of for too long.
    Lost(RemoteError),
    /// What the worker says of it cannot be true, so nothing that it says is believed.
    Unbelievable(RemoteError),
}

impl Watch {
    async fn live(mut self, order: Option<wire::SpawnRequest>) -> Result<Life, Failure> {
        let told = match (self.mirror.taken(), order) {
            (Taken::New, Some(order)) => match self.ask(order).await? {
                Some(told) => told,
                None => self.follow().await?,
            },
            (Taken::New, None) => {
                return Err(Failure("nothing says what the worker is to run".to_owned()));
            }
            (Taken::Again, _) => self.follow().await?,
        };
        match told {
            Told::Ended(ended) => self.conclude(*ended).await?,
            Told::Refused(error) => {
                let message = with_causes(&error);
                let end = End::NotStarted { reason: NotStarted::Refused, message, code: 1 };
                self.mirror.finish_untold(end, Vec::new())?;
            }
            Told::Unbelievable(error) => {
                let why = with_causes(&error);
                self.relay.block(&why)?;
                self.mirror.give_up(&why)?;
            }
            Told::Lost(error) => {
                let seconds = self.errand.lost_ms / 1000;
                let why = format!(
                    "the worker was waited for {seconds} s: {}; if it still runs there, 'ratchet worker list' shows it",
                    with_causes(&error),
                );
                self.relay.block(&why)?;
                self.mirror.give_up(&why)?;
            }
        }
        Ok(Life::Over)
    }

    /// Asks the worker to run it, until it says that it does or that it will not. It runs it once, however often it is asked.
    async fn ask(&mut self, order: wire::SpawnRequest) -> Result<Option<Told>, Failure> {
        self.mirror.note_start()?;
        loop {
            match self.client.spawn(order.clone()).await {
                Ok(_) => {
                    self.heard();
                    return Ok(None);
                }
                Err(error) if error.may_pass() => {
                    if self.is_lost() {
                        return Ok(Some(Told::Lost(error)));
                    }
                    self.rest().await;
                }
                Err(error) => return Ok(Some(Told::Refused(error))),
            }
        }
    }

    /// Follows it to its end, over as many connections as that takes.
    async fn follow(&mut self) -> Result<Told, Failure> {
        loop {
            if self.stopped {
                self.tell_stop().await;
            }
            let error = match self.attached().await? {
                Ok(ended) => return Ok(Told::Ended(ended)),
                Err(error) => error,
            };
            if error.is_no_session() {
                return Ok(Told::Refused(error));
            }
            if matches!(error, RemoteError::Malformed { .. }) {
                return Ok(Told::Unbelievable(error));
            }
            if self.is_lost() {
                return Ok(Told::Lost(error));
            }
            self.rest().await;
        }
    }

    /// Follows it as long as one connection lasts.
    async fn attached(&mut self) -> Result<Result<Box<wire::Ended>, RemoteError>, Failure> {
        let offset = self.mirror.position().offset();
        let attached = self.client.attach(self.dir.id().as_str(), offset, self.relay.taken()).await;
        let mut stream = match attached {
            Ok(stream) => stream,
            Err(error) => return Ok(Err(error)),
        };
        loop {
            let message = tokio::select! {
                rung = self.bell.readable() => {
                    rung?;
                    self.rung();
                    self.tell_stop().await;
                    continue;
                }
                message = tokio::time::timeout(LONGEST_SILENCE, stream.next()) => message,
            };
            let event = match message {
                Ok(Some(Ok(message))) => message.event,
                Ok(Some(Err(status))) => return Ok(Err(self.client.error(&status))),
                Ok(None) => return Ok(Err(self.client.silent())),
                Err(_) => return Ok(Err(self.client.silent())),
            };
            self.heard();
            match event {
                Some(Event::Frame(frame)) => match Frame::try_from(frame) {
                    Ok(frame) if frame.position == self.mirror.position() => {
                        self.mirror.keep(&frame)?
                    }
                    Ok(_) => {
                        return Ok(Err(self
                            .client
                            .malformed("a frame that does not follow the last one")));
                    }
                    Err(error) => return Ok(Err(self.client.malformed(error))),
                },
                Some(Event::Entry(entry)) => self.take_over(entry).await?,
                Some(Event::Heartbeat(_)) => {}
                Some(Event::OutputGone(gone)) => {
                    tracing::warn!(why = gone.message, "a worker's spool cannot be read on")
                }
                Some(Event::Ended(ended)) => return Ok(Ok(Box::new(ended))),
                None => return Ok(Err(self.client.malformed("an event without content"))),
            }
        }
    }

    /// Takes a report over, and lets the worker forget it. An acknowledgement that is lost is made up for by the next.
    async fn take_over(&mut self, entry: wire::Entry) -> Result<(), Failure> {
        let sequence = entry.sequence;
        self.relay.take_over(&entry).map_err(|error| Failure(with_causes(&error)))?;
        if let Err(error) = self.client.acknowledge(self.dir.id().as_str(), sequence).await {
            tracing::debug!(%error, "a report was not acknowledged");
        }
        Ok(())
    }

    /// Reads the bell dry.
    fn rung(&mut self) {
        let mut buffer = [0; 64];
        while matches!(self.bell.try_read(&mut buffer), Ok(1..)) {}
        self.stopped = true;
    }

    /// Tells the worker to stop it, as the folder says it is wanted. What cannot be told now is told over the next connection.
    async fn tell_stop(&mut self) {
        let Some(asked) = self.mirror.stop_request() else {
            self.stopped = false;
            return;
        };
        match self.client.stop(self.dir.id().as_str(), &asked.by, asked.grace_ms).await {
            Ok(()) => self.stopped = false,
            Err(error) => {
                self.stopped = error.may_pass();
                tracing::warn!(%error, "a worker cannot be told to stop a step");
            }
        }
    }

    fn heard(&mut self) {
        self.reached = Instant::now();
        self.pause = FIRST_PAUSE;
    }

    fn is_lost(&self) -> bool {
        self.reached.elapsed() >= Duration::from_millis(self.errand.lost_ms)
    }

    /// Waits a little, longer each time, and not when somebody rings.
    async fn rest(&mut self) {
        let pause = self.pause;
        self.pause = (pause * 2).min(LONGEST_PAUSE);
        let rung = tokio::time::timeout(pause, self.bell.readable()).await;
        if matches!(rung, Ok(Ok(()))) {
            self.rung();
        }
    }

    fn search_path(&self) -> OsString {
        self.environment.var_os("PATH").map(ToOwned::to_owned).unwrap_or_default()
    }
}
