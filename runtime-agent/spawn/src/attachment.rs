//! A live view of a spawn: its frames from any position on, then how it ended.

use std::io;

use crate::directory::SpawnDir;
use crate::record::ExitRecord;
use crate::spool::{Frame, Position, SpoolError, SpoolReader};
use crate::standing::Lost;

/// What an attachment tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// More output.
    Frame(Frame),
    /// It ended; all its output was told before. The last event.
    Ended(Box<ExitRecord>),
    /// Nobody will ever know how it ended; what there is of its output was told before. The last event.
    Lost(Lost),
    /// It was abandoned before it started. The last event.
    Abandoned,
}

/// A spawn that cannot be watched.
#[derive(Debug, thiserror::Error)]
pub enum AttachError {
    /// The spool cannot be read on.
    #[error(transparent)]
    Spool(#[from] SpoolError),
    /// The kernel or the disk refused.
    #[error("cannot watch the spawn")]
    Watch(#[source] io::Error),
}

/// A live view of a spawn. Any number of them may be open; none of them changes the spawn.
#[derive(Debug)]
pub struct Attachment {
    dir: SpawnDir,
    reader: SpoolReader,
}

impl Attachment {
    /// Attaches at a position. The spawn need not have started. Must be called within a tokio runtime.
    ///
    /// # Errors
    /// [`AttachError::Watch`] if the folder cannot be watched.
    pub fn open(dir: &SpawnDir, position: Position) -> Result<Self, AttachError> {
        Ok(Self { dir: dir.clone(), reader: SpoolReader::new(position) })
    }

    /// Gives the position of the next frame.
    #[must_use]
    pub fn position(&self) -> Position {
        self.reader.position()
    }

    /// Waits for the next event. Safe to drop at any time: nothing is lost, nothing is told twice.
    ///
    /// # Errors
    /// As the variants of [`AttachError`] say.
    pub async fn next(&mut self) -> Result<Event, AttachError> {
        self.reader.open(&self.dir).map_err(AttachError::Watch)?;
        Err(AttachError::Watch(io::ErrorKind::Unsupported.into()))
    }
}
