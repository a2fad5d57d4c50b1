//! Limits across calls, with a clock that stands where the test says.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::*;

fn at(ms: i64) -> Timestamp {
    Timestamp::from_unix_ms(ms)
}

fn agent(name: &str) -> AgentName {
    AgentName::new(name)
}

fn limits(folder: &Path) -> Limits {
    Limits::at(folder.join("ratchet/limits.json"))
}

#[test]
fn a_limit_lasts_until_its_moment_and_concerns_one_agent() {
    let folder = tempfile::tempdir().unwrap();
    let limits = limits(folder.path());
    assert_eq!(limits.until(&agent("claude"), at(0)).unwrap(), None);
    limits.note(&agent("claude"), at(5_000), at(0)).unwrap();
    limits.note(&agent("codex"), at(9_000), at(1)).unwrap();
    assert_eq!(limits.until(&agent("claude"), at(4_999)).unwrap(), Some(at(5_000)));
    assert_eq!(limits.until(&agent("claude"), at(5_000)).unwrap(), None);
    assert_eq!(limits.until(&agent("gemini"), at(0)).unwrap(), None);
    // What is over is forgotten with the next note.
    limits.note(&agent("gemini"), at(20_000), at(6_000)).unwrap();
    assert_eq!(limits.until(&agent("claude"), at(0)).unwrap(), None);
    assert_eq!(limits.until(&agent("codex"), at(0)).unwrap(), Some(at(9_000)));
}

#[test]
fn an_agent_that_answers_is_back() {
    let folder = tempfile::tempdir().unwrap();
    let limits = limits(folder.path());
    limits.forget(&agent("claude")).unwrap();
    assert!(!folder.path().join("ratchet").exists(), "nothing is made for nothing");
    limits.note(&agent("claude"), at(5_000), at(0)).unwrap();
    limits.forget(&agent("claude")).unwrap();
    assert_eq!(limits.until(&agent("claude"), at(0)).unwrap(), None);
}

#[test]
fn only_the_user_can_read_the_file() {
    let folder = tempfile::tempdir().unwrap();
    limits(folder.path()).note(&agent("claude"), at(5_000), at(0)).unwrap();
    let mode =
        |name: &str| folder.path().join(name).metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode("ratchet"), 0o700);
    assert_eq!(mode("ratchet/limits.json"), 0o600);
    assert_eq!(mode("ratchet/limits.lock"), 0o600);
}

#[test]
fn a_damaged_file_is_no_limit_and_is_written_anew() {
    let folder = tempfile::tempdir().unwrap();
    let limits = limits(folder.path());
    std::fs::create_dir(folder.path().join("ratchet")).unwrap();
    for damaged in ["", "{", "[]", r#"{"agents":7}"#, r#"{"agents":{"claude":{"until":"soon"}}}"#] {
        std::fs::write(folder.path().join("ratchet/limits.json"), damaged).unwrap();
        assert_eq!(limits.until(&agent("claude"), at(0)).unwrap(), None, "{damaged}");
        limits.note(&agent("claude"), at(5_000), at(0)).unwrap();
        assert_eq!(limits.until(&agent("claude"), at(0)).unwrap(), Some(at(5_000)), "{damaged}");
    }
}
