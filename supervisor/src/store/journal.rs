//! `journal.jsonl`: read past anything, written so that what was acknowledged is there after a power cut.
//!
//! What an entry means is decided in [`ratchet_engine::fold`]. Every writer, of any process, goes through [`with_lock`]
//! (OQ-31), so that "read, check, append" is one piece: a proof is recorded once, a spawn is concluded once.

use std::fs::{self, File};
use std::io::{self, Read, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use memchr::{memchr_iter, memmem, memrchr};
use ratchet_engine::fold::JournalView;
use ratchet_engine::journal::{Entry, ReadEntry, parse_line};
use ratchet_engine::name::{SpawnId, StepKey};
use ratchet_telemetry::redact;

use super::file::{self, Doing, FileError, Of as _, folder_of, sync_folder};
use super::layout::{Of, RunDir};
use super::os_lock;

#[cfg(test)]
mod tests;

/// How much of a journal is in memory at a time.
const BLOCK: usize = 256 * 1024;

/// A line longer than this is skipped as broken; the largest message that a shell can hand over is far shorter.
const MAX_LINE: usize = 8 * 1024 * 1024;

/// Folds the whole journal; a missing one is empty.
///
/// # Errors
/// Fails if the file is there and cannot be read. Broken lines are no error (spec `step-and-outcome` 5.2).
pub fn read_view(run: &RunDir) -> Result<JournalView, FileError> {
    let mut view = JournalView::default();
    read_blocks(run, |lines| view.apply_lines(lines))?;
    Ok(view)
}

/// Reads the entries of one key, oldest first.
///
/// # Errors
/// As [`read_view`].
pub fn entries_of(run: &RunDir, key: &StepKey) -> Result<Vec<ReadEntry<'static>>, FileError> {
    let mut entries = Vec::new();
    each_entry_of(run, key, |entry| entries.push(entry.into_owned()))?;
    Ok(entries)
}

/// Counts the entries of one key.
///
/// # Errors
/// As [`read_view`].
pub fn count_of(run: &RunDir, key: &StepKey) -> Result<usize, FileError> {
    let mut count = 0;
    each_entry_of(run, key, |_| count += 1)?;
    Ok(count)
}

/// Appends one entry: on disk when this returns.
///
/// # Errors
/// Fails if anything could not be written or synced; what was half written is no entry and harms no later one.
pub fn append(run: &RunDir, entry: &Entry) -> Result<(), FileError> {
    with_lock(run, |writer| writer.append(entry))
}

/// Runs `act` while no other process writes to this run state. Keep it short: others wait.
///
/// # Errors
/// Fails if the lock cannot be taken, or as `act` does.
pub fn with_lock<T, E: From<FileError>>(
    run: &RunDir,
    act: impl FnOnce(&Writer<'_>) -> Result<T, E>,
) -> Result<T, E> {
    let writer = Writer::lock(run)?;
    act(&writer)
}

/// The right to write to one run state: its journal, `state.json` and `inflight.json`.
#[derive(Debug)]
pub struct Writer<'a> {
    run: &'a RunDir,
    /// Dropping it releases the lock.
    _lock: File,
}

/// Whether an entry that may be there only once was added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recorded {
    /// It was added.
    Now,
    /// One like it was there.
    Before,
}

impl<'a> Writer<'a> {
    fn lock(run: &'a RunDir) -> Result<Self, FileError> {
        let path = run.journal_lock();
        loop {
            make_run_dir(run)?;
            let lock = File::options()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .open(&path)
                .of(&path, Doing::Lock)?;
            os_lock::wait(&lock, &path)?;
            // While we waited the batch may have been archived, lock file and all.
            if os_lock::is_at(&lock, &path).of(&path, Doing::Lock)? {
                return Ok(Self { run, _lock: lock });
            }
        }
    }

    /// Returns the run state this is the right for.
    #[must_use]
    pub fn run(&self) -> &RunDir {
        self.run
    }

    /// Appends one entry; see [`append`].
    ///
    /// # Errors
    /// As [`append`].
    pub fn append(&self, entry: &Entry) -> Result<(), FileError> {
        append_line(&self.run.journal(), clean(entry).to_line())
    }

    /// Appends the entry that concludes a spawn, unless that spawn has been concluded.
    ///
    /// # Errors
    /// As [`append`].
    pub fn conclude(&self, spawn: &SpawnId, entry: &Entry) -> Result<Recorded, FileError> {
        if is_concluded(self.run, spawn)? {
            return Ok(Recorded::Before);
        }
        self.append(entry)?;
        Ok(Recorded::Now)
    }

    /// Appends a proof's verdict, unless its phase has a current one (spec `step-and-outcome` 9.5).
    ///
    /// # Errors
    /// As [`append`].
    pub fn record_proof(&self, entry: &Entry) -> Result<Recorded, FileError> {
        let phase = entry.proof.as_ref().map(|proof| proof.phase.as_str()).unwrap_or_default();
        if read_view(self.run)?.proofs.contains_key(phase) {
            return Ok(Recorded::Before);
        }
        self.append(entry)?;
        Ok(Recorded::Now)
    }
}

/// Hides secrets in the text of an entry. Everything else in it is a name or a word, and must stay what it is.
fn clean(entry: &Entry) -> Entry {
    let mut entry = entry.clone();
    redact::current().clean(&mut entry.message);
    entry
}

/// Appends one line to a file of lines, under the lock: in one write, and on disk when this returns.
pub(super) fn append_line(path: &Path, line: Vec<u8>) -> Result<(), FileError> {
    let write = || -> io::Result<u64> {
        let mut file = File::options().read(true).append(true).create(true).open(path)?;
        let length = file.seek(SeekFrom::End(0))?;
        file.write_all(&closing_a_torn_tail(&file, length, line)?)?;
        file.sync_data()?;
        Ok(length)
    };
    if write().of(path, Doing::Write)? == 0 {
        sync_folder(folder_of(path))?;
    }
    Ok(())
}

/// Tells whether an entry that concludes this spawn is there.
///
/// # Errors
/// As [`read_view`].
pub fn is_concluded(run: &RunDir, spawn: &SpawnId) -> Result<bool, FileError> {
    let id = memmem::Finder::new(spawn.as_str().as_bytes());
    let mut found = false;
    read_blocks(run, |lines| {
        for line in lines_of(lines) {
            found |= id.find(line).is_some()
                && parse_line(line)
                    .is_some_and(|entry| entry.spawn.as_deref() == Some(spawn.as_str()));
        }
    })?;
    Ok(found)
}

/// Tells whether an entry is there that came from a worker under this name.
///
/// # Errors
/// As [`read_view`].
pub fn has_relayed(run: &RunDir, name: &str) -> Result<bool, FileError> {
    let member = memmem::Finder::new(b"\"relayed\"");
    let spelled = serde_json::json!({ "relayed": name }).to_string();
    let spelled = memmem::Finder::new(spelled.trim_matches(['{', '}']).as_bytes());
    let mut found = false;
    read_blocks(run, |lines| {
        found |=
            lines_of(lines).any(|line| member.find(line).is_some() && spelled.find(line).is_some());
    })?;
    Ok(found)
}

/// Reads the entries that conclude a spawn, oldest first.
///
/// # Errors
/// As [`read_view`].
pub fn conclusions(run: &RunDir) -> Result<Vec<ReadEntry<'static>>, FileError> {
    let member = memmem::Finder::new(b"\"spawn\"");
    let mut found = Vec::new();
    read_blocks(run, |lines| {
        for line in lines_of(lines).filter(|line| member.find(line).is_some()) {
            let concluding = parse_line(line).filter(|entry| entry.spawn.is_some());
            found.extend(concluding.map(ReadEntry::into_owned));
        }
    })?;
    Ok(found)
}

/// Reads the latest entry, whatever it is about.
///
/// # Errors
/// As [`read_view`].
pub fn latest(run: &RunDir) -> Result<Option<ReadEntry<'static>>, FileError> {
    let mut latest = None;
    read_blocks(run, |lines| {
        let newest = lines.rsplit(|byte| *byte == b'\n').find_map(parse_line);
        latest = newest.map(ReadEntry::into_owned).or(latest.take());
    })?;
    Ok(latest)
}

/// Makes the folder of a run state. A batch's folder is never made on the way: if it is gone, the batch is.
pub(super) fn make_run_dir(run: &RunDir) -> Result<(), FileError> {
    let made = match run.of() {
        Of::Batch => fs::create_dir(run.dir()),
        Of::Change if run.dir().is_dir() => return Ok(()),
        Of::Change => fs::create_dir_all(run.dir()),
    };
    match made {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && run.dir().is_dir() => Ok(()),
        result => {
            result.of(run.dir(), Doing::MakeFolder)?;
            sync_folder(folder_of(run.dir()))
        }
    }
}

/// Puts a line end before the line if the last one has none, so that a torn line cannot swallow it.
fn closing_a_torn_tail(file: &File, length: u64, mut line: Vec<u8>) -> io::Result<Vec<u8>> {
    let mut last = [b'\n'];
    if length > 0 {
        file.read_exact_at(&mut last, length - 1)?;
    }
    if last != [b'\n'] {
        line.insert(0, b'\n');
    }
    Ok(line)
}

fn each_entry_of(
    run: &RunDir,
    key: &StepKey,
    mut each: impl FnMut(ReadEntry<'_>),
) -> Result<(), FileError> {
    // A line that holds neither the key nor an escape that could spell it is not parsed.
    let spelled = memmem::Finder::new(key.as_str().as_bytes());
    let may_be_of_key = |line: &[u8]| spelled.find(line).is_some() || line.contains(&b'\\');
    read_blocks(run, |lines| {
        for line in lines_of(lines).filter(|line| may_be_of_key(line)) {
            if let Some(entry) = parse_line(line).filter(|entry| entry.change == key.as_str()) {
                each(entry);
            }
        }
    })
}

pub(super) fn lines_of(block: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut start = 0;
    memchr_iter(b'\n', block).chain([block.len()]).map(move |end| {
        let line = &block[start..end];
        start = (end + 1).min(block.len());
        line
    })
}

/// Hands over the journal in blocks of whole lines, without a byte order mark.
fn read_blocks(run: &RunDir, each: impl FnMut(&[u8])) -> Result<(), FileError> {
    let path = run.journal();
    match file::open(&path) {
        Ok(file) => blocks(file, each).of(&path, Doing::Read),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(FileError::new(&path, Doing::Read, error)),
    }
}

/// Reads blocks of whole lines; one that is longer than any line of ours is passed over.
pub(super) fn blocks(mut input: impl Read, mut each: impl FnMut(&[u8])) -> io::Result<()> {
    let mut buffer = vec![0; BLOCK];
    let mut filled = 0;
    let mut skipping = Skipping::No;
    let mut first = true;
    loop {
        if filled == buffer.len() {
            if filled < MAX_LINE {
                buffer.resize(filled * 2, 0);
            } else {
                skipping = Skipping::RestOfLine;
                filled = 0;
            }
        }
        let read = match input.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let before = filled;
        filled += read;
        let Some(newline) = memrchr(b'\n', &buffer[before..filled]) else { continue };
        let end = before + newline + 1;
        each(whole_lines(&buffer[..end], &mut skipping, &mut first));
        buffer.copy_within(end..filled, 0);
        filled -= end;
    }
    if filled > 0 && skipping == Skipping::No {
        each(whole_lines(&buffer[..filled], &mut skipping, &mut first));
    }
    Ok(())
}

#[derive(PartialEq)]
enum Skipping {
    No,
    /// The line that is being read was too long.
    RestOfLine,
}

/// Takes off what is no line: the rest of one that was too long, and a byte order mark.
fn whole_lines<'a>(block: &'a [u8], skipping: &mut Skipping, first: &mut bool) -> &'a [u8] {
    let block = match std::mem::replace(skipping, Skipping::No) {
        Skipping::No => block,
        Skipping::RestOfLine => match memchr::memchr(b'\n', block) {
            Some(end) => &block[end + 1..],
            None => &[],
        },
    };
    match std::mem::replace(first, false) {
        true => block.strip_prefix(b"\xef\xbb\xbf").unwrap_or(block),
        false => block,
    }
}
