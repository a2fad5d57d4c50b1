//! What may go wrong around a supervisor: files that are damaged, disks that are full, projects that are gone. Each time
//! the error says what and what next, and the supervisor stays up.

use ratchet_supervisor::grpc::service::Ending;
use ratchet_tests::{Action, Script, TestEnv, wait};

use super::hosted::{Hosted, apply, connect, marked, project};
use crate::shop;

/// An agent that says something, waits for the file `go`, and then plans and says so.
fn held(env: &TestEnv) -> String {
    env.agent(&Script::always([
        Action::ran("held"),
        Action::say("before"),
        Action::write("here", ""),
        Action::wait_for("go"),
        Action::say("after"),
        Action::Plan { change: Some("add-api".to_owned()), tasks: 1 },
        Action::complete("planned"),
    ]))
}

#[test]
fn a_step_whose_output_cannot_be_read_is_judged_by_its_end_and_its_report() {
    let env = shop();
    let agent = held(&env);
    let first = Hosted::start(&env, 1);
    first.call(async {
        let mut client = connect(&env).await;
        let answers = client.apply(marked(apply(project(&env, &agent), "shop"))).await.unwrap();
        tokio::task::block_in_place(|| wait::until_exists(&env.path("here")));
        drop(answers);
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
