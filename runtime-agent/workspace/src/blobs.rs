//! Gives the bytes of objects: one `git cat-file` that is asked one after another. A large object is never in memory.

use std::io::{self, BufRead as _, BufReader, Read, Write};
use std::process::{ChildStdin, ChildStdout};

use crate::entry::Oid;
use crate::error::WorkspaceError;
use crate::git::{Git, Running, broken};
use crate::store::refused;

const DOING: &str = "cat-file";

/// The largest target of a link, in bytes: what the kernel takes.
const LONGEST_TARGET: u64 = 4095;

/// A running conversation about objects.
#[derive(Debug)]
pub(crate) struct Blobs {
    _running: Running,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Blobs {
    pub(crate) fn start(git: &Git) -> Result<Self, WorkspaceError> {
        let mut running = git.start(DOING, &["--batch"])?;
        let input = running.input().map_err(|error| broken(DOING, &error))?;
        let output = BufReader::with_capacity(64 * 1024, running.output()?);
        Ok(Self { _running: running, input, output })
    }

    /// Gives an object's bytes to `each`, piece by piece. It is read to its end whatever `each` says of a piece; its first
    /// refusal is the result.
    pub(crate) fn read(
        &mut self,
        oid: Oid,
        mut each: impl FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<io::Result<()>, WorkspaceError> {
        let mut left = self.ask(oid)?;
        let mut outcome = Ok(());
        while left > 0 {
            let piece = self.output.fill_buf().map_err(|error| broken(DOING, &error))?;
            if piece.is_empty() {
                return Err(broken(DOING, &io::ErrorKind::UnexpectedEof.into()));
            }
            let length = piece.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            if outcome.is_ok() {
                outcome = each(&piece[..length]);
            }
            self.output.consume(length);
            left -= length as u64;
        }
        let mut newline = [0];
        self.output.read_exact(&mut newline).map_err(|error| broken(DOING, &error))?;
        Ok(outcome)
    }

    /// Gives the target of a link.
    pub(crate) fn target(&mut self, oid: Oid) -> Result<Vec<u8>, WorkspaceError> {
        let mut target = Vec::new();
        let kept = self.read(oid, |piece| {
            if (target.len() + piece.len()) as u64 > LONGEST_TARGET {
                return Err(io::ErrorKind::FileTooLarge.into());
            }
            target.extend_from_slice(piece);
            Ok(())
        })?;
        if kept.is_err() || target.is_empty() || target.contains(&0) {
            return Err(refused("it has a link to what no link can point at"));
        }
        Ok(target)
    }

    /// Asks for an object and gives its size.
    fn ask(&mut self, oid: Oid) -> Result<u64, WorkspaceError> {
        writeln!(self.input, "{oid}").map_err(|error| broken(DOING, &error))?;
        let mut line = String::new();
        self.output.read_line(&mut line).map_err(|error| broken(DOING, &error))?;
        let mut words = line.split_whitespace().skip(1);
        match (words.next(), words.next().and_then(|size| size.parse().ok())) {
            (Some("blob"), Some(size)) => Ok(size),
            _ => Err(WorkspaceError::Git {
                doing: DOING,
                said: format!("no file is called {oid} here"),
            }),
        }
    }
}
