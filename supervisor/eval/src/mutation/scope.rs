//! What counts as a fault in the project's own code: not a change of tests, of the oracle, of configuration or of files
//! that version control does not know, and not one that nothing but a reader would notice. Whatever is turned away is
//! recorded with its reason: a survivor must not vanish in silence.

use std::collections::BTreeMap;

use sha2::{Digest as _, Sha256};

use super::code::essence;

/// One file that differs from what the attempt began with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Where it is, from the top of the repository, with `/`.
    pub path: String,
    /// What was in it; `None` if it is new.
    pub old: Option<Vec<u8>>,
    /// What is in it now; `None` if it is gone.
    pub new: Option<Vec<u8>>,
    /// Whether its mode differs and nothing else.
    pub mode_only: bool,
}

/// What a set of changes is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// A fault to be judged.
    Fault {
        /// What identifies it, wherever its lines stand.
        fingerprint: String,
        /// What is unusual about it.
        notes: Vec<String>,
    },
    /// None.
    Outside {
        /// Why not.
        reason: String,
    },
}

/// Looks at all changes of an attempt, of which there is at least one.
///
/// `prefix` is the project's place in the repository (`services/api/`, or empty); `oracle` is the test command.
#[must_use]
pub fn judge(changes: &[Change], prefix: &str, oracle: &str) -> Scope {
    for change in changes {
        if let Some(reason) = out_of_bounds(change, prefix, oracle) {
            return Scope::Outside { reason };
        }
    }
    if changes.iter().all(is_invisible) {
        let reason = "only comments or blanks differ".to_owned();
        return Scope::Outside { reason };
    }
    let mut notes = Vec::new();
    if changes.len() > 1 {
        notes.push(format!("{} files differ; one was asked for", changes.len()));
    }
    if changes.iter().any(|change| change.mode_only) {
        notes.push("only the mode of a file differs".to_owned());
    }
    if changes.iter().any(|change| text(change.new.as_ref()).is_none()) {
        notes.push("a file is binary".to_owned());
    }
    Scope::Fault { fingerprint: fingerprint(changes), notes }
}

fn out_of_bounds(change: &Change, prefix: &str, oracle: &str) -> Option<String> {
    let path = change.path.as_str();
    let Some(inside) = path.strip_prefix(prefix) else {
        return Some(format!("{path} is outside of the project"));
    };
    if inside.starts_with(".ratchet/") {
        return Some(format!("{path} is ratchet's"));
    }
    if is_named_by(oracle, inside) {
        return Some(format!("{path} is part of the test command"));
    }
    if is_test(inside) {
        return Some(format!("{path} is a test"));
    }
    if is_configuration(inside) {
        return Some(format!("{path} is configuration"));
    }
    if is_inline_test(change) {
        return Some(format!("only the tests at the end of {path} differ"));
    }
    None
}

/// Whether the test command names the file.
fn is_named_by(oracle: &str, path: &str) -> bool {
    let breaks = |c: char| c.is_whitespace() || "\"'`;&|()<>=$".contains(c);
    oracle.split(breaks).any(|word| word.strip_prefix("./").unwrap_or(word) == path)
}

const TEST_FOLDERS: [&str; 14] = [
    "test",
    "tests",
    "spec",
    "specs",
    "__tests__",
    "__mocks__",
    "__snapshots__",
    "testdata",
    "testing",
    "e2e",
    "fixtures",
    "cypress",
    "features",
    "benches",
];

/// Whether a file is one of tests, by the names that test runners look for.
#[must_use]
pub fn is_test(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    let (folders, name) = lower.rsplit_once('/').unwrap_or(("", &lower));
    if folders.split('/').any(|folder| TEST_FOLDERS.contains(&folder)) {
        return true;
    }
    let stem = name.split_once('.').map_or(name, |(stem, _)| stem);
    let original = path.rsplit('/').next().unwrap_or(path);
    let camel = original.split_once('.').map_or(original, |(stem, _)| stem);
    [".test.", ".spec.", ".cy."].iter().any(|mark| name.contains(mark))
        || ["test", "tests", "conftest", "spec"].contains(&stem)
        || stem.starts_with("test_")
        || ["_test", "_tests", "_spec"].iter().any(|end| stem.ends_with(end))
        || ["Test", "Tests", "Spec", "IT"].iter().any(|end| {
            camel
                .strip_suffix(end)
                .is_some_and(|rest| rest.ends_with(|c: char| c.is_ascii_lowercase()))
        })
}

const CONFIGURATION: [&str; 30] = [
    "cargo.toml",
    "package.json",
    "pyproject.toml",
    "setup.cfg",
    "setup.py",
    "tox.ini",
    "pytest.ini",
    "noxfile.py",
    "go.mod",
    "go.sum",
    "go.work",
    "makefile",
    "gnumakefile",
    "justfile",
    "rakefile",
    "gemfile",
    "pom.xml",
    "build.gradle",
    "build.gradle.kts",
    "settings.gradle",
    "cmakelists.txt",
    "build.rs",
    "mix.exs",
    "composer.json",
    "tsconfig.json",
    "deno.json",
    "dockerfile",
    "manifest.in",
    "requirements.txt",
    "phpunit.xml",
];

/// Whether a file says how the project is built, tested or stored, rather than what it does.
#[must_use]
pub fn is_configuration(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    let (folders, name) = lower.rsplit_once('/').unwrap_or(("", &lower));
    name.starts_with('.')
        || folders.split('/').any(|folder| folder.starts_with('.') && !folder.is_empty())
        || CONFIGURATION.contains(&name)
        || name.ends_with(".lock")
        || name.ends_with("-lock.json")
        || name.ends_with("-lock.yaml")
        || name.contains(".config.")
}

/// Whether a Rust file differs only behind the line where its tests begin.
fn is_inline_test(change: &Change) -> bool {
    const TESTS: &str = "#[cfg(test)]\nmod ";
    if !change.path.ends_with(".rs") {
        return false;
    }
    let (Some(old), Some(new)) = (text(change.old.as_ref()), text(change.new.as_ref())) else {
        return false;
    };
    match (old.split_once(TESTS), new.split_once(TESTS)) {
        (Some((old_code, old_tests)), Some((new_code, new_tests))) => {
            old_code == new_code && old_tests != new_tests
        }
        _ => false,
    }
}

/// Whether nothing but a reader would notice.
fn is_invisible(change: &Change) -> bool {
    match (text(change.old.as_ref()), text(change.new.as_ref())) {
        (Some(old), Some(new)) => {
            !change.mode_only && essence(&change.path, old) == essence(&change.path, new)
        }
        _ => false,
    }
}

fn fingerprint(changes: &[Change]) -> String {
    let mut hash = Sha256::new();
    let sorted: BTreeMap<&str, &Change> =
        changes.iter().map(|change| (change.path.as_str(), change)).collect();
    for (path, change) in sorted {
        hash.update(path);
        hash.update([0, u8::from(change.mode_only), u8::from(change.new.is_some())]);
        match (text(change.new.as_ref()), &change.new) {
            (Some(new), _) => hash.update(essence(path, new)),
            (None, Some(bytes)) => hash.update(bytes),
            (None, None) => {}
        }
        hash.update([0]);
    }
    hex::encode(hash.finalize())
}

/// Gives a file's text; `None` for a missing or a binary one.
fn text(bytes: Option<&Vec<u8>>) -> Option<&str> {
    let bytes = bytes?;
    if bytes.contains(&0) { None } else { std::str::from_utf8(bytes).ok() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(path: &str, old: &str, new: &str) -> Change {
        Change { path: path.into(), old: Some(old.into()), new: Some(new.into()), mode_only: false }
    }

    fn reason(changes: &[Change]) -> String {
        match judge(changes, "", "bash ci/check.sh && python -m unittest") {
            Scope::Outside { reason } => reason,
            Scope::Fault { .. } => "a fault".to_owned(),
        }
    }

    fn fingerprint_of(new: &str) -> String {
        match judge(&[change("src/a.rs", "fn a() { 0 }\n", new)], "", "t") {
            Scope::Fault { fingerprint, .. } => fingerprint,
            Scope::Outside { reason } => panic!("{reason}"),
        }
    }

    #[test]
    fn tests_by_the_names_of_every_runner_are_out_of_scope() {
        for path in [
            "tests/a.py",
            "src/__tests__/a.ts",
            "src/a.test.ts",
            "src/a.spec.js",
            "pkg/a_test.go",
            "test_a.py",
            "conftest.py",
            "spec/a_spec.rb",
            "src/AccountTest.java",
            "src/tests.rs",
            "e2e/login.ts",
            "testdata/in.txt",
            "src/test/java/A.java",
        ] {
            assert_eq!(reason(&[change(path, "a", "b")]), format!("{path} is a test"));
        }
        for path in ["src/contest.py", "src/latest.rs", "src/attestation.go", "lib/MANIFEST.js"] {
            assert_eq!(reason(&[change(path, "a", "b")]), "a fault", "{path}");
        }
    }

    #[test]
    fn the_oracle_configuration_and_ratchets_own_files_are_out_of_scope() {
        assert!(reason(&[change("ci/check.sh", "a", "b")]).contains("part of the test command"));
        for path in [
            "package.json",
            "Cargo.toml",
            ".gitignore",
            ".github/workflows/a.yml",
            "jest.config.js",
            "yarn.lock",
        ] {
            assert!(reason(&[change(path, "a", "b")]).ends_with("is configuration"), "{path}");
        }
        assert!(
            reason(&[change(".ratchet/evals/invariants.yaml", "a", "b")]).contains("ratchet's")
        );
        let outside = judge(&[change("other/a.rs", "a", "b")], "api/", "t");
        assert_eq!(
            outside,
            Scope::Outside { reason: "other/a.rs is outside of the project".into() }
        );
    }

    #[test]
    fn comments_and_blanks_are_no_fault_and_the_tests_in_a_rust_file_are_tests() {
        assert!(reason(&[change("src/a.rs", "a; // x\n", "a;\n")]).contains("comments or blanks"));
        let with = |code: &str, test: &str| format!("{code}\n#[cfg(test)]\nmod tests {{ {test} }}");
        let tests = change("src/a.rs", &with("a", "1"), &with("a", "2"));
        assert!(reason(&[tests]).starts_with("only the tests at the end"));
        assert_eq!(reason(&[change("src/a.rs", &with("a", "1"), &with("b", "1"))]), "a fault");
    }

    #[test]
    fn one_change_that_is_out_of_scope_spoils_the_rest() {
        let both = [change("src/a.rs", "a", "b"), change("tests/a.rs", "a", "b")];
        assert_eq!(reason(&both), "tests/a.rs is a test");
    }

    #[test]
    fn the_same_fault_is_recognised_however_it_is_laid_out() {
        let one = fingerprint_of("fn a() { 1 }\n");
        assert_eq!(one, fingerprint_of("fn a() {1} // one\n"));
        assert_ne!(one, fingerprint_of("fn a() { 2 }\n"));
    }

    #[test]
    fn new_removed_and_binary_files_are_faults_and_what_is_unusual_is_noted() {
        let new = Change { old: None, ..change("src/b.rs", "", "x") };
        let gone = Change { new: None, ..change("src/c.rs", "x", "") };
        let binary = Change { new: Some(vec![0, 1]), ..change("src/d.bin", "x", "") };
        let mode = Change { mode_only: true, ..change("src/e.sh", "x", "x") };
        for single in [&new, &gone, &mode] {
            assert_eq!(reason(std::slice::from_ref(single)), "a fault", "{single:?}");
        }
        let Scope::Fault { notes, .. } = judge(&[new, binary, mode], "", "t") else {
            panic!("they are faults")
        };
        assert_eq!(notes.len(), 3, "{notes:?}");
    }
}
