//! Change folders: what they hold, read once for a whole batch; and the stamp of a new one.
//!
//! What done means is decided in [`ratchet_engine::change`].

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::Path;

use ratchet_engine::change::{ChangeFacts, count_tasks};
use ratchet_engine::name::ChangeName;

use super::file::{self, Created, Doing, FileError, Limit};
use super::layout::{ChangeDir, Layout};
use crate::error::with_causes;

/// Reads the facts of these changes: one look into `changes/`, one into its archive, then the plans that are there.
///
/// # Errors
/// Fails if one of the two folders is there and cannot be read. A plan that cannot be read has no tasks.
pub fn facts<'a>(
    layout: &Layout,
    names: impl IntoIterator<Item = &'a ChangeName>,
) -> Result<BTreeMap<ChangeName, ChangeFacts>, FileError> {
    let active = names_in(&layout.changes())?;
    let archived = archived_names(layout)?;
    let facts = |name: &ChangeName| {
        if archived.contains(name.as_str()) {
            ChangeFacts { archived: true, ..ChangeFacts::default() }
        } else if active.contains(name.as_str()) {
            facts_of_folder(&layout.change(name))
        } else {
            ChangeFacts::default()
        }
    };
    Ok(names.into_iter().map(|name| (name.clone(), facts(name))).collect())
}

/// Lists the changes that have a folder, sorted.
///
/// # Errors
/// Fails if `.ratchet/changes` is there and cannot be read.
pub fn names(layout: &Layout) -> Result<Vec<ChangeName>, FileError> {
    let names = names_in(&layout.changes())?;
    let change = |name: String| {
        ChangeName::parse(&name).ok().filter(|name| name.as_str() != super::layout::ARCHIVE)
    };
    Ok(names.into_iter().filter_map(change).collect())
}

/// Lists the folders that are changes (Q16): every one that is not hidden and not the archive, sorted.
///
/// # Errors
/// Fails if `.ratchet/changes` is there and cannot be read.
pub fn folders(layout: &Layout) -> Result<Vec<ChangeName>, FileError> {
    let is_visible = |name: &ChangeName| !name.as_str().starts_with('.');
    let is_folder = |name: &ChangeName| layout.change(name).dir().is_dir();
    Ok(names(layout)?.into_iter().filter(is_visible).filter(is_folder).collect())
}

/// Reads the facts of one change.
///
/// # Errors
/// As [`facts`].
pub fn facts_of(layout: &Layout, name: &ChangeName) -> Result<ChangeFacts, FileError> {
    Ok(facts(layout, [name])?.remove(name).unwrap_or_default())
}

/// Says why a plan in which no task was found may hold some all the same: it cannot be read, or it is no text.
#[must_use]
pub fn plan_fault(layout: &Layout, change: &ChangeName) -> Option<String> {
    let path = layout.change(change).plan();
    match file::read_if_there(&path, Limit::TEXT) {
        Ok(bytes) => {
            let bytes = bytes?;
            let is_text = std::str::from_utf8(&bytes).is_ok() && !bytes.contains(&0);
            let path = path.strip_prefix(layout.root()).unwrap_or(&path).display();
            (!is_text).then(|| format!("{path}: not a text in UTF-8"))
        }
        Err(error) => Some(with_causes(&error)),
    }
}

/// Writes the `.ratchet.yaml` of a change that has none (spec `step-and-outcome` 3, step 11).
///
/// # Errors
/// Fails if it cannot be written.
pub fn stamp(
    layout: &Layout,
    change: &ChangeName,
    schema: &str,
    date: &str,
) -> Result<Created, FileError> {
    // A JSON text is a YAML text; a plain word needs no quotes.
    let plain = schema.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
    let schema =
        if plain { schema.to_owned() } else { serde_json::Value::from(schema).to_string() };
    let text = format!("schema: {schema}\ncreated: {date}\n");
    file::create(&layout.change(change).metadata(), text.as_bytes())
}

/// Names of archived changes, with and without the date that `archive` puts before them (OQ-3).
fn archived_names(layout: &Layout) -> Result<BTreeSet<String>, FileError> {
    let mut names = names_in(&layout.changes_archive())?;
    let dated: Vec<String> =
        names.iter().filter_map(|name| without_date(name)).map(str::to_owned).collect();
    names.extend(dated);
    Ok(names)
}

/// Takes `YYYY-MM-DD-` off a name that has it.
pub(super) fn without_date(name: &str) -> Option<&str> {
    const SHAPE: &[u8; 11] = b"0000-00-00-";
    let date = name.as_bytes().get(..SHAPE.len())?;
    let fits = |(shape, byte): (&u8, &u8)| match shape {
        b'0' => byte.is_ascii_digit(),
        _ => byte == shape,
    };
    (SHAPE.iter().zip(date).all(fits) && name.len() > SHAPE.len()).then(|| &name[SHAPE.len()..])
}

/// Gives what is in a folder. Names that are no UTF-8 can be nobody's.
pub(super) fn names_in(folder: &Path) -> Result<BTreeSet<String>, FileError> {
    let read = || -> io::Result<BTreeSet<String>> {
        let mut names = BTreeSet::new();
        for entry in fs::read_dir(folder)? {
            names.extend(entry?.file_name().into_string());
        }
        Ok(names)
    };
    match read() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(BTreeSet::new()),
        result => result.map_err(|error| FileError::new(folder, Doing::Read, error)),
    }
}

fn facts_of_folder(change: &ChangeDir) -> ChangeFacts {
    match file::read_if_there(&change.plan(), Limit::TEXT) {
        Ok(Some(plan)) => {
            let (tasks_total, tasks_complete) = count_tasks(&String::from_utf8_lossy(&plan));
            let known = ChangeFacts { exists: true, has_plan: true, ..ChangeFacts::default() };
            ChangeFacts { tasks_total, tasks_complete, ..known }
        }
        Ok(None) => no_plan(change),
        Err(FileError::WrongKind { .. }) if !change.dir().is_dir() => no_plan(change),
        // It is there, but its tasks cannot be seen (spec `batch-status-and-selection` 2.1: 0/0).
        Err(_) => ChangeFacts { exists: true, has_plan: true, ..ChangeFacts::default() },
    }
}

fn no_plan(change: &ChangeDir) -> ChangeFacts {
    ChangeFacts { exists: holds_more_than_run_state(change), ..ChangeFacts::default() }
}

/// A standalone propose puts its run state into the folder of a change that is not there yet; if it fails, that alone
/// must not pass for a change.
fn holds_more_than_run_state(change: &ChangeDir) -> bool {
    match fs::read_dir(change.dir()) {
        Ok(entries) => {
            let names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
            names.is_empty() || names.iter().any(|name| name != OsStr::new(ChangeDir::RUN))
        }
        Err(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fixture {
        dir: tempfile::TempDir,
        layout: Layout,
    }

    impl Fixture {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let layout = Layout::new(dir.path());
            fs::create_dir_all(layout.changes_archive()).unwrap();
            Self { dir, layout }
        }

        fn put(&self, path: &str, bytes: &[u8]) {
            let path = self.dir.path().join(".ratchet/changes").join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }

        fn facts(&self, name: &str) -> ChangeFacts {
            facts_of(&self.layout, &ChangeName::parse(name).unwrap()).unwrap()
        }
    }

    #[test]
    fn a_change_is_found_archived_by_its_name_or_by_a_dated_name() {
        let fixture = Fixture::new();
        fixture.put("archive/plain/plan.md", b"");
        fixture.put("archive/2031-05-04-dated/plan.md", b"");
        fixture.put("archive/31-05-04-short/plan.md", b"");
        fixture.put("plain/plan.md", b"- [ ] a\n");
        assert!(fixture.facts("plain").archived && !fixture.facts("plain").exists);
        assert!(fixture.facts("dated").archived);
        assert!(fixture.facts("2031-05-04-dated").archived);
        assert!(!fixture.facts("short").archived);
        assert!(!fixture.facts("ted").archived);
    }

    #[test]
    fn an_unreadable_plan_has_no_tasks() {
        let fixture = Fixture::new();
        fixture.put("folder/plan.md/x.txt", b"");
        fixture.put("file", b"");
        fixture.put("bytes/plan.md", b"- [x] caf\xe9\n- [ ] b\n");
        let folder = fixture.facts("folder");
        assert!(folder.exists && folder.has_plan && folder.tasks_total == 0);
        let file = fixture.facts("file");
        assert!(file.exists && !file.has_plan);
        let bytes = fixture.facts("bytes");
        assert_eq!((bytes.tasks_total, bytes.tasks_complete), (2, 1));
    }

    #[test]
    fn a_plan_that_is_no_text_is_told_from_one_without_tasks() {
        let fixture = Fixture::new();
        fixture.put("folder/plan.md/x.txt", b"");
        fixture.put("wide/plan.md", b"-\0 \0[\0 \0]\0 \0a\0");
        fixture.put("bytes/plan.md", b"\xff\xfe");
        fixture.put("prose/plan.md", b"nothing to do yet\n");
        let fault = |name| plan_fault(&fixture.layout, &ChangeName::parse(name).unwrap());
        for name in ["folder", "wide", "bytes"] {
            assert!(fault(name).is_some_and(|why| why.contains("plan.md")), "{name}");
        }
        assert_eq!((fault("prose"), fault("never")), (None, None));
    }

    #[test]
    fn a_plan_of_any_size_takes_no_more_memory_than_a_plan_may_and_is_told() {
        let fixture = Fixture::new();
        fixture.put("vast/plan.md", b"- [x] a\n");
        let name = ChangeName::parse("vast").unwrap();
        let plan = fixture.layout.change(&name).plan();
        fs::File::options().write(true).open(plan).unwrap().set_len(1 << 40).unwrap();
        let vast = fixture.facts("vast");
        assert!(vast.exists && vast.has_plan && vast.tasks_total == 0);
        let fault = plan_fault(&fixture.layout, &name).unwrap();
        assert!(fault.ends_with("vast/plan.md: it is larger than 16 MiB"), "{fault}");
    }

    #[test]
    fn run_state_alone_is_no_change() {
        let fixture = Fixture::new();
        fixture.put("failed/.run/journal.jsonl", b"");
        fixture.put("begun/.ratchet.yaml", b"");
        fs::create_dir(fixture.layout.changes().join("empty")).unwrap();
        assert!(!fixture.facts("failed").exists);
        assert!(fixture.facts("begun").exists);
        assert!(fixture.facts("empty").exists);
    }

    #[test]
    fn a_project_without_changes_has_no_facts() {
        let dir = tempfile::tempdir().unwrap();
        let name = ChangeName::parse("a").unwrap();
        let facts = facts_of(&Layout::new(dir.path()), &name).unwrap();
        assert_eq!(facts, ChangeFacts::default());
    }

    // C-K05
    #[test]
    fn a_stamp_is_written_once_and_never_over_another() {
        let fixture = Fixture::new();
        fixture.put("a/plan.md", b"");
        let name = ChangeName::parse("a").unwrap();
        let stamp = |schema| stamp(&fixture.layout, &name, schema, "2031-05-04").unwrap();
        assert_eq!(stamp("ratchet"), Created::Now);
        assert_eq!(stamp("other"), Created::Before);
        let text = fs::read_to_string(fixture.layout.change(&name).metadata()).unwrap();
        assert_eq!(text, "schema: ratchet\ncreated: 2031-05-04\n");
    }
}
