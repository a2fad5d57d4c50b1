//! What came of a snapshot is brought home: all of it, or nothing.

use std::fs;

use ratchet_workspace::{Base, Outcome, SnapshotId, Store, Workspace};

use crate::place::{Place, everything, rules, snapshot, text, write};

struct Both {
    _place: Place,
    store: Store,
    home: Workspace,
    away: Workspace,
    base: SnapshotId,
}

fn both(files: &[(&str, &str)]) -> Both {
    let place = Place::new();
    let store = place.store("store");
    let (home, away) = (place.workspace(&store, "home"), place.workspace(&store, "away"));
    write(home.root(), files);
    let base = snapshot(&home).id;
    store.keep("base", base).unwrap();
    away.checkout(base).unwrap();
    Both { _place: place, store, home, away, base }
}

impl Both {
    fn bring(&self) -> Outcome {
        let result = self.away.snapshot(Base::Snapshot(self.base)).unwrap().id;
        self.store.keep("result", result).unwrap();
        self.home.apply(&rules(), self.base, result).unwrap()
    }
}

fn paths(outcome: &Outcome) -> Vec<String> {
    match outcome {
        Outcome::Conflict { paths } => paths.iter().map(ToString::to_string).collect(),
        Outcome::Applied { .. } => panic!("{outcome:?}"),
    }
}

#[test]
fn what_changed_there_is_changed_here_and_what_changed_here_stays() {
    let both = both(&[
        ("a", "1"),
        ("b", "2"),
        ("gone/x", "3"),
        ("mine", "4"),
        (".ratchet/batches/b/run/journal.jsonl", "mine"),
    ]);
    write(both.away.root(), &[("a", "there"), ("new/deep", "5"), ("hollow/", "")]);
    fs::remove_dir_all(both.away.root().join("gone")).unwrap();
    write(both.home.root(), &[("mine", "edited here"), ("other", "here")]);
    assert_eq!(both.bring(), Outcome::Applied { paths: 4 });
    let root = both.home.root();
    for (path, expected) in [
        ("a", "there"),
        ("b", "2"),
        ("new/deep", "5"),
        ("mine", "edited here"),
        ("other", "here"),
        (".ratchet/batches/b/run/journal.jsonl", "mine"),
    ] {
        assert_eq!(text(root, path).as_deref(), Some(expected), "{path}");
    }
    assert!(!root.join("gone").exists() && root.join("hollow").is_dir());
}

#[test]
fn asked_again_it_gives_the_same_answer_and_touches_nothing() {
    let both = both(&[("a", "1")]);
    write(both.away.root(), &[("a", "2")]);
    let first = both.bring();
    write(both.home.root(), &[("a", "edited after")]);
    assert_eq!(both.bring(), first);
    assert_eq!(text(both.home.root(), "a").as_deref(), Some("edited after"));
}

#[test]
fn a_path_that_both_changed_is_a_conflict_and_nothing_is_written() {
    let both = both(&[("a", "1"), ("b", "2"), ("c", "3"), ("d", "4")]);
    write(both.away.root(), &[("a", "there"), ("b", "there"), ("new", "there")]);
    fs::remove_file(both.away.root().join("c")).unwrap();
    fs::remove_file(both.away.root().join("d")).unwrap();
    write(both.home.root(), &[("b", "here"), ("c", "here"), ("new", "here too")]);
    let before = everything(both.home.root());
    assert_eq!(paths(&both.bring()), ["b", "c", "new"]);
    assert_eq!(everything(both.home.root()), before);
    let kept = both.store.kept("result").unwrap().unwrap();
    let diff = both.store.diff(both.base, kept, 1 << 20).unwrap();
    let shown = String::from_utf8(diff.bytes).unwrap();
    assert!(!diff.cut && shown.contains("+there") && shown.contains("deleted file"), "{shown}");
    let cut = both.store.diff(both.base, kept, 20).unwrap();
    assert!(cut.cut && cut.bytes.len() == 20);
}

#[test]
fn the_same_change_on_both_sides_is_no_conflict() {
    let both = both(&[("a", "1"), ("b", "2")]);
    for root in [both.away.root(), both.home.root()] {
        write(root, &[("a", "same"), ("new", "same")]);
        fs::remove_file(root.join("b")).unwrap();
    }
    assert_eq!(both.bring(), Outcome::Applied { paths: 3 });
}

#[test]
fn a_file_here_that_is_ignored_is_not_written_over() {
    let both = both(&[(".gitignore", "*.env\n"), ("a", "1")]);
    write(both.home.root(), &[("x.env", "secret")]);
    fs::remove_file(both.away.root().join(".gitignore")).unwrap();
    write(both.away.root(), &[("x.env", "theirs"), ("a", "2")]);
    assert_eq!(paths(&both.bring()), ["x.env"]);
    assert_eq!(text(both.home.root(), "x.env").as_deref(), Some("secret"));
    assert_eq!(text(both.home.root(), "a").as_deref(), Some("1"));
}

#[test]
fn a_folder_here_where_a_file_came_and_a_file_here_where_a_folder_came_are_conflicts() {
    let both = both(&[("a", "1"), ("b", "2"), (".gitignore", "*.o\n")]);
    write(both.away.root(), &[("x", "file"), ("y/z", "in a folder"), ("w", "file"), ("a", "2")]);
    write(both.home.root(), &[("x/mine", ""), ("y", "file"), ("w/built.o", "")]);
    let before = everything(both.home.root());
    let first = paths(&both.bring());
    assert!(
        first.starts_with(&["x/mine".to_owned()]) && first.contains(&"y".to_owned()),
        "{first:?}"
    );
    assert_eq!(everything(both.home.root()), before);
}

#[test]
fn a_folder_with_only_ignored_files_in_the_way_is_found_late_and_all_goes_back() {
    let both = both(&[("a", "1"), ("gone", "2"), (".gitignore", "*.o\n")]);
    write(both.away.root(), &[("w", "file"), ("a", "2")]);
    fs::remove_file(both.away.root().join("gone")).unwrap();
    write(both.home.root(), &[("w/built.o", "")]);
    let before = everything(both.home.root());
    assert_eq!(paths(&both.bring()), ["w"]);
    assert_eq!(everything(both.home.root()), before);
}

#[test]
fn kinds_change_on_the_way_home() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let both = both(&[("a", "1"), ("b/c", "2"), ("tool", "3")]);
    fs::remove_file(both.away.root().join("a")).unwrap();
    fs::remove_dir_all(both.away.root().join("b")).unwrap();
    write(both.away.root(), &[("a/in", "folder"), ("b", "file")]);
    symlink("b", both.away.root().join("link")).unwrap();
    fs::set_permissions(both.away.root().join("tool"), fs::Permissions::from_mode(0o755)).unwrap();
    assert!(matches!(both.bring(), Outcome::Applied { .. }));
    assert_eq!(everything(both.home.root()), everything(both.away.root()));
}
