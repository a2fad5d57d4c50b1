//! Hands an environment to a shim that its starter cannot give one: a container's engine would keep it on its disk and
//! show it to whoever asks. It goes through a pipe in the spawn's folder, so no value touches a disk or a command line.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::pipe::fcntl_setpipe_size;

use crate::directory::{SpawnDir, private};

/// What a pipe holds unless it is made larger, in bytes.
const USUAL_PIPE: usize = 64 * 1024;

/// What an ordinary user may make it hold, in bytes.
const LARGEST_PIPE: usize = 1024 * 1024;

/// Variables by name and value.
type Pairs = Vec<(OsString, OsString)>;

/// An environment that waits for its shim. Dropped before the shim has come, it is gone, and the shim does not start.
#[derive(Debug)]
pub struct Handover {
    _pipe: File,
}

impl Handover {
    /// Lays an environment out for the shim that will take this spawn up.
    ///
    /// # Errors
    /// The disk's; `InvalidInput` for more than a megabyte.
    pub fn offer(
        dir: &SpawnDir,
        environment: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> io::Result<Self> {
        let bytes = encode(environment);
        if bytes.len() > LARGEST_PIPE {
            let text =
                format!("the environment is too large to be handed over: {} bytes", bytes.len());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        let place = dir.environment_file();
        mknodat(CWD, &place, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?;
        // Open for both, so that it neither waits for a reader nor loses what was written to nobody.
        let mut pipe = private().read(true).write(true).open(&place)?;
        if bytes.len() > USUAL_PIPE {
            fcntl_setpipe_size(&pipe, bytes.len())?;
        }
        pipe.write_all(&bytes)?;
        Ok(Self { _pipe: pipe })
    }
}

/// Takes the environment that was laid out for this spawn and begins the process anew with it. Returns only if there is
/// none, or if that fails.
///
/// # Errors
/// `UnexpectedEof` if whoever offered it is gone; the kernel's.
pub(crate) fn take_on(dir: &SpawnDir) -> io::Result<()> {
    let Some(environment) = take(dir)? else { return Ok(()) };
    // The file of this very process: what lies at its path by now may be another.
    let mut again = Command::new("/proc/self/exe");
    let complaints = private().append(true).create(true).open(dir.shim_log())?;
    Err(again.args(std::env::args_os().skip(1)).envs(environment).stderr(complaints).exec())
}

fn take(dir: &SpawnDir) -> io::Result<Option<Pairs>> {
    let place = dir.environment_file();
    let mut pipe = match private().read(true).open(&place) {
        Ok(pipe) => pipe,
        Err(missing) if missing.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(other) => return Err(other),
    };
    let mut bytes = Vec::new();
    let mut chunk = vec![0; USUAL_PIPE];
    let gone =
        || io::Error::new(io::ErrorKind::UnexpectedEof, "nobody offers its environment any more");
    while !is_complete(&bytes) {
        // It was written before the shim was started, so nothing here waits.
        match pipe.read(&mut chunk) {
            Ok(0) => return Err(gone()),
            Ok(count) => bytes.extend_from_slice(&chunk[..count]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Err(gone()),
            Err(other) => return Err(other),
        }
    }
    fs::remove_file(&place)?;
    Ok(Some(decode(&bytes)))
}

/// Each as `NAME=VALUE` and a zero byte; one more zero byte says that this is all.
fn encode(environment: impl IntoIterator<Item = (OsString, OsString)>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (name, value) in environment {
        for piece in [name.as_bytes(), b"=", value.as_bytes(), b"\0"] {
            bytes.extend_from_slice(piece);
        }
    }
    bytes.push(0);
    bytes
}

fn is_complete(bytes: &[u8]) -> bool {
    bytes == b"\0" || bytes.ends_with(b"\0\0")
}

fn decode(bytes: &[u8]) -> Pairs {
    let entries = bytes.split(|byte| *byte == 0).filter(|entry| !entry.is_empty());
    let pair = |entry: &[u8]| {
        let equals = entry.iter().position(|byte| *byte == b'=')?;
        let own = |bytes: &[u8]| OsStr::from_bytes(bytes).to_owned();
        Some((own(&entry[..equals]), own(&entry[equals + 1..])))
    };
    entries.filter_map(pair).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt as _;

    use super::*;
    use crate::testing::asked;

    fn pairs(count: usize) -> Pairs {
        let value = OsString::from_vec([b"=\n\xff ".as_slice(), &[b'x'; 1000]].concat());
        (0..count).map(|at| (format!("N{at}").into(), value.clone())).collect()
    }

    #[test]
    fn what_was_offered_is_taken_once_whatever_is_in_it() {
        for count in [0, 1, 300] {
            let root = tempfile::tempdir().unwrap();
            let dir = asked(root.path(), "s");
            let offered = Handover::offer(&dir, pairs(count)).unwrap();
            assert_eq!(take(&dir).unwrap(), Some(pairs(count)));
            assert_eq!(take(&dir).unwrap(), None);
            drop(offered);
        }
    }

    #[test]
    fn an_offer_whose_maker_is_gone_starts_nothing() {
        let root = tempfile::tempdir().unwrap();
        let dir = asked(root.path(), "s");
        drop(Handover::offer(&dir, pairs(1)).unwrap());
        assert_eq!(take(&dir).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn an_environment_beyond_every_pipe_is_refused_with_its_size() {
        let root = tempfile::tempdir().unwrap();
        let error = Handover::offer(&asked(root.path(), "s"), pairs(2_000)).unwrap_err();
        assert!(error.to_string().contains("too large"), "{error}");
    }
}
