//! Output comes through as it is, all of it.

use ratchet_spawn::{End, LONGEST_FRAME, Stdin};

use crate::harness::{Place, outcome, start};

// B-Q14 B-Q18
#[tokio::test]
async fn bytes_that_are_no_text_come_through_as_they_are() {
    let place = Place::new();
    let bytes: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    let mut request = place.command(&["cat"]);
    request.stdin = Stdin::Prompt(bytes.clone());
    assert_eq!(place.run(&request).await.stdout, bytes);
}

#[tokio::test]
async fn a_line_of_a_megabyte_comes_through_whole() {
    let place = Place::new();
    let mut request = place.command(&["cat"]);
    request.stdin = Stdin::Prompt(vec![b'x'; 1_000_000]);
    let outcome = place.run(&request).await;
    assert_eq!(outcome.stdout, vec![b'x'; 1_000_000]);
    assert_eq!(outcome.record.output.stdout_bytes, 1_000_000);
    assert_eq!(outcome.record.output.discarded_bytes, 0);
}

#[tokio::test]
async fn the_two_streams_are_kept_apart_and_counted() {
    let place = Place::new();
    let outcome = place.run(&place.shell("printf out; printf error >&2")).await;
    assert_eq!((outcome.stdout, outcome.stderr), (b"out".to_vec(), b"error".to_vec()));
    assert_eq!((outcome.record.output.stdout_bytes, outcome.record.output.stderr_bytes), (3, 5));
    assert_eq!(outcome.record.output.frames, 2);
}

#[tokio::test]
async fn a_hundred_megabytes_come_through_and_nobody_holds_them_in_memory() {
    let place = Place::new();
    let dir = place.create(&place.shell("exec head -c 100000000 /dev/zero"));
    let shim = start(&dir);
    let mut attachment =
        ratchet_spawn::Attachment::open(&dir, ratchet_spawn::Position::START).unwrap();
    let mut bytes = 0;
    let mut shim_peak = 0;
    let record = loop {
        match crate::harness::next(&mut attachment).await {
            ratchet_spawn::Event::Frame(frame) => {
                assert!(frame.bytes.len() <= LONGEST_FRAME);
                bytes += frame.bytes.len();
                shim_peak = shim_peak.max(peak_kib(shim.child.id()));
            }
            ratchet_spawn::Event::Ended(record) => break record,
            last => panic!("{last:?}"),
        }
    };
    assert_eq!(bytes, 100_000_000);
    assert_eq!(record.end, End::Exited { code: 0 });
    assert!(shim_peak > 0 && shim_peak < 20 * 1024, "the shim took {shim_peak} KiB");
}

fn peak_kib(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}

// B-Q06 B-Q12
#[tokio::test]
async fn paths_with_blanks_and_other_scripts_and_bytes_that_are_no_text_work() {
    use std::os::unix::ffi::OsStringExt;

    let place = Place::new();
    let odd = place.path().join("der große Ordner ✓ \"quoted\"");
    std::fs::create_dir(&odd).unwrap();
    let raw = odd.join(std::ffi::OsString::from_vec(b"raw-\xff".to_vec()));
    std::fs::create_dir(&raw).unwrap();
    let mut request = place.shell("pwd; printf '%s' \"$1\"");
    request
        .argv
        .extend(["sh".into(), std::ffi::OsString::from_vec(b"\xfe $HOME 'arg'\n".to_vec())]);
    request.cwd = raw.clone();
    let dir = ratchet_spawn::SpawnDir::create(&odd.join("spawns"), &request).unwrap();
    let _shim = start(&dir);
    let mut expected = raw.into_os_string().into_vec();
    expected.extend(b"\n\xfe $HOME 'arg'\n");
    assert_eq!(outcome(&dir).await.stdout, expected);
}
