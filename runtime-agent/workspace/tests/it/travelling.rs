//! The way from store to store.

use std::fs;
use std::io::{self, Read};

use ratchet_workspace::{Base, WorkspaceError};

use crate::place::{Place, everything, send, snapshot, write};

/// Bytes that no packer makes smaller.
fn noise(length: usize, mut seed: u64) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        bytes.extend_from_slice(&seed.to_le_bytes());
    }
    bytes.truncate(length);
    bytes
}

#[test]
fn only_missing_objects_travel() {
    let place = Place::new();
    let (here, there) = (place.store("here"), place.store("there"));
    let workspace = place.workspace(&here, "w");
    for number in 0..50 {
        let path = workspace.root().join(format!("f{number}"));
        fs::write(path, noise(20_000, number + 1)).unwrap();
    }
    let first = snapshot(&workspace).id;
    assert!(send(&here, &there, first, "a") > 900_000);
    assert!(send(&here, &there, first, "a") < 100);
    write(workspace.root(), &[("deep/er/one", "more")]);
    let second = snapshot(&workspace).id;
    let bytes = send(&here, &there, second, "b");
    assert!(bytes < 4_000, "{bytes}");
    // What the other side says to have and this one does not is no harm.
    there.let_go("a").unwrap();
    there.let_go("b").unwrap();
    assert!(here.pack(second, &["0".repeat(40).parse().unwrap()]).is_ok());
}

#[test]
fn a_large_file_that_changed_a_little_travels_as_a_difference() {
    let place = Place::new();
    let (here, there) = (place.store("here"), place.store("there"));
    let workspace = place.workspace(&here, "w");
    let path = workspace.root().join("f");
    let mut bytes = noise(1_000_000, 5);
    fs::write(&path, &bytes).unwrap();
    let first = snapshot(&workspace).id;
    here.keep("first", first).unwrap();
    send(&here, &there, first, "a");
    bytes[500_000] ^= 1;
    fs::write(&path, &bytes).unwrap();
    let sent = send(&here, &there, snapshot(&workspace).id, "b");
    assert!(sent < 20_000, "{sent}");
}

#[test]
fn a_file_of_more_than_a_hundred_megabytes_goes_and_comes() {
    let place = Place::new();
    let (here, there) = (place.store("here"), place.store("there"));
    let (one, two) = (place.workspace(&here, "one"), place.workspace(&there, "two"));
    // Mostly holes, so that the test is about sizes and not about the disk.
    let file = fs::File::create(one.root().join("large")).unwrap();
    file.set_len(120 * 1024 * 1024).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, b"end", 120 * 1024 * 1024 - 3).unwrap();
    let id = snapshot(&one).id;
    send(&here, &there, id, "a");
    two.checkout(id).unwrap();
    let came = fs::metadata(two.root().join("large")).unwrap().len();
    assert_eq!(came, 120 * 1024 * 1024);
    assert_eq!(two.snapshot(Base::Snapshot(id)).unwrap().id, id);
}

#[test]
fn half_a_pack_a_broken_stream_and_a_foreign_name_leave_nothing_behind() {
    struct Breaks;
    impl Read for Breaks {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::ErrorKind::ConnectionReset.into())
        }
    }
    let place = Place::new();
    let (here, there) = (place.store("here"), place.store("there"));
    let workspace = place.workspace(&here, "w");
    write(workspace.root(), &[("a", "x"), ("b", "y")]);
    let id = snapshot(&workspace).id;
    let mut pack = Vec::new();
    here.pack(id, &[]).unwrap().read_to_end(&mut pack).unwrap();
    let cut = pack.len() / 2;
    let refused = |result: Result<(), WorkspaceError>| {
        assert!(matches!(result, Err(WorkspaceError::Refused { .. })), "{result:?}")
    };
    refused(there.receive(&pack[..cut], id, "a", 1 << 20));
    refused(there.receive((&pack[..cut]).chain(Breaks), id, "a", 1 << 20));
    let mut damaged = pack.clone();
    damaged[cut] ^= 0xff;
    refused(there.receive(&damaged[..], id, "a", 1 << 20));
    assert!(matches!(
        there.receive(&pack[..], id, "a", 10),
        Err(WorkspaceError::TooLarge { limit: 10 })
    ));
    let other = "1".repeat(40).parse().unwrap();
    assert!(
        matches!(there.receive(&pack[..], other, "a", 1 << 20), Err(WorkspaceError::Unknown { id }) if id == other)
    );
    assert!(matches!(
        there.receive(io::empty(), other, "a", 1 << 20),
        Err(WorkspaceError::Unknown { .. })
    ));
    assert_eq!(there.snapshots().unwrap(), []);
    there.receive(&pack[..], id, "a", 1 << 20).unwrap();
    assert_eq!(there.kept("a").unwrap(), Some(id));
}

#[test]
fn a_pack_that_supposes_what_is_not_here_is_refused() {
    let place = Place::new();
    let (here, there) = (place.store("here"), place.store("there"));
    let workspace = place.workspace(&here, "w");
    write(workspace.root(), &[("a", "x")]);
    let first = snapshot(&workspace).id;
    here.keep("first", first).unwrap();
    write(workspace.root(), &[("b", "y")]);
    let second = snapshot(&workspace).id;
    let mut pack = Vec::new();
    here.pack(second, &[first]).unwrap().read_to_end(&mut pack).unwrap();
    assert!(there.receive(&pack[..], second, "b", 1 << 20).is_err());
    assert_eq!(there.snapshots().unwrap(), []);
}

#[test]
fn what_is_swept_is_only_what_nobody_keeps() {
    let place = Place::new();
    let store = place.store("store");
    let (workspace, two) = (place.workspace(&store, "w"), place.workspace(&store, "two"));
    write(workspace.root(), &[("a", "x")]);
    let first = snapshot(&workspace).id;
    store.keep("spawn-1", first).unwrap();
    write(workspace.root(), &[("a", "y")]);
    snapshot(&workspace);
    store.tidy().unwrap();
    two.checkout(first).unwrap();
    assert_eq!(everything(two.root()).len(), 1);
    assert!(matches!(store.keep("../x", first), Err(WorkspaceError::Word { .. })));
}
