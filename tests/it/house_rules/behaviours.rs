//! The pages of behaviours against the sources: each row is held by a test that names it (`// B-H14` directly above the
//! test, `// C-K03` for the page of the plain commands), or says why not; each name in a source is a row.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use super::{Source, assert_none, sources, workspace};

/// A page, and the letter before its rows in the sources.
struct Page {
    path: &'static str,
    letter: char,
}

const PAGES: [Page; 3] = [
    Page { path: "docs/behaviours.md", letter: 'B' },
    Page { path: "docs/behaviours-cli.md", letter: 'C' },
    Page { path: "docs/behaviours-eval.md", letter: 'E' },
];

impl Page {
    fn text(&self) -> String {
        fs::read_to_string(workspace().join(self.path)).expect("the page is there")
    }
}

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
fn held_by(sources: &[Source], letter: char) -> BTreeMap<String, BTreeSet<String>> {
    let mut held: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for source in
        sources.iter().filter(|source| source.path != "tests/it/house_rules/behaviours.rs")
    {
        let lines: Vec<&str> = source.text.lines().map(str::trim).collect();
        for (at, line) in lines.iter().enumerate() {
            let Some(ids) = line.strip_prefix(&format!("// {letter}-")) else { continue };
            let test = lines[at..].iter().find_map(|line| test_name(line)).unwrap_or("?");
            for id in ids.split(&format!(" {letter}-")).filter(|id| is_id(id)) {
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
fn the_pages_of_behaviours_name_the_tests_that_hold_them() {
    let sources = sources();
    for page in PAGES {
        let expected = blessed(&page.text(), &held_by(&sources, page.letter));
        if std::env::var_os("RATCHET_BLESS").is_some() {
            fs::write(workspace().join(page.path), &expected).expect("the page can be written");
        }
        assert!(
            page.text() == expected,
            "{} is not what the sources say; run this test with RATCHET_BLESS=1",
            page.path
        );
    }
}

#[test]
fn every_behaviour_has_a_test_or_a_reason() {
    let sources = sources();
    for page in PAGES {
        let (text, held) = (page.text(), held_by(&sources, page.letter));
        let bare = rows(&text)
            .filter(|row| !held.contains_key(row.id) && !is_reason(row.held))
            .map(|row| format!("{}: {}", row.id, row.what));
        assert_none(bare, "no test names these, and no reason is given");
    }
}

#[test]
fn every_behaviour_that_a_test_names_is_on_its_page() {
    let sources = sources();
    for page in PAGES {
        let (text, held) = (page.text(), held_by(&sources, page.letter));
        let known: BTreeSet<&str> = rows(&text).map(|row| row.id).collect();
        let unknown = held
            .iter()
            .filter(|(id, _)| !known.contains(id.as_str()))
            .map(|(id, tests)| format!("{id} in {}", cell(tests)));
        assert_none(unknown, "no such row");
    }
}
