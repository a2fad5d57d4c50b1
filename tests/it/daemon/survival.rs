//! Who goes away, and what goes on: clients, supervisors, batches.

use std::time::Duration;

use ratchet_proto::supervisor::v1 as wire;
use ratchet_supervisor::grpc::service::Ending;
use ratchet_tests::{Action, Manifest, Script, wait};
use tonic::Code;

use super::held::{began, begin_and_leave, held, outcomes, until_recorded};
use super::hosted::{
    Hosted, applied, apply, code, connect, hear, marked, output_of, project, project_with,
};
use crate::{shop, with};

#[test]
fn a_client_that_goes_away_does_not_stop_its_step() {
    let env = shop();
    let hosted = Hosted::start(&env, 1);
    let agent = held(&env);
    hosted.call(async {
        begin_and_leave(&env, &mut connect(&env).await, &agent).await;
    });
    env.write("go", "");
    until_recorded(&env, "shop");
    assert_eq!(env.agent_runs(), 1);
    assert_eq!(outcomes(&env, "shop").len(), 1);
    assert_eq!(outcomes(&env, "shop")[0]["transition"], "propose");
}

#[test]
fn whoever_comes_after_a_client_that_went_away_hears_the_step_from_its_beginning() {
    let env = shop();
    let hosted = Hosted::start(&env, 1);
    let agent = held(&env);
    let told = hosted.call(async {
        let mut client = connect(&env).await;
        let answers = began(&env, &mut client, apply(project(&env, &agent), "shop")).await;
        let refused = applied(&mut client, apply(project(&env, &agent), "shop")).await.unwrap_err();
        assert_eq!((refused.code(), code(&refused).as_str()), (Code::Aborted, "step-running"));
        drop(answers);
        let again = tokio::spawn({
            let (mut client, request) = (client.clone(), apply(project(&env, &agent), "shop"));
            async move {
                loop {
                    match applied(&mut client, request.clone()).await {
                        Err(refused) if code(&refused) == "step-running" => {
                            tokio::task::yield_now().await;
                        }
                        told => return told,
                    }
                }
            }
        });
        let info = || async {
            connect(&env).await.info(marked(wire::InfoRequest {})).await.unwrap().into_inner()
        };
        assert_eq!(info().await.active.len(), 1);
        env.write("go", "");
        again.await.unwrap().unwrap()
    });
    assert_eq!(told.state(), wire::StepState::Advanced);
    assert!(told.started[0].reattached);
    assert_eq!(told.stdout, b"before\nafter\n");
    assert_eq!(env.agent_runs(), 1);
}

#[test]
fn an_owner_that_goes_away_stops_its_step() {
    let env = shop();
    let hosted = Hosted::start(&env, 1);
    let agent = held(&env);
    hosted.call(async {
        let mut client = connect(&env).await;
        let request = wire::ApplyRequest {
            leave: wire::Leave::Stops.into(),
            ..apply(project(&env, &agent), "shop")
        };
        drop(began(&env, &mut client, request).await);
    });
    until_recorded(&env, "shop");
    let entry = &outcomes(&env, "shop")[0];
    assert!(entry["message"].as_str().unwrap().contains("stopped"), "{entry:#}");
    env.wait_until_empty();
}

#[test]
fn a_deadline_ends_the_call_and_not_the_step() {
    let env = shop();
    let hosted = Hosted::start(&env, 1);
    let agent = held(&env);
    hosted.call(async {
        let mut client = connect(&env).await;
        let mut request = marked(apply(project(&env, &agent), "shop"));
        request.set_timeout(Duration::from_millis(300));
        let answers = client.apply(request).await;
        let late = match answers {
            Ok(answers) => hear(answers.into_inner()).await.unwrap_err(),
            Err(late) => late,
        };
        assert!(matches!(late.code(), Code::DeadlineExceeded | Code::Cancelled), "{late:?}");
    });
    wait::until_exists(&env.path("here"));
    env.write("go", "");
    until_recorded(&env, "shop");
}

#[test]
fn a_supervisor_that_dies_and_starts_again_goes_on_with_its_step() {
    let env = shop();
    let first = Hosted::start(&env, 1);
    let agent = held(&env);
    first.call(async {
        begin_and_leave(&env, &mut connect(&env).await, &agent).await;
    });
    first.kill();
    let second = Hosted::start(&env, 1);
    let spawn = second.call(async {
        let mut client = connect(&env).await;
        let request =
            wire::StatusRequest { project: Some(project(&env, &agent)), batch: "shop".to_owned() };
        let status = client.status(marked(request)).await.unwrap().into_inner().status.unwrap();
        status.running.unwrap().spawn
    });
    env.write("go", "");
    until_recorded(&env, "shop");
    assert_eq!(env.agent_runs(), 1);
    assert_eq!(outcomes(&env, "shop").len(), 1);
    let output = second.call(async {
        let mut client = connect(&env).await;
        output_of(&mut client, project(&env, &agent), &spawn).await.unwrap()
    });
    assert_eq!(output, b"before\nafter\n");
}

#[test]
fn what_ended_while_no_supervisor_was_there_is_judged_by_the_next() {
    let env = shop();
    let first = Hosted::start(&env, 1);
    let agent = held(&env);
    first.call(async {
        begin_and_leave(&env, &mut connect(&env).await, &agent).await;
    });
    first.end(Ending::Leave);
    env.write("go", "");
    env.wait_until_empty();
    assert!(outcomes(&env, "shop").is_empty(), "nobody was there to record it");
    let _second = Hosted::start(&env, 1);
    until_recorded(&env, "shop");
    assert_eq!(outcomes(&env, "shop").len(), 1);
    assert_eq!(env.agent_runs(), 1);
}

#[test]
fn a_hundred_clients_at_once_get_their_answers_and_one_step_runs() {
    let env = shop();
    let hosted = Hosted::start(&env, 1);
    let agent = env.agent(&Script::honest());
    let (ran, refused) = hosted.call(async {
        let mut calls = tokio::task::JoinSet::new();
        for _ in 0..100 {
            let mut client = connect(&env).await;
            let request = apply(project(&env, &agent), "shop");
            calls.spawn(async move { applied(&mut client, request).await });
        }
        let (mut ran, mut refused) = (0, 0);
        while let Some(called) = calls.join_next().await {
            match called.unwrap() {
                Ok(_) => ran += 1,
                Err(status) => {
                    let code = code(&status);
                    assert!(["step-running", "supervisor-busy"].contains(&code.as_str()), "{code}");
                    refused += 1;
                }
            }
        }
        (ran, refused)
    });
    assert_eq!(ran + refused, 100);
    assert!(ran >= 1);
    assert!(env.agent_runs() <= 3, "the change has three steps, and none runs twice");
}

#[test]
fn a_client_that_never_reads_slows_nobody_and_loses_nothing() {
    const FLOOD: u64 = 40 * 1024 * 1024;
    let env = shop();
    env.add_batch(&Manifest::of_changes("web", &["add-page"]));
    let hosted = Hosted::start(&env, 2);
    let flooding = env.agent(&Script::always([
        Action::Flood { bytes: FLOOD },
        Action::Plan { change: Some("add-api".to_owned()), tasks: 1 },
    ]));
    let agent = env.agent(&Script::honest());
    hosted.call(async {
        let mut deaf = connect(&env).await;
        let answers = deaf.apply(marked(apply(project(&env, &flooding), "shop"))).await.unwrap();
        let mut client = connect(&env).await;
        let told = applied(&mut client, apply(project(&env, &agent), "web")).await.unwrap();
        assert_eq!(told.state(), wire::StepState::Advanced);
        tokio::task::block_in_place(|| until_recorded(&env, "shop"));
        let told = hear(answers.into_inner()).await.unwrap();
        assert_eq!(told.stdout.len() as u64, FLOOD, "every byte, once: {:?}", told.notices);
        let spawn = &told.started[0].spawn;
        let stored = output_of(&mut client, project(&env, &agent), spawn).await.unwrap();
        assert!(stored == told.stdout, "in order, too");
    });
}

#[test]
fn a_panicking_batch_harms_no_other_and_is_recovered() {
    for point in ["gather", "intend", "act", "judge"] {
        let env = with(&Manifest::of_changes("shop", &["add-api"]));
        env.add_batch(&Manifest::of_changes("web", &["add-page"]));
        let hosted = Hosted::start(&env, 4);
        let agent = env.agent(&Script::honest());
        hosted.call(async {
            let mut client = connect(&env).await;
            let panicking = project_with(&env, &agent, [("RATCHET_TEST_PANIC_AT", point)]);
            let died = applied(&mut client, apply(panicking, "shop")).await.unwrap_err();
            assert_eq!(
                (died.code(), code(&died).as_str()),
                (Code::Internal, "watcher-died"),
                "{point}"
            );
            let told = applied(&mut client, apply(project(&env, &agent), "web")).await.unwrap();
            assert_eq!(told.state(), wire::StepState::Advanced, "{point}");
            let again = loop {
                match applied(&mut client, apply(project(&env, &agent), "shop")).await {
                    Err(refused) if code(&refused) == "step-running" => {}
                    told => break told.unwrap(),
                }
            };
            assert_eq!(again.state(), wire::StepState::Advanced, "{point}");
            let info = client.info(marked(wire::InfoRequest {})).await.unwrap().into_inner();
            assert!(info.active.is_empty(), "{point}: {info:?}");
        });
        let proposed = env.journaled("shop", "add-api", "completion");
        assert!(!proposed.is_empty(), "{point}");
        env.wait_until_empty();
    }
}
