//! The other side is not trusted: a snapshot that could lead out of the folder is refused, and a folder in which somebody
//! laid links is not left through them.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ratchet_workspace::{Base, SnapshotId, Store, WorkspaceError};

use crate::place::{Place, everything, git, rules, snapshot, text, write};

/// A repository in which a bad snapshot is made, by hand.
struct Forge(PathBuf);

impl Forge {
    fn new(place: &Place) -> Self {
        let path = place.path().join("forge");
        fs::create_dir_all(&path).unwrap();
        git(&path, &["init", "-q", "--bare"]);
        Self(path)
    }

    fn told(&self, arguments: &[&str], input: &[u8]) -> String {
        let mut child = Command::new("git")
            .args(["-c", "user.name=n", "-c", "user.email=e"])
            .arg("-C")
            .arg(&self.0)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), input).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{arguments:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    fn blob(&self, text: &str) -> String {
        self.told(&["hash-object", "-w", "--stdin"], text.as_bytes())
    }

    /// Writes a tree as bytes, whatever git thinks of it.
    fn tree(&self, entries: &[(&str, &[u8], &str)]) -> String {
        let mut bytes = Vec::new();
        for (mode, name, oid) in entries {
            bytes.extend_from_slice(mode.as_bytes());
            bytes.push(b' ');
            bytes.extend_from_slice(name);
            bytes.push(0);
            let digits: Vec<u8> = oid
                .bytes()
                .map(|digit| u8::try_from(char::from(digit).to_digit(16).unwrap()).unwrap())
                .collect();
            bytes.extend(digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]));
        }
        self.told(&["hash-object", "-w", "--literally", "-t", "tree", "--stdin"], &bytes)
    }

    /// Makes a snapshot with these files and sends it.
    fn deliver(&self, files: &str, store: &Store) -> Result<SnapshotId, WorkspaceError> {
        let rules = self.blob(r#"{"always":[],"never":["/run/"],"excludes":[]}"#);
        let root = self.tree(&[("40000", b"files", files), ("100644", b"rules", &rules)]);
        let commit = self.told(&["commit-tree", &root], b"");
        let pack = Command::new("git")
            .arg("-C")
            .arg(&self.0)
            .args(["pack-objects", "--revs", "--stdout", "-q"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        std::io::Write::write_all(
            &mut pack.stdin.as_ref().unwrap(),
            format!("{commit}\n").as_bytes(),
        )
        .unwrap();
        let pack = pack.wait_with_output().unwrap().stdout;
        let id = commit.parse().unwrap();
        store.receive(&pack[..], id, "bad", 1 << 20).map(|()| id)
    }
}

#[test]
fn names_that_lead_out_and_every_spelling_of_git_are_refused_on_arrival() {
    let place = Place::new();
    let (forge, store) = (Forge::new(&place), place.store("store"));
    let blob = forge.blob("#!/bin/sh\ntouch /tmp/pwned\n");
    let names: [&[u8]; 12] = [
        b"..",
        b".",
        b".git",
        b".GIT",
        b".gIt",
        b"git~1",
        b".git ",
        b".git.",
        b".git::$INDEX_ALLOCATION",
        b".g\xe2\x80\x8cit",
        b"a/../../x",
        b"/etc/passwd",
    ];
    for name in names {
        for tree in [
            forge.tree(&[("100644", name, &blob)]),
            forge.tree(&[("40000", name, &forge.tree(&[("100755", b"post-checkout", &blob)]))]),
        ] {
            let refused = forge.deliver(&tree, &store);
            assert!(
                matches!(
                    refused,
                    Err(WorkspaceError::Refused { .. } | WorkspaceError::Name { .. })
                ),
                "{}: {refused:?}",
                String::from_utf8_lossy(name)
            );
        }
    }
    assert_eq!(store.snapshots().unwrap(), []);
}

#[test]
fn odd_modes_doubled_names_and_files_under_links_are_refused_on_arrival() {
    let place = Place::new();
    let (forge, store) = (Forge::new(&place), place.store("store"));
    let blob = forge.blob("/etc");
    let inner = forge.tree(&[("100644", b"passwd", &blob)]);
    let bad = [
        forge.tree(&[("100664", b"a", &blob)]),
        forge.tree(&[("104755", b"a", &blob)]),
        forge.tree(&[("120000", b"a", &blob), ("40000", b"a", &inner)]),
        forge.tree(&[("120000", b"a", &blob), ("100644", b"a.b", &blob), ("40000", b"a", &inner)]),
        forge.tree(&[("40000", b"run", &inner)]),
    ];
    for (number, tree) in bad.iter().enumerate() {
        let delivered = forge.deliver(tree, &store);
        let refused = match delivered {
            Ok(id) => place.workspace(&store, "w").checkout(id).map(drop),
            Err(error) => Err(error),
        };
        assert!(matches!(refused, Err(WorkspaceError::Refused { .. })), "{number}: {refused:?}");
    }
    assert_eq!(everything(&place.path().join("w.tree")).len(), 0);
}

/// A folder outside, with a file that must stay.
fn outside(place: &Place) -> PathBuf {
    let path = place.path().join("outside");
    write(&path, &[("kept", "mine")]);
    path
}

fn untouched(outside: &Path) {
    assert_eq!(everything(outside).len(), 1);
    assert_eq!(text(outside, "kept").as_deref(), Some("mine"));
}

#[test]
fn links_that_were_laid_in_a_warm_folder_lead_nobody_out() {
    let place = Place::new();
    let store = place.store("store");
    let (one, two) = (place.workspace(&store, "one"), place.workspace(&store, "two"));
    let outside = outside(&place);
    write(
        one.root(),
        &[
            (".gitignore", "ignored\n"),
            ("a/kept", "theirs"),
            ("b/c/kept", "theirs"),
            ("ignored/x", ""),
            ("kept", "x"),
        ],
    );
    let id = snapshot(&one).id;
    two.checkout(id).unwrap();
    // The agent put links where folders and files were, ignored ones too.
    for (name, target) in [
        ("a", outside.clone()),
        ("b", outside.clone()),
        ("ignored", outside.clone()),
        ("kept", outside.join("kept")),
    ] {
        let path = two.root().join(name);
        if path.is_dir() {
            fs::remove_dir_all(&path).unwrap()
        } else {
            let _ = fs::remove_file(&path);
        }
        symlink(target, path).unwrap();
    }
    // What it did is data.
    let result = two.snapshot(Base::Snapshot(id)).unwrap().id;
    let changed: Vec<_> =
        store.changes(id, result).unwrap().iter().map(|change| change.path.to_string()).collect();
    assert_eq!(changed, ["a", "a/kept", "b", "b/c/kept", "kept"]);
    two.checkout(id).unwrap();
    untouched(&outside);
    assert_eq!(text(two.root(), "b/c/kept").as_deref(), Some("theirs"));
    // Brought home, links are links and nothing goes through them.
    one.apply(&rules(), id, result).unwrap();
    assert_eq!(fs::read_link(one.root().join("a")).unwrap(), outside);
    untouched(&outside);
    // And home again from there.
    let back = snapshot(&one).id;
    one.apply(&rules(), back, id).unwrap();
    assert_eq!(text(one.root(), "a/kept").as_deref(), Some("theirs"));
    untouched(&outside);
}

#[test]
fn a_result_that_speaks_of_run_state_is_refused() {
    let place = Place::new();
    let (forge, store) = (Forge::new(&place), place.store("store"));
    let one = place.workspace(&store, "one");
    write(one.root(), &[("a", "1"), (".ratchet/batches/b/run/journal.jsonl", "mine\n")]);
    let base = snapshot(&one).id;
    let journal = forge.tree(&[("100644", b"journal.jsonl", &forge.blob("forged\n"))]);
    let batch = forge.tree(&[("40000", b"run", &journal)]);
    let batches = forge.tree(&[("40000", b"b", &batch)]);
    let ours = forge.tree(&[("40000", b"batches", &batches)]);
    let result = forge.deliver(&forge.tree(&[("40000", b".ratchet", &ours)]), &store).unwrap();
    let refused = one.apply(&rules(), base, result);
    assert!(matches!(refused, Err(WorkspaceError::Refused { .. })), "{refused:?}");
    assert_eq!(text(one.root(), ".ratchet/batches/b/run/journal.jsonl").as_deref(), Some("mine\n"));
}
