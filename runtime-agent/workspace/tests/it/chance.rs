//! What holds whatever is done: chance makes the folders and the edits.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use proptest::collection::vec;
use proptest::prelude::*;
use ratchet_workspace::{Base, Outcome};

use crate::place::{Place, everything, rules, send, snapshot};

#[derive(Debug, Clone)]
enum Edit {
    Write(usize, u8),
    Program(usize, u8),
    Link(usize, u8),
    Folder(usize),
    Remove(usize),
}

/// Paths that get in each other's way.
const PATHS: [&str; 9] = ["a", "a/b", "a/b/c", "a/d", "e", "e/f", "g.o", "h/g.o", ".gitignore"];

fn edits() -> impl Strategy<Value = Vec<Edit>> {
    let at = 0..PATHS.len();
    vec(
        prop_oneof![
            4 => (at.clone(), 0..3_u8).prop_map(|(at, text)| Edit::Write(at, text)),
            1 => (at.clone(), 0..3_u8).prop_map(|(at, text)| Edit::Program(at, text)),
            1 => (at.clone(), 0..3_u8).prop_map(|(at, text)| Edit::Link(at, text)),
            1 => at.clone().prop_map(Edit::Folder),
            2 => at.prop_map(Edit::Remove),
        ],
        0..8,
    )
}

/// Does what can be done; what cannot is left.
fn edit(root: &Path, edits: &[Edit]) {
    for edit in edits {
        let (Edit::Write(at, _)
        | Edit::Program(at, _)
        | Edit::Link(at, _)
        | Edit::Folder(at)
        | Edit::Remove(at)) = edit;
        let path = root.join(PATHS[*at]);
        if path.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
            if matches!(edit, Edit::Remove(_)) {
                fs::remove_dir_all(&path).unwrap();
            }
            continue;
        }
        // No link is followed here either.
        let through_link = path
            .ancestors()
            .skip(1)
            .take_while(|above| *above != root)
            .any(|above| above.is_symlink());
        if through_link || path.parent().is_some_and(|above| fs::create_dir_all(above).is_err()) {
            continue;
        }
        let _gone_or_never_there = fs::remove_file(&path);
        match edit {
            Edit::Write(at, text) => fs::write(&path, content(*at, *text)).unwrap(),
            Edit::Program(at, text) => {
                fs::write(&path, content(*at, *text)).unwrap();
                fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
            }
            Edit::Link(_, text) => symlink(format!("../{text}"), &path).unwrap(),
            Edit::Folder(_) => fs::create_dir(&path).unwrap(),
            Edit::Remove(_) => {}
        }
    }
}

fn content(at: usize, text: u8) -> &'static str {
    match (PATHS[at], text) {
        (".gitignore", 0) => "*.o\n",
        (".gitignore", 1) => "a/\n!g.o\n",
        (".gitignore", _) => "e\n",
        (_, 0) => "",
        (_, 1) => "one",
        (_, _) => "two",
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_snapshot_that_is_laid_out_and_taken_again_is_the_same(first in edits(), there in edits(), second in edits()) {
        let place = Place::new();
        let (here, other) = (place.store("here"), place.store("other"));
        let (one, two) = (place.workspace(&here, "one"), place.workspace(&other, "two"));
        edit(two.root(), &there);
        for edits in [first, second] {
            edit(one.root(), &edits);
            let id = snapshot(&one).id;
            send(&here, &other, id, "s");
            two.checkout(id).unwrap();
            prop_assert_eq!(two.snapshot(Base::Snapshot(id)).unwrap().id, id);
        }
    }

    #[test]
    fn bringing_a_result_home_loses_no_local_edit(first in edits(), there in edits(), local in edits()) {
        let place = Place::new();
        let store = place.store("store");
        let (home, away) = (place.workspace(&store, "home"), place.workspace(&store, "away"));
        edit(home.root(), &first);
        let base = snapshot(&home).id;
        store.keep("base", base).unwrap();
        away.checkout(base).unwrap();
        let original = contents(home.root());
        edit(away.root(), &there);
        let result = away.snapshot(Base::Snapshot(base)).unwrap().id;
        store.keep("result", result).unwrap();
        edit(home.root(), &local);
        let (before, full) = (contents(home.root()), everything(home.root()));
        let outcome = home.apply(&rules(), base, result).unwrap();
        let after = contents(home.root());
        match outcome {
            Outcome::Conflict { paths } => {
                prop_assert!(!paths.is_empty());
                prop_assert_eq!(everything(home.root()), full);
            }
            Outcome::Applied { .. } => {
                for (path, edited) in &before {
                    if original.get(path) != Some(edited) {
                        prop_assert_eq!(after.get(path), Some(edited), "{} was edited here", path);
                    }
                }
                for change in store.changes(base, result).unwrap() {
                    let there = contents(away.root()).remove(&change.path.to_string());
                    prop_assert_eq!(after.get(&change.path.to_string()), there.as_ref());
                }
            }
        }
    }
}

/// Files and links by path.
fn contents(root: &Path) -> BTreeMap<String, (String, u32, Vec<u8>)> {
    let all = everything(root).into_iter().filter(|(_, kind, ..)| kind != "folder");
    all.map(|(path, kind, mode, content)| {
        (path.to_str().unwrap().to_owned(), (kind, mode, content))
    })
    .collect()
}
