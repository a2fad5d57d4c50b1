//! `batch status`, `view` and `list`: the same facts in three shapes, and how a batch is named.

use ratchet_tests::{Action, Manifest, Phase, Script};
use serde_json::Value;

use crate::{apply, change_status, empty, shop, status, with};

// B-V20 B-V14 B-H10 B-H11
#[test]
fn status_as_json_has_every_documented_field() {
    let env = with(
        &Manifest::new("shop")
            .phase(Phase::new("p1").change("base").change_after("top", &["base"])),
    );
    let status = status(&env);
    for field in
        ["name", "status", "progress", "changeCount", "doneCount", "gate", "next", "phases"]
    {
        assert!(status.get(field).is_some(), "{field} is missing: {status:#}");
    }
    assert_eq!(
        (&status["next"]["phase"], &status["next"]["change"]),
        (&"p1".into(), &"base".into())
    );
    let top = change_status(&env, "top");
    for field in [
        "name",
        "status",
        "done",
        "progress",
        "after",
        "blockedBy",
        "exists",
        "archived",
        "blocked",
        "awaitingApproval",
        "awaitingVerify",
        "parked",
    ] {
        assert!(top.get(field).is_some(), "{field} is missing: {top:#}");
    }
    assert_eq!(top["done"], "top works");
    assert_eq!(top.get("success"), None::<&Value>);
}

// B-V18 B-H01 B-H12
#[test]
fn what_a_change_waits_for_is_named() {
    let env = with(
        &Manifest::new("shop")
            .phase(Phase::new("p1").change("base").change_after("top", &["base"]))
            .phase(Phase::new("p2").change("later")),
    );
    assert_eq!(change_status(&env, "base")["status"], "ready");
    let top = change_status(&env, "top");
    assert_eq!((&top["status"], &top["blockedBy"][0]), (&"blocked".into(), &"base".into()));
    assert_eq!(status(&env)["phases"][1]["gatedBy"], "p1");
    env.ratchet(["batch", "status"]).ok().says("blocked by base").says("gated by p1");
}

// B-V16 B-H05 B-H31
#[test]
fn progress_is_counted_from_the_plan() {
    let env = shop();
    env.add_plan("add-api", 4, 1);
    let change = change_status(&env, "add-api");
    assert_eq!(change["status"], "in-progress");
    assert_eq!(
        (&change["progress"]["completed"], &change["progress"]["total"]),
        (&1.into(), &4.into())
    );
    env.ratchet(["batch", "status"]).ok().says("◉").says("[1/4]").says("25%");
}

// B-H03 B-H02 B-H30
#[test]
fn ticked_boxes_alone_are_not_done_and_a_journaled_verify_is() {
    let env = shop();
    env.add_plan("add-api", 1, 1);
    assert_eq!(change_status(&env, "add-api")["status"], "awaiting-verify");
    assert_eq!(status(&env)["doneCount"], 0);
    env.ratchet(["batch", "report", "--change", "add-api", "--complete", "Ready for archive"]).ok();
    assert_eq!(
        change_status(&env, "add-api")["status"],
        "awaiting-verify",
        "an agent's word is not enough"
    );
    env.add_done("shop", "add-api");
    assert_eq!(change_status(&env, "add-api")["status"], "done");
}

// B-H04
#[test]
fn an_archived_change_is_done_under_its_name_or_its_dated_one() {
    for folder in ["add-api", "2026-01-31-add-api"] {
        let env = shop();
        env.write(&format!(".ratchet/changes/archive/{folder}/plan.md"), "- [ ] open\n");
        let change = change_status(&env, "add-api");
        assert_eq!(
            (&change["status"], &change["archived"]),
            (&"done".into(), &true.into()),
            "{folder}"
        );
    }
}

// B-V15 B-H07
#[test]
fn a_question_is_shown_below_its_change() {
    let env = with(&Manifest::of_changes("shop", &["asks", "free"]));
    apply(&env, &Script::always([Action::ReadPrompt, Action::blocker("which table?")]));
    env.ratchet(["batch", "status"]).ok().says("⚠ blocked: which table?");
    assert_eq!(status(&env)["next"]["change"], "free");
}

// B-V13
#[test]
fn an_empty_batch_gets_a_hint() {
    let env = with(&Manifest::new("shop"));
    let shown = env.ratchet(["batch", "status"]).ok();
    assert!(shown.stdout().contains("batch.yaml") || shown.stdout().contains("change"), "{shown}");
    assert_eq!(status(&env)["status"], "empty");
}

// B-V19
#[test]
fn a_finished_batch_says_so_and_has_no_next() {
    let env = shop();
    env.add_done("shop", "add-api");
    apply(&env, &Script::honest());
    env.ratchet(["batch", "status"]).ok().says("All changes done.");
    assert!(status(&env)["next"].is_null());
}

// B-V21
#[test]
fn a_view_has_bars_and_the_same_facts() {
    let env = shop();
    env.add_plan("add-api", 2, 1);
    env.ratchet(["batch", "view"]).ok().says("█").says("░").says("add-api");
    let view = env.ratchet(["batch", "view"]).json();
    assert_eq!((&view["status"], &view["changeCount"]), (&"in-progress".into(), &1.into()));
    assert_eq!(view["runtime"]["locus"], "local");
}

// B-V22 B-V23
#[test]
fn a_list_has_one_row_for_each_batch_and_none_for_the_archive() {
    let env = empty();
    env.ratchet(["batch", "list"])
        .ok()
        .says("No batches found. Create one with 'ratchet new batch <name>'.");
    env.add_batch(&Manifest::of_changes("zoo", &["a"]));
    env.add_batch(&Manifest::of_changes("ark", &["a", "b"]));
    env.write(".ratchet/batches/archive/2026-01-01-old/batch.yaml", "name: old\n");
    let list = env.ratchet(["batch", "list"]).json();
    let names: Vec<_> =
        list["batches"].as_array().into_iter().flatten().map(|row| row["name"].clone()).collect();
    assert_eq!(names, ["ark", "zoo"]);
    assert_eq!(list["batches"][0]["changeCount"], 2);
    env.ratchet(["batch", "list"]).ok().says("2 changes").says("1 change");
}

#[test]
fn a_broken_batch_is_a_row_of_its_own_and_hides_no_other() {
    let env = shop();
    env.write(".ratchet/batches/broken/batch.yaml", "phases: [\n");
    let list = env.ratchet(["batch", "list"]).json();
    let row = |at: usize| list["batches"][at].clone();
    assert_eq!((&row(0)["name"], &row(0)["status"]), (&"broken".into(), &"invalid".into()));
    assert!(row(0)["error"].is_string());
    assert_eq!(row(1)["name"], "shop");
}

// B-V35
#[test]
fn the_only_batch_needs_no_name_and_several_do() {
    let env = shop();
    assert_eq!(status(&env)["name"], "shop");
    env.add_batch(&Manifest::of_changes("other", &["a"]));
    for command in ["status", "view", "apply"] {
        let error = env.ratchet(["batch", command]).refused();
        assert!(
            error.contains("Multiple batches exist")
                && error.contains("other")
                && error.contains("shop"),
            "{error}"
        );
        let error = env.ratchet(["batch", command, "gone"]).refused();
        assert!(error.contains("'gone'") && error.contains("not found"), "{error}");
    }
}

#[test]
fn a_batch_is_found_from_any_folder_below_the_project() {
    let env = shop();
    env.write("deep/er/file", "");
    let status = env.ratchet(["batch", "status"]).cwd(env.path("deep/er")).json();
    assert_eq!(status["name"], "shop");
}

// B-V37
#[test]
fn no_escape_code_is_printed_when_colour_is_turned_off() {
    let env = shop();
    for command in ["status", "view", "list", "config"] {
        let shown = env.ratchet(["--no-color", "batch", command]).var("CLICOLOR_FORCE", "1").ok();
        assert!(!shown.stdout.contains(&0x1b), "{shown}");
    }
}

// B-H09
#[test]
fn a_stale_park_on_a_done_change_is_ignored() {
    let env = shop();
    env.add_done("shop", "add-api");
    env.write(
        ".ratchet/batches/shop/run/state.json",
        "{\"parked\":{\"add-api\":{\"parkedAt\":\"2026-01-01T00:00:00.000Z\",\"change\":\"add-api\",\"kind\":\"blocked\",\"reason\":\"old\"}}}",
    );
    let change = change_status(&env, "add-api");
    assert_eq!((&change["status"], &change["parked"]), (&"done".into(), &Value::Null));
}

#[test]
fn reading_commands_leave_no_file_behind() {
    let env = shop();
    let before = env.git(&["status", "--porcelain", "--ignored", "--untracked-files=all"]);
    for command in ["status", "view", "list", "config", "log"] {
        env.ratchet(["batch", command]).ok();
    }
    env.ratchet(["validate", "shop"]).ok();
    assert_eq!(env.git(&["status", "--porcelain", "--ignored", "--untracked-files=all"]), before);
}
