//! The projects that the supervisor knows: every one that it was asked about. Kept on disk, so that a new life finds what
//! an earlier one had begun.

use std::collections::BTreeSet;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::environment::Environment;
use crate::error::Error;
use crate::store::file::{
    Doing, FileError, Limit, Of as _, folder_of, read_if_there, replace_private,
};
use crate::store::layout::known_projects;

/// The format that this version writes.
const VERSION: u32 = 1;

/// The known projects.
#[derive(Debug)]
pub struct Registry {
    path: PathBuf,
    keeping: Keeping,
    roots: Mutex<BTreeSet<PathBuf>>,
}

/// Whether the list may be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keeping {
    Yes,
    /// What is there is not ours to replace.
    No,
}

#[derive(Serialize, Deserialize)]
struct Kept {
    version: u32,
    projects: BTreeSet<PathBuf>,
}

impl Registry {
    /// Reads what is kept. A supervisor does its work also without: a list that cannot be made out is put aside, one that
    /// cannot be read or is of a newer ratchet is left as it is, and every project is learnt again.
    ///
    /// # Errors
    /// Fails if there is no home.
    pub fn open(environment: &Environment) -> Result<Self, Error> {
        let path = known_projects(environment).ok_or(Error::NoHome)?;
        let (roots, keeping) = match read_if_there(&path, Limit::STATE) {
            Ok(None) => (BTreeSet::new(), Keeping::Yes),
            Ok(Some(bytes)) => read(&path, &bytes),
            Err(error @ (FileError::TooLarge { .. } | FileError::WrongKind { .. })) => {
                (BTreeSet::new(), put_aside(&path, &error))
            }
            Err(error) => {
                tracing::warn!(%error, "the list of projects cannot be read, and is not kept");
                (BTreeSet::new(), Keeping::No)
            }
        };
        Ok(Self { path, keeping, roots: Mutex::new(roots) })
    }

    /// Lists the projects, sorted.
    #[must_use]
    pub fn roots(&self) -> Vec<PathBuf> {
        let roots = self.roots.lock().unwrap_or_else(PoisonError::into_inner);
        roots.iter().cloned().collect()
    }

    /// Remembers a project. One that cannot be kept is known to this life at least.
    pub(crate) fn know(&self, root: &Path) {
        let mut roots = self.roots.lock().unwrap_or_else(PoisonError::into_inner);
        if roots.contains(root) {
            return;
        }
        // A folder that holds nothing of ours is no project, whatever was asked about it.
        if !root.join(crate::store::layout::RATCHET_DIR).is_dir() {
            return;
        }
        roots.insert(root.to_owned());
        tracing::info!(project = ?root, "a project is known from now on");
        if self.keeping == Keeping::Yes {
            // JSON has no words for a path that is not UTF-8; such a one is known to this life only.
            let written = roots.iter().filter(|root| root.to_str().is_some()).cloned().collect();
            self.keep(&Kept { version: VERSION, projects: written });
        }
    }

    fn keep(&self, kept: &Kept) {
        let mut text = serde_json::to_vec_pretty(kept).expect("UTF-8 is always JSON");
        text.push(b'\n');
        let made = DirBuilder::new().recursive(true).mode(0o700).create(folder_of(&self.path));
        let made = made.of(folder_of(&self.path), Doing::MakeFolder);
        if let Err(error) = made.and_then(|()| replace_private(&self.path, &text)) {
            tracing::warn!(%error, "the list of projects cannot be kept");
        }
    }
}

fn read(path: &Path, bytes: &[u8]) -> (BTreeSet<PathBuf>, Keeping) {
    let version = |value: &serde_json::Value| value.get("version")?.as_u64();
    let newer = serde_json::from_slice(bytes)
        .is_ok_and(|value| version(&value).is_some_and(|version| version > u64::from(VERSION)));
    let kept = serde_json::from_slice::<Kept>(bytes);
    let keeping = match &kept {
        _ if newer => {
            tracing::warn!(path = %path.display(), "the list of projects is of a newer ratchet, and is not kept");
            Keeping::No
        }
        Ok(_) => Keeping::Yes,
        Err(error) => put_aside(path, error),
    };
    let roots = kept.map(|kept| kept.projects).unwrap_or_default();
    (roots.into_iter().filter(|root| root.is_absolute()).collect(), keeping)
}

/// Puts a list aside that is none, for whoever wants to look at it.
fn put_aside(path: &Path, why: &dyn std::error::Error) -> Keeping {
    let aside = path.with_extension("json.broken");
    match std::fs::rename(path, &aside) {
        Ok(()) => {
            tracing::warn!(aside = %aside.display(), why = %why, "the list of projects was damaged, and put aside");
            Keeping::Yes
        }
        Err(error) => {
            tracing::warn!(path = %path.display(), why = %why, %error, "the list of projects is damaged, and is not kept");
            Keeping::No
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A home with a project `p`, and its list of projects.
    fn home(list: Option<&[u8]>) -> (tempfile::TempDir, Environment, PathBuf) {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(home.path().join("p/.ratchet")).unwrap();
        let environment = Environment::new("/", [("XDG_STATE_HOME", home.path().as_os_str())]);
        let path = known_projects(&environment).unwrap();
        std::fs::create_dir_all(folder_of(&path)).unwrap();
        if let Some(list) = list {
            std::fs::write(&path, list).unwrap();
        }
        (home, environment, path)
    }

    #[test]
    fn a_project_is_known_to_the_next_life() {
        let (home, environment, _) = home(None);
        let project = home.path().join("p");
        Registry::open(&environment).unwrap().know(&project);
        assert_eq!(Registry::open(&environment).unwrap().roots(), [project]);
    }

    #[test]
    fn a_damaged_list_stops_nothing_and_is_put_aside() {
        for damage in [&b"{\"version\":1,\"proj"[..], b"\xff\x00", b"[]", b""] {
            let (home, environment, path) = home(Some(damage));
            let registry = Registry::open(&environment).unwrap();
            assert!(registry.roots().is_empty());
            registry.know(&home.path().join("p"));
            assert_eq!(std::fs::read(path.with_extension("json.broken")).unwrap(), damage);
            assert_eq!(Registry::open(&environment).unwrap().roots().len(), 1);
        }
        let (_home, environment, path) = home(Some(b""));
        std::fs::File::options().write(true).open(&path).unwrap().set_len(1 << 40).unwrap();
        assert!(Registry::open(&environment).unwrap().roots().is_empty());
    }

    #[test]
    fn the_list_of_a_newer_ratchet_is_read_and_left_as_it_is() {
        let newer = br#"{"version":2,"projects":["/a","b"],"more":1}"#;
        let (home, environment, path) = home(Some(newer));
        let registry = Registry::open(&environment).unwrap();
        assert_eq!(registry.roots(), [Path::new("/a")], "what is no absolute path is no project");
        registry.know(&home.path().join("p"));
        assert_eq!(registry.roots().len(), 2);
        assert_eq!(std::fs::read(&path).unwrap(), newer);
    }

    #[test]
    fn a_path_that_json_has_no_words_for_costs_no_other_its_place() {
        use std::os::unix::ffi::OsStrExt as _;
        let (home, environment, _) = home(None);
        let odd = home.path().join(std::ffi::OsStr::from_bytes(b"\xff"));
        std::fs::create_dir_all(odd.join(".ratchet")).unwrap();
        let registry = Registry::open(&environment).unwrap();
        registry.know(&home.path().join("p"));
        registry.know(&odd);
        assert_eq!(registry.roots().len(), 2);
        assert_eq!(Registry::open(&environment).unwrap().roots(), [home.path().join("p")]);
    }

    #[test]
    fn a_home_that_cannot_be_written_is_no_reason_not_to_work() {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join("state"), "no folder").unwrap();
        let state = home.path().join("state");
        let environment = Environment::new("/", [("XDG_STATE_HOME", state.as_os_str())]);
        std::fs::create_dir_all(home.path().join("p/.ratchet")).unwrap();
        let registry = Registry::open(&environment).unwrap();
        registry.know(&home.path().join("p"));
        assert_eq!(registry.roots().len(), 1);
    }
}
