//! The bare repository in which snapshots are kept, and the names under which they are.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::io::retry_on_intr;

use crate::cache::Cache;
use crate::entry::{Entry, Listing, Oid, SnapshotId};
use crate::error::WorkspaceError;
use crate::git::Git;
use crate::name::TreePath;
use crate::rules::Rules;

/// Where everything is that keeps a snapshot from being swept.
const KEPT: &str = "refs/ratchet/kept/";
const LATEST: &str = "refs/ratchet/latest/";

/// The file whose age tells when the store was last tidied.
const TIDIED: &str = "tidied";
const A_DAY: Duration = Duration::from_secs(24 * 3600);

/// The largest blob of a snapshot's own: its rules, its empty folders.
const LARGEST_OWN: usize = 16 * 1024 * 1024;

/// A store of snapshots: `<directory>/objects.git`, and beside it what is known of the workspaces that use it. Several
/// processes may use one at a time.
#[derive(Debug, Clone)]
pub struct Store {
    directory: PathBuf,
    git: Git,
}

impl Store {
    /// Opens the store in a directory of our own, and makes it if there is none. `search_path` is where git is looked for.
    ///
    /// # Errors
    /// If the disk or git refuses.
    pub fn open(directory: &Path, search_path: &OsStr) -> Result<Self, WorkspaceError> {
        private_folder(directory)?;
        let objects = directory.join("objects.git");
        let store = Self {
            directory: directory.to_owned(),
            git: Git::of_store(objects.clone(), search_path),
        };
        if !objects.join("HEAD").exists() {
            let _one_at_a_time = store.lock("store")?;
            private_folder(&objects)?;
            // `init` of what is there already changes nothing.
            store.git.init(&objects)?;
        }
        Ok(store)
    }

    /// Keeps a snapshot under a name, with all its objects, until it is let go; a second one takes the place of the first.
    ///
    /// # Errors
    /// If the name is no word, the snapshot is not here, or git refuses.
    pub fn keep(&self, name: &str, id: SnapshotId) -> Result<(), WorkspaceError> {
        self.point(&format!("{KEPT}{}", word(name)?), id)
    }

    /// Lets go of what is kept under a name; nothing is as good.
    ///
    /// # Errors
    /// If the name is no word or git refuses.
    pub fn let_go(&self, name: &str) -> Result<(), WorkspaceError> {
        let name = format!("{KEPT}{}", word(name)?);
        self.git.ask("update-ref", ["-d", &name]).map(drop)
    }

    /// Finds what is kept under a name.
    ///
    /// # Errors
    /// If the name is no word or git refuses.
    pub fn kept(&self, name: &str) -> Result<Option<SnapshotId>, WorkspaceError> {
        let name = format!("{KEPT}{}", word(name)?);
        Ok(self.refs(&name)?.into_iter().next())
    }

    /// Names everything that is kept.
    ///
    /// # Errors
    /// If git refuses.
    pub fn kept_names(&self) -> Result<Vec<String>, WorkspaceError> {
        let said = self.git.ask("for-each-ref", ["--format=%(refname)", KEPT])?;
        let text = String::from_utf8_lossy(&said);
        Ok(text.lines().filter_map(|line| line.strip_prefix(KEPT)).map(str::to_owned).collect())
    }

    /// Tells whether the last [`Store::tidy`] is a day old, or was never.
    #[must_use]
    pub fn is_untidy(&self) -> bool {
        let last = fs::metadata(self.directory.join(TIDIED)).and_then(|meta| meta.modified());
        last.ok().and_then(|last| last.elapsed().ok()).is_none_or(|age| age > A_DAY)
    }

    /// Names every snapshot that is wholly here: what may be said to the other side to have.
    ///
    /// # Errors
    /// If git refuses.
    pub fn snapshots(&self) -> Result<Vec<SnapshotId>, WorkspaceError> {
        let mut all = self.refs("refs/ratchet/")?;
        all.sort_unstable();
        all.dedup();
        Ok(all)
    }

    /// Puts the objects of snapshots that nobody keeps any more out of the way, and the others together. It may take long; it
    /// may run beside anything else.
    ///
    /// # Errors
    /// If git refuses.
    pub fn tidy(&self) -> Result<(), WorkspaceError> {
        let mark = self.directory.join(TIDIED);
        fs::write(&mark, "").map_err(|error| WorkspaceError::disk(&mark, error))?;
        self.git.ask("gc", ["--quiet", "--prune=2.days.ago"]).map(drop)
    }

    fn refs(&self, under: &str) -> Result<Vec<SnapshotId>, WorkspaceError> {
        let said = self.git.ask("for-each-ref", ["--format=%(objectname)", under])?;
        let text = String::from_utf8_lossy(&said);
        Ok(text.lines().filter_map(|line| line.parse().ok()).collect())
    }

    pub(crate) fn point(&self, reference: &str, id: SnapshotId) -> Result<(), WorkspaceError> {
        match self.git.ask("update-ref", [reference, &id.to_string()]) {
            Err(WorkspaceError::Git { said, .. }) if said.contains("nonexistent object") => {
                Err(WorkspaceError::Unknown { id })
            }
            other => other.map(drop),
        }
    }

    pub(crate) fn git(&self) -> &Git {
        &self.git
    }

    /// Names the reference of what a workspace last was.
    pub(crate) fn latest(workspace: &str) -> String {
        format!("{LATEST}{workspace}")
    }

    /// Names the file of a workspace in the store.
    pub(crate) fn file(&self, workspace: &str, ending: &str) -> PathBuf {
        self.directory.join(format!("{workspace}.{ending}"))
    }

    pub(crate) fn cache(&self, workspace: &str) -> Option<Cache> {
        Cache::read(&self.file(workspace, "cache"))
    }

    /// Waits until nobody else works on a workspace. The lock ends with the value, or with the process.
    pub(crate) fn lock(&self, workspace: &str) -> Result<File, WorkspaceError> {
        let path = self.file(workspace, "lock");
        let file = private_file(&path)?;
        retry_on_intr(|| flock(&file, FlockOperation::LockExclusive))
            .map_err(|error| WorkspaceError::disk(&path, error))?;
        Ok(file)
    }

    /// Lists everything that a snapshot holds.
    pub(crate) fn listing(&self, id: SnapshotId) -> Result<Listing, WorkspaceError> {
        let said =
            self.about(id, self.git.ask("ls-tree", ["-r", "-z", "--full-tree", &id.to_string()]))?;
        let mut listing = Listing::new();
        let mut empty = None;
        for record in said.split(|byte| *byte == 0).filter(|record| !record.is_empty()) {
            let (path, entry) = record_of(record)?;
            match path.strip_prefix(b"files/") {
                Some(inner) => {
                    listing.insert(TreePath::new(inner)?, entry);
                }
                None if path == b"empty" => empty = Some(entry),
                None if path == b"rules" => {}
                None => return Err(refused("it holds more than files, rules and empty folders")),
            }
        }
        if let Some(Entry::File(oid)) = empty {
            let bytes = self.own(oid)?;
            for path in bytes.split(|byte| *byte == 0).filter(|path| !path.is_empty()) {
                listing.insert(TreePath::new(path)?, Entry::EmptyFolder);
            }
        }
        sound(&listing)?;
        Ok(listing)
    }

    /// Reads the rules by which a snapshot was taken.
    ///
    /// # Errors
    /// If it is not here, or is none of ours.
    pub fn rules(&self, id: SnapshotId) -> Result<Rules, WorkspaceError> {
        let name = format!("{id}:rules");
        let size = self.about(id, self.git.ask("cat-file", ["-s", &name]))?;
        bounded(&size)?;
        let bytes = self.git.ask("cat-file", ["blob", &name])?;
        serde_json::from_slice(&bytes).map_err(|_| refused("its rules cannot be read"))
    }

    /// Reads a small blob of a snapshot's own.
    fn own(&self, oid: Oid) -> Result<Vec<u8>, WorkspaceError> {
        let name = oid.to_string();
        bounded(&self.git.ask("cat-file", ["-s", &name])?)?;
        self.git.ask("cat-file", ["blob", &name])
    }

    /// Makes of git's not knowing an object the error that says so.
    pub(crate) fn about<T>(
        &self,
        id: SnapshotId,
        answer: Result<T, WorkspaceError>,
    ) -> Result<T, WorkspaceError> {
        let unknown = [
            "Not a valid object name",
            "not a tree object",
            "bad object",
            "could not get object",
            "does not exist in",
        ];
        match answer {
            Err(WorkspaceError::Git { said, .. })
                if unknown.iter().any(|sign| said.contains(sign)) =>
            {
                Err(WorkspaceError::Unknown { id })
            }
            other => other,
        }
    }
}

fn bounded(size: &[u8]) -> Result<(), WorkspaceError> {
    let size = std::str::from_utf8(size).ok().and_then(|text| text.trim().parse::<usize>().ok());
    match size {
        Some(size) if size <= LARGEST_OWN => Ok(()),
        _ => Err(refused("its rules or empty folders are too large")),
    }
}

/// A path may not lie under one that is no folder.
fn sound(listing: &Listing) -> Result<(), WorkspaceError> {
    for path in listing.keys() {
        if let Some(above) = path.folders().find(|above| listing.contains_key(*above)) {
            let above = String::from_utf8_lossy(above).into_owned();
            return Err(refused(format!("it has {path} under {above}, which is no folder")));
        }
    }
    Ok(())
}

/// Parts `<mode> <type> <object>\t<path>`.
fn record_of(record: &[u8]) -> Result<(&[u8], Entry), WorkspaceError> {
    let parts = record.iter().position(|byte| *byte == b'\t').and_then(|tab| {
        let mut words = record[..tab].split(|byte| *byte == b' ');
        let (mode, oid) = (words.next()?, words.nth(1)?);
        Some((mode, std::str::from_utf8(oid).ok()?.parse().ok()?, &record[tab + 1..]))
    });
    let (mode, oid, path) = parts.ok_or_else(|| refused("git lists it in an unknown way"))?;
    Ok((path, Entry::of_mode(mode, oid)?))
}

pub(crate) fn refused(why: impl Into<String>) -> WorkspaceError {
    WorkspaceError::Refused { why: why.into() }
}

/// Checks that something can be part of the name of a file and of a reference.
pub(crate) fn word(name: &str) -> Result<&str, WorkspaceError> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let good = (1..=100).contains(&name.len())
        && name.bytes().all(fits)
        && !name.starts_with(['.', '-'])
        && !name.contains("..")
        && !name.ends_with('.')
        && !name.ends_with(".lock");
    if good { Ok(name) } else { Err(WorkspaceError::Word { name: name.to_owned() }) }
}

pub(crate) fn private_folder(path: &Path) -> Result<(), WorkspaceError> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(|error| WorkspaceError::disk(path, error))
}

pub(crate) fn private_file(path: &Path) -> Result<File, WorkspaceError> {
    let opened = File::options().create(true).write(true).truncate(false).mode(0o600).open(path);
    opened.map_err(|error| WorkspaceError::disk(path, error))
}

/// Puts a file of our own in the place of another, whole or not at all.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> Result<(), WorkspaceError> {
    use std::io::Write as _;
    let beside = path.with_extension(format!("{}.new", std::process::id()));
    let written = (|| {
        let mut file =
            File::options().create(true).truncate(true).write(true).mode(0o600).open(&beside)?;
        file.write_all(bytes)?;
        file.sync_data()?;
        fs::rename(&beside, path)?;
        File::open(path.parent().unwrap_or(Path::new("/")))?.sync_all()
    })();
    written.map_err(|error| WorkspaceError::disk(path, error))
}
