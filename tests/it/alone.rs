//! Tests that need the machine to themselves (see `.config/nextest.toml`).

use ratchet_tests::{Action, Script};

use crate::shop;

#[test]
fn a_flood_of_a_hundred_megabytes_is_kept_byte_for_byte() {
    let env = shop();
    let bytes = 100_000_000;
    let script = Script::always([Action::Flood { bytes }, Action::exit(1)]);
    let shown = env.ratchet(["batch", "apply"]).agent(&env.agent(&script)).ok();
    assert!(shown.stdout.len() as u64 > bytes, "all of it is shown: {} bytes", shown.stdout.len());
    let log = env.ratchet(["batch", "log", "--last", "--raw"]).ok();
    assert_eq!(log.stdout.len() as u64, bytes);
    let line = b"0123456789".repeat(10)[..99].to_vec();
    assert!(
        log.stdout
            .split(|byte| *byte == b'\n')
            .all(|printed| printed.is_empty() || printed == line)
    );
}
