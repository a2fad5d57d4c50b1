//! The files of one spawn whose lines are relayed, and how far each was read. Reads when it is told to; who tells it, is the
//! session's business.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

use sha2::{Digest as _, Sha256};

use super::log::{Entry, LONGEST_LINE, Log, Start};
use crate::beneath::Beneath;
use crate::layout::SessionFolder;
use crate::name::InnerPath;

/// How much is read of a file at once.
const BLOCK: usize = 64 * 1024;

/// How much may wait to be written to the log, in bytes.
const BATCH: usize = 4 * LONGEST_LINE;

/// All relayed files of one spawn, and the log.
#[derive(Debug)]
pub(crate) struct Tails {
    workspace: Beneath,
    log: Log,
    tails: Vec<Tail>,
    notes: Vec<String>,
}

/// One of them.
#[derive(Debug)]
struct Tail {
    path: InnerPath,
    /// Of everything up to `position`, which is the end of a line.
    known: Sha256,
    position: u64,
    /// The very file that was read last: its device and its number.
    file: Option<(u64, u64)>,
    /// It cannot be relayed any further.
    given_up: bool,
}

impl Tails {
    /// Takes the files up where the log has them, be it empty.
    pub(crate) fn open(
        workspace: Beneath,
        folder: &SessionFolder,
        paths: &[InnerPath],
    ) -> io::Result<Self> {
        let (log, entries) = Log::open(&folder.relay())?;
        let begun = |(at, path): (usize, &InnerPath)| -> io::Result<Tail> {
            let initial = fs::read(folder.initial(at))?;
            let known = Sha256::new_with_prefix(&initial);
            let position = initial.len() as u64;
            Ok(Tail { path: path.clone(), known, position, file: None, given_up: false })
        };
        let mut tails: Vec<Tail> =
            paths.iter().enumerate().map(begun).collect::<io::Result<_>>()?;
        for Entry { file, start, line, .. } in entries {
            if let Some(tail) = tails.get_mut(file) {
                tail.pass(start, &line);
            }
        }
        Ok(Self { workspace, log, tails, notes: Vec::new() })
    }

    /// Gives the folders in which something has to happen before there is more to read, the workspace's own among them.
    pub(crate) fn folders(paths: &[InnerPath], workspace: &std::path::Path) -> Vec<PathBuf> {
        let mut folders: Vec<PathBuf> = vec![workspace.to_owned()];
        folders
            .extend(paths.iter().flat_map(InnerPath::folders).map(|folder| workspace.join(folder)));
        folders.sort();
        folders.dedup();
        folders
    }

    /// Reads what is new in every file and puts it into the log. Gives the sequence number of the last entry there.
    pub(crate) fn read(&mut self) -> io::Result<u64> {
        for at in 0..self.tails.len() {
            while self.read_one(at)? {}
        }
        Ok(self.log.last())
    }

    /// Says what could not be relayed.
    pub(crate) fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Reads as much of one file as the log takes at once; says whether there may be more.
    fn read_one(&mut self, at: usize) -> io::Result<bool> {
        let tail = &mut self.tails[at];
        if tail.given_up {
            return Ok(false);
        }
        let Some(mut file) = self.workspace.read(&tail.path)? else { return Ok(false) };
        let mut start = tail.find(&mut file)?;
        let mut lines = Vec::new();
        let mut passed = tail.clone_state();
        let more = loop {
            let read = read_line(&mut file)?;
            match read {
                Line::Whole(line) => {
                    passed.pass(start, &line);
                    lines.push((at, start, line));
                    start = Start::After;
                    if lines.iter().map(|(_, _, line)| line.len() + 64).sum::<usize>() > BATCH {
                        break true;
                    }
                }
                Line::Unfinished => break false,
                Line::TooLong => {
                    let note = format!(
                        "{} has a line of more than {LONGEST_LINE} bytes: nothing of it is relayed \
                         from there on",
                        tail.path
                    );
                    tracing::warn!(note);
                    self.notes.push(note);
                    tail.given_up = true;
                    break false;
                }
            }
        };
        if !lines.is_empty() {
            self.log.append(&lines)?;
            tail.known = passed.known;
            tail.position = passed.position;
        }
        Ok(more)
    }
}

/// How far a file was read, apart from the file.
struct Passed {
    known: Sha256,
    position: u64,
}

impl Passed {
    fn pass(&mut self, start: Start, line: &[u8]) {
        if start == Start::Anew {
            self.known = Sha256::new();
            self.position = 0;
        }
        self.known.update(line);
        self.known.update(b"\n");
        self.position += line.len() as u64 + 1;
    }
}

impl Tail {
    fn clone_state(&self) -> Passed {
        Passed { known: self.known.clone(), position: self.position }
    }

    fn pass(&mut self, start: Start, line: &[u8]) {
        let mut passed = self.clone_state();
        passed.pass(start, line);
        (self.known, self.position) = (passed.known, passed.position);
    }

    /// Goes to where the new lines of a file begin: behind what is known of it, or at its beginning if it is another one.
    fn find(&mut self, file: &mut File) -> io::Result<Start> {
        let meta = file.metadata()?;
        let number = (meta.dev(), meta.ino());
        let same = self.file == Some(number) && meta.len() >= self.position;
        let start = if same || self.begins_with_known(file, meta.len())? {
            file.seek(SeekFrom::Start(self.position))?;
            Start::After
        } else {
            file.seek(SeekFrom::Start(0))?;
            Start::Anew
        };
        // One that was begun anew is believed to be that only once there is a line of it.
        self.file = (start == Start::After).then_some(number);
        Ok(start)
    }

    /// Looks whether a file that may be another one holds what is known at its beginning.
    fn begins_with_known(&self, file: &mut File, length: u64) -> io::Result<bool> {
        if length < self.position {
            return Ok(false);
        }
        file.seek(SeekFrom::Start(0))?;
        let mut left = self.position;
        let mut seen = Sha256::new();
        let mut block = vec![0; BLOCK];
        while left > 0 {
            let wanted = usize::try_from(left).map_or(BLOCK, |left| left.min(BLOCK));
            let count = file.read(&mut block[..wanted])?;
            if count == 0 {
                return Ok(false);
            }
            seen.update(&block[..count]);
            left -= count as u64;
        }
        Ok(seen.finalize() == self.known.clone().finalize())
    }
}

/// What comes next in a file.
enum Line {
    Whole(Vec<u8>),
    Unfinished,
    TooLong,
}

/// Reads one line and leaves the file behind it, or where it was.
fn read_line(file: &mut File) -> io::Result<Line> {
    let begin = file.stream_position()?;
    let mut line = Vec::new();
    let mut block = [0; 4096];
    loop {
        let count = file.read(&mut block)?;
        let end = memchr::memchr(b'\n', &block[..count]);
        line.extend_from_slice(&block[..end.unwrap_or(count)]);
        if line.len() > LONGEST_LINE {
            return Ok(Line::TooLong);
        }
        if end.is_some() {
            file.seek(SeekFrom::Start(begin + line.len() as u64 + 1))?;
            return Ok(Line::Whole(line));
        }
        if count == 0 {
            file.seek(SeekFrom::Start(begin))?;
            return Ok(Line::Unfinished);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::path::Path;

    use ratchet_spawn::SpawnId;

    use super::*;
    use crate::layout::{Layout, make_folder};
    use crate::relay::Entries;

    struct World {
        base: tempfile::TempDir,
        folder: SessionFolder,
        paths: Vec<InnerPath>,
    }

    impl World {
        fn new(initial: &str) -> Self {
            let base = tempfile::tempdir().unwrap();
            let layout = Layout::new(base.path().join("state"));
            let folder = layout.session(&SpawnId::parse("s").unwrap());
            make_folder(folder.path()).unwrap();
            fs::create_dir(base.path().join("w")).unwrap();
            fs::write(folder.initial(0), initial).unwrap();
            let world =
                Self { base, folder, paths: vec![InnerPath::parse("run/journal").unwrap()] };
            world.put(initial);
            world
        }

        fn journal(&self) -> PathBuf {
            self.base.path().join("w/run/journal")
        }

        fn put(&self, text: &str) {
            fs::create_dir_all(self.journal().parent().unwrap()).unwrap();
            fs::write(self.journal(), text).unwrap();
        }

        fn append(&self, text: &str) {
            let mut file = File::options().append(true).create(true).open(self.journal()).unwrap();
            file.write_all(text.as_bytes()).unwrap();
        }

        fn tails(&self) -> Tails {
            let workspace = Beneath::open(&self.base.path().join("w")).unwrap();
            Tails::open(workspace, &self.folder, &self.paths).unwrap()
        }

        fn relayed(&self) -> Vec<String> {
            let entries = Entries::open(&self.folder.relay()).unwrap();
            entries.map(|entry| String::from_utf8(entry.unwrap().line).unwrap()).collect()
        }
    }

    #[test]
    fn lines_are_relayed_once_in_order_and_only_when_they_are_whole() {
        let world = World::new("before\n");
        let mut tails = world.tails();
        assert_eq!(tails.read().unwrap(), 0);
        world.append("one\ntw");
        assert_eq!(tails.read().unwrap(), 1);
        world.append("o\n\nfour\n");
        assert_eq!(tails.read().unwrap(), 4);
        assert_eq!(world.relayed(), ["one", "two", "", "four"]);
    }

    #[test]
    fn the_next_life_goes_on_where_the_log_ends() {
        let world = World::new("before\n");
        world.tails().read().unwrap();
        world.append("one\n");
        world.tails().read().unwrap();
        world.append("two\n");
        assert_eq!(world.tails().read().unwrap(), 2);
        assert_eq!(world.tails().read().unwrap(), 2);
        assert_eq!(world.relayed(), ["one", "two"]);
    }

    #[test]
    fn a_file_that_was_begun_anew_is_read_from_its_beginning_and_a_copy_of_it_is_not() {
        let world = World::new("before\n");
        let mut tails = world.tails();
        world.append("one\n");
        tails.read().unwrap();
        fs::remove_dir_all(world.journal().parent().unwrap()).unwrap();
        assert_eq!(tails.read().unwrap(), 1);
        world.put("two\n");
        assert_eq!(tails.read().unwrap(), 2);
        // What an editor does: the same lines and more, under another number.
        let beside = world.base.path().join("w/run/beside");
        fs::write(&beside, "two\nthree\n").unwrap();
        fs::rename(&beside, world.journal()).unwrap();
        assert_eq!(tails.read().unwrap(), 3);
        assert_eq!(world.tails().read().unwrap(), 3);
        assert_eq!(world.relayed(), ["one", "two", "three"]);
    }

    #[test]
    fn a_line_beyond_every_measure_ends_the_relay_of_its_file_and_is_told() {
        let world = World::new("");
        let mut tails = world.tails();
        world.append(&format!("one\n{}\nthree\n", "x".repeat(LONGEST_LINE + 1)));
        assert_eq!(tails.read().unwrap(), 1);
        assert_eq!(tails.read().unwrap(), 1);
        assert!(tails.notes()[0].contains("run/journal"));
    }

    #[test]
    fn a_link_in_the_place_of_a_file_or_its_folder_relays_nothing() {
        let world = World::new("");
        let mut tails = world.tails();
        let outside = world.base.path().join("outside");
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("journal"), "secret\n").unwrap();
        fs::remove_dir_all(world.journal().parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(&outside, world.journal().parent().unwrap()).unwrap();
        assert_eq!(tails.read().unwrap(), 0);
    }

    #[test]
    fn every_folder_on_the_way_is_listened_to() {
        let paths = [InnerPath::parse("a/b/c").unwrap(), InnerPath::parse("a/d").unwrap()];
        let folders = Tails::folders(&paths, Path::new("/w"));
        assert_eq!(folders, ["/w", "/w/a", "/w/a/b"].map(PathBuf::from));
    }
}
