//! Sweeps away the folders of spawns that nobody needs any more. Never touches a spawn that may still run or start.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Read};
use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::directory::{SpawnDir, open_plain, private, read_json};
use crate::id::SpawnId;
use crate::quarry::{Quarry, Seeker};
use crate::request::StoredRequest;
use crate::standing::{Standing, abandon, probe};

/// A folder without a name that nobody has touched for so long is not being worked on.
const REMAINS_AFTER: Duration = Duration::from_secs(3600);

/// How much is read of a file that names who is needed, in bytes.
const LONGEST_NEED: u64 = 1024 * 1024;

/// How much is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keep {
    /// The greatest age since the last write, if it matters.
    pub max_age: Option<Duration>,
    /// The greatest size of all folders together, in bytes, if it matters; the oldest go first.
    pub max_total_bytes: Option<u64>,
}

/// What a sweep did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Swept {
    /// The spawns that were removed, the oldest first.
    pub removed: Vec<SpawnId>,
    /// The size of what is left, in bytes.
    pub left_bytes: u64,
}

/// Removes the folders of ended, abandoned and lost spawns beyond `limits`, except those in `keep` and those that
/// somebody still needs, as [`crate::Request::needed_by`] says. A spawn whose asker died before it said there that it
/// needs it is abandoned first. Folders whose names are no spawn ids are not ours and stay.
///
/// # Errors
/// The disk's, when the root itself cannot be read; a root that is not there holds nothing. A folder that cannot be
/// looked at or removed stays.
pub fn sweep(
    root: &Path,
    now: SystemTime,
    limits: &Keep,
    keep: &BTreeSet<SpawnId>,
) -> io::Result<Swept> {
    let mut spawns = spawns(root)?;
    // They are in nobody's way; the next sweep tries again.
    let _ = remove_remains(root, now);
    spawns.sort_by(|one, other| (one.touched, one.dir.id()).cmp(&(other.touched, other.dir.id())));
    let mut swept =
        Swept { removed: Vec::new(), left_bytes: spawns.iter().map(|spawn| spawn.bytes).sum() };
    for spawn in spawns {
        let age = now.duration_since(spawn.touched).unwrap_or_default();
        let too_old = limits.max_age.is_some_and(|max| age > max);
        let too_much = limits.max_total_bytes.is_some_and(|max| swept.left_bytes > max);
        if !(too_old || too_much) || keep.contains(spawn.dir.id()) {
            continue;
        }
        let may_go = match need_of(&spawn.dir) {
            Need::Theirs => false,
            Need::Nobodys => is_over(&spawn.dir) || is_forgotten(&spawn.dir, age),
            Need::Untold => is_over(&spawn.dir),
        };
        if may_go && remove(&spawn.dir).is_ok() {
            swept.left_bytes -= spawn.bytes;
            swept.removed.push(spawn.dir.id().clone());
        }
    }
    Ok(swept)
}

struct Spawn {
    dir: SpawnDir,
    bytes: u64,
    touched: SystemTime,
}

fn spawns(root: &Path) -> io::Result<Vec<Spawn>> {
    let entries = match fs::read_dir(root) {
        Ok(entries) => entries,
        Err(missing) if missing.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(other) => return Err(other),
    };
    let measured = |entry: io::Result<fs::DirEntry>| {
        let id = SpawnId::parse(entry.ok()?.file_name().to_str()?).ok()?;
        measure(SpawnDir::open(root, &id).ok()?).ok()
    };
    Ok(entries.filter_map(measured).collect())
}

fn measure(dir: SpawnDir) -> io::Result<Spawn> {
    let mut spawn = Spawn { bytes: 0, touched: fs::metadata(dir.path())?.modified()?, dir };
    for entry in fs::read_dir(spawn.dir.path())? {
        let metadata = entry?.metadata()?;
        spawn.bytes += metadata.len();
        spawn.touched = spawn.touched.max(metadata.modified()?);
    }
    Ok(spawn)
}

fn is_over(dir: &SpawnDir) -> bool {
    match probe(dir) {
        Ok(Standing::Ended(_) | Standing::Abandoned) => true,
        Ok(Standing::Lost(_)) => nobody_carries_its_mark(dir.id()),
        Ok(Standing::NeverStarted | Standing::Running(_)) | Err(_) => false,
    }
}

/// Says whether nothing of a spawn whose shim is dead lives on.
fn nobody_carries_its_mark(id: &SpawnId) -> bool {
    let quarry = Quarry { id, seeker: Seeker::Other, agent: None, cgroup: None, since: 0 };
    quarry.find().is_ok_and(|found| found.is_empty())
}

/// Makes sure that a spawn which never started never does, if its asker went away between making its folder and saying
/// that it needs it. An asker that is only slow is refused its start.
fn is_forgotten(dir: &SpawnDir, age: Duration) -> bool {
    age > REMAINS_AFTER && matches!(abandon(dir), Ok(Standing::Abandoned))
}

/// Who needs a spawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Need {
    /// Its asker, as it says in the file that the request names.
    Theirs,
    /// Nobody, as that file says.
    Nobodys,
    /// The request names no file.
    Untold,
}

/// Asks the file that the request names. A file that is there and cannot be read is no permission.
fn need_of(dir: &SpawnDir) -> Need {
    // Of a damaged request nobody knows who made it.
    let request = read_json::<StoredRequest>(&dir.request_file()).unwrap_or_default();
    let Some(file) = request.and_then(|request| request.needed_by) else { return Need::Untold };
    let needed = match read_beginning(Path::new(&OsString::from(file))) {
        Ok(text) => contains(&text, dir.id().as_str().as_bytes()),
        Err(error) => !matches!(
            error.kind(),
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::InvalidData
        ),
    };
    if needed { Need::Theirs } else { Need::Nobodys }
}

fn read_beginning(path: &Path) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    open_plain(private().read(true), path)?.take(LONGEST_NEED).read_to_end(&mut text)?;
    Ok(text)
}

fn contains(text: &[u8], wanted: &[u8]) -> bool {
    text.windows(wanted.len()).any(|window| window == wanted)
}

/// Removes a folder. It loses its name first, so that a sweep which is cut short leaves no half of a spawn.
fn remove(dir: &SpawnDir) -> io::Result<()> {
    let nameless = dir.path().with_file_name(format!(".{}.swept", dir.id()));
    fs::rename(dir.path(), &nameless)?;
    fs::remove_dir_all(nameless)
}

/// Removes what crashes have left of folders that were being made or swept. Their names begin with a dot.
fn remove_remains(root: &Path, now: SystemTime) -> io::Result<()> {
    for entry in fs::read_dir(root)? {
        let entry = entry?;
        let nameless = entry.file_name().as_encoded_bytes().starts_with(b".");
        let touched = entry.metadata()?.modified()?;
        if nameless && now.duration_since(touched).is_ok_and(|age| age > REMAINS_AFTER) {
            fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}
