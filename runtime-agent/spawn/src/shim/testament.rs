//! Writes the exit record, which must be on the disk whatever happened to the disk: its room is reserved before the
//! agent starts, and a folder that the agent has deleted is made again.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Seek, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;

use rustix::fs::{FallocateFlags, fallocate};

use crate::directory::{SpawnDir, beside, private, to_json};
use crate::record::ExitRecord;

/// Room for a record with its longest list of strays.
const RESERVED_BYTES: u64 = 32 * 1024;

/// An exit record that is yet to be written.
#[derive(Debug)]
pub(super) struct Testament {
    dir: SpawnDir,
    beside: PathBuf,
    file: File,
}

impl Testament {
    /// Reserves the room.
    pub(super) fn prepare(dir: &SpawnDir) -> io::Result<Self> {
        let beside = beside(&dir.exit_file());
        let file = private().write(true).create(true).truncate(true).open(&beside)?;
        // Where nothing can be reserved, there is the usual risk.
        let _ = fallocate(&file, FallocateFlags::KEEP_SIZE, 0, RESERVED_BYTES);
        Ok(Self { dir: dir.clone(), beside, file })
    }

    /// Writes the record: whole, synced, and only then in its place. `spool` is saved along if the folder is gone.
    pub(super) fn write(mut self, record: &ExitRecord, spool: &File) -> io::Result<()> {
        let bytes = to_json(record)?;
        self.file.write_all(&bytes)?;
        self.file.sync_all()?;
        match fs::rename(&self.beside, self.dir.exit_file()) {
            Ok(()) => {}
            Err(gone) if gone.kind() == io::ErrorKind::NotFound => {
                self.write_again(&bytes, spool)?
            }
            Err(other) => return Err(other),
        }
        File::open(self.dir.path())?.sync_all()
    }

    /// The agent has deleted the prepared file, or the whole folder with it.
    fn write_again(&self, bytes: &[u8], mut spool: &File) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(self.dir.path())?;
        let saved = private().write(true).create_new(true).open(self.dir.spool_file());
        if let Ok(mut saved) = saved {
            spool.rewind()?;
            io::copy(&mut spool, &mut saved)?;
        }
        let mut file = private().write(true).create(true).truncate(true).open(&self.beside)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&self.beside, self.dir.exit_file())
    }
}
