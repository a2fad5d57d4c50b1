//! Where an evaluation keeps things below `.ratchet/`, and how files get there: beside their place, then moved.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::git::RUNS;
use crate::run_id::RunId;

/// The project's folders for evaluations.
#[derive(Debug, Clone)]
pub struct Place {
    root: PathBuf,
}

impl Place {
    /// Takes the project's root.
    #[must_use]
    pub fn new(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// Returns the project's root.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns `.ratchet`.
    #[must_use]
    pub fn ratchet(&self) -> PathBuf {
        self.root.join(".ratchet")
    }

    fn evals(&self) -> PathBuf {
        self.ratchet().join("evals")
    }

    /// Returns the manifest of invariants.
    #[must_use]
    pub fn invariants(&self) -> PathBuf {
        self.evals().join("invariants.yaml")
    }

    /// Returns the folder of bindings.
    #[must_use]
    pub fn specs(&self) -> PathBuf {
        self.evals().join("specs")
    }

    /// Returns the folder of fixtures.
    #[must_use]
    pub fn fixtures(&self) -> PathBuf {
        self.evals().join("fixtures")
    }

    /// Returns the file that names the baseline.
    #[must_use]
    pub fn baseline(&self) -> PathBuf {
        self.evals().join("baseline.json")
    }

    /// Returns the record of a run.
    #[must_use]
    pub fn record(&self, run: &RunId) -> PathBuf {
        self.root.join(RUNS).join(format!("{run}.json"))
    }

    /// Returns the folder of what a run leaves behind.
    #[must_use]
    pub fn artifacts(&self, run: &RunId) -> PathBuf {
        self.root.join(RUNS).join(run.as_str()).join("artifacts")
    }

    /// Returns the folder of a mutation invariant's evidence.
    #[must_use]
    pub fn evidence(&self, run: &RunId, invariant: &str) -> PathBuf {
        self.artifacts(run).join("invariants").join(folder_name(invariant))
    }

    /// Gives a path from the project's root, with `/`.
    #[must_use]
    pub fn relative(&self, path: &Path) -> String {
        path.strip_prefix(&self.root).unwrap_or(path).display().to_string()
    }
}

/// Makes a folder's name of an id: what could lead elsewhere is written in hexadecimal.
fn folder_name(id: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    let dots = id.bytes().all(|byte| byte == b'.');
    id.bytes()
        .map(|byte| {
            if plain(byte) && !dots { char::from(byte).to_string() } else { format!("%{byte:02x}") }
        })
        .collect()
}

/// Writes a file in one piece: whoever reads it finds the old content or the new, also after a power cut.
///
/// # Errors
/// The disk's.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let beside = beside(path, bytes)?;
    beside.as_file().sync_data()?;
    beside.persist(path)?;
    Ok(())
}

/// As [`write()`], but a power cut may leave an empty file. A disk takes tens of milliseconds to be sure.
///
/// # Errors
/// The disk's.
pub(crate) fn write_quickly(path: &Path, bytes: &[u8]) -> io::Result<()> {
    beside(path, bytes)?.persist(path)?;
    Ok(())
}

fn beside(path: &Path, bytes: &[u8]) -> io::Result<tempfile::NamedTempFile> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let mut beside = tempfile::NamedTempFile::new_in(folder)?;
    beside.write_all(bytes)?;
    Ok(beside)
}

/// Writes a value as JSON, two spaces deep.
///
/// # Errors
/// The disk's.
pub(crate) fn write_json(path: &Path, value: &impl Serialize) -> io::Result<()> {
    write(path, &to_json(value)?)
}

/// Gives a value as JSON, two spaces deep.
///
/// # Errors
/// What cannot be JSON.
pub(crate) fn to_json(value: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut bytes = serde_json::to_vec_pretty(value)?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// Reads a file; `None` if it is not there.
///
/// # Errors
/// The disk's.
pub(crate) fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(gone) if gone.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(other) => Err(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_can_lead_nowhere_else() {
        assert_eq!(folder_name("no-bugs_1.x"), "no-bugs_1.x");
        assert_eq!(folder_name("../x"), "..%2fx");
        assert_eq!(folder_name(".."), "%2e%2e");
    }
}
