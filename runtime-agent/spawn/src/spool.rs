//! The spool: what the agent printed, byte for byte, in frames. This file is the format and the reader.
//!
//! ```text
//! "RSPOOL1\n"  then frames:  magic u8 · stream u8 · 0 u16 · length u32 · time u64 · bytes      (little endian)
//! ```
//!
//! The time is in microseconds since 1970. A position is the offset of a frame in the file; it stays valid for ever.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use crate::directory::{SpawnDir, open_plain, private};

pub(crate) const OPENING: &[u8; 8] = b"RSPOOL1\n";
pub(crate) const HEADER_BYTES: usize = 16;
const MAGIC: u8 = 0xF7;

/// The most bytes in one frame.
pub const LONGEST_FRAME: usize = 64 * 1024;

/// How much of a spool is read at once at first; also about what a reader keeps in memory that follows a quiet agent.
const FIRST_WINDOW: usize = 4 * 1024;

/// The same, for a reader that has found more than that.
const WINDOW_BYTES: usize = 256 * 1024;

/// One piece of output, as it was read from the agent. Frames do not respect lines or characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// Where it stands.
    pub position: Position,
    /// Where the next one stands: the position to attach at after this frame.
    pub next: Position,
    /// Which stream.
    pub stream: Stream,
    /// When it was read, in microseconds since 1970.
    pub time_us: u64,
    /// The bytes; at least one, at most [`LONGEST_FRAME`].
    pub bytes: Vec<u8>,
}

/// Which of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// A place in a spool: a frame's beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position(u64);

/// A spool that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum SpoolError {
    /// No frame begins there: the position is wrong, or the file is damaged.
    #[error("no frame begins at byte {position} of the spool")]
    NoFrame {
        /// The offset.
        position: u64,
    },
    /// The disk refused.
    #[error("cannot read the spool")]
    Disk(#[from] io::Error),
}

impl Position {
    /// The beginning of every spool.
    pub const START: Self = Self(OPENING.len() as u64);

    /// Takes an offset that was given out before; 0 is the beginning too.
    #[must_use]
    pub fn from_offset(offset: u64) -> Self {
        Self(offset.max(Self::START.0))
    }

    /// Gives the offset, to be kept or sent.
    #[must_use]
    pub fn offset(self) -> u64 {
        self.0
    }
}

/// The frames that are in a spool now, oldest first. A frame that is still being written is not among them.
#[derive(Debug)]
pub struct Frames {
    reader: SpoolReader,
}

impl Frames {
    /// Opens the spool of a spawn at a position.
    ///
    /// # Errors
    /// The disk's. A spawn that has not begun has an empty spool.
    pub fn open(dir: &SpawnDir, position: Position) -> Result<Self, SpoolError> {
        let mut reader = SpoolReader::new(position);
        reader.open(dir)?;
        Ok(Self { reader })
    }
}

/// After an error there is nothing more.
impl Iterator for Frames {
    type Item = Result<Frame, SpoolError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.reader.next_frame().transpose()
    }
}

/// Reads a spool that may still grow, through a window of bounded size.
#[derive(Debug)]
pub(crate) struct SpoolReader {
    source: Source,
    position: u64,
    /// Bytes of the file from `position` on: `window[begin..end]`.
    window: Vec<u8>,
    begin: usize,
    end: usize,
}

#[derive(Debug)]
enum Source {
    /// It is not there, or nobody has looked yet.
    NotOpen,
    Open(File),
    /// It could not be read on, and whoever asked was told.
    GivenUp,
}

struct Header {
    stream: Stream,
    length: usize,
    time_us: u64,
}

impl SpoolReader {
    pub(crate) fn new(position: Position) -> Self {
        Self { source: Source::NotOpen, position: position.0, window: Vec::new(), begin: 0, end: 0 }
    }

    pub(crate) fn position(&self) -> Position {
        Position(self.position)
    }

    /// Tells whether the file is still to be opened.
    pub(crate) fn is_to_be_opened(&self) -> bool {
        matches!(self.source, Source::NotOpen)
    }

    /// Opens the file if it is there; what it is called may be gone later.
    pub(crate) fn open(&mut self, dir: &SpawnDir) -> Result<(), SpoolError> {
        match open_plain(private().read(true), &dir.spool_file()) {
            Ok(file) => {
                self.window = vec![0; FIRST_WINDOW];
                self.source = Source::Open(file);
                Ok(())
            }
            Err(missing) if missing.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(other) => {
                self.source = Source::GivenUp;
                Err(other.into())
            }
        }
    }

    /// Gives the next whole frame; `None` if there is none now, or never again after an error.
    pub(crate) fn next_frame(&mut self) -> Result<Option<Frame>, SpoolError> {
        let next = self.decode_next();
        if next.is_err() {
            self.source = Source::GivenUp;
        }
        next
    }

    fn decode_next(&mut self) -> Result<Option<Frame>, SpoolError> {
        let position = self.position;
        let Some(header) = self.header()? else { return Ok(None) };
        let whole = HEADER_BYTES + header.length;
        if !self.fill(whole)? {
            return Ok(None);
        }
        let bytes = self.window[self.begin + HEADER_BYTES..self.begin + whole].to_vec();
        self.begin += whole;
        self.position += whole as u64;
        Ok(Some(Frame {
            position: Position(position),
            next: Position(self.position),
            stream: header.stream,
            time_us: header.time_us,
            bytes,
        }))
    }

    /// Reads the header at the position. What is none is read once more, from the file itself: a writer may have been in
    /// the middle of it. Zeros are a place that was not written yet, also where a crash of the machine has left them.
    fn header(&mut self) -> Result<Option<Header>, SpoolError> {
        for _ in 0..2 {
            if !self.fill(HEADER_BYTES)? {
                return Ok(None);
            }
            let bytes = &self.window[self.begin..self.begin + HEADER_BYTES];
            if let Some(header) = Header::decode(bytes) {
                return Ok(Some(header));
            }
            let unwritten = bytes.iter().all(|byte| *byte == 0);
            self.end = self.begin;
            if unwritten {
                return Ok(None);
            }
        }
        Err(SpoolError::NoFrame { position: self.position })
    }

    /// Makes sure that `wanted` bytes are in the window, if the file has them.
    fn fill(&mut self, wanted: usize) -> io::Result<bool> {
        let Source::Open(file) = &self.source else { return Ok(false) };
        while self.end - self.begin < wanted {
            // What fills it has more behind it.
            let is_full = self.end == self.window.len();
            self.window.copy_within(self.begin..self.end, 0);
            self.end -= self.begin;
            self.begin = 0;
            if is_full || wanted > self.window.len() {
                self.window.resize(WINDOW_BYTES, 0);
            }
            let from = self.position + self.end as u64;
            match file.read_at(&mut self.window[self.end..], from) {
                Ok(0) => return Ok(false),
                Ok(count) => self.end += count,
                Err(interrupted) if interrupted.kind() == io::ErrorKind::Interrupted => {}
                Err(other) => return Err(other),
            }
        }
        Ok(true)
    }
}

impl Header {
    fn decode(bytes: &[u8]) -> Option<Self> {
        let (&[magic, stream, zero, zero_too], rest) = bytes.split_first_chunk::<4>()?;
        let (&length, rest) = rest.split_first_chunk::<4>()?;
        let (&time, _) = rest.split_first_chunk::<8>()?;
        let stream = match stream {
            1 => Stream::Stdout,
            2 => Stream::Stderr,
            _ => return None,
        };
        let length = usize::try_from(u32::from_le_bytes(length)).ok()?;
        let sound = magic == MAGIC && zero == 0 && zero_too == 0;
        (sound && (1..=LONGEST_FRAME).contains(&length)).then_some(Self {
            stream,
            length,
            time_us: u64::from_le_bytes(time),
        })
    }
}

/// Encodes a frame's header. `length` is that of the bytes that follow.
pub(crate) fn encode_header(stream: Stream, length: usize, time_us: u64) -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    header[0] = MAGIC;
    header[1] = match stream {
        Stream::Stdout => 1,
        Stream::Stderr => 2,
    };
    let length = u32::try_from(length).expect("a frame is at most LONGEST_FRAME bytes");
    header[4..8].copy_from_slice(&length.to_le_bytes());
    header[8..].copy_from_slice(&time_us.to_le_bytes());
    header
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::testing::asked;

    fn frame(word: &[u8]) -> Vec<u8> {
        let mut bytes = encode_header(Stream::Stdout, word.len(), 1).to_vec();
        bytes.extend_from_slice(word);
        bytes
    }

    /// A spool with one frame, a reader that has read it, and the file to go on with.
    fn after_one() -> (tempfile::TempDir, SpoolReader, File) {
        let root = tempfile::tempdir().unwrap();
        let dir = asked(root.path(), "one");
        fs::write(dir.spool_file(), [&OPENING[..], &frame(b"first")].concat()).unwrap();
        let mut reader = SpoolReader::new(Position::START);
        reader.open(&dir).unwrap();
        assert_eq!(reader.next_frame().unwrap().unwrap().bytes, b"first");
        let file = fs::File::options().read(true).write(true).open(dir.spool_file()).unwrap();
        (root, reader, file)
    }

    #[test]
    fn a_frame_that_a_living_writer_is_in_the_middle_of_is_awaited_however_it_looks_meanwhile() {
        let whole = frame(b"second");
        for cut in 0..=whole.len() {
            let (_root, mut reader, file) = after_one();
            let at = reader.position().offset();
            // The room is there before the bytes are: zeros.
            file.set_len(at + whole.len() as u64).unwrap();
            assert_eq!(reader.next_frame().unwrap(), None, "{cut}");
            file.set_len(at).unwrap();
            file.write_all_at(&whole[..cut], at).unwrap();
            let seen = reader.next_frame().unwrap();
            assert_eq!(seen.is_some(), cut == whole.len(), "{cut}");
            file.write_all_at(&whole[cut..], at + cut as u64).unwrap();
            let frame = seen.or_else(|| reader.next_frame().unwrap()).unwrap();
            assert_eq!(frame.bytes, b"second", "{cut}");
        }
    }

    #[test]
    fn a_header_that_was_read_half_written_is_read_again_before_it_is_called_damage() {
        let (_root, mut reader, file) = after_one();
        let (at, whole) = (reader.position().offset(), frame(b"second"));
        file.write_all_at(&[MAGIC; HEADER_BYTES], at).unwrap();
        assert!(reader.fill(HEADER_BYTES).unwrap(), "it is in the window now");
        file.write_all_at(&whole, at).unwrap();
        assert_eq!(reader.next_frame().unwrap().unwrap().bytes, b"second");
    }

    #[test]
    fn what_is_no_frame_and_stays_none_is_told() {
        let (_root, mut reader, file) = after_one();
        let at = reader.position().offset();
        file.write_all_at(&[b'x'; 64], at).unwrap();
        let told = reader.next_frame().unwrap_err();
        assert!(matches!(told, SpoolError::NoFrame { position } if position == at), "{told:?}");
        assert_eq!(reader.next_frame().unwrap(), None);
    }
}
