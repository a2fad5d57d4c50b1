//! The writing side of the spool: counts, keeps to the output limit, and survives a full disk.

use std::fs::File;
use std::io::{self, IoSlice, Write};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::directory::{SpawnDir, private};
use crate::record::Output;
use crate::spool::{HEADER_BYTES, OPENING, Stream, encode_header};

/// The spool, open for writing.
#[derive(Debug)]
pub(super) struct Spool {
    file: File,
    limit: Option<u64>,
    output: Output,
    trouble: Option<Trouble>,
}

/// Why nothing more is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Trouble {
    /// The agent printed more than it may, in bytes.
    Limit(u64),
    /// The disk refused.
    Disk(String),
}

impl Spool {
    pub(super) fn create(dir: &SpawnDir, limit: Option<u64>) -> io::Result<Self> {
        let mut file = private().read(true).write(true).create_new(true).open(dir.spool_file())?;
        file.write_all(OPENING)?;
        let output = Output { spool_bytes: OPENING.len() as u64, ..Output::default() };
        Ok(Self { file, limit, output, trouble: None })
    }

    /// Keeps what was read, at most [`crate::LONGEST_FRAME`] bytes; after a trouble it is only counted.
    pub(super) fn keep(&mut self, stream: Stream, bytes: &[u8]) {
        let kept = self.output.stdout_bytes + self.output.stderr_bytes;
        let room = match (&self.trouble, self.limit) {
            (Some(_), _) => 0,
            (None, None) => bytes.len(),
            (None, Some(limit)) => {
                usize::try_from(limit - kept).unwrap_or(usize::MAX).min(bytes.len())
            }
        };
        let fitting = &bytes[..room];
        if !fitting.is_empty()
            && let Err(refused) = self.write_frame(stream, fitting)
        {
            self.trouble = Some(Trouble::Disk(refused.to_string()));
            self.output.discarded_bytes += bytes.len() as u64;
            return;
        }
        self.output.discarded_bytes += (bytes.len() - room) as u64;
        if let (None, Some(limit)) = (&self.trouble, self.limit)
            && room < bytes.len()
        {
            self.trouble = Some(Trouble::Limit(limit));
        }
    }

    pub(super) fn trouble(&self) -> Option<&Trouble> {
        self.trouble.as_ref()
    }

    pub(super) fn output(&self) -> Output {
        self.output
    }

    /// Gives the file, to be saved when its folder is gone.
    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// Writes one frame in one piece. What a failed write has left of it stays: nothing is written after it, readers take
    /// it for a frame that is still being written, and cutting it off under their eyes would show them zeros.
    fn write_frame(&mut self, stream: Stream, bytes: &[u8]) -> io::Result<()> {
        let header = encode_header(stream, bytes.len(), now_us());
        let mut pieces = [IoSlice::new(&header), IoSlice::new(bytes)];
        let mut rest = &mut pieces[..];
        while !rest.is_empty() {
            match self.file.write_vectored(rest) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => IoSlice::advance_slices(&mut rest, count),
                Err(interrupted) if interrupted.kind() == io::ErrorKind::Interrupted => {}
                Err(refused) => return Err(refused),
            }
        }
        self.output.frames += 1;
        self.output.spool_bytes += (HEADER_BYTES + bytes.len()) as u64;
        *match stream {
            Stream::Stdout => &mut self.output.stdout_bytes,
            Stream::Stderr => &mut self.output.stderr_bytes,
        } += bytes.len() as u64;
        Ok(())
    }
}

pub(super) fn now_us() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spool::{Frames, Position};
    use crate::testing::asked;

    fn spool(limit: Option<u64>) -> (tempfile::TempDir, SpawnDir, Spool) {
        let root = tempfile::tempdir().unwrap();
        let dir = asked(root.path(), "one");
        let spool = Spool::create(&dir, limit).unwrap();
        (root, dir, spool)
    }

    fn kept(dir: &SpawnDir) -> Vec<u8> {
        Frames::open(dir, Position::START).unwrap().flat_map(|frame| frame.unwrap().bytes).collect()
    }

    #[test]
    fn exactly_the_limit_is_no_trouble_and_one_byte_more_is() {
        let (_root, dir, mut spool) = spool(Some(5));
        spool.keep(Stream::Stdout, b"abc");
        spool.keep(Stream::Stderr, b"de");
        assert_eq!(spool.trouble(), None);
        spool.keep(Stream::Stdout, b"f");
        assert_eq!(spool.trouble(), Some(&Trouble::Limit(5)));
        spool.keep(Stream::Stdout, b"gh");
        assert_eq!(spool.output().discarded_bytes, 3);
        assert_eq!(kept(&dir), b"abcde");
    }

    #[test]
    fn the_piece_that_crosses_the_limit_is_kept_up_to_it() {
        let (_root, dir, mut spool) = spool(Some(5));
        spool.keep(Stream::Stdout, b"abcdefgh");
        assert_eq!(kept(&dir), b"abcde");
        assert_eq!(spool.output().discarded_bytes, 3);
    }
}
