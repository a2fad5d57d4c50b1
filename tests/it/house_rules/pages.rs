//! The pages for people: every link leads somewhere, every page is in the book, and what is listed is what is there.
//!
//! `RATCHET_BLESS=1` writes the lists anew: of the errors, of the decisions, of the book, and of what is new.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

use super::{assert_none, sources, workspace};

/// Folders that hold pages, and none of anybody else.
const FOLDERS: [&str; 8] =
    ["cli", "deploy", "docs", "fixtures", "proto", "runtime-agent", "supervisor", "tests"];

/// Between these two lines of a page stands what is written by this test.
const LIST_BEGINS: &str = "<!-- list -->";
const LIST_ENDS: &str = "<!-- end of list -->";

/// A page of Markdown.
struct Page {
    /// Relative to the workspace.
    path: PathBuf,
    text: String,
}

fn pages() -> Vec<Page> {
    let root = workspace();
    let mut found = Vec::new();
    for entry in fs::read_dir(&root).expect("the workspace can be read") {
        let path = entry.expect("a folder can be read").path();
        let is_ours = FOLDERS.iter().any(|folder| path.ends_with(folder));
        if is_ours || path.extension().is_some_and(|extension| extension == "md") {
            collect(&root, &path, &mut found);
        }
    }
    found.sort_by(|one, other| one.path.cmp(&other.path));
    assert!(found.len() > 20, "the pages are not where this test looks");
    found
}

fn collect(root: &Path, path: &Path, found: &mut Vec<Page>) {
    if path.is_dir() {
        for entry in fs::read_dir(path).expect("a folder can be read") {
            let path = entry.expect("a folder can be read").path();
            if !path.ends_with("target") && !path.ends_with("node_modules") {
                collect(root, &path, found);
            }
        }
    } else if path.extension().is_some_and(|extension| extension == "md") {
        let text = fs::read_to_string(path).expect("a page is text");
        let path = path.strip_prefix(root).expect("below the workspace").to_owned();
        found.push(Page { path, text });
    }
}

impl Page {
    /// The lines that are prose: no code, and no code in them either.
    fn prose(&self) -> Vec<String> {
        let mut fence = None;
        let mut prose = Vec::new();
        for line in self.text.lines() {
            let mark = line.trim_start().chars().take_while(|c| *c == '`').count();
            match fence {
                None if mark >= 3 => fence = Some(mark),
                Some(open) if mark >= open => fence = None,
                None if !line.starts_with("    ") => prose.push(without_code(line)),
                None | Some(_) => {}
            }
        }
        prose
    }

    /// Where its links lead: `](target)`.
    fn links(&self) -> Vec<String> {
        // A link may be broken over two lines.
        let prose = self.prose().join(" ");
        let targets = prose.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        targets.map(str::to_owned).collect()
    }

    /// What can be linked to in it, as GitHub and mdBook name headings.
    fn anchors(&self) -> BTreeSet<String> {
        let mut seen: BTreeMap<String, usize> = BTreeMap::new();
        let mut anchors = BTreeSet::new();
        let mut fenced = false;
        for line in self.text.lines() {
            if line.trim_start().starts_with("```") {
                fenced = !fenced;
            }
            if fenced || !line.starts_with('#') {
                continue;
            }
            let slug = slug(line.trim_start_matches('#').trim());
            let before = seen.entry(slug.clone()).or_default();
            anchors.insert(if *before == 0 { slug } else { format!("{slug}-{before}") });
            *before += 1;
        }
        anchors
    }

    /// The heading of the page.
    fn title(&self) -> &str {
        let line = self.text.lines().find_map(|line| line.strip_prefix("# "));
        line.unwrap_or_else(|| panic!("{} has no heading", self.path.display()))
    }
}

/// Takes code out of a line: what stands between runs of as many backquotes.
fn without_code(line: &str) -> String {
    let mut text = String::new();
    let mut rest = line;
    while let Some(start) = rest.find('`') {
        let mark = rest[start..].chars().take_while(|c| *c == '`').count();
        let inside = &rest[start + mark..];
        let Some(end) = inside.find(&"`".repeat(mark)) else { break };
        text.push_str(&rest[..start]);
        rest = &inside[end + mark..];
    }
    text + rest
}

fn slug(heading: &str) -> String {
    let heading = heading.to_lowercase();
    let kept = heading.chars().filter_map(|c| match c {
        ' ' => Some('-'),
        c if c.is_alphanumeric() || c == '-' || c == '_' => Some(c),
        _ => None,
    });
    kept.collect()
}

/// Follows a link from a page; `None` if it leaves the workspace.
fn target(page: &Path, link: &str) -> Option<PathBuf> {
    let mut path = page.parent().unwrap_or(Path::new("")).to_owned();
    for part in Path::new(link).components() {
        match part {
            Component::ParentDir => {
                if !path.pop() {
                    return None;
                }
            }
            Component::Normal(name) => path.push(name),
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(path)
}

#[test]
fn every_link_leads_somewhere() {
    let pages = pages();
    let root = workspace();
    let anchors: BTreeMap<&Path, BTreeSet<String>> =
        pages.iter().map(|page| (page.path.as_path(), page.anchors())).collect();
    let mut checked = 0;
    let mut dead = Vec::new();
    for page in &pages {
        for link in page.links() {
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            checked += 1;
            let (file, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let path = match file {
                "" => Some(page.path.clone()),
                file => target(&page.path, file),
            };
            let leads = path.is_some_and(|path| {
                let has_anchor =
                    || anchors.get(path.as_path()).is_some_and(|all| all.contains(anchor));
                root.join(&path).exists() && (anchor.is_empty() || has_anchor())
            });
            if !leads {
                dead.push(format!("{}: {link}", page.path.display()));
            }
        }
    }
    assert!(checked > 50, "only {checked} links were found");
    assert_none(dead, "links that lead nowhere");
}

/// Pages below a folder of the docs, but the folder's own list.
fn listed<'a>(pages: &'a [Page], folder: &str) -> Vec<&'a Page> {
    let inside = |page: &&Page| {
        page.path.parent() == Some(Path::new(folder)) && !page.path.ends_with("README.md")
    };
    pages.iter().filter(inside).collect()
}

fn name(page: &Page) -> String {
    page.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The first sentence of an error's page, which stands in bold.
fn sentence(page: &Page) -> &str {
    let bold = page.text.lines().find_map(|line| line.strip_prefix("**")?.strip_suffix("**"));
    bold.unwrap_or_else(|| panic!("{} says nothing in bold", page.path.display()))
}

/// Puts a list between its two marks.
fn with_list(text: &str, list: &str) -> String {
    let (before, rest) = text.split_once(LIST_BEGINS).expect("the list has a beginning");
    let (_, after) = rest.split_once(LIST_ENDS).expect("the list has an end");
    format!("{before}{LIST_BEGINS}\n{list}{LIST_ENDS}{after}")
}

/// Holds a page against what it should be, or writes it.
fn hold(path: &str, expected: &str) {
    let file = workspace().join(path);
    if std::env::var_os("RATCHET_BLESS").is_some() {
        fs::write(&file, expected).expect("the page can be written");
    }
    let found = fs::read_to_string(&file).unwrap_or_default();
    assert!(
        found == expected,
        "{path} is not what it should be; run this test with RATCHET_BLESS=1"
    );
}

fn hold_list(path: &str, list: &str) {
    let text = fs::read_to_string(workspace().join(path)).expect("the page is there");
    hold(path, &with_list(&text, list));
}

#[test]
fn every_error_and_every_decision_is_listed() {
    let pages = pages();
    let errors = listed(&pages, "docs/errors");
    let line = |page: &&Page| {
        format!("- [{}]({}): {}\n", page.title(), name(page), sentence(page).trim_end_matches('.'))
    };
    hold_list("docs/errors/README.md", &errors.iter().map(line).collect::<String>());
    let decisions = listed(&pages, "docs/adr");
    let line = |page: &&Page| format!("- [{}]({})\n", page.title(), name(page));
    hold_list("docs/adr/README.md", &decisions.iter().map(line).collect::<String>());
}

#[test]
fn every_page_is_in_the_book() {
    let pages = pages();
    let mut list = String::new();
    for (title, folder) in [("Errors", "errors"), ("Decisions", "adr")] {
        list += &format!("- [{title}]({folder}/README.md)\n");
        for page in listed(&pages, &format!("docs/{folder}")) {
            list += &format!("  - [{}]({folder}/{})\n", page.title(), name(page));
        }
    }
    hold_list("docs/SUMMARY.md", &list);
    let path = PathBuf::from("docs/SUMMARY.md");
    let text = fs::read_to_string(workspace().join(&path)).expect("the book has a summary");
    let linked = Page { path, text }.links();
    let linked: BTreeSet<&str> = linked.iter().map(String::as_str).collect();
    let lost = pages.iter().filter_map(|page| {
        let inside = page.path.strip_prefix("docs").ok()?.to_str()?;
        let is_no_page = inside == "SUMMARY.md" || inside.starts_with("changes/");
        (!is_no_page && !linked.contains(inside)).then(|| inside.to_owned())
    });
    assert_none(lost, "docs/SUMMARY.md does not name these pages");
}

#[test]
fn every_code_that_a_command_shows_has_a_page() {
    let lost = sources().into_iter().filter(|source| source.path.starts_with("cli/src")).flat_map(
        |source| {
            let code = source.code().to_owned();
            let codes = code.split(".code(\"").skip(1).filter_map(|rest| rest.split('"').next());
            let codes =
                codes.filter(|code| !workspace().join(format!("docs/errors/{code}.md")).exists());
            codes.map(|code| format!("{}: {code}", source.path)).collect::<Vec<_>>()
        },
    );
    assert_none(lost, "docs/errors has no page of that name");
}

/// The headings of a change log, and which notes stand below them.
const HEADINGS: [(&str, &str); 3] =
    [("Added", ".feature.md"), ("Changed", ".breaking.md"), ("Fixed", ".fix.md")];

#[test]
fn the_change_log_says_what_the_notes_say() {
    let pages = pages();
    let notes = listed(&pages, "docs/changes");
    let mut list = String::new();
    for (heading, ending) in HEADINGS {
        let below: Vec<&&Page> = notes.iter().filter(|note| name(note).ends_with(ending)).collect();
        if !below.is_empty() {
            list += &format!("\n### {heading}\n\n");
        }
        for note in below {
            list += &format!("- {}\n", note.text.trim_end().replace('\n', "\n  "));
        }
    }
    let strange = notes
        .iter()
        .map(|note| name(note))
        .filter(|name| !HEADINGS.iter().any(|(_, ending)| name.ends_with(ending)));
    assert_none(strange, "a note ends in .feature.md, .breaking.md or .fix.md");
    hold_list("CHANGELOG.md", &format!("{list}\n"));
}
