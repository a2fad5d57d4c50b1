//! `docs/behaviours.md` against the sources: each row is held by a test that names it (`// B-H14` directly above the
//! test), or says why not; each name in a source is a row.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use super::{Source, assert_none, sources, workspace};

const PAGE: &str = "docs/behaviours.md";

/// A row: `| H14 | what it does | where it is held |`.
struct Row<'a> {
    id: &'a str,
    what: &'a str,
    held: &'a str,
}

fn rows(page: &str) -> impl Iterator<Item = Row<'_>> {
    page.lines().filter_map(|line| {
        let cells: Vec<&str> =
            line.strip_prefix('|')?.strip_suffix('|')?.split(" | ").map(str::trim).collect();
        let [id, what, held] = cells[..] else { return None };
        is_id(id).then_some(Row { id, what, held })
    })
}

/// A group letter and two or more digits.
fn is_id(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_uppercase())
        && word.len() >= 3
        && word[1..].chars().all(|c| c.is_ascii_digit())
}

/// Row ids to the tests that name them, `file: test`.
fn held_by(sources: &[Source]) -> BTreeMap<String, BTreeSet<String>> {
    let mut held: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for source in
        sources.iter().filter(|source| source.path != "tests/it/house_rules/behaviours.rs")
    {
        let lines: Vec<&str> = source.text.lines().map(str::trim).collect();
        for (at, line) in lines.iter().enumerate() {
            let Some(ids) = line.strip_prefix("// B-") else { continue };
            let test = lines[at..].iter().find_map(|line| test_name(line)).unwrap_or("?");
            for id in ids.split(" B-").filter(|id| is_id(id)) {
                held.entry(id.to_owned()).or_default().insert(format!("`{}` {test}", source.path));
            }
        }
    }
    held
}

fn test_name(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("async fn ").or_else(|| line.strip_prefix("fn "))?;
    rest.split('(').next()
}

/// The last cell of a row: the first test by name, and how many more there are.
fn cell(tests: &BTreeSet<String>) -> String {
    let first = tests.first().cloned().unwrap_or_default();
    if tests.len() > 1 { format!("{first} (+{})", tests.len() - 1) } else { first }
}

/// A reason is a sentence; a pointer to a test begins with a file.
fn is_reason(held: &str) -> bool {
    !held.is_empty() && !held.starts_with('`')
}

fn blessed(page: &str, held: &BTreeMap<String, BTreeSet<String>>) -> String {
    let mut text = String::new();
    for line in page.lines() {
        let row = rows(line).next().map(|row| match held.get(row.id) {
            Some(tests) => format!("| {} | {} | {} |", row.id, row.what, cell(tests)),
            None if is_reason(row.held) => line.to_owned(),
            None => format!("| {} | {} |  |", row.id, row.what),
        });
        text.push_str(row.as_deref().unwrap_or(line));
        text.push('\n');
    }
    text
}

#[test]
fn the_page_of_behaviours_names_the_tests_that_hold_them() {
    let path = workspace().join(PAGE);
    let page = fs::read_to_string(&path).expect("docs/behaviours.md is there");
    let expected = blessed(&page, &held_by(&sources()));
    if std::env::var_os("RATCHET_BLESS").is_some() {
        fs::write(&path, &expected).expect("the page can be written");
    }
    let page = fs::read_to_string(&path).expect("docs/behaviours.md is there");
    assert!(
        page == expected,
        "{PAGE} is not what the sources say; run this test with RATCHET_BLESS=1"
    );
}

#[test]
fn every_behaviour_has_a_test_or_a_reason() {
    let page = fs::read_to_string(workspace().join(PAGE)).expect("docs/behaviours.md is there");
    let held = held_by(&sources());
    let bare = rows(&page)
        .filter(|row| !held.contains_key(row.id) && !is_reason(row.held))
        .map(|row| format!("{}: {}", row.id, row.what));
    assert_none(bare, "no test names these, and no reason is given");
}

#[test]
fn every_behaviour_that_a_test_names_is_on_the_page() {
    let page = fs::read_to_string(workspace().join(PAGE)).expect("docs/behaviours.md is there");
    let known: BTreeSet<&str> = rows(&page).map(|row| row.id).collect();
    let held = held_by(&sources());
    let unknown = held
        .iter()
        .filter(|(id, _)| !known.contains(id.as_str()))
        .map(|(id, tests)| format!("{id} in {}", cell(tests)));
    assert_none(unknown, "no such row");
}
