//! The sample project, as `fixtures/sample/run.sh` takes a newcomer through it.

use std::process::Command;

use crate::empty;

#[test]
fn the_sample_goes_from_nothing_to_a_finished_batch_in_one_command() {
    let env = empty();
    // The script finds its programs by name in one folder; the tested copy goes by another name in Cargo's.
    let output = Command::new("bash")
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/sample/run.sh"))
        .env_clear()
        .env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
        .env("HOME", env.base().join("home"))
        .env("TMPDIR", env.base().join("tmp"))
        .env("RATCHET_BIN_DIR", env.base().join("bin"))
        .current_dir(env.root())
        .output()
        .expect("bash is installed");
    let text = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    for words in ["holds: case does not matter", "3 Le Guin", "6 hold, 0 fail", "== done"] {
        assert!(text.contains(words), "`{words}` is missing:\n{text}");
    }
}
