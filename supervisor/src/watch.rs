//! Watches one spawn to its end: tells its output to the caller, keeps what judging needs, and ends an agent that has said
//! its last word but does not exit.
//!
//! It judges nothing, and it bounds everything: the head of each stream, one frame at a time.

mod excerpt;

use std::pin::Pin;
use std::time::Duration;

use ratchet_engine::outcome::SessionEnd;
use ratchet_engine::proof::{Finding, Matcher};
use ratchet_spawn::{
    AttachError, Attachment, End, Event, ExitRecord, Frame, Frames, Leader, Lost, Position,
    SpawnDir, Standing, TimeLimit, signal_name,
};
use ratchet_telemetry::TraceSpan;
use tokio::time::Sleep;

use self::excerpt::Excerpt;
use crate::agent::stream::{Skim, StreamFacts, StreamFormat};
use crate::error::with_causes;
use crate::event::{EventSink, StepEvent};
use crate::observe::session::SessionTrace;
use crate::request::StopReason;
use crate::runtime::{Death, Ending, Shim, ShimHandle};

/// How long an agent may stay after its final event, in milliseconds of awake time.
const LINGER: Duration = Duration::from_secs(5);

/// What was seen of a spawn.
#[derive(Debug)]
pub(crate) struct Seen {
    /// How it ended.
    pub(crate) end: SessionEnd,
    /// The head of its standard output, its events made readable.
    pub(crate) stdout: String,
    /// The head of its standard error.
    pub(crate) stderr: String,
    /// What a proof's output amounts to.
    pub(crate) finding: Option<Finding>,
    /// What else is worth knowing.
    pub(crate) notes: Vec<String>,
    /// Output that was kept and could not be read, in words.
    pub(crate) unread: Option<String>,
    /// What the agent's stream told.
    pub(crate) facts: StreamFacts,
    /// How long it ran, in milliseconds of awake time; `None` if nobody knows.
    pub(crate) awake_ms: Option<u64>,
    /// The span that judging a proof goes on with.
    pub(crate) trace: TraceSpan,
}

impl Seen {
    /// What is seen of a spawn that left nothing behind.
    pub(crate) fn lost(reason: &str) -> Self {
        Self {
            end: lost_end(reason),
            stdout: String::new(),
            stderr: String::new(),
            finding: None,
            notes: Vec::new(),
            unread: None,
            facts: StreamFacts::default(),
            awake_ms: None,
            trace: TraceSpan::none(),
        }
    }
}

/// Asks a shim to stop what it runs: through its directory, else, if it is ours, by a signal.
pub(crate) fn stop(dir: &SpawnDir, shim: Option<&ShimHandle>, by: StopReason) {
    let Err(error) = ratchet_spawn::request_stop(dir, &by.request()) else { return };
    let told = shim.is_some_and(|shim| shim.terminate().is_ok());
    if !told {
        tracing::error!(spawn = %dir.id(), %error, "a step cannot be stopped");
    }
}

/// A spawn being watched.
pub(crate) struct Watch {
    dir: SpawnDir,
    attachment: Attachment,
    shim: Option<Shim>,
    events: EventSink,
    stream: Skim,
    matcher: Option<Matcher>,
    stdout: Excerpt,
    stderr: Excerpt,
    /// What was learnt of its end when its shim was found gone.
    death: Option<Death>,
    /// Runs from the agent's final event.
    linger: Option<Pin<Box<Sleep>>>,
    /// Where the next frame of its output stands.
    read_until: Position,
    /// Why some of the output was not seen.
    unread: Option<String>,
    trace: SessionTrace,
}

/// Who hears the output, and how it is read.
pub(crate) struct Heard {
    pub(crate) events: EventSink,
    pub(crate) format: StreamFormat,
}

/// What woke the watcher.
enum Wake {
    Spool(Result<Event, AttachError>),
    LingeredTooLong,
    ShimGone,
}

impl Watch {
    pub(crate) fn new(
        dir: SpawnDir,
        attachment: Attachment,
        shim: Option<Shim>,
        heard: Heard,
        matcher: Option<Matcher>,
        trace: SessionTrace,
    ) -> Self {
        Self {
            dir,
            read_until: attachment.position(),
            attachment,
            shim,
            events: heard.events,
            stream: Skim::new(heard.format),
            matcher,
            stdout: Excerpt::default(),
            stderr: Excerpt::default(),
            death: None,
            linger: None,
            unread: None,
            trace,
        }
    }

    /// Watches until nothing of the command is left.
    pub(crate) async fn until_the_end(mut self) -> Seen {
        loop {
            match self.wake().await {
                Wake::Spool(Ok(Event::Frame(frame))) => self.take(frame).await,
                Wake::Spool(Ok(Event::Ended(record))) => return self.ended(&record).await,
                Wake::Spool(Ok(Event::Lost(lost))) => match self.go_on().await {
                    Some(attachment) => self.attachment = attachment,
                    None => return self.lost(lost).await,
                },
                Wake::Spool(Ok(Event::Abandoned)) => {
                    self.clear().await;
                    return self.finish(lost_end("it was given up before it started"), None);
                }
                // What it prints is lost to us, and the step is not: how it ended is told elsewhere.
                Wake::Spool(Err(error @ AttachError::Spool(_))) => {
                    self.unread = Some(with_causes(&error));
                }
                Wake::Spool(Err(error @ AttachError::Watch(_))) => return self.deaf(&error).await,
                Wake::LingeredTooLong => self.end_lingerer(),
                Wake::ShimGone => {
                    if let Some(attachment) = self.go_on().await {
                        self.attachment = attachment;
                        continue;
                    }
                    self.clear().await;
                    if let Some(end) = self.never_started() {
                        return self.finish(end, None);
                    }
                }
            }
        }
    }

    async fn wake(&mut self) -> Wake {
        let Self { attachment, linger, shim, .. } = self;
        tokio::select! {
            biased;
            event = attachment.next() => Wake::Spool(event),
            () = elapsed(linger) => Wake::LingeredTooLong,
            () = gone(shim) => Wake::ShimGone,
        }
    }

    /// A shim that is gone without having started anything never will: the disk was full, or its binary was replaced.
    fn never_started(&self) -> Option<SessionEnd> {
        let standing = ratchet_spawn::abandon(&self.dir);
        let why = match standing {
            Ok(Standing::NeverStarted | Standing::Abandoned) => {
                let complaint = self.dir.last_complaint().or(match &self.death {
                    Some(Death::Told(why)) => Some(why.clone()),
                    Some(Death::OutOfMemory) => return Some(SessionEnd::OutOfMemory),
                    None => None,
                });
                format!(
                    "its shim ended before it: {}",
                    complaint.as_deref().unwrap_or("no reason given")
                )
            }
            // What did start has an end of its own, which the attachment tells.
            Ok(Standing::Running(_) | Standing::Ended(_) | Standing::Lost(_)) => return None,
            Err(error) => format!("its directory cannot be used: {error}"),
        };
        Some(SessionEnd::NotStarted { error: why, code: 1 })
    }

    async fn take(&mut self, frame: Frame) {
        self.read_until = frame.next;
        self.trace.output(&frame);
        match frame.stream {
            ratchet_spawn::Stream::Stdout => {
                if let Some(matcher) = &mut self.matcher {
                    matcher.feed(&frame.bytes);
                }
                let Self { stream, stdout, trace, .. } = self;
                if !stdout.is_full() {
                    stream.push_shown(&frame.bytes, &mut |event| {
                        trace.event(&event);
                        stdout.take_event(&event);
                    });
                } else if trace.wants_tools() {
                    stream.push_tools(&frame.bytes, &mut |event| trace.event(&event));
                } else {
                    stream.push(&frame.bytes);
                }
                if self.linger.is_none() && self.stream.facts().last_word.is_some() {
                    self.linger = Some(Box::pin(tokio::time::sleep(LINGER)));
                }
            }
            ratchet_spawn::Stream::Stderr => self.stderr.take(&frame.bytes),
        }
        // A caller that went away does not stop the step.
        drop(self.events.send(StepEvent::output(frame)).await);
    }

    fn end_lingerer(&mut self) {
        self.linger = None;
        self.ask_to_stop(StopReason::Linger);
    }

    async fn ended(mut self, record: &ExitRecord) -> Seen {
        // It is about to go; waiting keeps no zombie.
        if let Some(Shim::Child(_)) = &self.shim {
            gone(&mut self.shim).await;
        }
        self.clear().await;
        let missing = record.output.spool_bytes.saturating_sub(self.read_until.offset());
        let unread = (missing > 0).then(|| unread_note(missing, self.unread.as_deref()));
        let seen = self.finish(session_end(record), Some(record));
        Seen { notes: notes(record), unread, ..seen }
    }

    /// Watches on where a mirror was killed and the command was not; `None` if it is over.
    async fn go_on(&mut self) -> Option<Attachment> {
        let is_lost = || matches!(ratchet_spawn::probe(&self.dir), Ok(Standing::Lost(_)));
        if !is_lost() || !self.shim.as_mut()?.revive().await {
            return None;
        }
        match Attachment::open(&self.dir, self.read_until) {
            Ok(attachment) => Some(attachment),
            Err(error) => {
                tracing::warn!(spawn = %self.dir.id(), error = with_causes(&error), "a step cannot be watched on");
                None
            }
        }
    }

    /// The kernel tells nothing more. The step goes on: its end is waited for by its lock, and its output read then.
    async fn deaf(mut self, error: &AttachError) -> Seen {
        tracing::warn!(spawn = %self.dir.id(), error = with_causes(error), "a step is watched blindly");
        match &mut self.shim {
            Some(shim) => shim.ended().await,
            None => {
                let dir = self.dir.clone();
                let ended =
                    tokio::task::spawn_blocking(move || ratchet_spawn::await_shim_end(&dir));
                if !matches!(ended.await, Ok(Ok(()))) {
                    tracing::warn!(spawn = %self.dir.id(), "the end of a shim cannot be waited for");
                }
            }
        }
        if let Err(error) = self.read_the_rest().await {
            self.unread = Some(with_causes(&error));
        }
        match ratchet_spawn::probe(&self.dir) {
            Ok(Standing::Ended(record)) => self.ended(&record).await,
            Ok(Standing::Lost(lost)) => self.lost(lost).await,
            Ok(Standing::NeverStarted | Standing::Abandoned) => {
                self.clear().await;
                self.finish(lost_end("it was given up before it started"), None)
            }
            Ok(Standing::Running(_)) | Err(_) => {
                let reason = format!("it can no longer be followed: {}", with_causes(error));
                let mut seen = self.lost(Lost::Damaged).await;
                seen.end = lost_end(&reason);
                seen
            }
        }
    }

    async fn read_the_rest(&mut self) -> Result<(), ratchet_spawn::SpoolError> {
        for frame in Frames::open(&self.dir, self.read_until)? {
            self.take(frame?).await;
        }
        Ok(())
    }

    fn ask_to_stop(&self, by: StopReason) {
        stop(&self.dir, self.shim.as_ref().and_then(Shim::handle).as_ref(), by);
    }

    /// Clears away the place it ran in; the spawn is over.
    async fn clear(&mut self) {
        if let Some(shim) = self.shim.take() {
            let ending = match ratchet_spawn::probe(&self.dir) {
                Ok(Standing::Ended(_)) => Ending::Recorded,
                Ok(_) | Err(_) => Ending::Unexplained,
            };
            self.death = shim.clear(ending).await;
        }
    }

    async fn lost(mut self, lost: Lost) -> Seen {
        self.clear().await;
        if let Some(why) = self.dir.given_up() {
            return self.finish(lost_end(&why), None);
        }
        let mut reason = match self.death.take() {
            Some(Death::OutOfMemory) => return self.finish(SessionEnd::OutOfMemory, None),
            Some(Death::Told(why)) => format!("{lost}: {why}"),
            None => lost.to_string(),
        };
        match ratchet_spawn::end_strays(&self.dir) {
            Ok(strays) if strays.is_empty() => {}
            Ok(strays) => reason.push_str(&format!("; {}", strays_note(&strays))),
            Err(error) => {
                reason.push_str(&format!("; its processes cannot be looked for: {error}"))
            }
        }
        self.finish(lost_end(&reason), None)
    }

    fn finish(self, end: SessionEnd, record: Option<&ExitRecord>) -> Seen {
        let Self { mut stdout, mut trace, .. } = self;
        let facts = self.stream.finish(&mut |event| {
            trace.event(&event);
            stdout.take_event(&event);
        });
        let trace = trace.over(&end, &facts, record);
        Seen {
            finding: self.matcher.map(|matcher| matcher.finish(&end)),
            end,
            stdout: stdout.into_text(),
            stderr: self.stderr.into_text(),
            notes: Vec::new(),
            unread: None,
            facts,
            awake_ms: record.map(|record| record.awake_ms),
            trace,
        }
    }
}

/// Waits for a timer; for ever, if there is none.
async fn elapsed(timer: &mut Option<Pin<Box<Sleep>>>) {
    match timer {
        Some(timer) => timer.as_mut().await,
        None => std::future::pending().await,
    }
}

/// Waits for the end of a shim; for ever, if it is none of ours.
async fn gone(shim: &mut Option<Shim>) {
    match shim {
        Some(shim) => shim.ended().await,
        None => std::future::pending().await,
    }
}

fn lost_end(reason: &str) -> SessionEnd {
    SessionEnd::Lost { reason: reason.to_owned() }
}

/// Turns the shim's record into what the engine judges.
fn session_end(record: &ExitRecord) -> SessionEnd {
    match &record.end {
        End::Exited { code } => SessionEnd::Exited(*code),
        End::Signaled { signal, .. } => SessionEnd::Signaled(signal_name(*signal)),
        End::TimedOut { limit, after_ms, .. } => {
            SessionEnd::TimedOut { limit: word(*limit).to_owned(), after_ms: *after_ms }
        }
        End::Stopped { by, .. } if by == StopReason::Linger.as_str() => SessionEnd::Lingered,
        End::Stopped { by, .. } => SessionEnd::Stopped { by: by.clone() },
        End::OutOfMemory => SessionEnd::OutOfMemory,
        End::OutputLimit { bytes, .. } => SessionEnd::OutputLimit { bytes: *bytes },
        End::SpoolFailed { message, .. } => {
            lost_end(&format!("its output could not be kept ({message}), so it was ended"))
        }
        End::NotStarted { message, code, .. } => {
            SessionEnd::NotStarted { error: message.clone(), code: *code }
        }
    }
}

fn word(limit: TimeLimit) -> &'static str {
    match limit {
        TimeLimit::Start => "start",
        TimeLimit::Idle => "idle",
        TimeLimit::Wall => "wall",
    }
}

fn unread_note(bytes: u64, why: Option<&str>) -> String {
    let why = why.map(|why| format!(": {why}")).unwrap_or_default();
    format!("{bytes} bytes of its output could not be read, and were not looked at{why}")
}

/// Says what a person should know about an end, beyond how it was.
fn notes(record: &ExitRecord) -> Vec<String> {
    let mut notes = Vec::new();
    // What a stop finds is no fault of the agent's: it had no time to end its own.
    let by_itself = matches!(record.end, End::Exited { .. } | End::Signaled { .. });
    if by_itself && !record.strays.is_empty() {
        notes.push(strays_note(&record.strays));
    }
    if !record.leftover.is_empty() {
        let names: Vec<_> = record.leftover.iter().map(named).collect();
        notes.push(format!("still running, and could not be ended: {}", names.join(", ")));
    }
    let unasked_exit = |leader: &Leader| match leader {
        Leader::StillRunning => Some("the agent itself could not be ended".to_owned()),
        Leader::NeverRan | Leader::Exited { .. } | Leader::Signaled { .. } => None,
    };
    match &record.end {
        End::TimedOut { leader, .. }
        | End::Stopped { leader, .. }
        | End::OutputLimit { leader, .. }
        | End::SpoolFailed { leader, .. } => notes.extend(unasked_exit(leader)),
        End::Exited { .. } | End::Signaled { .. } | End::OutOfMemory | End::NotStarted { .. } => {}
    }
    notes.extend(record.notes.iter().cloned());
    notes
}

pub(crate) fn strays_note(strays: &[ratchet_spawn::Stray]) -> String {
    let names: Vec<_> = strays.iter().map(named).collect();
    format!("left running by the agent, and ended: {}", names.join(", "))
}

fn named(stray: &ratchet_spawn::Stray) -> String {
    format!("{} ({})", stray.comm, stray.pid)
}
