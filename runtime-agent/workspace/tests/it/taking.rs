//! What a snapshot holds, and what taking one leaves alone.

use std::fs;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::symlink;
use std::path::Path;

use ratchet_workspace::{Base, Entry, SnapshotId, Store, WorkspaceError};

use crate::place::{Place, everything, git, search_path, send, snapshot, write};

/// Names what a snapshot holds, by laying nothing out: what it adds to one of nothing.
fn holds(place: &Place, store: &Store, id: SnapshotId) -> Vec<String> {
    let nothing = snapshot(&place.workspace(store, "nothing")).id;
    let changes = store.changes(nothing, id).unwrap();
    changes.into_iter().map(|change| change.path.to_string()).collect()
}

#[test]
fn the_users_repository_is_left_byte_for_byte() {
    let place = Place::new();
    let workspace = place.workspace(&place.store("store"), "w");
    let root = workspace.root();
    write(root, &[("a", "1"), ("b", "2"), (".gitattributes", "* text=auto eol=crlf\n")]);
    git(root, &["init", "-q"]);
    git(root, &["add", "."]);
    git(root, &["commit", "-qm", "x"]);
    write(root, &[("a", "changed\n"), ("c", "new")]);
    // Somebody's git is at work, and a hook would tell of ours.
    write(
        root,
        &[(".git/index.lock", ""), (".git/hooks/reference-transaction", "#!/bin/sh\ntouch ran\n")],
    );
    let before = everything(&root.join(".git"));
    snapshot(&workspace);
    write(root, &[("c", "newer")]);
    snapshot(&workspace);
    assert_eq!(everything(&root.join(".git")), before);
    assert!(!root.join("ran").exists());
}

#[test]
fn tracked_and_untracked_are_in_and_ignored_ones_are_not() {
    let place = Place::new();
    let store = place.store("store");
    let workspace = place.workspace(&store, "w");
    let root = workspace.root();
    write(
        root,
        &[
            (".gitignore", "*.log\n/build/\n!keep.log\n"),
            ("a", ""),
            ("keep.log", ""),
            ("x.log", ""),
            ("build/out", ""),
            ("sub/.gitignore", "local\n!deep.log\n"),
            ("sub/local", ""),
            ("sub/deep.log", ""),
            ("forced.log", ""),
            ("build/forced/too", ""),
            (".ratchet/x.log", ""),
            (".ratchet/batches/b/batch.yaml", ""),
            (".ratchet/batches/b/run/journal.jsonl", ""),
            (".ratchet/changes/c/.run/state.json", ""),
            (".ratchet/features/run/f", ""),
        ],
    );
    git(root, &["init", "-q"]);
    write(root, &[(".git/info/exclude", "secret\n"), ("secret", "")]);
    git(root, &["add", "-f", "forced.log", "build/forced/too"]);
    let id = snapshot(&workspace).id;
    assert_eq!(
        holds(&place, &store, id),
        [
            ".gitignore",
            ".ratchet/batches/b/batch.yaml",
            ".ratchet/features/run/f",
            ".ratchet/x.log",
            "a",
            "build/forced/too",
            "forced.log",
            "keep.log",
            "sub/.gitignore",
            "sub/deep.log",
        ]
    );
    assert_eq!(store.rules(id).unwrap().excludes, ["secret"]);
}

#[test]
fn a_folder_that_is_no_repository_is_taken_too_and_its_gitignore_counts() {
    let place = Place::new();
    let store = place.store("store");
    let workspace = place.workspace(&store, "w");
    write(workspace.root(), &[("a", "1"), ("b.o", ""), (".gitignore", "*.o")]);
    let id = snapshot(&workspace).id;
    assert_eq!(holds(&place, &store, id), [".gitignore", "a"]);
}

#[test]
fn a_folder_within_a_repository_hears_of_the_patterns_above_it() {
    let place = Place::new();
    let store = place.store("store");
    let workspace = place.workspace(&store, "w");
    write(workspace.root(), &[("a", ""), ("target/x", ""), ("dist/y", "")]);
    git(place.path(), &["init", "-q"]);
    write(place.path(), &[(".gitignore", "target/\n/w.tree/dist\n")]);
    let id = snapshot(&workspace).id;
    assert_eq!(holds(&place, &store, id), ["a"]);
}

#[test]
fn links_programs_empty_folders_and_odd_names_come_out_as_they_went_in() {
    let place = Place::new();
    let (here, there) = (place.store("here"), place.store("there"));
    let (one, two) = (place.workspace(&here, "one"), place.workspace(&there, "two"));
    let root = one.root();
    write(
        root,
        &[
            ("plain", "x"),
            ("run.sh", "#!/bin/sh\n"),
            ("empty/deep/", ""),
            ("a b/\"q\"", "1"),
            ("new\nline/tab\t", "2"),
            ("日本/ü", "3"),
            ("back\\slash", "4"),
            ("-rf", "5"),
            ("crlf", "a\r\nb\r\n"),
            ("zero", ""),
            ("pointer", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"),
            (
                ".gitattributes",
                "* text=auto\npointer filter=lfs diff=lfs merge=lfs -text\n* ident\n",
            ),
            ("ident", "$Id$"),
        ],
    );
    let program = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(root.join("run.sh"), program).unwrap();
    symlink("plain", root.join("link")).unwrap();
    symlink("/nowhere/at all", root.join("dangling")).unwrap();
    symlink("empty", root.join("to-folder")).unwrap();
    fs::write(root.join(std::ffi::OsString::from_vec(b"not\xffutf8".to_vec())), "6").unwrap();
    let taken = snapshot(&one);
    send(&here, &there, taken.id, "s");
    two.checkout(taken.id).unwrap();
    assert_eq!(everything(two.root()), everything(root));
    assert_eq!(two.snapshot(Base::Snapshot(taken.id)).unwrap().id, taken.id);
}

#[test]
fn a_submodule_is_a_pinned_commit_and_a_nested_repository_only_its_files() {
    let place = Place::new();
    let store = place.store("store");
    let workspace = place.workspace(&store, "w");
    let root = workspace.root();
    let other = place.path().join("other");
    write(&other, &[("lib.rs", "")]);
    git(&other, &["init", "-q"]);
    git(&other, &["add", "."]);
    git(&other, &["commit", "-qm", "x"]);
    let commit = git(&other, &["rev-parse", "HEAD"]).trim().to_owned();
    git(root, &["init", "-q"]);
    git(root, &["submodule", "add", "-q", other.to_str().unwrap(), "sub"]);
    write(root, &[("nested/file", "x")]);
    git(&root.join("nested"), &["init", "-q"]);
    let taken = snapshot(&workspace);
    assert_eq!(holds(&place, &store, taken.id), [".gitmodules", "nested/file", "sub"]);
    let changes =
        store.changes(snapshot(&place.workspace(&store, "nothing")).id, taken.id).unwrap();
    assert!(matches!(changes[2].new, Some(Entry::Pin(oid)) if oid.to_string() == commit));
    assert_eq!(taken.notes.pinned, ["sub"]);
    assert_eq!(taken.notes.repositories, ["nested"]);
    // On the other side it is a folder, and stays pinned whatever is in it.
    let two = place.workspace(&store, "two");
    two.checkout(taken.id).unwrap();
    write(two.root(), &[("sub/built", "")]);
    assert_eq!(two.snapshot(Base::Snapshot(taken.id)).unwrap().id, taken.id);
}

#[test]
fn only_what_may_have_changed_is_read_and_an_unchanged_project_has_the_same_name() {
    let place = Place::new();
    let workspace = place.workspace(&place.store("store"), "w");
    let root = workspace.root();
    for number in 0..200 {
        write(root, &[(&format!("d{}/f{number}", number % 7), &number.to_string())]);
    }
    age(root);
    let first = snapshot(&workspace);
    assert_eq!((first.read, first.paths), (200, 200));
    let second = snapshot(&workspace);
    assert_eq!((second.read, second.id), (0, first.id));
    write(root, &[("d3/f3", "other")]);
    let third = snapshot(&workspace);
    assert_eq!(third.read, 1);
    assert_ne!(third.id, first.id);
    write(root, &[("d3/f3", "3")]);
    assert_eq!(snapshot(&workspace).id, first.id);
}

/// Makes every stamp old enough to be relied on: the change of a mode is a new stamp, so time itself has to pass.
fn age(root: &Path) {
    let newest = everything(root).iter().map(|(path, ..)| changed(&root.join(path))).max().unwrap();
    let probe = root.parent().unwrap().join("probe");
    // A state is waited for: the kernel's clock is a tick further.
    loop {
        fs::write(&probe, "").unwrap();
        if changed(&probe) > newest + 100_000_000 {
            break;
        }
    }
}

fn changed(path: &Path) -> i64 {
    use std::os::unix::fs::MetadataExt as _;
    let meta = path.symlink_metadata().unwrap();
    meta.ctime() * 1_000_000_000 + meta.ctime_nsec()
}

#[test]
fn a_second_write_within_the_same_tick_is_noticed() {
    let place = Place::new();
    let workspace = place.workspace(&place.store("store"), "w");
    let mut last = None;
    for round in 0..50 {
        // The same size each time, and no time between.
        write(workspace.root(), &[("f", &format!("{round:04}"))]);
        let id = snapshot(&workspace).id;
        assert_ne!(Some(id), last, "round {round}");
        last = Some(id);
    }
}

#[test]
fn what_is_no_file_is_left_out_and_said() {
    let place = Place::new();
    let workspace = place.workspace(&place.store("store"), "w");
    let root = workspace.root();
    write(root, &[("a", ""), ("git~1/x", "")]);
    let _socket = std::os::unix::net::UnixListener::bind(root.join("socket")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        root.join("pipe"),
        rustix::fs::FileType::Fifo,
        0o600.into(),
        0,
    )
    .unwrap();
    let taken = snapshot(&workspace);
    let mut left = taken.notes.left_out.clone();
    left.sort();
    assert_eq!((taken.paths, left), (1, ["git~1", "pipe", "socket"].map(str::to_owned).to_vec()));
}

#[test]
fn a_store_that_lost_its_objects_under_the_cache_is_filled_anew() {
    let place = Place::new();
    let store = place.store("store");
    let workspace = place.workspace(&store, "w");
    write(workspace.root(), &[("a/b", "x"), ("c", "y")]);
    let id = snapshot(&workspace).id;
    fs::remove_dir_all(place.path().join("store/objects.git")).unwrap();
    let store = place.store("store");
    write(workspace.root(), &[("c", "z")]);
    snapshot(&workspace);
    write(workspace.root(), &[("c", "y")]);
    assert_eq!(snapshot(&workspace).id, id);
    assert!(store.has(id).unwrap());
}

#[test]
fn without_git_the_error_says_so() {
    let place = Place::new();
    assert!(!search_path().is_empty());
    let nowhere = place.path().join("nowhere");
    let error = Store::open(&place.path().join("s"), nowhere.as_os_str()).unwrap_err();
    assert!(matches!(error, WorkspaceError::NoGit { .. }), "{error:?}");
}
