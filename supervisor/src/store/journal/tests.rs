//! The journal on disk: many writers, torn lines, junk; nothing acknowledged is ever lost.

use std::os::unix::fs::{PermissionsExt as _, symlink};

use proptest::prelude::*;
use ratchet_engine::journal::EntryKind;
use ratchet_engine::name::PhaseName;
use ratchet_engine::proof::{ProofReason, ProofRecord};
use ratchet_engine::settings::ProofPolicy;
use ratchet_engine::transition::StepKind;

use super::*;
use crate::store::testing::{Scene, entry, scene_of_parent};

fn key(text: &str) -> StepKey {
    StepKey::from_text(text)
}

fn messages(scene: &Scene, of: &str) -> Vec<String> {
    let entries = entries_of(&scene.run(), &key(of)).unwrap();
    entries.into_iter().map(|entry| entry.message.into_owned()).collect()
}

fn progress(of: &str, message: &str) -> Entry {
    entry(of, EntryKind::Progress, message)
}

fn verified(of: &str) -> Entry {
    Entry { transition: Some(StepKind::Verify), ..entry(of, EntryKind::Completion, "done") }
}

// B-G01
#[test]
fn entries_are_appended_under_their_key() {
    let scene = Scene::new();
    for (of, text) in [("a", "one"), ("b", "two"), ("a", "three")] {
        append(&scene.run(), &progress(of, text)).unwrap();
    }
    assert_eq!(messages(&scene, "a"), ["one", "three"]);
    assert_eq!(count_of(&scene.run(), &key("b")).unwrap(), 1);
    let bytes = fs::read_to_string(scene.run().journal()).unwrap();
    let first =
        r#"{"at":"1970-01-01T00:00:00.000Z","change":"a","kind":"progress","message":"one"}"#;
    assert_eq!(bytes.lines().next(), Some(first));
    assert!(bytes.ends_with('\n'));
}

// B-G06
#[test]
fn a_missing_journal_is_empty() {
    let scene = Scene::new();
    assert_eq!(read_view(&scene.run()).unwrap(), JournalView::default());
    assert_eq!(messages(&scene, "a"), [""; 0]);
    assert!(!scene.run().dir().exists(), "reading makes nothing");
}

// B-G05 B-G07
#[test]
fn broken_lines_cost_themselves_only() {
    let good = String::from_utf8(verified("a").to_line()).unwrap();
    let after = String::from_utf8(progress("a", "after").to_line()).unwrap();
    for junk in ["\n", "  \n", "{half\n", "null\n", "[1]\n", "7\n", "\0\u{1}junk\n", "\"text\"\n"] {
        let scene = Scene::with_journal(format!("{good}{junk}{after}").as_bytes());
        assert_eq!(messages(&scene, "a"), ["done", "after"], "{junk:?}");
        assert!(read_view(&scene.run()).unwrap().verified.contains("a"), "{junk:?}");
    }
    let scene = Scene::with_journal(format!("{good}{}", &after[..after.len() / 2]).as_bytes());
    assert_eq!(messages(&scene, "a"), ["done"]);
}

#[test]
fn line_ends_and_marks_of_other_systems_are_read_past() {
    let line = verified("a").to_line();
    let line = &line[..line.len() - 1];
    let with = |before: &[u8], after: &[u8]| {
        let scene = Scene::with_journal(&[before, line, after].concat());
        read_view(&scene.run()).unwrap().verified.contains("a")
    };
    assert!(with(b"\xef\xbb\xbf", b"\n"), "byte order mark");
    assert!(with(b"", b"\r\n"), "CRLF");
    assert!(with(b"", b""), "no newline");
    assert!(with(b"\0\0\0\0\n", b"\n"), "NULs");
}

#[test]
fn bytes_that_are_no_text_and_line_separators_stay_inside_their_entry() {
    let odd =
        b"{\"change\":\"a\",\"kind\":\"progress\",\"message\":\"caf\xe9 \xe2\x80\xa8 end\"}\n";
    let scene = Scene::with_journal(odd);
    assert_eq!(messages(&scene, "a"), ["caf\u{fffd} \u{2028} end"]);
}

#[test]
fn a_long_line_is_read_and_an_endless_one_is_skipped() {
    let long = progress("a", &"x".repeat(1_000_000)).to_line();
    let endless = vec![b'y'; MAX_LINE + 3 * BLOCK];
    let journal = [&long[..], &endless, b"\n", &verified("a").to_line(), &endless].concat();
    let scene = Scene::with_journal(&journal);
    assert_eq!(messages(&scene, "a").len(), 2);
    assert!(read_view(&scene.run()).unwrap().verified.contains("a"));
}

#[test]
fn a_tail_torn_at_any_byte_swallows_no_later_entry() {
    let first = progress("a", "first").to_line();
    let second = progress("a", "zweite \"Zeile\" \u{2028}").to_line();
    let whole = [&first[..], &second].concat();
    for cut in 0..=whole.len() {
        let scene = Scene::with_journal(&whole[..cut]);
        let kept = messages(&scene, "a");
        append(&scene.run(), &progress("a", "new")).unwrap();
        let mut expected = kept.clone();
        expected.push("new".to_owned());
        assert_eq!(messages(&scene, "a"), expected, "cut at {cut}");
        let at_least = usize::from(cut >= first.len()) + usize::from(cut >= whole.len());
        assert!(kept.len() >= at_least, "cut at {cut}");
    }
}

proptest! {
    #[test]
    fn what_was_acknowledged_survives_any_junk_before_and_between(
        parts in prop::collection::vec((any::<Vec<u8>>(), "[^\u{0}]{0,20}"), 1..6)
    ) {
        let scene = Scene::with_journal(b"");
        let mut expected = Vec::new();
        for (junk, message) in parts {
            let mut file = File::options().append(true).open(scene.run().journal()).unwrap();
            file.write_all(&junk).unwrap();
            append(&scene.run(), &progress("key-of-this-test", &message)).unwrap();
            expected.push(message);
        }
        prop_assert_eq!(messages(&scene, "key-of-this-test"), expected);
    }

    #[test]
    fn blocks_hand_over_the_same_lines_however_the_bytes_arrive(
        lines in prop::collection::vec("[a-z]{0,40}", 0..20),
        chunk in 1..50_usize,
        ended in any::<bool>(),
    ) {
        struct Drip<'a>(&'a [u8], usize);
        impl Read for Drip<'_> {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                let n = self.1.min(self.0.len()).min(buffer.len());
                buffer[..n].copy_from_slice(&self.0[..n]);
                self.0 = &self.0[n..];
                Ok(n)
            }
        }
        let mut text = lines.join("\n");
        if ended { text.push('\n'); }
        let mut got = Vec::new();
        blocks(Drip(text.as_bytes(), chunk), |block| got.extend_from_slice(block)).unwrap();
        prop_assert_eq!(got, text.into_bytes());
    }
}

#[test]
fn writers_at_once_lose_no_entry() {
    let scene = Scene::new();
    let run = scene.run();
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let run = &run;
            scope.spawn(move || {
                for n in 0..25 {
                    append(run, &progress("a", &format!("{writer}-{n}"))).unwrap();
                }
            });
        }
    });
    let mut all = messages(&scene, "a");
    assert_eq!(all.len(), 200);
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 200);
}

fn proof(phase: &str) -> Entry {
    let phase = PhaseName::parse(phase).unwrap();
    let record = ProofRecord {
        phase: phase.to_string(),
        passed: true,
        gate_passed: true,
        policy: ProofPolicy::HardGate,
        reason: ProofReason::PassConditionMet,
        detail: "ok".to_owned(),
        condition_kind: None,
        matched_excerpt: None,
    };
    let key = StepKey::of_proof(&phase);
    Entry { proof: Some(record), ..entry(key.as_str(), EntryKind::ProofOfWork, "ok") }
}

#[test]
fn a_proof_is_recorded_once_until_it_is_set_aside() {
    let scene = Scene::new();
    let run = scene.run();
    let record = || with_lock(&run, |writer| writer.record_proof(&proof("p1"))).unwrap();
    let got: Vec<Recorded> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..6).map(|_| scope.spawn(record)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(got.iter().filter(|recorded| **recorded == Recorded::Now).count(), 1);
    append(&run, &entry("proof-of-work:p1", EntryKind::ProofOfWorkInvalidated, "again")).unwrap();
    assert_eq!(record(), Recorded::Now);
    assert_eq!(record(), Recorded::Before);
}

#[test]
fn a_spawn_is_concluded_once() {
    let scene = Scene::new();
    let spawn = SpawnId::parse("0192-a").unwrap();
    let outcome = Entry { spawn: Some(spawn.clone()), ..verified("a") };
    let conclude = || with_lock(&scene.run(), |writer| writer.conclude(&spawn, &outcome)).unwrap();
    append(&scene.run(), &progress("a", "mentions 0192-a")).unwrap();
    assert!(!is_concluded(&scene.run(), &spawn).unwrap());
    assert_eq!(conclude(), Recorded::Now);
    assert_eq!(conclude(), Recorded::Before);
    assert!(is_concluded(&scene.run(), &spawn).unwrap());
}

#[test]
fn something_else_in_the_journals_place_is_an_error_that_names_it() {
    let scene = Scene::new();
    fs::create_dir_all(scene.run().journal()).unwrap();
    let error = read_view(&scene.run()).unwrap_err();
    assert!(matches!(error, FileError::WrongKind { .. }), "{error:?}");
    let error = append(&scene.run(), &progress("a", "x")).unwrap_err();
    assert!(error.to_string().contains("journal.jsonl"), "{error}");
}

#[test]
fn a_pipe_in_the_journals_place_is_no_endless_wait() {
    let scene = Scene::with_journal(b"");
    fs::remove_file(scene.run().journal()).unwrap();
    let made = scene
        .run_test("mkfifo \"$RATCHET_TEST_SCENE\"/.ratchet/batches/shop/run/journal.jsonl", "");
    assert!(made.status.success());
    assert!(matches!(read_view(&scene.run()), Err(FileError::WrongKind { .. })));
    assert!(append(&scene.run(), &progress("a", "x")).is_err());
}

#[test]
fn a_full_disk_acknowledges_nothing() {
    let scene = Scene::new();
    fs::create_dir(scene.run().dir()).unwrap();
    symlink("/dev/full", scene.run().journal()).unwrap();
    let error = append(&scene.run(), &progress("a", "x")).unwrap_err();
    assert!(matches!(error, FileError::Full { .. }), "{error:?}");
    assert!(error.help().contains("free some space"));
}

#[test]
fn a_write_that_the_system_cuts_short_costs_that_entry_only() {
    let scene = Scene::new();
    let test = "store::journal::tests::appends_until_the_file_may_not_grow";
    let output = scene.run_test("trap '' XFSZ; ulimit -f 2; exec \"$@\"", test);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    let acknowledged: usize =
        fs::read_to_string(scene.layout.root().join("acknowledged")).unwrap().parse().unwrap();
    assert!(acknowledged > 0);
    let torn = fs::read(scene.run().journal()).unwrap();
    assert_ne!(torn.last(), Some(&b'\n'), "the system cut inside of a line");
    append(&scene.run(), &progress("a", "after")).unwrap();
    let got = messages(&scene, "a");
    assert_eq!(got.len(), acknowledged + 1);
    assert_eq!(got.last().map(String::as_str), Some("after"));
}

/// The other process of [`a_write_that_the_system_cuts_short_costs_that_entry_only`].
#[test]
fn appends_until_the_file_may_not_grow() {
    let Some((layout, home)) = scene_of_parent() else { return };
    let run = layout.run(&home);
    let mut acknowledged = 0;
    let error = loop {
        match append(&run, &progress("a", "some text of some length")) {
            Ok(()) => acknowledged += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(error, FileError::Full { .. }), "{error:?}");
    fs::write(layout.root().join("acknowledged"), acknowledged.to_string()).unwrap();
}

#[test]
fn a_folder_that_may_not_be_written_is_an_error_that_says_so() {
    let scene = Scene::with_journal(b"");
    for path in [scene.layout.root(), scene.run().dir()] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o555)).unwrap();
    }
    let run = scene.run();
    let denied = std::thread::spawn(move || {
        // The superuser may write everywhere, so this thread becomes nobody.
        if rustix::process::geteuid().is_root() {
            let nobody = rustix::process::Uid::from_raw(65_534);
            rustix::thread::set_thread_res_uid(nobody, nobody, nobody).unwrap();
        }
        append(&run, &progress("a", "x")).unwrap_err()
    });
    let denied = denied.join().unwrap();
    fs::set_permissions(scene.run().dir(), fs::Permissions::from_mode(0o755)).unwrap();
    assert!(matches!(denied, FileError::Denied { .. }), "{denied:?}");
    assert!(denied.help().contains("ls -ld"));
}

#[test]
fn a_batch_that_is_gone_is_not_made_again() {
    let scene = Scene::new();
    fs::remove_dir_all(scene.layout.batches()).unwrap();
    assert!(append(&scene.run(), &progress("a", "x")).is_err());
    assert!(!scene.layout.batches().exists());
}
