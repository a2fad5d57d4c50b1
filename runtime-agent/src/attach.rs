//! Tells one caller what a session prints, reports and comes to, at the caller's own pace: what it is too slow for stays on
//! the disk. Any number may be told; none of them changes the session.

use std::io;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use ratchet_proto::convert::Malformed;
use ratchet_proto::runtime::v1 as wire;
use ratchet_proto::runtime::v1::attach_response::Event as Said;
use ratchet_proto::runtime::v1::ended::{End, Result as Came};
use ratchet_spawn::{AttachError, Attachment, Event, Lost, Position, SpawnDir};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use tonic::Status;

use crate::error::{WorkerError, disk};
use crate::house::House;
use crate::relay::Entries;
use crate::relay::log::Entry;
use crate::session::record::{Conclusion, Left};
use crate::session::{Session, Stage};

/// How many messages wait for a caller; each holds at most one frame (64 KiB) or one line (1 MiB).
pub(crate) const QUEUE: usize = 8;

/// After so much silence the caller hears that all is well.
const HEARTBEAT: Duration = Duration::from_secs(5);

/// Where a caller's messages go.
pub(crate) type Queue = mpsc::Sender<Result<wire::AttachResponse, Status>>;

/// What a caller is told of.
pub(crate) struct Feed {
    session: Arc<Session>,
    /// Absent once it has told everything, or if the spawn's folder was removed.
    output: Option<Attachment>,
    /// The log of entries, which is there once there is one.
    log: PathBuf,
    /// Behind the last entry that the caller has; absent until there is one to be told.
    entries: Option<Entries>,
    /// The sequence number of the last entry that the caller has.
    sequence: u64,
    /// How the command ended, once that is known.
    end: Option<End>,
}

/// What comes next.
enum Next {
    Output(Result<Event, AttachError>),
    Look,
    Silence,
    Leaving,
    NobodyListens,
}

impl Feed {
    /// Begins at an offset of the output, and after an entry. Reads the log up to there.
    pub(crate) fn open(
        house: &House,
        session: Arc<Session>,
        offset: u64,
        sequence: u64,
    ) -> Result<Self, WorkerError> {
        let (mut output, mut end) = (None, None);
        match SpawnDir::open(&house.layout.spawns(), &session.id) {
            Ok(dir) => {
                let open = Attachment::open(&dir, Position::from_offset(offset));
                output = Some(open.map_err(|error| WorkerError::Watch(io::Error::other(error)))?);
            }
            Err(_) => end = Some(End::Lost(wire::Lost::from(Lost::Damaged).into())),
        }
        let log = house.layout.session(&session.id).relay();
        let mut feed = Self { session, output, log, entries: None, sequence, end };
        if sequence > 0 {
            feed.open_log()?;
        }
        Ok(feed)
    }

    /// Tells everything, until the session has ended or the caller is gone.
    pub(crate) async fn tell(mut self, queue: Queue, leaving: CancellationToken) {
        let mut stages = self.session.stages();
        let mut news = self.session.news();
        let mut silence = pin!(sleep(HEARTBEAT));
        loop {
            // No more is read than the caller takes.
            let room = tokio::select! {
                room = queue.reserve() => room,
                () = leaving.cancelled() => return say_goodbye(&queue),
            };
            let Ok(room) = room else { return };
            silence.as_mut().reset(Instant::now() + HEARTBEAT);
            match self.next_entry(*news.borrow_and_update()) {
                Ok(Some(entry)) => {
                    room.send(said(Said::Entry(entry)));
                    continue;
                }
                Ok(None) => {}
                Err(error) => return room.send(Err(error.into())),
            }
            if let Some(ended) = self.ended(&stages.borrow_and_update()) {
                return room.send(said(Said::Ended(ended)));
            }
            let next = tokio::select! {
                biased;
                event = next_of(&mut self.output) => Next::Output(event),
                Ok(()) = news.changed() => Next::Look,
                Ok(()) = stages.changed() => Next::Look,
                () = leaving.cancelled() => Next::Leaving,
                () = queue.closed() => Next::NobodyListens,
                () = &mut silence => Next::Silence,
            };
            match self.heard(next) {
                Heard::Nothing => {}
                Heard::Say(event) => room.send(said(event)),
                Heard::Leave(status) => return room.send(Err(status)),
                Heard::End => return,
            }
        }
    }

    fn heard(&mut self, next: Next) -> Heard {
        match next {
            Next::Output(Ok(Event::Frame(frame))) => return Heard::Say(Said::Frame(frame.into())),
            Next::Output(Ok(Event::Ended(record))) => {
                self.end = Some(End::Record((*record).into()))
            }
            Next::Output(Ok(Event::Lost(lost))) => {
                self.end = Some(End::Lost(wire::Lost::from(lost).into()));
            }
            Next::Output(Ok(Event::Abandoned)) => {
                self.end = Some(End::Abandoned(wire::Abandoned {}));
            }
            Next::Output(Err(AttachError::Spool(error))) => {
                let message = error.to_string();
                return Heard::Say(Said::OutputGone(wire::OutputGone { message }));
            }
            Next::Output(Err(AttachError::Watch(error))) => {
                return Heard::Leave(WorkerError::Watch(error).into());
            }
            Next::Look => return Heard::Nothing,
            Next::Silence => return Heard::Say(Said::Heartbeat(wire::Heartbeat {})),
            Next::Leaving => return Heard::Leave(WorkerError::Leaving.into()),
            Next::NobodyListens => return Heard::End,
        }
        // All its output was told.
        self.output = None;
        Heard::Nothing
    }

    fn next_entry(&mut self, last: u64) -> Result<Option<wire::Entry>, WorkerError> {
        if last <= self.sequence {
            return Ok(None);
        }
        let next = match &mut self.entries {
            Some(entries) => entries.next(),
            None => self.open_log()?.next(),
        };
        match next.transpose().map_err(disk(&self.log))? {
            None => Ok(None),
            Some(Entry { sequence, file, line, .. }) => {
                self.sequence = sequence;
                let file = u32::try_from(file).unwrap_or(u32::MAX);
                Ok(Some(wire::Entry { sequence, file, line: line.into() }))
            }
        }
    }

    fn open_log(&mut self) -> Result<&mut Entries, WorkerError> {
        let unknown = || Malformed::new(format!("there is no entry {}", self.sequence));
        let mut entries = match Entries::open(&self.log) {
            Err(missing) if missing.kind() == io::ErrorKind::NotFound => {
                return Err(unknown().into());
            }
            opened => opened.map_err(disk(&self.log))?,
        };
        while entries.sequence() < self.sequence {
            entries.next().ok_or_else(unknown)?.map_err(disk(&self.log))?;
        }
        Ok(self.entries.insert(entries))
    }

    /// Gives the last message, if everything else was told.
    fn ended(&self, stage: &Stage) -> Option<wire::Ended> {
        let (Some(end), Stage::Ended(conclusion)) = (&self.end, stage) else { return None };
        let Conclusion { left, entries, notes, .. } = &**conclusion;
        let result = match left {
            Left::Snapshot { id } => Some(Came::Snapshot(id.clone())),
            Left::Gone { code, message } => Some(Came::ResultGone(wire::ResultGone {
                code: code.clone(),
                message: message.clone(),
            })),
            Left::Nothing => None,
        };
        let (end, notes) = (Some(end.clone()), notes.clone());
        (self.sequence >= *entries).then_some(wire::Ended { end, result, entries: *entries, notes })
    }
}

/// What is to be done about what was heard.
#[expect(clippy::large_enum_variant, reason = "there is one at a time, and a frame is in no box")]
enum Heard {
    Nothing,
    Say(Said),
    Leave(Status),
    End,
}

async fn next_of(output: &mut Option<Attachment>) -> Result<Event, AttachError> {
    match output {
        Some(output) => output.next().await,
        None => std::future::pending().await,
    }
}

fn said(event: Said) -> Result<wire::AttachResponse, Status> {
    Ok(wire::AttachResponse { event: Some(event) })
}

/// Says so to a caller that has room for it; the others see it by the end of the call.
fn say_goodbye(queue: &Queue) {
    let _room = queue.try_send(Err(WorkerError::Leaving.into()));
}
