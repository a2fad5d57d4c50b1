//! The way of a snapshot to another store. Only what the other side lacks travels, as a thin pack; what arrives is checked
//! before it has a name.

use std::io::{self, Read, Write as _};
use std::process::ChildStdout;

use crate::entry::SnapshotId;
use crate::error::WorkspaceError;
use crate::git::{Running, broken};
use crate::store::{Store, refused, word};

/// How many snapshots of the other side are looked for here; the first are taken for the nearest.
const MOST_SHARED: usize = 16;

/// A pack on its way out: a stream, made while it is read.
#[derive(Debug)]
pub struct Pack {
    running: Running,
    output: ChildStdout,
}

impl Pack {
    /// Tells whether the pack was whole. To be asked when nothing more can be read; half a pack is never taken for one.
    ///
    /// # Errors
    /// If git failed on the way.
    pub fn finish(self) -> Result<(), WorkspaceError> {
        drop(self.output);
        self.running.finish()
    }
}

impl Read for Pack {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.output.read(buffer)
    }
}

impl Store {
    /// Packs what a store lacks for a snapshot that has all of `others`. Those of them that are not here count for
    /// nothing, as do all but the first sixteen.
    ///
    /// # Errors
    /// If the snapshot is not here or git refuses.
    pub fn pack(&self, id: SnapshotId, others: &[SnapshotId]) -> Result<Pack, WorkspaceError> {
        const DOING: &str = "pack-objects";
        if !self.has(id)? {
            return Err(WorkspaceError::Unknown { id });
        }
        let mut shared = Vec::new();
        for other in others.iter().take(MOST_SHARED) {
            if self.has(*other)? {
                shared.push(other);
            }
        }
        let asked: String = std::iter::once(format!("{id}\n"))
            .chain(shared.iter().map(|other| format!("^{other}\n")))
            .collect();
        let arguments =
            ["--quiet", "--revs", "--thin", "--shallow", "--delta-base-offset", "--stdout"];
        let mut running = self.git().start(DOING, &arguments)?;
        let told = running.input().and_then(|mut input| input.write_all(asked.as_bytes()));
        if let Err(error) = told {
            running.finish()?;
            return Err(broken(DOING, &error));
        }
        let output = running.output()?;
        Ok(Pack { running, output })
    }

    /// Tells whether a snapshot is here, with everything in it.
    ///
    /// # Errors
    /// If git refuses.
    pub fn has(&self, id: SnapshotId) -> Result<bool, WorkspaceError> {
        if self.snapshots()?.binary_search(&id).is_ok() {
            return Ok(true);
        }
        // One that nobody keeps: whatever is not known to be whole is looked through.
        match self
            .git()
            .ask("rev-list", ["--objects", "--quiet", &id.to_string(), "--not", "--all"])
        {
            Ok(_) => Ok(true),
            Err(WorkspaceError::Git { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Takes a pack in that brings a snapshot, checks it, and keeps the snapshot under a name. `pack` may be empty if
    /// everything is here. At most `limit` bytes are taken.
    ///
    /// # Errors
    /// If the pack is damaged, too large or not enough; if it holds what no snapshot of ours holds, such as a way out of the
    /// folder; if the disk is full or git refuses.
    pub fn receive(
        &self,
        mut pack: impl Read,
        id: SnapshotId,
        keep: &str,
        limit: u64,
    ) -> Result<(), WorkspaceError> {
        let mut first = [0; 4096];
        let begun = fill(&mut pack, &mut first)?;
        if begun > 0 {
            self.index(&mut (&first[..begun]).chain(pack), limit)?;
        }
        if !self.has(id)? {
            return Err(WorkspaceError::Unknown { id });
        }
        if self.git().ask("cat-file", ["-t", &id.to_string()])?.trim_ascii() != b"commit" {
            return Err(refused("it is no snapshot"));
        }
        self.rules(id)?;
        self.listing(id)?;
        self.keep(word(keep)?, id)
    }

    fn index(&self, pack: &mut dyn Read, limit: u64) -> Result<(), WorkspaceError> {
        const DOING: &str = "index-pack";
        let most = format!("--max-input-size={limit}");
        // Nobody here reads what a submodule or an attribute says; files of such a name are files.
        let strict = "--strict=gitmodulesBlob=ignore,gitmodulesLarge=ignore,gitmodulesMissing=ignore,\
                      gitmodulesName=ignore,gitmodulesParse=ignore,gitmodulesPath=ignore,gitmodulesSymlink=ignore,\
                      gitmodulesUpdate=ignore,gitmodulesUrl=ignore,gitattributesBlob=ignore,gitattributesLarge=ignore,\
                      gitattributesLineLength=ignore,gitattributesMissing=ignore,gitattributesSymlink=ignore,\
                      gitignoreSymlink=ignore,mailmapSymlink=ignore,missingNameBeforeEmail=ignore,\
                      missingEmail=ignore,emptyName=error,badFilemode=error";
        let mut running = self.git().start(DOING, &["--stdin", "--fix-thin", strict, &most])?;
        let mut input = running.input().map_err(|error| broken(DOING, &error))?;
        let mut buffer = vec![0; 64 * 1024];
        let fed = loop {
            match pack.read(&mut buffer) {
                Ok(0) => break Ok(()),
                // Whoever sends broke off: what came so far is no pack, and git is not asked for its opinion.
                Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                    return Err(WorkspaceError::Refused { why: format!("it broke off: {error}") });
                }
                Err(_) => {}
                Ok(read) => {
                    if let Err(error) = input.write_all(&buffer[..read]) {
                        break Err(error);
                    }
                }
            }
        };
        drop(input);
        match running.finish() {
            Err(WorkspaceError::Git { said, .. }) if said.contains("maximum allowed size") => {
                Err(WorkspaceError::TooLarge { limit })
            }
            Err(WorkspaceError::Git { said, .. }) => {
                Err(refused(format!("git does not take it: {said}")))
            }
            Err(error) => Err(error),
            Ok(()) => fed.map_err(|error| broken(DOING, &error)),
        }
    }
}

/// Reads until the buffer is full or nothing more comes.
fn fill(from: &mut impl Read, buffer: &mut [u8]) -> Result<usize, WorkspaceError> {
    let mut filled = 0;
    while filled < buffer.len() {
        match from.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                return Err(WorkspaceError::Refused { why: format!("it broke off: {error}") });
            }
        }
    }
    Ok(filled)
}
