//! The container engine as the tests ask it, by its own command line. What a test looks at here ratchet never told it.

use std::process::{Command, Stdio};

/// The label that every container of a world carries with the folder of its spawns.
const FOLDER_LABEL: &str = "dev.ratchet.spawns";

/// Runs the engine's command line and gives what it printed.
///
/// # Panics
/// When it fails; the message says how to make an engine ready.
#[track_caller]
pub fn docker<'a>(arguments: impl IntoIterator<Item = &'a str>) -> String {
    let arguments: Vec<&str> = arguments.into_iter().collect();
    let output = Command::new("docker")
        .args(&arguments)
        .stdin(Stdio::null())
        .output()
        .expect("there is no docker; run tests/docker/prepare.sh");
    assert!(
        output.status.success(),
        "docker {}: {}\nrun tests/docker/prepare.sh",
        arguments.join(" "),
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
}

/// The ids of the containers whose spawns lie in this folder, in whatever state they are.
#[track_caller]
pub fn containers_of(spawns: &str) -> Vec<String> {
    let label = format!("label={FOLDER_LABEL}={spawns}");
    docker(["ps", "--all", "--quiet", "--no-trunc", "--filter", &label])
        .lines()
        .map(str::to_owned)
        .collect()
}

/// Removes them.
pub fn remove_containers_of(spawns: &str) {
    for id in containers_of(spawns) {
        // It may be going by itself.
        drop(Command::new("docker").args(["rm", "--force", "--volumes", &id]).output());
    }
}
