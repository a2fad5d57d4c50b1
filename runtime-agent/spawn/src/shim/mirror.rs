//! The shim of a command that runs on another machine: the folder here gets the same frames, at the same positions, and in
//! the end the same record, so that whoever watches the folder cannot tell.
//!
//! It starts nothing. That a command starts once is the other machine's to see to; here it only counts as started from the
//! moment on at which it may be. A mirror that was killed is taken up by the next one, where it was. Whoever holds one is a
//! process of its own, as every shim is: its lock is a process's ([`crate::lock`]).

use std::fs::File;
use std::io::{self, IoSlice, Write as _};
use std::os::fd::OwnedFd;

use super::output::now_us;
use super::session::just_started;
use super::testament::Testament;
use crate::directory::{SpawnDir, open_plain, private, read_json, replace_json};
use crate::lock::{self, Held};
use crate::record::{End, ExitRecord, Output};
use crate::spool::{Frame, Frames, HEADER_BYTES, OPENING, Position, SpoolError, encode_header};
use crate::standing::{Lost, Standing, settled, was_started};
use crate::stop::StopRequest;

/// A spawn that is mirrored here. Nobody else holds it while this lives.
#[derive(Debug)]
pub struct Mirror {
    dir: SpawnDir,
    lock: Held,
    spool: File,
    output: Output,
    testament: Testament,
    taken: Taken,
}

/// How a mirror found its spawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// Nothing of it was ever asked of another machine.
    New,
    /// An earlier mirror was killed, after it may have been.
    Again,
}

impl Mirror {
    /// Takes a spawn up; `None` if another holds it, or it is over or given up.
    ///
    /// # Errors
    /// The disk's, and `InvalidData` for a spool that is none.
    pub fn take(dir: &SpawnDir) -> io::Result<Option<Self>> {
        let Some(lock) = lock::take(&dir.lock_file())? else { return Ok(None) };
        if dir.given_up().is_some() {
            return Ok(None);
        }
        let taken = match settled(dir)? {
            Standing::NeverStarted => Taken::New,
            // The other machine was not restarted, whatever this one was.
            Standing::Lost(Lost::ShimDied | Lost::MachineRestarted) if was_started(dir)? => {
                Taken::Again
            }
            Standing::Lost(_) | Standing::Abandoned | Standing::Running(_) | Standing::Ended(_) => {
                return Ok(None);
            }
        };
        let testament = Testament::prepare(dir)?;
        let (spool, output) = open_spool(dir)?;
        Ok(Some(Self { dir: dir.clone(), lock, spool, output, testament, taken }))
    }

    /// Says how it was found.
    #[must_use]
    pub fn taken(&self) -> Taken {
        self.taken
    }

    /// Says where the next frame belongs: what to ask the other machine for.
    #[must_use]
    pub fn position(&self) -> Position {
        Position::from_offset(self.output.spool_bytes)
    }

    /// Writes that the spawn counts as started, whatever happens; to be called before the other machine is asked.
    ///
    /// # Errors
    /// The disk's.
    pub fn note_start(&self) -> io::Result<()> {
        if self.taken == Taken::Again {
            return Ok(());
        }
        replace_json(&self.dir.started_file(), &just_started()?)?;
        self.lock.note_start()
    }

    /// Keeps a frame as it came.
    ///
    /// # Errors
    /// The disk's; `InvalidInput` for a frame that belongs elsewhere. After an error nothing more can be kept.
    pub fn keep(&mut self, frame: &Frame) -> io::Result<()> {
        let length = HEADER_BYTES + frame.bytes.len();
        if frame.position != self.position()
            || frame.bytes.is_empty()
            || frame.bytes.len() > crate::LONGEST_FRAME
        {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "the frame does not follow the last one",
            ));
        }
        let header = encode_header(frame.stream, frame.bytes.len(), frame.time_us);
        let mut pieces = [IoSlice::new(&header), IoSlice::new(&frame.bytes)];
        let mut rest = &mut pieces[..];
        while !rest.is_empty() {
            match self.spool.write_vectored(rest) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => IoSlice::advance_slices(&mut rest, count),
                Err(interrupted) if interrupted.kind() == io::ErrorKind::Interrupted => {}
                Err(refused) => return Err(refused),
            }
        }
        count(&mut self.output, frame, length);
        Ok(())
    }

    /// Says something of its own in the command's standard error. It is no part of what the other machine keeps, so it is
    /// only for the end: no frame can follow.
    ///
    /// # Errors
    /// As [`Mirror::keep`].
    pub fn say(&mut self, text: &str) -> io::Result<()> {
        let position = self.position();
        let bytes = text.as_bytes().to_vec();
        self.keep(&Frame {
            position,
            next: position,
            stream: crate::Stream::Stderr,
            time_us: now_us(),
            bytes,
        })
    }

    /// Opens the bell: it is readable when somebody wants the spawn stopped. To be read dry after each ring.
    ///
    /// # Errors
    /// The disk's.
    pub fn bell(&self) -> io::Result<OwnedFd> {
        // Opened for both, so that it never comes to an end.
        private().read(true).write(true).open(self.dir.bell_file()).map(Into::into)
    }

    /// Reads what was last asked of the spawn.
    #[must_use]
    pub fn stop_request(&self) -> Option<StopRequest> {
        read_json(&self.dir.stop_file()).ok().flatten()
    }

    /// Ends without a record: how the command ended is not known here, or what came of it could not be brought here. Whoever
    /// looks finds the spawn lost, and this text.
    ///
    /// # Errors
    /// The disk's.
    pub fn give_up(self, why: &str) -> io::Result<()> {
        replace_json(&self.dir.given_up_file(), &why)?;
        File::open(self.dir.path())?.sync_all()
    }

    /// Records the end as the other machine tells it. What it says of the output is replaced by what is kept here.
    ///
    /// # Errors
    /// The disk's.
    pub fn finish(self, record: &ExitRecord) -> io::Result<()> {
        let discarded_bytes = record.output.discarded_bytes;
        let record =
            ExitRecord { output: Output { discarded_bytes, ..self.output }, ..record.clone() };
        self.testament.write(&record, Some(&self.spool))
    }

    /// Records an end of which the other machine knows nothing.
    ///
    /// # Errors
    /// The disk's.
    pub fn finish_untold(self, end: End, notes: Vec<String>) -> io::Result<()> {
        self.finish(&ExitRecord::of_no_run(end, notes))
    }
}

/// Opens the spool behind its last whole frame. What a killed mirror wrote of another goes; it comes again, the same.
fn open_spool(dir: &SpawnDir) -> io::Result<(File, Output)> {
    let path = dir.spool_file();
    let mut file = open_plain(private().read(true).append(true).create(true), &path)?;
    if file.metadata()?.len() < OPENING.len() as u64 {
        file.set_len(0)?;
        file.write_all(OPENING)?;
    }
    let mut output = Output { spool_bytes: OPENING.len() as u64, ..Output::default() };
    for frame in Frames::open(dir, Position::START).map_err(disk)? {
        let frame = frame.map_err(disk)?;
        let length = HEADER_BYTES + frame.bytes.len();
        count(&mut output, &frame, length);
    }
    if file.metadata()?.len() > output.spool_bytes {
        file.set_len(output.spool_bytes)?;
    }
    Ok((file, output))
}

fn count(output: &mut Output, frame: &Frame, length: usize) {
    output.frames += 1;
    output.spool_bytes += length as u64;
    *match frame.stream {
        crate::Stream::Stdout => &mut output.stdout_bytes,
        crate::Stream::Stderr => &mut output.stderr_bytes,
    } += frame.bytes.len() as u64;
}

fn disk(error: SpoolError) -> io::Error {
    match error {
        SpoolError::Disk(error) => error,
        error @ SpoolError::NoFrame { .. } => io::Error::new(io::ErrorKind::InvalidData, error),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::spool::Stream;
    use crate::testing::asked;

    fn frame(at: Position, bytes: &[u8]) -> Frame {
        Frame { position: at, next: at, stream: Stream::Stdout, time_us: 7, bytes: bytes.to_vec() }
    }

    fn kept(dir: &SpawnDir) -> Vec<u8> {
        Frames::open(dir, Position::START).unwrap().flat_map(|frame| frame.unwrap().bytes).collect()
    }

    fn exited() -> End {
        End::Exited { code: 0 }
    }

    #[test]
    fn what_is_mirrored_is_read_like_what_was_run_here() {
        let root = tempfile::tempdir().unwrap();
        let dir = asked(root.path(), "one");
        let mut mirror = Mirror::take(&dir).unwrap().unwrap();
        assert_eq!(mirror.taken(), Taken::New);
        mirror.note_start().unwrap();
        mirror.keep(&frame(mirror.position(), b"ab")).unwrap();
        mirror.keep(&frame(mirror.position(), b"c")).unwrap();
        assert!(mirror.keep(&frame(Position::START, b"again")).is_err());
        mirror.finish_untold(exited(), Vec::new()).unwrap();
        assert_eq!(kept(&dir), b"abc");
        let Ok(Standing::Ended(record)) = crate::probe(&dir) else { panic!("it has ended") };
        assert_eq!(
            (record.output.stdout_bytes, record.output.frames, record.end),
            (3, 2, exited())
        );
        assert!(Mirror::take(&dir).unwrap().is_none());
    }

    #[test]
    fn one_that_was_killed_is_taken_up_behind_its_last_whole_frame() {
        let root = tempfile::tempdir().unwrap();
        let dir = asked(root.path(), "one");
        let mut mirror = Mirror::take(&dir).unwrap().unwrap();
        mirror.note_start().unwrap();
        mirror.keep(&frame(mirror.position(), b"whole")).unwrap();
        let (position, spool) = (mirror.position(), dir.spool_file());
        let whole = fs::read(&spool).unwrap();
        drop(mirror);
        for torn in 0..24 {
            let half = encode_header(Stream::Stderr, 8, 9);
            let more: Vec<u8> = half.iter().copied().chain(*b"torn off").take(torn).collect();
            fs::write(&spool, [&whole[..], &more].concat()).unwrap();
            let mut mirror = Mirror::take(&dir).unwrap().unwrap();
            assert_eq!((mirror.taken(), mirror.position()), (Taken::Again, position), "{torn}");
            mirror.keep(&frame(mirror.position(), b"!")).unwrap();
            assert_eq!(kept(&dir), b"whole!");
        }
    }

    #[test]
    fn what_was_given_up_is_not_taken_up() {
        let root = tempfile::tempdir().unwrap();
        let dir = asked(root.path(), "one");
        assert_eq!(crate::abandon(&dir).unwrap(), Standing::Abandoned);
        assert!(Mirror::take(&dir).unwrap().is_none());
    }

    #[test]
    fn a_request_to_stop_is_heard() {
        let root = tempfile::tempdir().unwrap();
        let dir = asked(root.path(), "one");
        let mirror = Mirror::take(&dir).unwrap().unwrap();
        let mut bell = File::from(mirror.bell().unwrap());
        assert_eq!(mirror.stop_request(), None);
        let asked = StopRequest { by: "cancel".to_owned(), grace_ms: None };
        crate::request_stop(&dir, &asked).unwrap();
        assert_eq!(io::Read::read(&mut bell, &mut [0; 8]).unwrap(), 1);
        assert_eq!(mirror.stop_request(), Some(asked));
    }
}
