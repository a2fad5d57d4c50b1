//! The permanent store of behaviour, `.ratchet/features`: what a finished change adds to it and takes from it
//! (spec `cli-core` 9.3). What is no feature does not get in; what a feature is, says [`ratchet_engine::feature`].
//!
//! Everything is looked at before anything is written. Doing it is [`super::swap`]'s; doing it twice is the same as doing it
//! once, so that an archive that was cut off is finished by running it again.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use ratchet_engine::feature;
use ratchet_engine::level::Level;

use super::file::{self, Doing, FileError, Limit, Of as _};
use super::layout::{ChangeDir, Layout};
use super::swap::Edit;

/// What a change does to the store. Paths are relative to it, sorted.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct FeatureChanges {
    /// New files.
    pub added: Vec<PathBuf>,
    /// Files that had other content.
    pub overwritten: Vec<PathBuf>,
    /// Files that had the same content.
    pub unchanged: Vec<PathBuf>,
    /// Files that the change's `.deleted` names.
    pub deleted: Vec<PathBuf>,
}

/// What a change is about to do to the store.
#[derive(Debug, Default)]
pub(crate) struct Promotion {
    pub(crate) changes: FeatureChanges,
    /// What makes it unsafe; if there is anything, nothing must be done.
    pub(crate) problems: Vec<String>,
    /// What is no good description of behaviour.
    pub(crate) faults: Vec<String>,
    writes: Vec<(PathBuf, Vec<u8>)>,
}

/// Finds out what a change would do to the store.
pub(crate) fn plan(layout: &Layout, change: &ChangeDir) -> Result<Promotion, FileError> {
    let mut promotion = Promotion::default();
    let mut files = Vec::new();
    collect(&change.features(), Path::new(""), &mut files, &mut promotion.problems)?;
    files.sort();
    for path in files {
        promotion.add(layout, change, path)?;
    }
    let tombstones = file::read_if_there(&change.tombstones(), Limit::TEXT)?.unwrap_or_default();
    for path in tombstoned(&String::from_utf8_lossy(&tombstones), &mut promotion.problems) {
        promotion.delete(layout, path);
    }
    Ok(promotion)
}

/// Lists the features that are in the store, by their paths in it, sorted. Links are not gone into.
pub(crate) fn stored(layout: &Layout) -> Result<Vec<PathBuf>, FileError> {
    let mut files = Vec::new();
    collect(&layout.features(), Path::new(""), &mut files, &mut Vec::new())?;
    files.sort();
    Ok(files)
}

/// Lists the features of a change, by their paths below its `features`, sorted. Links are not gone into.
pub(crate) fn of_change(change: &ChangeDir) -> Result<Vec<PathBuf>, FileError> {
    let mut files = Vec::new();
    collect(&change.features(), Path::new(""), &mut files, &mut Vec::new())?;
    files.sort();
    Ok(files)
}

impl Promotion {
    /// Lists the files of the store that change.
    pub(crate) fn edits(&self) -> Vec<Edit> {
        let written = self.writes.iter().map(|(path, bytes)| (path, Some(bytes.clone())));
        let gone = self.changes.deleted.iter().map(|path| (path, None));
        written.chain(gone).map(|(path, content)| Edit { path: path.clone(), content }).collect()
    }

    fn add(&mut self, layout: &Layout, change: &ChangeDir, path: PathBuf) -> Result<(), FileError> {
        let source = change.features().join(&path);
        let Some(new) = file::read_if_there(&source, Limit::TEXT)? else { return Ok(()) };
        let faults = feature::check(&String::from_utf8_lossy(&new));
        let errors = faults.iter().filter(|fault| fault.flaw.level() == Level::Error);
        let told = errors.map(|fault| format!("features/{}: {fault}", path.display()));
        self.faults.extend(told);
        match self.look_at_target(layout, &path) {
            Target::Problem => return Ok(()),
            Target::File
                if file::read_if_there(&layout.features().join(&path), Limit::TEXT)
                    .is_ok_and(|old| old.as_ref() == Some(&new)) =>
            {
                self.changes.unchanged.push(path);
                return Ok(());
            }
            Target::File => self.changes.overwritten.push(path.clone()),
            Target::Absent => self.changes.added.push(path.clone()),
        }
        self.writes.push((path, new));
        Ok(())
    }

    fn delete(&mut self, layout: &Layout, path: PathBuf) {
        let is_written = self.changes.added.contains(&path);
        match self.look_at_target(layout, &path) {
            Target::File => self.changes.deleted.push(path),
            Target::Absent if is_written => self.changes.deleted.push(path),
            Target::Absent | Target::Problem => {}
        }
    }

    /// Looks at a place in the store. A link on the way could lead anywhere, so it is not followed.
    fn look_at_target(&mut self, layout: &Layout, path: &Path) -> Target {
        let mut at = layout.features();
        let mut parts = path.components().peekable();
        while let Some(part) = parts.next() {
            at.push(part);
            let expected_folder = parts.peek().is_some();
            match fs::symlink_metadata(&at) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Target::Absent,
                Ok(meta) if meta.is_dir() && expected_folder => {}
                Ok(meta) if meta.is_file() && !expected_folder => return Target::File,
                Ok(_) | Err(_) => {
                    self.problems.push(format!(
                        "{} cannot be used: something of another kind, or a link, is in its place",
                        at.display()
                    ));
                    return Target::Problem;
                }
            }
        }
        Target::Absent
    }
}

enum Target {
    Absent,
    File,
    Problem,
}

/// Finds every `.feature` file below a folder.
fn collect(
    folder: &Path,
    relative: &Path,
    files: &mut Vec<PathBuf>,
    problems: &mut Vec<String>,
) -> Result<(), FileError> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries.of(folder, Doing::Read)?,
    };
    for entry in entries {
        let entry = entry.of(folder, Doing::Read)?;
        let (path, kind) = (entry.path(), entry.file_type().of(folder, Doing::Read)?);
        let relative = relative.join(entry.file_name());
        let is_feature = path.extension().is_some_and(|extension| extension == "feature");
        if kind.is_dir() {
            collect(&path, &relative, files, problems)?;
        } else if kind.is_file() && is_feature {
            files.push(relative);
        } else if kind.is_symlink() {
            problems.push(format!("{} is a link; put the file itself there", path.display()));
        }
    }
    Ok(())
}

/// Reads a list of tombstones: one path a line, blank lines and `#` lines aside, each once.
fn tombstoned(text: &str, problems: &mut Vec<String>) -> BTreeSet<PathBuf> {
    let mut paths = BTreeSet::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if line.starts_with('#') {
            continue;
        }
        let path = Path::new(line.trim_start_matches('/'));
        let plain = path.components().all(|part| matches!(part, Component::Normal(_)));
        if plain && !path.as_os_str().is_empty() {
            paths.insert(path.to_owned());
        } else {
            problems.push(format!("'{line}' in features/.deleted leaves the feature store"));
        }
    }
    paths
}

#[cfg(test)]
mod tests {
    use ratchet_engine::name::ChangeName;

    use super::*;

    const FEATURE: &str = "Feature: shop\n  Scenario: one\n    Given a\n    When b\n    Then c\n";

    struct Fixture {
        dir: tempfile::TempDir,
        layout: Layout,
        change: ChangeDir,
    }

    impl Fixture {
        fn new(files: &[(&str, &str)]) -> Self {
            let dir = tempfile::tempdir().unwrap();
            let layout = Layout::new(dir.path());
            let change = layout.change(&ChangeName::parse("a").unwrap());
            let fixture = Self { dir, layout, change };
            for (path, text) in files {
                fixture.put(path, text);
            }
            fixture
        }

        fn put(&self, path: &str, text: &str) {
            let path = self.dir.path().join(".ratchet").join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        fn plan(&self) -> Promotion {
            plan(&self.layout, &self.change).unwrap()
        }
    }

    fn paths(paths: &[PathBuf]) -> Vec<&str> {
        paths.iter().map(|path| path.to_str().unwrap()).collect()
    }

    #[test]
    fn features_are_promoted_and_tombstones_obeyed_and_twice_is_once() {
        let fixture = Fixture::new(&[
            ("changes/a/features/shop/new.feature", FEATURE),
            ("changes/a/features/shop/same.feature", FEATURE),
            ("changes/a/features/shop/other.feature", FEATURE),
            ("changes/a/features/shop/notes.txt", "no feature"),
            ("changes/a/features/.deleted", "# gone\n\n/old/gone.feature\nold/never.feature\n"),
            ("features/shop/same.feature", FEATURE),
            ("features/shop/other.feature", "before"),
            ("features/old/gone.feature", "x"),
        ]);
        let promotion = fixture.plan();
        assert_eq!(promotion.problems, [""; 0]);
        assert_eq!(paths(&promotion.changes.added), ["shop/new.feature"]);
        assert_eq!(paths(&promotion.changes.unchanged), ["shop/same.feature"]);
        assert_eq!(paths(&promotion.changes.overwritten), ["shop/other.feature"]);
        assert_eq!(paths(&promotion.changes.deleted), ["old/gone.feature"]);
        let nobody = crate::environment::Environment::new("/", [("HOME", "/")]);
        super::super::swap::apply(&fixture.layout, &nobody, &promotion.edits()).unwrap();
        let store = fixture.layout.features();
        assert_eq!(fs::read_to_string(store.join("shop/other.feature")).unwrap(), FEATURE);
        assert!(!store.join("old").exists(), "the emptied folder is gone");
        assert!(!store.join("shop/notes.txt").exists());
        let again = fixture.plan();
        assert_eq!(again.changes.unchanged.len(), 3);
        assert!(again.changes.deleted.is_empty() && again.writes.is_empty());
    }

    #[test]
    fn what_is_no_feature_does_not_get_into_the_store() {
        let fixture = Fixture::new(&[
            ("changes/a/features/shop/good.feature", FEATURE),
            ("changes/a/features/shop/none.feature", "not a feature"),
            ("changes/a/features/shop/half.feature", "Feature: x\n  Scenario: y\n    Given z\n"),
        ]);
        let problems = fixture.plan().faults;
        assert_eq!(problems.len(), 4, "{problems:?}");
        let half = "features/shop/half.feature: the scenario 'y' has no When (line 2, column 3)";
        assert_eq!(problems[0], half);
        assert!(problems[2].starts_with("features/shop/none.feature: there is no 'Feature:'"));
    }

    #[test]
    fn nothing_leaves_the_store() {
        for line in ["../x", "a/../../x", "..", "/", "a/./../b"] {
            let fixture = Fixture::new(&[("changes/a/features/.deleted", line)]);
            assert_eq!(fixture.plan().problems.len(), 1, "{line:?}");
        }
        let fixture = Fixture::new(&[
            ("changes/a/features/shop/new.feature", FEATURE),
            ("outside/keep.feature", "keep"),
            ("features/.keep", ""),
        ]);
        let outside = fixture.dir.path().join(".ratchet/outside");
        std::os::unix::fs::symlink(&outside, fixture.layout.features().join("shop")).unwrap();
        assert_eq!(fixture.plan().problems.len(), 1);
        let linked = Fixture::new(&[("changes/a/features/.keep", "")]);
        std::os::unix::fs::symlink(&outside, linked.change.features().join("l.feature")).unwrap();
        assert_eq!(linked.plan().problems.len(), 1);
    }
}
