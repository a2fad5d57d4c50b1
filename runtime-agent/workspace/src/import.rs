//! Puts files into the store: one `git fast-import` that is fed bytes as they lie on the disk and writes one pack.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, BufWriter, Read as _, Write};
use std::process::{ChildStdin, ChildStdout};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, fstat, openat, readlinkat, statat};
use rustix::io::Errno;

use crate::entry::{Entry, Oid};
use crate::error::WorkspaceError;
use crate::folder::Folder;
use crate::git::{Git, Running, broken};
use crate::name::TreePath;
use crate::stamp::Stamp;
use crate::survey::{Shape, shape};

const DOING: &str = "fast-import";

/// How many names are asked for before the answers are read: both fit into a pipe.
const AT_ONCE: u64 = 512;

/// A running import.
#[derive(Debug)]
pub(crate) struct Import {
    running: Running,
    input: BufWriter<ChildStdin>,
    output: BufReader<ChildStdout>,
    marks: u64,
}

/// What came of reading a file.
#[derive(Debug)]
pub(crate) enum Read {
    /// Its bytes are in, under this mark, and nobody changed it meanwhile.
    Whole { mark: u64, shape: Shape, stamp: Stamp },
    /// It changed, or is gone.
    Changed,
}

/// One difference from the tree that a commit starts from.
#[derive(Debug)]
pub(crate) enum Edit<'a> {
    Remove(&'a TreePath),
    Put(&'a TreePath, Entry),
}

/// What a commit is made of.
#[derive(Debug)]
pub(crate) struct Commit<'a> {
    pub(crate) reference: &'a str,
    /// The tree of files to start from.
    pub(crate) from: Option<Oid>,
    pub(crate) edits: Vec<Edit<'a>>,
    pub(crate) rules: &'a [u8],
    pub(crate) empty: Vec<&'a TreePath>,
}

impl Import {
    pub(crate) fn start(git: &Git) -> Result<Self, WorkspaceError> {
        let arguments = ["--quiet", "--done", "--force", "--date-format=raw", "--cat-blob-fd=1"];
        let mut running = git.start(DOING, &arguments)?;
        let input = running.input().map_err(|error| broken(DOING, &error))?;
        let output = BufReader::new(running.output()?);
        Ok(Self { running, input: BufWriter::with_capacity(64 * 1024, input), output, marks: 0 })
    }

    /// Reads a file or a link of a workspace into the store.
    pub(crate) fn read(
        &mut self,
        folder: &Folder,
        path: &TreePath,
    ) -> Result<Read, WorkspaceError> {
        let of = |error| folder.error(path.as_bytes(), error);
        let (above, name) = path.split();
        let above = match folder.enter(above) {
            Ok(above) => above,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(Read::Changed),
            Err(error) => return Err(of(error)),
        };
        let stat = match statat(&above, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => return Ok(Read::Changed),
            Err(error) => return Err(of(error)),
        };
        let stamp = Stamp::of(&stat);
        let Some(shape) = shape(FileType::from_raw_mode(stat.st_mode), stat.st_mode) else {
            return Ok(Read::Changed);
        };
        if shape == Shape::Link {
            let target = match readlinkat(&above, name, Vec::new()) {
                Ok(target) => target,
                Err(Errno::NOENT | Errno::INVAL) => return Ok(Read::Changed),
                Err(error) => return Err(of(error)),
            };
            let mark = self.blob(target.as_bytes())?;
            return Ok(Read::Whole { mark, shape, stamp });
        }
        // It may be another thing by now; a pipe would keep us waiting.
        let flags = OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let mut file = match openat(&above, name, flags, Mode::empty()) {
            Ok(fd) => File::from(fd),
            Err(Errno::NOENT | Errno::LOOP | Errno::NXIO) => return Ok(Read::Changed),
            Err(error) => return Err(of(error)),
        };
        let opened = fstat(&file).map_err(of)?;
        if Stamp::of(&opened) != stamp
            || FileType::from_raw_mode(opened.st_mode) != FileType::RegularFile
        {
            return Ok(Read::Changed);
        }
        let mark = self.stream(&mut file, stamp.size).map_err(|error| match error {
            Broken::File(source) => WorkspaceError::disk(folder.show(path.as_bytes()), source),
            Broken::Git(source) => broken(DOING, &source),
        })?;
        #[cfg(test)]
        crate::testing::after_reading(&folder.show(path.as_bytes()));
        let after = fstat(&file).map_err(of)?;
        let named = statat(&above, name, AtFlags::SYMLINK_NOFOLLOW);
        let same =
            Stamp::of(&after) == stamp && named.is_ok_and(|named| Stamp::of(&named) == stamp);
        Ok(if same { Read::Whole { mark, shape, stamp } } else { Read::Changed })
    }

    fn blob(&mut self, bytes: &[u8]) -> Result<u64, WorkspaceError> {
        self.marks += 1;
        let mark = self.marks;
        let told =
            write!(self.input, "blob\nmark :{mark}\n").and_then(|()| data(&mut self.input, bytes));
        told.map_err(|error| broken(DOING, &error))?;
        Ok(mark)
    }

    /// Sends exactly as many bytes as were promised: what a file lost meanwhile is made up for, what it gained is left.
    fn stream(&mut self, file: &mut File, size: u64) -> Result<u64, Broken> {
        self.marks += 1;
        let mark = self.marks;
        write!(self.input, "blob\nmark :{mark}\ndata {size}\n").map_err(Broken::Git)?;
        let mut left = size;
        let mut buffer = vec![0; 64 * 1024];
        while left > 0 {
            let most = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            let read = match file.read(&mut buffer[..most]) {
                Ok(0) => {
                    buffer[..most].fill(0);
                    most
                }
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(Broken::File(error)),
            };
            self.input.write_all(&buffer[..read]).map_err(Broken::Git)?;
            left -= read as u64;
        }
        self.input.write_all(b"\n").map_err(Broken::Git)?;
        Ok(mark)
    }

    /// Names the objects of all marks so far; the first is that of mark 1.
    pub(crate) fn names(&mut self) -> Result<Vec<Oid>, WorkspaceError> {
        let mut names = Vec::new();
        let mut first = 1;
        while first <= self.marks {
            let last = self.marks.min(first + AT_ONCE - 1);
            let asked =
                (first..=last).try_for_each(|mark| writeln!(self.input, "get-mark :{mark}"));
            asked.and_then(|()| self.input.flush()).map_err(|error| broken(DOING, &error))?;
            for _ in first..=last {
                let line = self.line()?;
                names.push(line.parse().map_err(|_| unexpected(&line))?);
            }
            first = last + 1;
        }
        Ok(names)
    }

    /// Makes the commit and ends. Gives the commit, and the tree of its files.
    pub(crate) fn commit(mut self, commit: &Commit<'_>) -> Result<(Oid, Oid), WorkspaceError> {
        self.marks += 1;
        let mark = self.marks;
        let told = tell(&mut self.input, commit, mark).and_then(|()| self.input.flush());
        if let Err(error) = told {
            // Git's own complaint says more than a broken pipe.
            self.running.finish()?;
            return Err(broken(DOING, &error));
        }
        let heard = self.line().and_then(|name| Ok((name, self.line()?)));
        let (name, files) = match heard {
            Ok(heard) => heard,
            Err(error) => return self.running.finish().and(Err(error)),
        };
        drop(self.input);
        self.running.finish()?;
        let name = name.parse().map_err(|_| unexpected(&name))?;
        // `040000 tree <object>\tfiles`, or `missing files`.
        let files = match files.split_whitespace().nth(2) {
            Some(tree) => tree.parse().map_err(|_| unexpected(&files))?,
            None => EMPTY_TREE,
        };
        Ok((name, files))
    }

    /// Ends without a commit. What was read stays for the sweep, unless the store had it before.
    pub(crate) fn end(mut self) -> Result<(), WorkspaceError> {
        let told = self.input.write_all(b"done\n").and_then(|()| self.input.flush());
        drop(self.input);
        self.running.finish().and(told.map_err(|error| broken(DOING, &error)))
    }

    fn line(&mut self) -> Result<String, WorkspaceError> {
        let mut line = String::new();
        match self.output.read_line(&mut line) {
            Ok(0) => Err(unexpected("nothing")),
            Ok(_) => Ok(line.trim_end().to_owned()),
            Err(error) => Err(broken(DOING, &error)),
        }
    }
}

/// The tree with nothing in it, which every store knows.
pub(crate) const EMPTY_TREE: Oid = Oid::from_bytes([
    0x4b, 0x82, 0x5d, 0xc6, 0x42, 0xcb, 0x6e, 0xb9, 0xa0, 0x60, 0xe5, 0x4b, 0xf8, 0xd6, 0x92, 0x88,
    0xfb, 0xee, 0x49, 0x04,
]);

enum Broken {
    File(io::Error),
    Git(io::Error),
}

fn unexpected(said: &str) -> WorkspaceError {
    WorkspaceError::Git { doing: DOING, said: format!("it answered {said:?}") }
}

fn tell(out: &mut impl Write, commit: &Commit<'_>, mark: u64) -> io::Result<()> {
    // No name, no time, no parent: what is the same is called the same.
    write!(
        out,
        "commit {}\nmark :{mark}\ncommitter ratchet <> 0 +0000\ndata 0\n",
        commit.reference
    )?;
    if let Some(from) = commit.from.filter(|from| *from != EMPTY_TREE) {
        writeln!(out, "M 040000 {from} files")?;
    }
    for edit in &commit.edits {
        match edit {
            Edit::Remove(path) => {
                out.write_all(b"D ")?;
                quoted(out, path)?;
            }
            Edit::Put(path, entry) => {
                let Some((mode, oid)) = entry.in_git() else { continue };
                write!(out, "M {mode} {oid} ")?;
                quoted(out, path)?;
            }
        }
    }
    out.write_all(b"M 100644 inline rules\n")?;
    data(out, commit.rules)?;
    if !commit.empty.is_empty() {
        out.write_all(b"M 100644 inline empty\n")?;
        let bytes: Vec<u8> = commit
            .empty
            .iter()
            .flat_map(|path| path.as_bytes().iter().copied().chain([0]))
            .collect();
        data(out, &bytes)?;
    }
    write!(out, "\nget-mark :{mark}\nls :{mark} \"files\"\ndone\n")
}

fn data(out: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    writeln!(out, "data {}", bytes.len())?;
    out.write_all(bytes)?;
    out.write_all(b"\n")
}

/// Writes a path as git reads it, with every byte that could end it spelled out.
fn quoted(out: &mut impl Write, path: &TreePath) -> io::Result<()> {
    out.write_all(b"\"files/")?;
    for byte in path.as_bytes() {
        match byte {
            b'"' | b'\\' => out.write_all(&[b'\\', *byte])?,
            0..=31 | 127 => write!(out, "\\{byte:03o}")?,
            _ => out.write_all(&[*byte])?,
        }
    }
    out.write_all(b"\"\n")
}
