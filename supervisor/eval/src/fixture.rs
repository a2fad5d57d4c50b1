//! Samples of code that cases are judged on: each judge gets a copy of its own, and what prepares a sample runs once (spec
//! `eval` 4).

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use crate::binding::Binding;
use crate::call::{CannotRun, Command, Shell};
use crate::git::told;
use crate::ground::Ground;
use crate::harness::Patience;
use crate::scratch::copy_tree;

/// The samples of one run.
pub struct Fixtures<'a> {
    ground: &'a Ground<'a>,
    shell: &'a dyn Shell,
    patience: Patience,
    room: PathBuf,
    copies: u32,
    prepared: BTreeMap<(String, String), Result<PathBuf, String>>,
}

/// A sample that there is no copy of.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FixtureError {
    /// It is not there, cannot be copied, or cannot be prepared.
    #[error("{0}")]
    Failed(String),
    /// Everything was stopped.
    #[error("it was stopped")]
    Stopped,
}

impl std::fmt::Debug for Fixtures<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Fixtures").field("room", &self.room).finish_non_exhaustive()
    }
}

/// How long preparing or judging may take, in milliseconds.
pub(crate) const ONE_HOUR_MS: u64 = 3_600_000;

impl<'a> Fixtures<'a> {
    /// Makes room for copies.
    ///
    /// # Errors
    /// The disk's.
    pub fn new(
        ground: &'a Ground<'a>,
        shell: &'a dyn Shell,
        patience: Patience,
    ) -> Result<Self, FixtureError> {
        let room =
            ground.scratch.room("fixtures").map_err(|error| FixtureError::Failed(told(&error)))?;
        Ok(Self { ground, shell, patience, room, copies: 0, prepared: BTreeMap::new() })
    }

    /// Gives a fresh copy of a binding's sample.
    ///
    /// # Errors
    /// [`FixtureError`].
    pub fn fresh(&mut self, binding: &Binding) -> Result<PathBuf, FixtureError> {
        let source = match &binding.setup {
            None => self.source(&binding.fixture)?,
            Some(setup) => self.prepared(&binding.fixture, setup)?,
        };
        self.copy(&source, &binding.fixture)
    }

    fn source(&self, name: &str) -> Result<PathBuf, FixtureError> {
        let mut parts = Path::new(name).components();
        let single = matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None));
        if !single || name.contains('\\') {
            return Err(FixtureError::Failed(format!("'{name}' is no fixture's name")));
        }
        let folder = self.ground.place.fixtures().join(name);
        if folder.is_dir() {
            Ok(folder)
        } else {
            let text = format!("fixture '{name}' not found in .ratchet/evals/fixtures");
            Err(FixtureError::Failed(text))
        }
    }

    fn prepared(&mut self, name: &str, setup: &str) -> Result<PathBuf, FixtureError> {
        let key = (name.to_owned(), setup.to_owned());
        if let Some(done) = self.prepared.get(&key) {
            return done.clone().map_err(FixtureError::Failed);
        }
        let made = self.prepare(name, setup);
        let kept = match &made {
            Ok(folder) => Ok(folder.clone()),
            Err(FixtureError::Failed(why)) => Err(why.clone()),
            Err(FixtureError::Stopped) => return made,
        };
        self.prepared.insert(key, kept);
        made
    }

    fn prepare(&mut self, name: &str, setup: &str) -> Result<PathBuf, FixtureError> {
        let source = self.source(name)?;
        let copy = self.copy(&source, name)?;
        let limits = self.patience.oracle(ONE_HOUR_MS);
        let ran = self.shell.run(&Command { script: setup, cwd: &copy, limits });
        match ran {
            Ok(ran) if ran.passed() => Ok(copy),
            Ok(ran) => Err(FixtureError::Failed(format!(
                "setup failed (`{setup}` gave {}): {}",
                ran.ended.words(),
                ran.excerpt()
            ))),
            Err(CannotRun::Stopped) => Err(FixtureError::Stopped),
            Err(CannotRun::Failed(why)) => Err(FixtureError::Failed(format!(
                "setup failed: `{setup}` could not be run: {why}"
            ))),
        }
    }

    fn copy(&mut self, source: &Path, name: &str) -> Result<PathBuf, FixtureError> {
        let to = self.room.join(self.copies.to_string()).join(name);
        self.copies += 1;
        copy_tree(source, &to)
            .map_err(|error| FixtureError::Failed(format!("fixture '{name}': {}", told(&error))))?;
        Ok(to)
    }
}
