//! The log of relayed entries: append only, one record a line, synced before it is told.
//!
//! ```text
//! "RRELAY1\n"  then records:  check u64 · length u32 · file u16 · kind u8 · 0 u8 · bytes      (little endian)
//! ```
//!
//! The check is the beginning of the SHA-256 of all that follows it in the record, and of its sequence number: a record that a
//! crash has torn, or left full of zeros, is no record, and the log ends before it.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use sha2::{Digest as _, Sha256};

const OPENING: &[u8; 8] = b"RRELAY1\n";
const HEADER: usize = 16;

/// The longest line that is relayed, in bytes.
pub(crate) const LONGEST_LINE: usize = 1024 * 1024;

/// One line of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Counts from 1, over all files.
    pub(crate) sequence: u64,
    /// Which file.
    pub(crate) file: usize,
    /// Whether it is the first of a file that was begun anew.
    pub(crate) start: Start,
    /// Without its newline.
    pub(crate) line: Vec<u8>,
}

/// Where a line stands in its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Start {
    /// After the one before it.
    After,
    /// At the beginning of the file, which is another one than before.
    Anew,
}

/// The log, open for writing. There is one writer.
#[derive(Debug)]
pub(crate) struct Log {
    file: File,
    last: u64,
}

impl Log {
    /// Opens the log, or makes it; gives what is in it. What a crash has torn off its end is cut away.
    pub(crate) fn open(path: &Path) -> io::Result<(Self, Vec<Entry>)> {
        let mut file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(path)?;
        if file.metadata()?.len() < OPENING.len() as u64 {
            file.set_len(0)?;
            file.write_all(OPENING)?;
            file.sync_all()?;
        }
        let mut entries = Entries::open(path)?;
        let known: Vec<Entry> = entries.by_ref().collect::<io::Result<_>>()?;
        let end = entries.position;
        file.set_len(end)?;
        file.seek(SeekFrom::Start(end))?;
        Ok((Self { file, last: known.last().map_or(0, |entry| entry.sequence) }, known))
    }

    /// Gives the sequence number of the last entry.
    pub(crate) fn last(&self) -> u64 {
        self.last
    }

    /// Appends lines; they are on the disk when this returns. If that fails, the log is as it was.
    pub(crate) fn append(&mut self, lines: &[(usize, Start, Vec<u8>)]) -> io::Result<()> {
        let before = self.file.stream_position()?;
        let mut bytes = Vec::new();
        for (sequence, (file, start, line)) in (self.last + 1..).zip(lines) {
            bytes.extend_from_slice(&encode(sequence, *file, *start, line)?);
        }
        let written = self.file.write_all(&bytes).and_then(|()| self.file.sync_data());
        if let Err(error) = written {
            // What is there of it was told to nobody.
            self.file.set_len(before)?;
            self.file.seek(SeekFrom::Start(before))?;
            return Err(error);
        }
        self.last += lines.len() as u64;
        Ok(())
    }
}

fn encode(sequence: u64, file: usize, start: Start, line: &[u8]) -> io::Result<Vec<u8>> {
    let odd = |_| io::Error::from(io::ErrorKind::InvalidInput);
    let mut body = Vec::with_capacity(HEADER + line.len());
    body.extend_from_slice(&u32::try_from(line.len()).map_err(odd)?.to_le_bytes());
    body.extend_from_slice(&u16::try_from(file).map_err(odd)?.to_le_bytes());
    body.push(match start {
        Start::After => 0,
        Start::Anew => 1,
    });
    body.push(0);
    body.extend_from_slice(line);
    let mut record = check(sequence, &body).to_vec();
    record.append(&mut body);
    Ok(record)
}

fn check(sequence: u64, body: &[u8]) -> [u8; 8] {
    let whole = Sha256::new().chain_update(sequence.to_le_bytes()).chain_update(body).finalize();
    let (first, _) = whole.split_at(8);
    first.try_into().expect("eight bytes are eight bytes")
}

/// The entries that are in a log now, oldest first. More may be there when it is asked again.
#[derive(Debug)]
pub(crate) struct Entries {
    file: BufReader<File>,
    position: u64,
    sequence: u64,
}

impl Entries {
    /// Opens a log for reading.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let mut file = File::open(path)?;
        let position = file.seek(SeekFrom::Start(OPENING.len() as u64))?;
        Ok(Self { file: BufReader::new(file), position, sequence: 0 })
    }

    /// Gives the sequence number of the last one that was read.
    pub(crate) fn sequence(&self) -> u64 {
        self.sequence
    }

    fn read(&mut self) -> io::Result<Option<Entry>> {
        self.file.seek(SeekFrom::Start(self.position))?;
        let mut header = [0; HEADER];
        if !fill(&mut self.file, &mut header)? {
            return Ok(None);
        }
        let (said, rest) = header.split_at(8);
        let length = u32::from_le_bytes([rest[0], rest[1], rest[2], rest[3]]) as usize;
        if length > LONGEST_LINE {
            return Ok(None);
        }
        let mut body = rest.to_vec();
        body.resize(rest.len() + length, 0);
        if !fill(&mut self.file, &mut body[rest.len()..])? {
            return Ok(None);
        }
        let sequence = self.sequence + 1;
        if said != check(sequence, &body) {
            return Ok(None);
        }
        self.position += (HEADER + length) as u64;
        self.sequence = sequence;
        Ok(Some(Entry {
            sequence,
            file: usize::from(u16::from_le_bytes([rest[4], rest[5]])),
            start: if rest[6] == 0 { Start::After } else { Start::Anew },
            line: body.split_off(rest.len()),
        }))
    }
}

impl Iterator for Entries {
    type Item = io::Result<Entry>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read().transpose()
    }
}

/// Fills a buffer; says no if there is not enough.
fn fill(from: &mut impl Read, buffer: &mut [u8]) -> io::Result<bool> {
    match from.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn lines(texts: &[&str]) -> Vec<(usize, Start, Vec<u8>)> {
        texts.iter().map(|text| (1, Start::After, text.as_bytes().to_vec())).collect()
    }

    fn texts(entries: &[Entry]) -> Vec<String> {
        let text =
            |entry: &Entry| format!("{} {}", entry.sequence, String::from_utf8_lossy(&entry.line));
        entries.iter().map(text).collect()
    }

    #[test]
    fn what_was_appended_is_read_in_order_by_the_next_life_and_by_who_looks_on() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("relay");
        let (mut log, known) = Log::open(&path).unwrap();
        assert!(known.is_empty());
        let mut watching = Entries::open(&path).unwrap();
        assert!(watching.next().is_none());
        log.append(&lines(&["a", ""])).unwrap();
        assert_eq!(
            texts(&watching.by_ref().collect::<io::Result<Vec<_>>>().unwrap()),
            ["1 a", "2 "]
        );
        log.append(&lines(&["c"])).unwrap();
        assert_eq!(texts(&[watching.next().unwrap().unwrap()]), ["3 c"]);
        let (mut log, known) = Log::open(&path).unwrap();
        assert_eq!(texts(&known), ["1 a", "2 ", "3 c"]);
        log.append(&lines(&["d"])).unwrap();
        assert_eq!(texts(&[watching.next().unwrap().unwrap()]), ["4 d"]);
    }

    #[test]
    fn a_log_that_was_torn_anywhere_goes_on_after_its_last_whole_entry() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("relay");
        let (mut log, _) = Log::open(&path).unwrap();
        log.append(&lines(&["one", "two"])).unwrap();
        let whole = fs::read(&path).unwrap();
        for length in 0..whole.len() {
            for filler in [0, 7] {
                let mut torn = whole[..length].to_vec();
                torn.resize(whole.len(), filler);
                fs::write(&path, if filler == 7 { &whole[..length] } else { &torn[..] }).unwrap();
                let Ok((mut log, known)) = Log::open(&path) else {
                    panic!("cut at {length}");
                };
                let before = known.len();
                assert!(before < 3);
                log.append(&lines(&["three"])).unwrap();
                let (_, known) = Log::open(&path).unwrap();
                assert_eq!(known.len(), before + 1, "cut at {length}");
                assert_eq!(known[before].line, b"three");
            }
        }
    }
}
