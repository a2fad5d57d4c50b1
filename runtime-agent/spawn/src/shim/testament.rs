//! Writes the exit record, which must be on the disk whatever happened to the disk: its room is reserved before the
//! agent starts, and whatever the agent has made of the folder is put right.

use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

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

    /// Writes the record: whole, synced, and only then in its place. What the agent has put in its way makes room; a folder
    /// that it has deleted is made again, and `spool` saved in it.
    pub(super) fn write(mut self, record: &ExitRecord, spool: Option<&File>) -> io::Result<()> {
        let bytes = to_json(record)?;
        fill(&mut self.file, &bytes)
            .and_then(|()| self.put_in_place(&self.file))
            .or_else(|_| self.write_again(&bytes, spool))?;
        File::open(self.dir.path())?.sync_all()
    }

    /// Gives the prepared file its name, if it is still the one that was prepared.
    fn put_in_place(&self, file: &File) -> io::Result<()> {
        let (ours, named) = (file.metadata()?, self.beside.symlink_metadata()?);
        if (ours.dev(), ours.ino()) != (named.dev(), named.ino()) {
            return Err(io::Error::other("the prepared exit record was replaced"));
        }
        let place = self.dir.exit_file();
        match fs::rename(&self.beside, &place) {
            Err(folder) if folder.kind() == io::ErrorKind::IsADirectory => {
                clear(&place)?;
                fs::rename(&self.beside, &place)
            }
            done => done,
        }
    }

    fn write_again(&self, bytes: &[u8], spool: Option<&File>) -> io::Result<()> {
        self.make_folder_again()?;
        let saved = private().write(true).create_new(true).open(self.dir.spool_file());
        if let (Ok(mut saved), Some(mut spool)) = (saved, spool) {
            spool.rewind()?;
            io::copy(&mut spool, &mut saved)?;
        }
        clear(&self.beside)?;
        let mut file = private().write(true).create_new(true).open(&self.beside)?;
        fill(&mut file, bytes)?;
        self.put_in_place(&file)
    }

    fn make_folder_again(&self) -> io::Result<()> {
        let path = self.dir.path();
        match path.symlink_metadata() {
            // The agent may have locked everyone out.
            Ok(found) if found.is_dir() => {
                return fs::set_permissions(path, Permissions::from_mode(0o700));
            }
            Ok(_) => clear(path)?,
            Err(_) => {}
        }
        DirBuilder::new().recursive(true).mode(0o700).create(path)
    }
}

/// Writes all that is to be in a file, and cuts off what somebody else has written there.
fn fill(file: &mut File, bytes: &[u8]) -> io::Result<()> {
    file.write_all(bytes)?;
    file.set_len(bytes.len() as u64)?;
    file.sync_all()
}

/// Makes a place free. A folder is only moved away, however much is in it.
fn clear(path: &Path) -> io::Result<()> {
    match path.symlink_metadata() {
        Ok(found) if found.is_dir() => {
            let mut aside = path.as_os_str().to_owned();
            aside.push(".aside");
            fs::rename(path, aside).or_else(|_| fs::remove_dir_all(path))
        }
        Ok(_) => fs::remove_file(path),
        Err(missing) if missing.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(other) => Err(other),
    }
}
