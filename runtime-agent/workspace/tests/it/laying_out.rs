//! A snapshot laid out in a folder that may hold something already.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};

use ratchet_workspace::Base;

use crate::place::{Place, snapshot, text, write};

#[test]
fn a_warm_folder_keeps_what_is_ignored_and_what_is_the_same() {
    let place = Place::new();
    let store = place.store("store");
    let (one, two) = (place.workspace(&store, "one"), place.workspace(&store, "two"));
    write(one.root(), &[(".gitignore", "target/\n"), ("a", "1"), ("b", "2"), ("old/er", "3")]);
    two.checkout(snapshot(&one).id).unwrap();
    write(
        two.root(),
        &[("target/cache", "warm"), ("stray", "of the last session"), ("b", "edited there")],
    );
    let same = fs::metadata(two.root().join("a")).unwrap();
    fs::remove_dir_all(one.root().join("old")).unwrap();
    write(one.root(), &[("new/er", "4")]);
    let id = snapshot(&one).id;
    let laid = two.checkout(id).unwrap();
    assert_eq!((laid.written, laid.removed), (2, 2));
    assert_eq!(text(two.root(), "target/cache").as_deref(), Some("warm"));
    assert_eq!(text(two.root(), "b").as_deref(), Some("2"));
    assert!(!two.root().join("stray").exists() && !two.root().join("old").exists());
    let now = fs::metadata(two.root().join("a")).unwrap();
    assert_eq!((now.ino(), now.mtime_nsec()), (same.ino(), same.mtime_nsec()));
    assert_eq!(two.snapshot(Base::Snapshot(id)).unwrap().id, id);
    assert_eq!(two.checkout(id).unwrap().written, 0);
}

#[test]
fn a_tracked_file_that_is_ignored_comes_back_although_the_other_side_has_no_repository() {
    let place = Place::new();
    let store = place.store("store");
    let (one, two) = (place.workspace(&store, "one"), place.workspace(&store, "two"));
    write(one.root(), &[(".gitignore", "dist/\n"), ("dist/tracked", "1")]);
    crate::place::git(one.root(), &["init", "-q"]);
    crate::place::git(one.root(), &["add", "-f", "dist/tracked"]);
    let base = snapshot(&one).id;
    two.checkout(base).unwrap();
    write(two.root(), &[("dist/tracked", "2"), ("dist/junk", "")]);
    let result = two.snapshot(Base::Snapshot(base)).unwrap().id;
    let changes = store.changes(base, result).unwrap();
    assert_eq!(
        changes.iter().map(|change| change.path.to_string()).collect::<Vec<_>>(),
        ["dist/tracked"]
    );
}

#[test]
fn files_links_and_folders_take_each_others_places() {
    let place = Place::new();
    let store = place.store("store");
    let (one, two) = (place.workspace(&store, "one"), place.workspace(&store, "two"));
    write(one.root(), &[("a", "file"), ("b/c", "in a folder"), ("d/", ""), (".gitignore", "*.o")]);
    symlink("a", one.root().join("e")).unwrap();
    two.checkout(snapshot(&one).id).unwrap();
    write(two.root(), &[("b/ignored.o", "")]);
    for name in ["a", "e"] {
        fs::remove_file(one.root().join(name)).unwrap();
    }
    fs::remove_dir_all(one.root().join("b")).unwrap();
    fs::remove_dir(one.root().join("d")).unwrap();
    write(one.root(), &[("a/deep/er", "folder"), ("b", "file"), ("e/", "")]);
    symlink("b", one.root().join("d")).unwrap();
    let id = snapshot(&one).id;
    two.checkout(id).unwrap();
    assert_eq!(crate::place::everything(two.root()), crate::place::everything(one.root()));
}

#[test]
fn whether_a_file_may_be_executed_follows() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::new();
    let store = place.store("store");
    let (one, two) = (place.workspace(&store, "one"), place.workspace(&store, "two"));
    write(one.root(), &[("tool", "x")]);
    let mode = |mode| {
        fs::set_permissions(one.root().join("tool"), fs::Permissions::from_mode(mode)).unwrap()
    };
    for wanted in [0o644, 0o755, 0o600, 0o700] {
        mode(wanted);
        two.checkout(snapshot(&one).id).unwrap();
        let got = fs::metadata(two.root().join("tool")).unwrap().permissions().mode();
        assert_eq!(got & 0o100, wanted & 0o100, "{wanted:o}");
    }
}

#[test]
fn what_a_killed_one_left_is_made_right() {
    let place = Place::new();
    let store = place.store("store");
    let (one, two) = (place.workspace(&store, "one"), place.workspace(&store, "two"));
    write(one.root(), &[("a/b", "1")]);
    let id = snapshot(&one).id;
    write(two.root(), &[("a/.ratchet-unfinished-1-1", "half")]);
    two.checkout(id).unwrap();
    assert_eq!(crate::place::everything(two.root()), crate::place::everything(one.root()));
}
