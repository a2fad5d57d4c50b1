//! Tells one client the events of one step, at the client's own pace.
//!
//! Events are taken as fast as they come, so a client never slows the watching of a step, however slowly it reads. What its
//! queue has no room for is left where it is: the agent's output is on disk, and a client that lags is fed from there until
//! it has caught up. So what a client costs is bounded by its queue.

use std::collections::VecDeque;

use ratchet_proto::supervisor::v1 as wire;
use ratchet_spawn::{Frames, Position, SpawnDir};
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;
use tonic::Status;

use super::convert::IntoWire as _;
use crate::event::{Notice, NoticeLevel, StepEvent};
use crate::project::Project;

/// How many messages wait for a client; each holds at most one frame of output (64 KiB).
pub(super) const CLIENT_QUEUE: usize = 8;

/// Where a client's messages go.
pub(super) type Queue<M> = mpsc::Sender<Result<M, Status>>;

/// What became of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Client {
    /// It has been told everything.
    Told,
    /// It has gone away.
    Gone,
}

/// Tells all events, until there are no more.
pub(super) async fn feed<M>(
    project: &Project,
    mut events: mpsc::Receiver<StepEvent>,
    queue: &Queue<M>,
    wrap: fn(wire::StepEvent) -> M,
) -> Client {
    let mut lag = Lag { project, dir: None, frames: None, owed: VecDeque::new() };
    let mut more = true;
    while more || lag.is_owed() {
        tokio::select! {
            biased;
            event = events.recv(), if more => match event {
                None => more = false,
                Some(event) => {
                    lag.note(&event);
                    let Some(event) = lag.postpone(event) else { continue };
                    match queue.try_send(Ok(wrap(event.clone().into_wire()))) {
                        Ok(()) => {}
                        Err(TrySendError::Full(_)) => lag.owe(event),
                        Err(TrySendError::Closed(_)) => return Client::Gone,
                    }
                }
            },
            room = queue.reserve(), if lag.is_owed() => match room {
                Err(_) => return Client::Gone,
                Ok(room) => {
                    if let Some(event) = lag.next() {
                        room.send(Ok(wrap(event.into_wire())));
                    }
                }
            },
            () = queue.closed() => return Client::Gone,
        }
    }
    Client::Told
}

/// What a client has still to be told.
struct Lag<'a> {
    project: &'a Project,
    /// Where the output of the running spawn is.
    dir: Option<SpawnDir>,
    /// Read up to what the client was told last.
    frames: Option<Frames>,
    owed: VecDeque<Owed>,
}

enum Owed {
    Event(StepEvent),
    /// Output that is on disk.
    Stored {
        from: u64,
        until: u64,
    },
}

impl Lag<'_> {
    fn is_owed(&self) -> bool {
        !self.owed.is_empty()
    }

    /// Remembers where output is.
    fn note(&mut self, event: &StepEvent) {
        if let StepEvent::Started(started) = event {
            self.dir = self.project.spawn_dir(started.spawn.as_str()).ok();
            self.frames = None;
        }
    }

    /// Puts an event behind what is owed already, if anything is.
    fn postpone(&mut self, event: StepEvent) -> Option<StepEvent> {
        if self.owed.is_empty() {
            return Some(event);
        }
        self.owe(event);
        None
    }

    fn owe(&mut self, event: StepEvent) {
        let StepEvent::Output { offset: Some(from), next, .. } = event else {
            self.owed.push_back(Owed::Event(event));
            return;
        };
        match self.owed.back_mut() {
            Some(Owed::Stored { until, .. }) if *until == from => *until = next,
            _ => self.owed.push_back(Owed::Stored { from, until: next }),
        }
    }

    /// Takes one piece of what is owed.
    fn next(&mut self) -> Option<StepEvent> {
        match self.owed.front_mut()? {
            Owed::Event(_) => match self.owed.pop_front() {
                Some(Owed::Event(event)) => Some(event),
                _ => None,
            },
            Owed::Stored { from, until } => {
                let (start, until_now) = (*from, *until);
                match self.frame(start) {
                    Some(event) => {
                        if let StepEvent::Output { next, .. } = &event {
                            self.advance(*next, until_now);
                        }
                        Some(event)
                    }
                    None => {
                        self.owed.pop_front();
                        self.frames = None;
                        let text = "some output could not be read again; it was not shown";
                        let level = NoticeLevel::Warning;
                        Some(StepEvent::Notice(Notice { level, text: text.to_owned() }))
                    }
                }
            }
        }
    }

    fn advance(&mut self, next: u64, until: u64) {
        if next >= until {
            self.owed.pop_front();
            self.frames = None;
        } else if let Some(Owed::Stored { from, .. }) = self.owed.front_mut() {
            *from = next;
        }
    }

    fn frame(&mut self, at: u64) -> Option<StepEvent> {
        if self.frames.is_none() {
            let dir = self.dir.as_ref()?;
            self.frames = Frames::open(dir, Position::from_offset(at)).ok();
        }
        self.frames.as_mut()?.next()?.ok().map(StepEvent::output)
    }
}
