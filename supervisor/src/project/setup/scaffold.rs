//! What a new project gets beside the files of the tools: its configuration, its invariants, and what git is to ignore.
//! Each is written once; what is there stays byte for byte.

use std::fmt::Write as _;

use super::{ConfigFile, Kept};
use crate::store::file::{self, Created, FileError, Limit};
use crate::store::layout::Layout;

const CONFIG: &str = include_str!("scaffold/config.yaml");
const INVARIANTS: &str = include_str!("scaffold/invariants.yaml");

/// What agents and runs leave behind (Q40). Not simply every `run/`: a capability may be called so.
const IGNORED: [&str; 6] = [
    ".ratchet/.next/",
    ".ratchet/evals/runs/",
    ".ratchet/changes/**/.run/",
    ".ratchet/changes/**/.apply-context/",
    ".ratchet/batches/*/run/",
    ".ratchet/batches/archive/*/run/",
];

/// The folders in which tests are looked for, the likeliest first.
const TEST_FOLDERS: [&str; 4] = ["test", "tests", "spec", "__tests__"];

/// Writes the configuration, unless there is one.
pub(super) fn config(layout: &Layout, wanted: ConfigFile) -> Result<Kept, FileError> {
    if layout.config_yaml().exists() || layout.config_yml().exists() {
        return Ok(Kept::Kept);
    }
    match wanted {
        ConfigFile::LeftOut => Ok(Kept::LeftOut),
        ConfigFile::Written => Ok(file::create(&layout.config_yaml(), CONFIG.as_bytes())?.into()),
    }
}

/// Writes the invariants, unless there are some.
pub(super) fn invariants(layout: &Layout) -> Result<Created, FileError> {
    if layout.invariants().exists() {
        return Ok(Created::Before);
    }
    let is_there = |folder: &&&str| layout.root().join(folder).is_dir();
    let tests = TEST_FOLDERS.iter().find(is_there).copied();
    file::create(&layout.invariants(), invariants_text(tests).as_bytes())
}

/// Adds to `.gitignore` what it lacks, and returns that.
pub(super) fn gitignore(layout: &Layout) -> Result<Vec<&'static str>, FileError> {
    let path = layout.gitignore();
    let old = file::read_if_there(&path, Limit::TEXT)?.unwrap_or_default();
    let text = String::from_utf8_lossy(&old);
    let has = |line: &&str| text.lines().any(|old| old.trim() == *line);
    let missing: Vec<&str> = IGNORED.into_iter().filter(|line| !has(line)).collect();
    if missing.is_empty() {
        return Ok(missing);
    }
    let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let mut added = String::new();
    if !text.is_empty() {
        added.push_str(if text.ends_with('\n') { end } else { "\n\n" });
    }
    write!(added, "# What ratchet's runs leave behind{end}").expect("a String takes every write");
    for line in &missing {
        write!(added, "{line}{end}").expect("a String takes every write");
    }
    file::replace(&path, &[old.as_slice(), added.as_bytes()].concat())?;
    Ok(missing)
}

/// Puts the entries about tests in: live where there is a folder of tests, else as comments.
fn invariants_text(tests: Option<&str>) -> String {
    let entries = format!(
        "  - id: tests-still-exist\n    kind: deterministic\n    active: false\n    check:\n      run: test -d {0}\n\n\
         # Plants faults in the code and sees whether the tests notice. Put the command that runs them in place of the one\n\
         # here before you switch it on.\n\
         \x20 - id: mutants-are-killed\n    kind: mutation\n    active: false\n    test: test -d {0}\n    budget: 5\n    \
         threshold: 3\n",
        tests.unwrap_or("tests")
    );
    let entries = match tests {
        Some(_) => entries,
        None => entries.lines().map(commented).collect(),
    };
    INVARIANTS.replace("# TESTS\n", &entries)
}

fn commented(line: &str) -> String {
    match line {
        "" => "\n".to_owned(),
        line if line.starts_with('#') => format!("{line}\n"),
        line => format!("# {line}\n"),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use ratchet_engine::yaml::{self, Node};

    use super::*;

    fn project() -> (tempfile::TempDir, Layout) {
        let dir = tempfile::tempdir().unwrap();
        let layout = Layout::new(dir.path());
        fs::create_dir_all(layout.evals()).unwrap();
        (dir, layout)
    }

    // C-M03
    #[test]
    fn the_invariants_are_written_once_and_only_the_first_is_active() {
        let (_dir, layout) = project();
        assert_eq!(invariants(&layout).unwrap(), Created::Now);
        let ids = |text: &str| -> Vec<(String, bool)> {
            let root = yaml::parse(text).unwrap();
            let entry = |node: &Node| {
                (
                    node.get("id").unwrap().as_text().unwrap().to_owned(),
                    node.get("active").unwrap().as_bool().unwrap(),
                )
            };
            root.get("invariants").unwrap().as_list().unwrap().iter().map(entry).collect()
        };
        let text = fs::read_to_string(layout.invariants()).unwrap();
        assert_eq!(ids(&text), [("spec-not-weakened".to_owned(), true)]);
        assert!(
            text.contains("#   - id: tests-still-exist") && text.contains("public-api-unchanged")
        );
        for word in ["npm", "cargo", "pytest", "yarn", "make"] {
            assert!(!text.contains(word), "{word}");
        }
        fs::write(layout.invariants(), "mine").unwrap();
        assert_eq!(invariants(&layout).unwrap(), Created::Before);
        assert_eq!(fs::read_to_string(layout.invariants()).unwrap(), "mine");
        let with_tests = invariants_text(Some("spec"));
        let names: Vec<_> = ids(&with_tests);
        assert_eq!(names.len(), 3);
        assert_eq!(names.iter().filter(|(_, active)| *active).count(), 1);
        assert!(with_tests.contains("run: test -d spec\n"));
    }

    #[test]
    fn what_git_is_to_ignore_is_added_once_and_what_is_there_stays() {
        let (_dir, layout) = project();
        assert_eq!(gitignore(&layout).unwrap(), IGNORED);
        assert!(gitignore(&layout).unwrap().is_empty());
        let text = fs::read_to_string(layout.gitignore()).unwrap();
        assert!(text.starts_with("# What ratchet"), "{text}");
        for (old, expected) in [
            ("target", "target\n\n# What"),
            ("target\n", "target\n\n# What"),
            ("a\r\n.ratchet/evals/runs/\r\n", "a\r\n.ratchet/evals/runs/\r\n\r\n# What"),
        ] {
            fs::write(layout.gitignore(), old).unwrap();
            let added = gitignore(&layout).unwrap().len();
            let text = fs::read_to_string(layout.gitignore()).unwrap();
            assert!(text.starts_with(expected), "{text:?}");
            assert_eq!(text.matches(".ratchet/evals/runs/").count(), 1);
            assert_eq!(added, if old.contains("evals") { 5 } else { 6 });
        }
    }

    // C-M02
    #[test]
    fn a_configuration_is_written_where_there_is_none() {
        let (_dir, layout) = project();
        assert_eq!(config(&layout, ConfigFile::LeftOut).unwrap(), Kept::LeftOut);
        assert_eq!(config(&layout, ConfigFile::Written).unwrap(), Kept::Created);
        assert_eq!(config(&layout, ConfigFile::Written).unwrap(), Kept::Kept);
        let read = crate::store::settings::read_project(&layout).unwrap();
        assert_eq!((read.schema.as_str(), read.warnings.len()), ("ratchet", 0));
        fs::rename(layout.config_yaml(), layout.config_yml()).unwrap();
        assert_eq!(config(&layout, ConfigFile::Written).unwrap(), Kept::Kept);
    }
}
