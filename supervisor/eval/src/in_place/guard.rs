//! The guard: what says, across a kill, that a fault may be in the user's tree, and what brings it back.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{InPlaceError, diff, disk, hold, is_home, restore, room, verify};
use crate::git::{Git, Repository, told};

/// What is on disk as long as faults are planted in place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Guard {
    schema_version: u32,
    pid: u32,
    pub(super) run: String,
    invariant: String,
    commit: String,
    branch: Option<String>,
    prefix: String,
    /// How far it was.
    pub(super) phase: Phase,
    /// The fault that is planted.
    pub(super) patch: Option<PathBuf>,
    /// Folders without a file, which git would take away.
    pub(super) folders: Vec<PathBuf>,
}

/// How far an attempt is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Phase {
    /// The tree is clean, or an agent is at work in it.
    Clean,
    /// A fault is planted, and it is known.
    Planted,
    /// It is being brought back.
    Restoring,
}

const SCHEMA_VERSION: u32 = 1;

pub(super) fn file(room: &Path) -> PathBuf {
    room.join("mutation-guard.json")
}

impl Guard {
    pub(super) fn new(
        repository: &Repository,
        run: &str,
        invariant: &str,
        folders: Vec<PathBuf>,
    ) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            pid: std::process::id(),
            run: run.to_owned(),
            invariant: invariant.to_owned(),
            commit: repository.head.clone(),
            branch: repository.branch.clone(),
            prefix: repository.prefix.clone(),
            phase: Phase::Clean,
            patch: None,
            folders,
        }
    }

    pub(super) fn write(&self, room: &Path) -> Result<(), InPlaceError> {
        let file = file(room);
        crate::place::write_json(&file, self).map_err(disk(&file))
    }

    pub(super) fn remove(room: &Path) -> Result<(), InPlaceError> {
        let file = file(room);
        match fs::remove_file(&file) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(disk(&file)(error)),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// What a person types to bring the tree back.
    pub(super) fn commands(&self) -> String {
        let head = match &self.branch {
            Some(branch) => format!("  git symbolic-ref HEAD {branch}\n"),
            None => String::new(),
        };
        format!(
            "{head}  git restore --source={} --staged --worktree -- ':(top)' ':(top,exclude){prefix}{runs}'\n  \
             git clean -nd    # shows what is new; then git clean -fd\n  rm {}",
            self.commit,
            "$(git rev-parse --git-dir)/ratchet/mutation-guard.json",
            prefix = self.prefix,
            runs = crate::git::RUNS,
        )
    }
}

/// Repairs what an evaluation left that was killed, if what is in the tree is what it planted, and says so. Nothing is left
/// by most.
///
/// # Errors
/// What is there is not known to be a planted fault: the reason, with what to type.
pub fn recover(git: &Git, root: &Path) -> Result<Option<String>, String> {
    // A tree that cannot be asked is refused by whoever wants to use it.
    let Ok(repository) = git.repository(root) else { return Ok(None) };
    let room = room(&repository);
    let file = file(&room);
    let bytes = match crate::place::read(&file) {
        Ok(None) => return Ok(None),
        Ok(Some(bytes)) => bytes,
        Err(error) => return Err(told(&disk(&file)(error))),
    };
    let guard: Guard = serde_json::from_slice(&bytes).map_err(|error| {
        format!("{} cannot be read ({error}); look at 'git status', then remove it", file.display())
    })?;
    let _lock = hold(&room).map_err(|error| told(&error))?;
    let refuse = |why: &str| {
        let patch = match &guard.patch {
            Some(patch) => format!("; the fault that was planted is in {}", patch.display()),
            None => String::new(),
        };
        Err(format!(
            "run {} was killed while it planted faults in this work tree, and {why}{patch}. To bring it back yourself:\n{}",
            guard.run,
            guard.commands()
        ))
    };
    let then =
        Repository { head: guard.commit.clone(), branch: guard.branch.clone(), ..repository };
    let failed = |error: InPlaceError| told(&error);
    if !is_home(git, &then).map_err(|error| told(&error))? {
        return refuse("HEAD is elsewhere now");
    }
    let now = diff(git, &then, &room).map_err(failed)?;
    let planted = guard.patch.as_ref().and_then(|patch| fs::read(patch).ok());
    let known = now.is_empty() || planted.is_some_and(|planted| planted == now);
    if !known {
        return refuse("what differs is not known to be the fault");
    }
    restore(git, &then, &guard).map_err(failed)?;
    verify(git, &then, &guard, &room).map_err(failed)?;
    Guard::remove(&room).map_err(failed)?;
    if let Some(patch) = &guard.patch {
        drop(fs::remove_file(patch));
    }
    Ok(Some(format!(
        "repaired: run {} was killed while it planted faults in this work tree, which is at {} again",
        guard.run, guard.commit
    )))
}
