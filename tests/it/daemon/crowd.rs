//! Many at once: batches that an earlier life left unfinished, batches that are done with, projects that want room.

use ratchet_tests::{Action, Manifest, Script, wait};
use rustix::process::Signal;
use serde_json::Value;

use super::hosted::{Hosted, applied, apply, connect, marked, project};
use crate::{shop, with};
use ratchet_proto::supervisor::v1 as wire;

const MANY: usize = 1000;

#[test]
fn a_thousand_unfinished_batches_are_all_recovered() {
    let env = shop();
    let agent = env.agent(&Script::always([Action::write("here", ""), Action::Hang]));
    let call = env.ratchet(["batch", "apply"]).agent(&agent).start();
    wait::until_exists(&env.path("here"));
    let intent: Value =
        serde_json::from_str(&env.read(".ratchet/batches/shop/run/inflight.json")).unwrap();
    call.signal(Signal::KILL);
    call.wait();
    // Of each there is an intent, and nothing else: it was lost.
    let name = |number| format!("b{number:04}");
    for number in 0..MANY {
        env.add_batch(&Manifest::of_changes(&name(number), &["add-api"]));
        let mut intent = intent.clone();
        intent["spawn"] = format!("gone-{number}").into();
        let folder = format!(".ratchet/batches/{}/run", name(number));
        env.write(&format!("{folder}/inflight.json"), intent.to_string());
    }
    let first = Hosted::start(&env, 4);
    first.call(async {
        let mut client = connect(&env).await;
        let asked = Some(project(&env, &agent));
        let status = wire::StatusRequest { project: asked, batch: "shop".to_owned() };
        client.status(marked(status)).await.unwrap();
    });
    first.kill();
    let _second = Hosted::start(&env, 4);
    let unfinished = || {
        let left = |number: &usize| {
            env.path(&format!(".ratchet/batches/{}/run/inflight.json", name(*number))).exists()
        };
        (0..MANY).filter(left).count()
    };
    wait::until("every batch to be recovered", || unfinished() == 0);
    for number in 0..MANY {
        let entries = env.journal(&name(number));
        assert_eq!(entries.len(), 1, "{}: {entries:#?}", name(number));
        assert_eq!(env.park(&name(number), "add-api")["kind"], "blocked");
    }
}

#[test]
fn one_project_with_many_batches_does_not_starve_another() {
    const BATCHES: usize = 20;
    let big = with(&Manifest::of_changes("b0", &["add-api"]));
    for number in 1..BATCHES {
        big.add_batch(&Manifest::of_changes(&format!("b{number}"), &["add-api"]));
    }
    let small = shop();
    let hosted = Hosted::start(&big, 1);
    let held = big.agent(&Script::always([
        Action::append("order.log", "big\n"),
        Action::write("here", ""),
        Action::wait_for("go"),
    ]));
    let order = big.path("order.log").display().to_string();
    let quick = small.agent(&Script::always([Action::append(&order, "small\n")]));
    hosted.call(async {
        let mut calls = tokio::task::JoinSet::new();
        for number in 0..BATCHES {
            let mut client = connect(&big).await;
            let request = apply(project(&big, &held), &format!("b{number}"));
            calls.spawn(async move { applied(&mut client, request).await.map(drop) });
        }
        let mut client = connect(&big).await;
        let active = async || {
            let mut client = connect(&big).await;
            client.info(marked(wire::InfoRequest {})).await.unwrap().into_inner().active.len()
        };
        while active().await < BATCHES {
            tokio::task::yield_now().await;
        }
        let request = apply(project(&small, &quick), "shop");
        let mut answers = client.apply(marked(request)).await.unwrap().into_inner();
        let waiting = format!("{:?}", answers.message().await.unwrap().unwrap());
        assert!(waiting.contains("waits for room: 1 of 1 in use, 1 before it"), "{waiting}");
        big.write("go", "");
        while answers.message().await.unwrap().is_some() {}
        while calls.join_next().await.is_some() {}
    });
    let order = big.read("order.log");
    let turn = order.lines().position(|line| line == "small");
    assert_eq!(turn, Some(2), "{order}");
}
