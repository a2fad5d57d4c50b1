//! Every call once, and what it says when it cannot be done.

use ratchet_proto::status::from_status;
use ratchet_proto::supervisor::v1 as wire;
use ratchet_proto::supervisor::v1::{run_change_response, run_response, watch_response};
use ratchet_supervisor::grpc::service::Ending;
use ratchet_tests::{Action, Manifest, Phase, Script, TestEnv, wait};
use tonic::Code;

use super::held::begin;
use super::hosted::{Hosted, applied, apply, cancel, code, connect, marked, output_of, project};
use crate::{shop, with};

#[test]
fn an_apply_tells_its_events_and_then_its_report() {
    let env = shop();
    let hosted = Hosted::start(&env, 1);
    let agent = env.agent(&Script::honest());
    hosted.call(async {
        let mut client = connect(&env).await;
        let told = applied(&mut client, apply(project(&env, &agent), "shop")).await.unwrap();
        assert_eq!(told.state(), wire::StepState::Advanced);
        assert_eq!(told.started.len(), 1);
        assert!(!told.started[0].reattached);
        let spawn = &told.started[0].spawn;
        let stored = output_of(&mut client, project(&env, &agent), spawn).await.unwrap();
        assert_eq!(stored, told.stdout);
    });
    assert_eq!(env.agent_runs(), 1);
}

#[test]
fn a_run_goes_on_until_nothing_is_left() {
    let env = shop();
    let hosted = Hosted::start(&env, 1);
    let agent = env.agent(&Script::honest());
    let (reports, halt) = hosted.call(async {
        let mut client = connect(&env).await;
        let apply = Some(apply(project(&env, &agent), "shop"));
        let request = wire::RunRequest { apply, max_steps: 0 };
        let mut answers = client.run(marked(request)).await.unwrap().into_inner();
        let (mut reports, mut halt) = (0, None);
        while let Some(answer) = answers.message().await.unwrap() {
            match answer.message.unwrap() {
                run_response::Message::Event(_) => {}
                run_response::Message::Report(_) => reports += 1,
                run_response::Message::Halt(why) => halt = Some(why),
            }
        }
        (reports, halt.unwrap())
    });
    assert_eq!(halt.reason(), wire::HaltReason::Done, "{halt:?}");
    assert_eq!(halt.steps, 4, "three steps and the proof-of-work");
    assert_eq!(reports, 5, "and the answer that nothing is left");
}

fn propose_alone(env: &TestEnv, agent: &str) -> wire::RunChangeRequest {
    wire::RunChangeRequest {
        project: Some(project(env, agent)),
        change: "alone".to_owned(),
        transition: wire::StepKind::Propose.into(),
        objective: Some("stand alone".to_owned()),
        ..wire::RunChangeRequest::default()
    }
}

#[test]
fn a_change_of_its_own_is_moved() {
    let env = shop();
    let hosted = Hosted::start(&env, 1);
    let agent = env.agent(&Script::honest());
    let result = hosted.call(async {
        let mut client = connect(&env).await;
        let request = marked(propose_alone(&env, &agent));
        let mut answers = client.run_change(request).await.unwrap().into_inner();
        let mut result = None;
        while let Some(answer) = answers.message().await.unwrap() {
            if let run_change_response::Message::Result(found) = answer.message.unwrap() {
                result = Some(found);
            }
        }
        result.unwrap()
    });
    assert_eq!((result.state(), result.key.as_str()), (wire::StepState::Advanced, "alone"));
}

#[test]
fn status_log_list_and_info_say_what_the_disk_says() {
    let env = shop();
    let hosted = Hosted::start(&env, 3);
    let agent = env.agent(&Script::honest());
    hosted.call(async {
        let mut client = connect(&env).await;
        let told = applied(&mut client, apply(project(&env, &agent), "shop")).await.unwrap();
        let asked = Some(project(&env, &agent));
        let request = wire::StatusRequest { project: asked.clone(), batch: "shop".to_owned() };
        let status = client.status(marked(request)).await.unwrap().into_inner().status.unwrap();
        assert_eq!(status.state(), wire::BatchState::InProgress);
        assert_eq!(status.phases[0].changes[0].name, "add-api");
        assert_eq!(status.latest.unwrap().key, "add-api");

        let request =
            wire::LogRequest { project: asked.clone(), batch: "shop".to_owned(), key: None };
        let log = client.log(marked(request)).await.unwrap().into_inner().steps;
        assert_eq!(log.len(), 1);
        assert_eq!((&log[0].spawn, log[0].has_output), (&told.started[0].spawn, true));

        let list = client.list_batches(marked(wire::ListBatchesRequest::default())).await.unwrap();
        let projects = list.into_inner().projects;
        assert_eq!(projects[0].root, env.root().display().to_string());
        assert_eq!(projects[0].batches[0].name, "shop");

        let info = client.info(marked(wire::InfoRequest {})).await.unwrap().into_inner();
        assert_eq!((info.protocol, info.local_capacity), (1, 3));
        assert_eq!(info.projects, [env.root().display().to_string()]);
        assert!(info.active.is_empty() && !info.draining);
        assert_eq!(info.listeners, [format!("unix:{}", env.socket().display())]);
    });
}

#[test]
fn reports_and_decisions_are_on_disk_when_the_call_returns() {
    let env = shop();
    let hosted = Hosted::start(&env, 1);
    hosted.call(async {
        let mut client = connect(&env).await;
        let report = |kind: wire::ReportKind, text: &str| wire::ReportRequest {
            project: Some(wire::Project {
                root: env.root().display().to_string(),
                environment: None,
            }),
            home: Some(wire::report_request::Home::Batch("shop".to_owned())),
            key: "add-api".to_owned(),
            kind: kind.into(),
            message: text.to_owned(),
        };
        for (kind, text, flag) in [
            (wire::ReportKind::Status, "on it", "status"),
            (wire::ReportKind::Blocker, "stuck", "blocker"),
            (wire::ReportKind::Answer, "push", "answer"),
            (wire::ReportKind::NeedsInput, "which?", "needs-input"),
            (wire::ReportKind::CompleteAwaitingApproval, "look", "complete"),
            (wire::ReportKind::Approve, "", "approve"),
            (wire::ReportKind::Complete, "done", "complete"),
        ] {
            let before = env.journal("shop").len();
            let said = client.report(marked(report(kind, text))).await.unwrap().into_inner();
            assert_eq!((said.kind.as_str(), said.key.as_str()), (flag, "add-api"));
            assert!(env.journal("shop").len() > before, "{flag}");
        }
        let refused = client.report(marked(report(wire::ReportKind::Reject, "no"))).await;
        let refused = refused.unwrap_err();
        assert_eq!(
            (refused.code(), code(&refused).as_str()),
            (Code::FailedPrecondition, "not-parked")
        );
    });
}

#[test]
fn a_proof_is_set_aside() {
    let env = with(&Manifest::new("shop").phase(Phase::new("p1").proof("true", "exit 0")));
    let hosted = Hosted::start(&env, 1);
    hosted.call(async {
        let mut client = connect(&env).await;
        let request = |phase: &str| wire::RerunProofRequest {
            project: Some(project(&env, "true")),
            batch: "shop".to_owned(),
            phase: phase.to_owned(),
        };
        let done = client.rerun_proof(marked(request("p1"))).await.unwrap().into_inner();
        assert!(!done.invalidated, "there was none yet");
        let refused = client.rerun_proof(marked(request("p9"))).await.unwrap_err();
        assert_eq!((refused.code(), code(&refused).as_str()), (Code::NotFound, "phase-not-found"));
    });
}

#[test]
fn an_error_arrives_with_its_words_and_what_to_type_next() {
    let env = shop();
    let hosted = Hosted::start(&env, 1);
    hosted.call(async {
        let mut client = connect(&env).await;
        let refused = client.apply(marked(apply(project(&env, "true"), "shoe"))).await.unwrap_err();
        let detail = from_status(&refused);
        let shown = env.ratchet(["batch", "status", "shoe"]).run().to_string();
        assert_eq!(detail.code, "batch-not-found");
        assert!(shown.contains(&detail.message), "{detail:?}\n{shown}");
        assert!(shown.contains(detail.help.as_deref().unwrap_or_default()), "{shown}");

        let gone = wire::Project { root: "/no/such/folder".to_owned(), environment: None };
        let refused = client.apply(marked(apply(gone, "shop"))).await.unwrap_err();
        assert_eq!((refused.code(), code(&refused).as_str()), (Code::NotFound, "no-project"));
        assert!(!from_status(&refused).causes.is_empty());
    });
}

#[test]
fn a_watcher_hears_at_once_of_what_somebody_else_reports() {
    let env = shop();
    let hosted = Hosted::start(&env, 1);
    hosted.call(async {
        let mut client = connect(&env).await;
        let asked = Some(project(&env, "true"));
        let request = wire::WatchRequest { project: asked, batch: "shop".to_owned() };
        let mut answers = client.watch(marked(request)).await.unwrap().into_inner();
        let mut next = async || match answers.message().await.unwrap().unwrap().message.unwrap() {
            watch_response::Message::Status(status) => Ok(status),
            watch_response::Message::Error(error) => Err(error),
        };
        assert_eq!(next().await.unwrap().latest, None);
        let report = ["batch", "report", "--change", "add-api", "--blocker", "stuck"];
        env.ratchet(report).ok();
        let parked = loop {
            let status = next().await.unwrap();
            if let Some(park) = status.phases[0].changes[0].parked.clone() {
                break park;
            }
        };
        assert_eq!((parked.kind.as_str(), parked.reason.as_str()), ("blocked", "stuck"));
        env.add_plan("add-api", 2, 1);
        loop {
            let status = next().await.unwrap();
            if status.progress == Some(wire::Progress { total: 2, completed: 1 }) {
                break;
            }
        }
        env.write(".ratchet/batches/shop/batch.yaml", "phases: [");
        loop {
            if next().await.is_err_and(|error| error.code == "invalid-manifest") {
                break;
            }
        }
    });
}

#[test]
fn a_cancelled_step_is_gone_when_the_call_returns() {
    let env = shop();
    let hosted = Hosted::start(&env, 1);
    let agent =
        env.agent(&Script::always([Action::ran("hangs"), Action::write("here", ""), Action::Hang]));
    hosted.call(async {
        let mut client = connect(&env).await;
        let cancel = || cancel(project(&env, &agent), "shop");
        let none = client.cancel(marked(cancel())).await.unwrap().into_inner();
        assert_eq!(none.stopped, None);
        let heard = begin(&env, &mut client, &agent).await;
        let stopped = client.cancel(marked(cancel())).await.unwrap().into_inner().stopped.unwrap();
        assert_eq!(stopped.key, "add-api");
        let told = heard.await.unwrap().unwrap();
        assert_eq!(told.state(), wire::StepState::Blocked);
    });
    env.wait_until_empty();
}

#[test]
fn the_step_of_a_change_on_its_own_is_cancelled_and_its_result_says_by_whom() {
    let env = shop();
    let hosted = Hosted::start(&env, 1);
    let agent = env.agent(&Script::always([Action::write("here", ""), Action::Hang]));
    hosted.call(async {
        let mut client = connect(&env).await;
        let request = marked(propose_alone(&env, &agent));
        let mut answers = client.run_change(request).await.unwrap().into_inner();
        tokio::task::block_in_place(|| wait::until_exists(&env.path("here")));
        let request = wire::CancelRequest {
            project: Some(project(&env, &agent)),
            home: Some(wire::cancel_request::Home::Change("alone".to_owned())),
            reason: wire::StopReason::Interrupt.into(),
        };
        let stopped = client.cancel(marked(request)).await.unwrap().into_inner().stopped.unwrap();
        assert_eq!(stopped.key, "alone");
        let result = loop {
            let answer = answers.message().await.unwrap().unwrap();
            if let run_change_response::Message::Result(result) = answer.message.unwrap() {
                break result;
            }
        };
        assert!(format!("{result:?}").contains("interrupt"), "{result:?}");
    });
    env.wait_until_empty();
}

#[test]
fn a_step_that_waits_for_room_says_so_and_can_be_called_off() {
    let env = with(&Manifest::of_changes("shop", &["add-api"]));
    env.add_batch(&Manifest::of_changes("web", &["add-page"]));
    let hosted = Hosted::start(&env, 1);
    let hanging = env.agent(&Script::always([Action::write("here", ""), Action::Hang]));
    hosted.call(async {
        let mut client = connect(&env).await;
        let first = begin(&env, &mut client, &hanging).await;
        let mut answers =
            client.apply(marked(apply(project(&env, &hanging), "web"))).await.unwrap().into_inner();
        let waiting = answers.message().await.unwrap().unwrap();
        assert!(
            format!("{waiting:?}").contains("waits for room: 1 of 1 in use, 0 before it"),
            "{waiting:?}"
        );
        let cancel = |batch: &str| cancel(project(&env, &hanging), batch);
        client.cancel(marked(cancel("web"))).await.unwrap();
        let refused = answers.message().await.unwrap_err();
        assert_eq!((refused.code(), code(&refused).as_str()), (Code::Cancelled, "step-withdrawn"));
        assert!(!env.path(".ratchet/batches/web/run/inflight.json").exists());
        client.cancel(marked(cancel("shop"))).await.unwrap();
        first.await.unwrap().unwrap();
    });
}

#[test]
fn a_supervisor_that_is_asked_to_drain_waits_for_its_steps_and_begins_none() {
    let env = shop();
    let hosted = Hosted::start(&env, 1);
    let agent = env.agent(&Script::always([
        Action::write("here", ""),
        Action::WaitFor { path: "go".to_owned() },
        Action::Plan { change: None, tasks: 1 },
    ]));
    hosted.call(async {
        let mut client = connect(&env).await;
        begin(&env, &mut client, &agent).await;
        let request = wire::StopRequest { mode: wire::StopMode::Drain.into(), drain_ms: 0 };
        let active = client.stop(marked(request)).await.unwrap().into_inner().active;
        assert_eq!(active.len(), 1);
        let refused = client.apply(marked(apply(project(&env, &agent), "shop"))).await.unwrap_err();
        assert_eq!(code(&refused), "supervisor-stopping");
    });
    env.write("go", "");
    hosted.end(Ending::Drain(None));
    let outcome = env.journal("shop");
    assert_eq!(outcome.len(), 1, "{outcome:#?}");
    assert!(!env.socket().exists());
}
