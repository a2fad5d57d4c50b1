//! What is on disk for an evaluation: features, bindings, the baseline, records.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ratchet_engine::name::ChangeName;

use crate::binding::Bindings;
use crate::case::{self, Case, Scope};
use crate::config::{self, Config};
use crate::invariant::{self, Invariant, ManifestError};
use crate::place::{Place, read, write_json};
use crate::record::RunRecord;
use crate::report::Baseline;
use crate::run_id::RunId;

/// Something that cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A scope names what is not there.
    #[error("there is no {what} '{name}'")]
    NoSuchScope {
        /// `change` or `path in .ratchet/features`.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// A scope's name leads elsewhere.
    #[error("'{name}' is no {what}: {why}")]
    BadScope {
        /// `change` or `path`.
        what: &'static str,
        /// The name.
        name: String,
        /// Why.
        why: String,
    },
    /// A feature file cannot be read.
    #[error("{why}")]
    BadFeature {
        /// What is wrong, with its place.
        why: String,
    },
    /// There is no such run.
    #[error("run {run} was not found under .ratchet/evals/runs")]
    NoSuchRun {
        /// The run.
        run: String,
    },
    /// A file is not what it should be.
    #[error("{} cannot be read", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: serde_json::Error,
    },
    /// The disk refused.
    #[error("cannot use {}", path.display())]
    Disk {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

/// Finds the cases of a scope, sorted by id.
///
/// # Errors
/// [`LoadError`].
pub fn cases(place: &Place, scope: &Scope) -> Result<Vec<Case>, LoadError> {
    let mut files = Vec::new();
    let store = place.ratchet().join("features");
    match scope {
        Scope::Store => collect(&store, &mut files)?,
        Scope::Changes => {
            collect(&store, &mut files)?;
            for change in changes(place)? {
                collect(&change.join("features"), &mut files)?;
            }
        }
        Scope::Change(name) => {
            ChangeName::parse(name).map_err(|error| LoadError::BadScope {
                what: "change",
                name: name.clone(),
                why: error.to_string(),
            })?;
            let folder = place.ratchet().join("changes").join(name);
            if name == ARCHIVE || !folder.is_dir() {
                return Err(LoadError::NoSuchScope { what: "change", name: name.clone() });
            }
            collect(&folder.join("features"), &mut files)?;
        }
        Scope::Path(path) => collect(&within(&store, path)?, &mut files)?,
    }
    files.sort();
    files.dedup();
    let mut cases = Vec::new();
    for file in files {
        let bytes = read(&file).map_err(disk(&file))?.unwrap_or_default();
        let source = file.strip_prefix(place.ratchet()).unwrap_or(&file).display().to_string();
        let text = String::from_utf8_lossy(&bytes);
        let found = case::read(&source, &text).map_err(|why| LoadError::BadFeature { why })?;
        cases.extend(found);
    }
    cases.sort_by(|one, other| one.id.cmp(&other.id));
    Ok(cases)
}

const ARCHIVE: &str = "archive";

fn within(store: &Path, path: &str) -> Result<PathBuf, LoadError> {
    use std::path::Component;
    let inner = path.strip_prefix("features/").unwrap_or(path);
    let plain = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    if !Path::new(inner).components().all(plain) || path.contains('\\') {
        return Err(LoadError::BadScope {
            what: "path",
            name: path.to_owned(),
            why: "it must be below .ratchet/features, as auth or auth/login.feature".to_owned(),
        });
    }
    let found = store.join(inner);
    if found.exists() {
        Ok(found)
    } else {
        Err(LoadError::NoSuchScope { what: "path in .ratchet/features", name: path.to_owned() })
    }
}

fn changes(place: &Place) -> Result<Vec<PathBuf>, LoadError> {
    let folder = place.ratchet().join("changes");
    let entries = match fs::read_dir(&folder) {
        Err(gone) if gone.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.map_err(disk(&folder))?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry.map_err(disk(&folder))?;
        let name = entry.file_name();
        let hidden = name.to_string_lossy().starts_with('.');
        if !hidden && name != ARCHIVE && entry.path().is_dir() {
            found.push(entry.path());
        }
    }
    Ok(found)
}

/// Finds feature files at or below a place; links to folders are not followed.
fn collect(at: &Path, files: &mut Vec<PathBuf>) -> Result<(), LoadError> {
    let metadata = match fs::symlink_metadata(at) {
        Err(gone) if gone.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other.map_err(disk(at))?,
    };
    if !metadata.is_dir() {
        if at.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("feature")) {
            files.push(at.to_owned());
        }
        return Ok(());
    }
    for entry in fs::read_dir(at).map_err(disk(at))? {
        collect(&entry.map_err(disk(at))?.path(), files)?;
    }
    Ok(())
}

/// Reads every file of bindings, in the order of their names.
///
/// # Errors
/// The disk's; what is wrong with a file is a warning.
pub fn bindings(place: &Place) -> Result<Bindings, LoadError> {
    let folder = place.specs();
    let mut files = Vec::new();
    match fs::read_dir(&folder) {
        Err(gone) if gone.kind() == io::ErrorKind::NotFound => {}
        other => {
            for entry in other.map_err(disk(&folder))? {
                let path = entry.map_err(disk(&folder))?.path();
                let extension = path.extension().map(|one| one.to_string_lossy().to_lowercase());
                if matches!(extension.as_deref(), Some("yaml" | "yml")) && path.is_file() {
                    files.push(path);
                }
            }
        }
    }
    files.sort();
    let mut bindings = Bindings::default();
    for file in files {
        let bytes = read(&file).map_err(disk(&file))?.unwrap_or_default();
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        bindings.add(&name, &bytes);
    }
    Ok(bindings)
}

/// Reads the manifest of invariants; one that is not there declares nothing.
///
/// # Errors
/// [`ManifestError`], also for a file that cannot be read.
pub fn invariants(place: &Place) -> Result<Vec<Invariant>, ManifestError> {
    match read(&place.invariants()) {
        Ok(None) => Ok(Vec::new()),
        Ok(Some(bytes)) => invariant::read(&bytes),
        Err(error) => Err(ManifestError { problems: vec![error.to_string()] }),
    }
}

/// Reads the project's configuration, and what is wrong with its section.
///
/// # Errors
/// The disk's.
pub fn config(place: &Place) -> Result<(Config, Option<String>), LoadError> {
    for name in ["config.yaml", "config.yml"] {
        let file = place.ratchet().join(name);
        if let Some(bytes) = read(&file).map_err(disk(&file))? {
            return Ok(config::read(&bytes));
        }
    }
    Ok((Config::default(), None))
}

/// Reads the baseline. One that names a run which is not there is a warning: the regressions are not looked for.
///
/// # Errors
/// The disk's.
pub fn baseline(place: &Place) -> Result<(Option<Baseline>, Option<String>), LoadError> {
    let file = place.baseline();
    let Some(bytes) = read(&file).map_err(disk(&file))? else { return Ok((None, None)) };
    let lost = |why: String| {
        let warning = format!("baseline.json: {why}; regressions are not looked for");
        Ok((None, Some(warning)))
    };
    let mut baseline: Baseline = match serde_json::from_slice(&bytes) {
        Ok(baseline) => baseline,
        Err(error) => return lost(format!("it cannot be read ({error})")),
    };
    if baseline.verdicts.is_none() {
        match record(place, &baseline.run_id) {
            Ok(record) => baseline = Baseline::of(&record),
            Err(error) => return lost(error.to_string()),
        }
    }
    Ok((Some(baseline), None))
}

/// Makes a run the baseline.
///
/// # Errors
/// The disk's.
pub fn keep_baseline(place: &Place, baseline: &Baseline) -> Result<(), LoadError> {
    let file = place.baseline();
    write_json(&file, baseline).map_err(disk(&file))
}

/// Reads the record of a run.
///
/// # Errors
/// [`LoadError`].
pub fn record(place: &Place, run: &RunId) -> Result<RunRecord, LoadError> {
    let path = place.record(run);
    let bytes = read(&path)
        .map_err(disk(&path))?
        .ok_or_else(|| LoadError::NoSuchRun { run: run.to_string() })?;
    serde_json::from_slice(&bytes).map_err(|source| LoadError::Damaged { path, source })
}

/// Writes the record of a run.
///
/// # Errors
/// The disk's.
pub fn keep_record(place: &Place, record: &RunRecord) -> Result<(), LoadError> {
    let file = place.record(&record.run_id);
    write_json(&file, record).map_err(disk(&file))
}

/// Finds the newest run; ids sort by time.
#[must_use]
pub fn newest_run(place: &Place) -> Option<RunId> {
    let entries = fs::read_dir(place.root().join(crate::git::RUNS)).ok()?;
    let ids = entries.flatten().filter_map(|entry| {
        let name = entry.file_name();
        RunId::parse(name.to_str()?.strip_suffix(".json")?).ok()
    });
    ids.max()
}

fn disk(path: &Path) -> impl FnOnce(io::Error) -> LoadError + use<> {
    let path = path.to_owned();
    move |source| LoadError::Disk { path, source }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::write;

    const ONE: &str = "Feature: F\n  Scenario: one\n    Then x\n";

    fn ids(root: &Path, scope: &Scope) -> Result<Vec<String>, LoadError> {
        let cases = cases(&Place::new(root), scope)?;
        Ok(cases.into_iter().map(|case| case.id).collect())
    }

    // E-E04 E-E05 E-E06
    #[test]
    fn a_scope_says_which_files_are_read_and_the_archive_never_is() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        write(root, ".ratchet/features/b/x.feature", ONE);
        write(root, ".ratchet/features/a.feature", ONE);
        write(root, ".ratchet/features/notes.md", "x");
        write(root, ".ratchet/changes/c1/features/y.feature", ONE);
        write(root, ".ratchet/changes/archive/2026-01-01-old/features/z.feature", ONE);
        let store = ["features/a#one", "features/b/x#one"];
        assert_eq!(ids(root, &Scope::Store).unwrap(), store);
        assert_eq!(ids(root, &Scope::Store).unwrap(), store, "stable");
        let change = "changes/c1/features/y#one";
        assert_eq!(ids(root, &Scope::Changes).unwrap(), [change, store[0], store[1]]);
        assert_eq!(ids(root, &Scope::Change("c1".into())).unwrap(), [change]);
        for path in ["b", "features/b", "b/x.feature"] {
            assert_eq!(ids(root, &Scope::Path(path.into())).unwrap(), [store[1]], "{path}");
        }
    }

    #[test]
    fn a_scope_that_is_not_there_or_leads_elsewhere_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        write(root, ".ratchet/features/a.feature", ONE);
        write(root, ".ratchet/changes/archive/features/a.feature", ONE);
        for scope in [
            Scope::Change("nope".into()),
            Scope::Change("archive".into()),
            Scope::Change("../x".into()),
            Scope::Path("nope".into()),
            Scope::Path("../changes".into()),
            Scope::Path("/etc".into()),
        ] {
            assert!(ids(root, &scope).is_err(), "{scope:?}");
        }
        assert_eq!(ids(&root.join("elsewhere"), &Scope::Store).unwrap(), [""; 0]);
    }

    #[test]
    fn a_baseline_holds_its_verdicts_and_one_that_lost_its_run_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let place = Place::new(folder.path());
        assert_eq!(baseline(&place).unwrap(), (None, None));
        let record = crate::record::tests::run("r", &[("a", crate::jury::Verdict::Pass)]);
        keep_baseline(&place, &Baseline::of(&record)).unwrap();
        assert_eq!(baseline(&place).unwrap().0.unwrap().cases(), Some(1));
        write(folder.path(), ".ratchet/evals/baseline.json", "{\"runId\": \"gone\"}");
        let (found, warning) = baseline(&place).unwrap();
        assert!(found.is_none() && warning.unwrap().contains("regressions are not looked for"));
        keep_record(&place, &record).unwrap();
        write(folder.path(), ".ratchet/evals/baseline.json", "{\"runId\": \"r\"}");
        assert_eq!(baseline(&place).unwrap().0.unwrap().cases(), Some(1));
        assert_eq!(newest_run(&place), Some(RunId::parse("r").unwrap()));
    }
}
