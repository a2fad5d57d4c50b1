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
use crate::store::file::{Doing, Limit, Of as _, folder_of, read_if_there, replace_private};
use crate::store::layout::known_projects;

/// The format that this version writes.
const VERSION: u32 = 1;

/// The known projects.
#[derive(Debug)]
pub struct Registry {
    path: PathBuf,
    roots: Mutex<BTreeSet<PathBuf>>,
}

#[derive(Serialize, Deserialize)]
struct Kept {
    version: u32,
    projects: BTreeSet<PathBuf>,
}

impl Registry {
    /// Reads what is kept. A file that cannot be made out is as good as none: every project is learnt again.
    ///
    /// # Errors
    /// Fails if there is no home, or if the file cannot be read.
    pub fn open(environment: &Environment) -> Result<Self, Error> {
        let path = known_projects(environment).ok_or(Error::NoHome)?;
        let roots = match read_if_there(&path, Limit::STATE)? {
            None => BTreeSet::new(),
            Some(bytes) => match serde_json::from_slice::<Kept>(&bytes) {
                Ok(kept) => kept.projects,
                Err(error) => {
                    tracing::warn!(path = %path.display(), %error, "the list of projects is damaged");
                    BTreeSet::new()
                }
            },
        };
        Ok(Self { path, roots: Mutex::new(roots) })
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
        tracing::info!(project = ?root, "a project is known from now on");
        roots.insert(root.to_owned());
        let kept = Kept { version: VERSION, projects: roots.clone() };
        let mut text = serde_json::to_vec_pretty(&kept).unwrap_or_default();
        text.push(b'\n');
        let made = DirBuilder::new().recursive(true).mode(0o700).create(folder_of(&self.path));
        let kept = made.of(folder_of(&self.path), Doing::MakeFolder);
        if let Err(error) = kept.and_then(|()| replace_private(&self.path, &text)) {
            tracing::warn!(%error, "the list of projects cannot be kept");
        }
    }
}
