//! Looking on: the output of a spawn that somebody else runs, or that is over. Changes nothing and judges nothing.

use ratchet_spawn::{
    AttachError, Attachment, Event, Frame, Frames, Position, SpawnDir, SpoolError,
};
use thiserror::Error;

use crate::error::{Error, with_causes};
use crate::event::{EventSink, Notice, NoticeLevel, Origin, Started, StepEvent, Stream};
use crate::store::inflight::Inflight;

/// Where to begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// With what is printed from now on.
    Now,
    /// At an offset of the stored output; 0 is its beginning.
    Offset(u64),
}

/// Why one can no longer look on. The step goes on.
#[derive(Debug, Error)]
pub enum FollowError {
    /// What is stored cannot be read.
    #[error("the stored output cannot be read on")]
    Spool(#[from] SpoolError),
    /// The folder cannot be watched.
    #[error("the output can no longer be followed")]
    Attach(#[from] AttachError),
}

/// A piece of stored output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// Where it was written.
    pub stream: Stream,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// Tells the output of a step that runs, until it ends.
///
/// # Errors
/// [`FollowError`]; the step goes on.
pub async fn follow(
    step: &Inflight,
    dir: &SpawnDir,
    from: Start,
    events: EventSink,
) -> Result<(), Error> {
    let mut attachment = attach(dir, from)?;
    // A listener that has gone away ends the looking on.
    let mut listening = events.send(StepEvent::Started(started(step))).await.is_ok();
    while listening {
        let event = match attachment.next().await {
            Ok(Event::Frame(frame)) => StepEvent::output(frame),
            Ok(Event::Ended(_) | Event::Lost(_) | Event::Abandoned) => return Ok(()),
            Err(AttachError::Spool(error)) => StepEvent::Notice(unreadable(&error)),
            Err(error @ AttachError::Watch(_)) => return Err(FollowError::Attach(error).into()),
        };
        listening = events.send(event).await.is_ok();
    }
    Ok(())
}

/// Waits until nothing of a spawn is left.
///
/// # Errors
/// [`FollowError`].
pub(crate) async fn end_of(dir: &SpawnDir) -> Result<(), Error> {
    // What it printed is of no interest, and reading it may fail.
    let mut attachment =
        Attachment::open(dir, Position::from_offset(u64::MAX)).map_err(FollowError::Attach)?;
    loop {
        match attachment.next().await {
            Ok(Event::Frame(_)) | Err(AttachError::Spool(_)) => {}
            Ok(Event::Ended(_) | Event::Lost(_) | Event::Abandoned) => return Ok(()),
            Err(error @ AttachError::Watch(_)) => return Err(FollowError::Attach(error).into()),
        }
    }
}

/// Reads what a spawn has printed so far.
///
/// # Errors
/// [`FollowError::Spool`].
pub fn stored(dir: &SpawnDir) -> Result<impl Iterator<Item = Result<Stored, Error>>, Error> {
    let frames = Frames::open(dir, Position::START).map_err(FollowError::Spool)?;
    Ok(frames.map(|frame| Ok(Stored::of(frame.map_err(FollowError::Spool)?))))
}

/// Says that output is lost to whoever looks on. The step goes on.
pub(crate) fn unreadable(error: &SpoolError) -> Notice {
    let text = format!("its further output cannot be shown: {}", with_causes(error));
    Notice { level: NoticeLevel::Warning, text }
}

/// Says what runs, to somebody who did not start it.
pub(crate) fn started(step: &Inflight) -> Started {
    Started {
        spawn: step.spawn.clone(),
        key: step.key.clone(),
        what: step.running(),
        origin: Origin::Reattached,
    }
}

pub(crate) fn attach(dir: &SpawnDir, from: Start) -> Result<Attachment, FollowError> {
    let position = match from {
        Start::Offset(offset) => Position::from_offset(offset),
        Start::Now => {
            let mut end = Position::START;
            for frame in Frames::open(dir, end)? {
                end = frame?.next;
            }
            end
        }
    };
    Ok(Attachment::open(dir, position)?)
}

impl Stored {
    fn of(frame: Frame) -> Self {
        Self { stream: frame.stream.into(), bytes: frame.bytes }
    }
}
