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
    Attachment, End, Event, ExitRecord, Frame, Leader, Lost, SpawnDir, TimeLimit, signal_name,
};
use tokio::time::Sleep;

use self::excerpt::Excerpt;
use crate::agent::stream::{AgentStream, StreamFacts, StreamFormat};
use crate::error::with_causes;
use crate::event::{EventSink, StepEvent};
use crate::request::StopReason;
use crate::runtime::Shim;

/// How long an agent may stay after its final event, in milliseconds of awake time.
const LINGER: Duration = Duration::from_secs(5);

/// What was seen of a spawn.
#[derive(Debug)]
pub(crate) struct Seen {
    /// How it ended.
    pub(crate) end: SessionEnd,
    /// The head of its standard output.
    pub(crate) stdout: String,
    /// The head of its standard error.
    pub(crate) stderr: String,
    /// What a proof's output amounts to.
    pub(crate) finding: Option<Finding>,
    /// What else is worth knowing.
    pub(crate) notes: Vec<String>,
    /// What the agent's stream told.
    pub(crate) facts: StreamFacts,
    /// How long it ran, in milliseconds of awake time; `None` if nobody knows.
    pub(crate) awake_ms: Option<u64>,
}

/// A spawn being watched.
pub(crate) struct Watch {
    dir: SpawnDir,
    attachment: Attachment,
    shim: Option<Shim>,
    events: EventSink,
    stream: AgentStream,
    matcher: Option<Matcher>,
    stdout: Excerpt,
    stderr: Excerpt,
    /// Runs from the agent's final event.
    linger: Option<Pin<Box<Sleep>>>,
}

/// Who hears the output, and how it is read.
pub(crate) struct Heard {
    pub(crate) events: EventSink,
    pub(crate) format: StreamFormat,
}

/// What woke the watcher.
enum Wake {
    Spool(Result<Event, ratchet_spawn::AttachError>),
    LingeredTooLong,
}

impl Watch {
    pub(crate) fn new(
        dir: SpawnDir,
        attachment: Attachment,
        shim: Option<Shim>,
        heard: Heard,
        matcher: Option<Matcher>,
    ) -> Self {
        Self {
            dir,
            attachment,
            shim,
            events: heard.events,
            stream: AgentStream::new(heard.format),
            matcher,
            stdout: Excerpt::default(),
            stderr: Excerpt::default(),
            linger: None,
        }
    }

    /// Watches until nothing of the command is left.
    pub(crate) async fn until_the_end(mut self) -> Seen {
        loop {
            match self.wake().await {
                Wake::Spool(Ok(Event::Frame(frame))) => self.take(frame).await,
                Wake::Spool(Ok(Event::Ended(record))) => return self.ended(&record),
                Wake::Spool(Ok(Event::Lost(lost))) => return self.lost(lost),
                Wake::Spool(Ok(Event::Abandoned)) => {
                    return self.finish(lost_end("it was given up before it started"), None);
                }
                Wake::Spool(Err(error)) => {
                    let reason =
                        format!("its output can no longer be followed: {}", with_causes(&error));
                    return self.finish(lost_end(&reason), None);
                }
                Wake::LingeredTooLong => self.end_lingerer(),
            }
        }
    }

    async fn wake(&mut self) -> Wake {
        match &mut self.linger {
            None => Wake::Spool(self.attachment.next().await),
            Some(linger) => tokio::select! {
                biased;
                event = self.attachment.next() => Wake::Spool(event),
                () = linger.as_mut() => Wake::LingeredTooLong,
            },
        }
    }

    async fn take(&mut self, frame: Frame) {
        match frame.stream {
            ratchet_spawn::Stream::Stdout => {
                self.stdout.take(&frame.bytes);
                if let Some(matcher) = &mut self.matcher {
                    matcher.feed(&frame.bytes);
                }
                self.stream.push(&frame.bytes, &mut |_| {});
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
        let request = StopReason::Linger.request();
        if let Err(error) = ratchet_spawn::request_stop(&self.dir, &request) {
            tracing::warn!(spawn = %self.dir.id(), %error, "a lingering agent cannot be stopped");
        }
    }

    fn ended(self, record: &ExitRecord) -> Seen {
        let notes = notes(record);
        let mut seen = self.finish(session_end(record), Some(record.awake_ms));
        seen.notes = notes;
        seen
    }

    fn lost(self, lost: Lost) -> Seen {
        let mut reason = lost.to_string();
        match ratchet_spawn::end_strays(&self.dir) {
            Ok(strays) if strays.is_empty() => {}
            Ok(strays) => reason.push_str(&format!("; {}", strays_note(&strays))),
            Err(error) => {
                reason.push_str(&format!("; its processes cannot be looked for: {error}"))
            }
        }
        self.finish(lost_end(&reason), None)
    }

    fn finish(mut self, end: SessionEnd, awake_ms: Option<u64>) -> Seen {
        if let Some(shim) = self.shim.take() {
            shim.reap();
        }
        self.stream.finish(&mut |_| {});
        Seen {
            finding: self.matcher.map(|matcher| matcher.finish(&end)),
            end,
            stdout: self.stdout.into_text(),
            stderr: self.stderr.into_text(),
            notes: Vec::new(),
            facts: self.stream.facts().clone(),
            awake_ms,
        }
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

/// Says what a person should know about an end, beyond how it was.
fn notes(record: &ExitRecord) -> Vec<String> {
    let mut notes = Vec::new();
    if !record.strays.is_empty() {
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

fn strays_note(strays: &[ratchet_spawn::Stray]) -> String {
    let names: Vec<_> = strays.iter().map(named).collect();
    format!("left running by the agent, and ended: {}", names.join(", "))
}

fn named(stray: &ratchet_spawn::Stray) -> String {
    format!("{} ({})", stray.comm, stray.pid)
}
