//! Whose the files are that an agent writes: the caller's, whoever that is.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use ratchet_tests::{Call, engine};

use super::world;
use crate::runtime::{HONEST, World, mode};

/// Gives a whole world to a user.
fn give(path: &Path, user: u32, group: u32) {
    std::os::unix::fs::lchown(path, Some(user), Some(group)).expect("root may give away");
    if path.is_dir() && !path.is_symlink() {
        for entry in path.read_dir().expect("a folder") {
            give(&entry.expect("an entry").path(), user, group);
        }
    }
}

/// Runs a call as another user, who may use the engine's socket.
fn as_user(call: Call, user: u32, group: u32) -> Call {
    let socket = Path::new("/var/run/docker.sock").metadata().expect("the engine's socket");
    let (user, group) = (user.to_string(), group.to_string());
    call.behind([
        "setpriv",
        "--reuid",
        &user,
        "--regid",
        &group,
        "--groups",
        &socket.gid().to_string(),
        "--",
    ])
}

fn the_files_are_of(user: u32, group: u32) {
    let world = world(&[]);
    give(&world.env.base(), user, group);
    let script = format!(
        "id -u; id -g; umask; mkdir -p d/e; echo x > d/e/f; ln -s f d/e/link; printf '#!/bin/sh\\n' > run; \
         chmod 755 run; echo s > secret; chmod 600 secret; echo r > readable; chmod 444 readable; mkdir closed; \
         chmod 700 closed; touch \"$HOME/.cache\" && stat -c '%u %a' \"$HOME\"; {HONEST} > /dev/null"
    );
    let call = world.env.ratchet(["batch", "apply"]).agent(&script);
    let step = as_user(call, user, group).json();
    assert_eq!(step["state"], "advanced", "{step:#}");
    let log = as_user(world.env.ratchet(["batch", "log", "--last", "--raw"]), user, group).ok();
    assert_eq!(log.stdout(), format!("{user}\n{group}\n0022\n{user} 700\n"));
    for name in ["d", "d/e", "d/e/f", "d/e/link", "run", "secret", "readable", "closed"] {
        let found = world.env.path(name).symlink_metadata().expect("it was made");
        assert_eq!((found.uid(), found.gid()), (user, group), "{name}");
    }
    let modes = [("run", 0o755), ("secret", 0o600), ("readable", 0o444), ("closed", 0o700)];
    for (name, expected) in modes {
        assert_eq!(mode(&world.env.path(name)), expected, "{name}");
    }
    let journal = world.env.path(".ratchet/batches/shop/run/journal.jsonl");
    assert_eq!(journal.metadata().expect("a journal").uid(), user);
    assert_eq!(world.containers(), Vec::<String>::new());
}

#[test]
fn of_root() {
    the_files_are_of(0, 0);
}

#[test]
fn of_the_first_ordinary_user() {
    the_files_are_of(1000, 1000);
}

#[test]
fn of_a_user_whom_no_image_knows() {
    the_files_are_of(12_345, 12_345);
}

#[test]
fn of_a_user_with_another_group() {
    the_files_are_of(1000, 54_321);
}

#[test]
fn root_can_have_a_step_run_as_another_user() {
    let world = world(&["dockerUser: 12345:12345"]);
    give(&world.env.root(), 12_345, 12_345);
    std::fs::set_permissions(world.env.root(), std::fs::Permissions::from_mode(0o755))
        .expect("a mode");
    world.step("id -u; touch made");
    assert_eq!(world.output(), b"12345\n");
    assert_eq!(world.env.path("made").metadata().expect("it was made").uid(), 12_345);
}

#[test]
fn only_root_can_have_a_step_run_as_another_user() {
    let world = world(&["dockerUser: '0:0'"]);
    give(&world.env.base(), 1000, 1000);
    let call = world.env.ratchet(["batch", "apply"]).agent("true");
    let error = super::refusals::told(as_user(call, 1000, 1000));
    assert!(error.contains("dockerUser is 0:0") && error.contains("docker-user"), "{error}");
    assert_eq!(world.containers(), Vec::<String>::new());
}

#[test]
fn a_project_path_with_blanks_colons_and_other_letters_is_mounted() {
    let world = world(&[]);
    let odd = world.env.base().join("my pröject: a,b=c \"q\" 🙂");
    std::fs::rename(world.env.root(), &odd).expect("a folder can be renamed");
    let script = format!("pwd; {HONEST} > /dev/null; echo x > 'f:g'");
    let step = world.env.ratchet(["batch", "apply"]).agent(&script).cwd(odd.clone()).json();
    assert_eq!(step["state"], "advanced", "{step:#}");
    assert_eq!(std::fs::read_to_string(odd.join("f:g")).expect("it was made"), "x\n");
    assert_eq!(engine::containers_of(&world.spawns()), Vec::<String>::new());
}

#[test]
fn git_works_inside_of_a_plain_clone_and_of_a_linked_work_tree() {
    let world = World::with(crate::runtime::Place::Docker, &["image: ratchet-test:debian"]);
    world.env.git(&["config", "user.name", "A Person"]);
    world.env.git(&["config", "user.email", "p@example.invalid"]);
    world.env.git(&["add", "--all"]);
    world.env.git(&["commit", "--quiet", "--message", "first"]);
    let script = "git status --short > /dev/null && echo x > x && git add x && git commit --quiet -m inside && \
        git log -1 --format='%an %s'";
    world.step(script);
    assert_eq!(String::from_utf8_lossy(&world.output()), "A Person inside\n");
    assert_eq!(world.env.git(&["log", "-1", "--format=%s"]), "inside");

    let tree = world.env.base().join("tree");
    let tree_text = tree.to_str().expect("a path is text");
    world.env.git(&["worktree", "add", "--quiet", tree_text, "-b", "other"]);
    let call = world.env.ratchet(["batch", "apply"]).agent(script).cwd(tree.clone());
    call.ok();
    let log = std::process::Command::new("git")
        .arg("-C")
        .arg(&tree)
        .args(["log", "-1", "--format=%s %D"])
        .output();
    let log = String::from_utf8(log.expect("git is installed").stdout).expect("text");
    assert!(log.starts_with("inside HEAD -> other"), "{log}");
}
