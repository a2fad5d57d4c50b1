//! One project on disk: the door for everything that starts no process. Nothing here is async or makes a thread.
//!
//! It finds, reads, writes and answers; what the facts mean is decided in [`ratchet_engine`].

use std::path::Path;

use ratchet_engine::name::BatchName;
use ratchet_engine::time::Timestamp;

use crate::clock::Clock;
use crate::environment::Environment;
use crate::error::Error;
use crate::store::layout::{Layout, RATCHET_DIR};
use crate::store::manifest;

pub mod report;
pub mod spawns;
pub mod verb;

/// A project: its place, the environment of this invocation, and the clock.
#[derive(Debug, Clone)]
pub struct Project {
    layout: Layout,
    environment: Environment,
    clock: Clock,
}

impl Project {
    /// Finds the project that the working directory is in: the nearest folder upwards that holds a *folder* `.ratchet`,
    /// else the working directory itself (spec `cli-core` 1).
    ///
    /// # Errors
    /// Fails if the working directory is gone.
    pub fn find(environment: Environment, clock: Clock) -> Result<Self, Error> {
        let cwd = environment
            .cwd()
            .canonicalize()
            .map_err(|source| Error::NoWorkingDirectory { source })?;
        let holds_ratchet = |folder: &&Path| folder.join(RATCHET_DIR).is_dir();
        let root = cwd.ancestors().find(holds_ratchet).unwrap_or(&cwd);
        Ok(Self { layout: Layout::new(root), environment, clock })
    }

    /// Returns the paths.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Returns the project's root.
    #[must_use]
    pub fn root(&self) -> &Path {
        self.layout.root()
    }

    /// Returns the environment.
    #[must_use]
    pub fn environment(&self) -> &Environment {
        &self.environment
    }

    /// Returns the clock.
    #[must_use]
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// Tells the time.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Lists the batches, sorted.
    ///
    /// # Errors
    /// Fails if `.ratchet/batches` is there and cannot be read.
    pub fn batch_names(&self) -> Result<Vec<BatchName>, Error> {
        Ok(manifest::names(&self.layout)?)
    }

    /// Finds the batch that is meant: the named one, or the only one (spec `batch-status-and-selection` 8).
    ///
    /// # Errors
    /// [`Error::BatchNotFound`], [`Error::NoBatches`] or [`Error::ManyBatches`].
    pub fn resolve_batch(&self, name: Option<&str>) -> Result<BatchName, Error> {
        if let Some(name) = name {
            let known = BatchName::parse(name).ok();
            return known
                .filter(|name| manifest::exists(&self.layout, name))
                .ok_or_else(|| Error::BatchNotFound { name: name.to_owned() });
        }
        let mut names = self.batch_names()?;
        match names.len() {
            0 => Err(Error::NoBatches),
            1 => Ok(names.remove(0)),
            _ => Err(Error::ManyBatches { names }),
        }
    }

    pub(crate) fn manifest(
        &self,
        _: &BatchName,
    ) -> Result<ratchet_engine::manifest::Manifest, Error> {
        todo!()
    }
}
