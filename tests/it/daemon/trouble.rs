//! What may go wrong around a supervisor: files that are damaged, disks that are full, projects that are gone. Each time
//! the error says what and what next, and the supervisor stays up.

#![expect(clippy::unwrap_used, reason = "all of this is a test's")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use ratchet_proto::status::from_status;
use ratchet_proto::supervisor::v1 as wire;
use ratchet_supervisor::grpc::service::Ending;
use ratchet_tests::{Call, Script, TestEnv, wait};
use tonic::Code;

use super::held::{begin, begin_and_leave, held, held_silent};
use super::hosted::{Hosted, applied, apply, code, connect, marked, project};
use crate::shop;

#[test]
fn a_step_whose_output_cannot_be_read_is_judged_by_its_end_and_its_report() {
    let env = shop();
    let agent = held(&env);
    let first = Hosted::start(&env, 1);
    first.call(async {
        begin_and_leave(&env, &mut connect(&env).await, &agent).await;
    });
    first.end(Ending::Leave);
    let spool = env.only_spawn().join("spool");
    env.write("go", "");
    env.wait_until_empty();
    let mut bytes = std::fs::read(&spool).unwrap();
    bytes[8..24].fill(b'x');
    std::fs::write(&spool, bytes).unwrap();
    let status = env.ratchet(["batch", "apply"]).agent(&agent).json();
    assert_eq!(status["state"], "advanced", "{status:#}");
    let notes = status["notes"].to_string();
    assert!(notes.contains("could not be read"), "{notes}");
    assert_eq!(env.agent_runs(), 1);
}

/// A small disk of its own under a folder, gone with this value. Root is needed.
struct Disk(PathBuf);

impl Disk {
    fn at(folder: PathBuf) -> Self {
        std::fs::create_dir_all(&folder).unwrap();
        let mounted = mount(&["-t", "tmpfs", "-o", "size=256k,mode=755", "none"], &folder);
        assert!(mounted, "a disk can be mounted at {}: this test needs root", folder.display());
        Self(folder)
    }

    fn fill(&self) {
        let mut file = std::fs::File::create(self.0.join("fill")).unwrap();
        while std::io::Write::write_all(&mut file, &[0; 4096]).is_ok() {}
    }

    fn empty(&self) {
        std::fs::remove_file(self.0.join("fill")).unwrap();
    }

    fn make_read_only(&self) {
        // Over itself: what is open for writing underneath would keep it from becoming read-only.
        let own = self.0.to_str().unwrap();
        assert!(mount(&["--bind", own], &self.0));
        assert!(mount(&["-o", "remount,bind,ro"], &self.0));
    }

    fn make_writable(&self) {
        assert!(Command::new("umount").arg(&self.0).status().unwrap().success());
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

fn mount(arguments: &[&str], folder: &Path) -> bool {
    Command::new("mount").args(arguments).arg(folder).status().unwrap().success()
}

/// Sees that the supervisor is well: it runs a step of another project.
async fn assert_well(supervisor: &TestEnv) {
    let other = shop();
    let agent = other.agent(&Script::honest());
    let mut client = connect(supervisor).await;
    let told = applied(&mut client, apply(project(&other, &agent), "shop")).await.unwrap();
    assert_eq!(told.state(), wire::StepState::Advanced);
}

#[test]
fn a_project_that_disappears_under_its_step_is_told_and_harms_no_other() {
    let env = shop();
    let agent = held(&env);
    let hosted = Hosted::start(&env, 1);
    hosted.call(async {
        let step = begin(&env, &mut connect(&env).await, &agent).await;
        let away = env.base().join("away");
        std::fs::rename(env.root(), &away).unwrap();
        std::fs::write(away.join("go"), "").unwrap();
        let refused = step.await.unwrap().unwrap_err();
        let detail = from_status(&refused);
        assert!(detail.help.is_some(), "{detail:?}");
        assert!(detail.message.contains("batches/shop"), "{detail:?}");
        let mut client = connect(&env).await;
        let request = apply(project(&env, &agent), "shop");
        let refused = applied(&mut client, request).await.unwrap_err();
        assert_eq!(code(&refused), "no-project");
        let all = client.list_batches(marked(wire::ListBatchesRequest::default())).await.unwrap();
        let error = all.into_inner().projects[0].error.clone().unwrap();
        assert_eq!(error.code, "no-project", "it is known still, and said to be gone");
        assert_well(&env).await;
        // It comes back, and its step is judged.
        std::fs::rename(&away, env.root()).unwrap();
        let told = applied(&mut client, apply(project(&env, &agent), "shop")).await.unwrap();
        assert_eq!(told.state(), wire::StepState::Advanced);
    });
    assert_eq!(env.agent_runs(), 1);
}

#[test]
fn a_disk_that_is_full_when_a_step_ends_loses_nothing_once_there_is_room() {
    let env = shop();
    let agent = held_silent(&env);
    let disk = Disk::at(env.path(".ratchet/batches/shop/run"));
    let hosted = Hosted::start(&env, 1);
    hosted.call(async {
        let step = begin(&env, &mut connect(&env).await, &agent).await;
        disk.fill();
        env.write("go", "");
        let refused = step.await.unwrap().unwrap_err();
        assert_eq!(
            (refused.code(), code(&refused).as_str()),
            (Code::ResourceExhausted, "disk-full")
        );
        let detail = from_status(&refused);
        assert!(detail.help.unwrap().contains("df -h"));
        assert_well(&env).await;
        disk.empty();
        let mut client = connect(&env).await;
        let told = applied(&mut client, apply(project(&env, &agent), "shop")).await.unwrap();
        assert!(told.report.is_some());
    });
    assert_eq!(env.agent_runs(), 1, "it was judged, and not run again");
}

#[test]
fn a_disk_without_room_for_a_spawn_is_named_and_nothing_is_begun() {
    let env = shop();
    let agent = env.agent(&Script::honest());
    let disk = Disk::at(env.base().join("small"));
    let apply = || {
        let call = env.ratchet(["batch", "apply"]).embedded().agent(&agent);
        call.var("XDG_STATE_HOME", env.base().join("small"))
    };
    disk.fill();
    let refused = apply().refused();
    assert!(refused.contains("code: disk-full"), "{refused}");
    assert!(refused.contains("XDG_STATE_HOME"), "{refused}");
    disk.empty();
    disk.make_read_only();
    let refused = apply().refused();
    assert!(refused.contains("code: read-only"), "{refused}");
    disk.make_writable();
    assert_eq!(env.agent_runs(), 0);
    apply().ok();
    assert_eq!(env.agent_runs(), 1);
}

#[test]
fn a_disk_that_is_read_only_when_a_step_ends_loses_nothing_once_it_can_be_written() {
    let env = shop();
    let agent = held_silent(&env);
    let disk = Disk::at(env.path(".ratchet/batches/shop/run"));
    let hosted = Hosted::start(&env, 1);
    hosted.call(async {
        let step = begin(&env, &mut connect(&env).await, &agent).await;
        disk.make_read_only();
        env.write("go", "");
        let refused = step.await.unwrap().unwrap_err();
        assert_eq!(code(&refused), "read-only", "{refused:?}");
        let mut client = connect(&env).await;
        let refused = applied(&mut client, apply(project(&env, &agent), "shop")).await.unwrap_err();
        assert_eq!(code(&refused), "read-only", "{refused:?}");
        assert_well(&env).await;
        disk.make_writable();
        let told = applied(&mut client, apply(project(&env, &agent), "shop")).await.unwrap();
        assert!(told.report.is_some());
    });
    assert_eq!(env.agent_runs(), 1, "it was judged, and not run again");
}

#[test]
fn a_state_folder_that_is_full_begins_no_step_and_says_so() {
    let env = shop();
    let agent = env.agent(&Script::honest());
    let disk = Disk::at(env.base().join("state/ratchet"));
    let hosted = Hosted::start(&env, 1);
    hosted.call(async {
        let mut client = connect(&env).await;
        disk.fill();
        let refused = applied(&mut client, apply(project(&env, &agent), "shop")).await.unwrap_err();
        let detail = from_status(&refused);
        assert!(detail.help.is_some() && !detail.causes.is_empty(), "{detail:?}");
        assert_eq!(env.agent_runs(), 0);
        disk.empty();
        let told = applied(&mut client, apply(project(&env, &agent), "shop")).await.unwrap();
        assert_eq!(told.state(), wire::StepState::Advanced);
    });
}

#[test]
fn a_clock_that_was_set_back_changes_nothing() {
    let env = shop();
    let entry =
        r#"{"at":"2999-01-01T00:00:00.000Z","change":"add-api","kind":"status","message":"hm"}"#;
    env.write(".ratchet/batches/shop/run/journal.jsonl", format!("{entry}\n"));
    let state = env.base().join("state/ratchet");
    std::fs::create_dir_all(state.join("spawns")).unwrap();
    // What a ratchet of next century has left.
    let swept = std::fs::File::create(state.join("spawns/.swept")).unwrap();
    swept.set_modified(std::time::SystemTime::now() + Duration::from_secs(3_000_000_000)).unwrap();
    let hosted = Hosted::start(&env, 1);
    let agent = env.agent(&Script::honest());
    hosted.call(async {
        let mut client = connect(&env).await;
        for _ in 0..3 {
            let told = applied(&mut client, apply(project(&env, &agent), "shop")).await.unwrap();
            assert_eq!(told.state(), wire::StepState::Advanced);
        }
    });
    let now = std::time::SystemTime::now();
    let last = state.join("spawns/.swept").metadata().unwrap().modified().unwrap();
    assert!(last <= now + Duration::from_secs(60), "it is swept by this clock again");
}

#[test]
fn a_report_that_has_to_wait_says_for_whom_and_is_recorded_when_it_can_be() {
    let env = shop();
    env.write(".ratchet/batches/shop/run/journal.lock", "");
    let held = std::fs::File::open(env.path(".ratchet/batches/shop/run/journal.lock")).unwrap();
    rustix::fs::flock(&held, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let line = "ratchet batch report --change add-api --status waiting 2> said";
    let report = Call::new(Path::new("/bin/sh"), &env.root(), env.variables()).args(["-c", line]);
    let report = report.start();
    let by = format!("journal.lock, held by process {} (", std::process::id());
    wait::until("the wait to be told", || {
        std::fs::read_to_string(env.path("said")).is_ok_and(|said| said.contains(&by))
    });
    drop(held);
    report.wait().assert_code(0);
    assert_eq!(env.journaled("shop", "add-api", "progress").len(), 1);
}
