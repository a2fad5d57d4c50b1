//! The front door of a project, on real folders: found, read, reported to, archived.

use std::fs;

use ratchet_engine::name::{ChangeName, StepKey};
use ratchet_engine::park::ParkKind;
use ratchet_engine::settings::{GateMode, Scope};
use ratchet_engine::status::{BatchState, Next};
use ratchet_engine::time::Timestamp;
use serde_json::{Value, json};

use super::*;
use crate::store::journal::entries_of;
use crate::store::layout::RunHome;
use crate::store::lock::StepLock;
use crate::store::run_state::RunState;

/// A project in a temporary folder whose clock stands at 2031-05-04.
struct Site {
    dir: tempfile::TempDir,
    project: Project,
}

impl Site {
    fn new() -> Self {
        Self::with_env(&[])
    }

    fn with_env(vars: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join(RATCHET_DIR)).unwrap();
        let home = dir.path().join("home").to_str().unwrap().to_owned();
        let vars = [("HOME", home.as_str())].into_iter().chain(vars.iter().copied());
        let project = Project::find(Environment::new(dir.path(), vars)).unwrap();
        let now = Timestamp::parse("2031-05-04T09:00:00.000Z").unwrap();
        Self { project: project.with_clock(Clock::Fixed(now)), dir }
    }

    /// A site with the batch `shop`: phase `p1` with the changes `a` and `b`.
    fn with_batch() -> Self {
        let site = Self::new();
        site.put_batch("shop", SHOP);
        site
    }

    fn put_batch(&self, name: &str, manifest: &str) {
        self.put(&format!("batches/{name}/batch.yaml"), manifest);
    }

    fn put(&self, path: &str, text: &str) {
        let path = self.dir.path().join(RATCHET_DIR).join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn text(&self, path: &str) -> String {
        fs::read_to_string(self.dir.path().join(RATCHET_DIR).join(path)).unwrap()
    }

    fn exists(&self, path: &str) -> bool {
        self.dir.path().join(RATCHET_DIR).join(path).exists()
    }

    fn state(&self) -> Value {
        serde_json::from_str(&self.text("batches/shop/run/state.json")).unwrap()
    }

    fn journal(&self) -> Vec<Value> {
        let text = self.text("batches/shop/run/journal.jsonl");
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn report(&self, change: &str, report: Report) -> Result<Reported, Error> {
        self.project.report(&shop(), &StepKey::from_text(change), &report)
    }
}

const SHOP: &str = "name: other
phases:
  - name: p1
    goal: g
    success: s
    proofOfWork: {kind: integration, run: 'true', pass: exit 0}
    changes:
      - {name: a, done: d}
      - {name: b, done: d, after: [a]}
";

fn shop() -> BatchName {
    BatchName::parse("shop").unwrap()
}

fn change(name: &str) -> ChangeName {
    ChangeName::parse(name).unwrap()
}

#[test]
fn the_project_is_the_nearest_folder_upwards_with_a_ratchet_folder() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    let deep = root.join("src/deep");
    fs::create_dir_all(&deep).unwrap();
    let find = || Project::find(Environment::new(&deep, [("A", "b")])).unwrap().root().to_owned();
    assert_eq!(find(), deep, "without one it is the working directory");
    fs::write(root.join("src/.ratchet"), "a file").unwrap();
    fs::create_dir(root.join(".ratchet")).unwrap();
    assert_eq!(find(), root, "a file of that name does not count");
}

// B-V23 B-V35
#[test]
fn a_batch_is_found_by_its_name_or_because_it_is_the_only_one() {
    let site = Site::new();
    let error = site.project.resolve_batch(None).unwrap_err().to_string();
    assert!(error.contains("No batches found"), "{error}");
    site.put_batch("tide", SHOP);
    site.put_batch("archive/2031-01-01-old", SHOP);
    site.put("batches/half/notes.md", "");
    assert_eq!(site.project.resolve_batch(None).unwrap().as_str(), "tide");
    site.put_batch("moon", SHOP);
    let error = site.project.resolve_batch(None).unwrap_err().to_string();
    assert!(error.contains("Multiple batches exist (moon, tide)"), "{error}");
    assert!(error.contains("ratchet batch status moon"), "{error}");
    for name in ["half", "archive", "../batches/tide", "none", ""] {
        let error = site.project.resolve_batch(Some(name)).unwrap_err().to_string();
        assert!(error.contains(&format!("'{name}' not found")), "{error}");
    }
}

#[test]
fn the_folders_name_rules_over_the_manifests() {
    let site = Site::with_batch();
    assert_eq!(site.project.status(&shop()).unwrap().name, shop());
}

// B-V29
#[test]
fn a_new_batch_validates_as_it_is_and_is_never_overwritten() {
    let site = Site::new();
    let made = site.project.create_batch("salt-pan").unwrap();
    assert!(made.path.is_absolute() && made.path.ends_with(".ratchet/batches/salt-pan/batch.yaml"));
    let text = site.text("batches/salt-pan/batch.yaml");
    assert!(text.contains("\nname: salt-pan\ncreated: 2031-05-04\n"), "{text}");
    let valid = site.project.validate_batch(&made.name).unwrap();
    assert_eq!(
        serde_json::to_value(&valid).unwrap(),
        json!({"id": "salt-pan", "type": "batch", "valid": true, "issues": []})
    );
    let status = site.project.status(&made.name).unwrap();
    assert!(matches!(status.next, Some(Next::Change { .. })));
    site.put_batch("salt-pan", "mine");
    let error = site.project.create_batch("salt-pan").unwrap_err();
    assert!(matches!(error, Error::BatchExists { .. }), "{error}");
    assert_eq!(site.text("batches/salt-pan/batch.yaml"), "mine");
}

// B-V29
#[test]
fn a_name_that_is_not_kebab_case_makes_no_folder() {
    let site = Site::new();
    for name in ["Salt", "a b", "../x", "", "archive-", "1a"] {
        let error = site.project.create_batch(name).unwrap_err().to_string();
        assert!(error.ends_with("(batch names use kebab-case)"), "{error}");
    }
    assert!(site.project.create_batch("archive").is_err());
    assert!(!site.exists("batches"));
}

#[test]
fn validation_lists_what_is_wrong_with_its_place() {
    let site = Site::new();
    site.put_batch("shop", &SHOP.replace("{name: a, done: d}", "{name: a, done: d, after: [b]}"));
    let found = site.project.validate_batch(&shop()).unwrap();
    assert!(!found.valid);
    assert_eq!(found.issues[0].path, "phases.p1");
    assert!(found.issues[0].message.contains("Cycle detected"));
    assert!(matches!(site.project.status(&shop()), Err(Error::Dag { .. })));
    site.put_batch("shop", "name: x\nphases: 7\n");
    let found = site.project.validate_batch(&shop()).unwrap();
    assert_eq!((found.issues[0].path.as_str(), found.issues[0].line), ("phases", Some(2)));
    let error = site.project.status(&shop()).unwrap_err();
    assert!(error.to_string().starts_with("Invalid batch manifest:"), "{error}");
    assert!(error.help().unwrap().contains("ratchet validate shop"));
}

// B-V22
#[test]
fn a_broken_batch_is_a_row_and_hides_no_other() {
    let site = Site::with_batch();
    site.put_batch("broken", "phases: 7\n");
    let rows = serde_json::to_value(site.project.list().unwrap()).unwrap();
    assert_eq!(rows[0]["name"], "broken");
    assert_eq!(rows[0]["status"], "invalid");
    assert!(rows[0]["error"].as_str().unwrap().starts_with("Invalid batch manifest:"));
    let progress = json!({"total": 0, "completed": 0});
    let expected = json!({"name": "shop", "changeCount": 2, "doneCount": 0, "progress": progress, "status": "pending"});
    assert_eq!(rows[1], expected);
}

#[test]
fn settings_come_from_user_project_and_manifest() {
    let site = Site::with_batch();
    site.put("config.yaml", "batch: {gate: every-phase, agent: 7}\n");
    fs::create_dir_all(site.dir.path().join("home/.config/ratchet")).unwrap();
    let user = site.dir.path().join("home/.config/ratchet/config.json");
    fs::write(&user, "{\n\t\"batch\": {\"permissions\": {\"posture\": \"full-autonomy\"}}\n}\n")
        .unwrap();
    let settings = site.project.settings(Some(&shop()), Escalation::Clamped).unwrap();
    assert_eq!(settings.gate, GateMode::EveryPhase);
    assert_eq!(settings.permissions.posture, Posture::FullAutonomy);
    assert_eq!(settings.sources["permissions"], Scope::User);
    let warnings = site.project.warnings().unwrap();
    assert_eq!(warnings.len(), 1);
    assert!(warnings[0].starts_with(".ratchet/config.yaml: batch.agent"), "{warnings:?}");
}

#[test]
fn a_configuration_that_is_no_yaml_is_a_warning() {
    let site = Site::with_batch();
    for text in ["batch: [", "- a\n", "7\n"] {
        site.put("config.yaml", text);
        let settings = site.project.settings(None, Escalation::Clamped).unwrap();
        assert_eq!(settings.gate, GateMode::Voluntary);
        assert_eq!(site.project.warnings().unwrap().len(), 1, "{text:?}");
    }
}

#[test]
fn what_the_users_configuration_cannot_say_is_a_warning() {
    let site = Site::with_batch();
    let user = site.dir.path().join("home/.config/ratchet/config.json");
    fs::create_dir_all(user.parent().unwrap()).unwrap();
    let warnings = |text: &str| {
        fs::write(&user, text).unwrap();
        site.project.warnings().unwrap()
    };
    assert_eq!(warnings("{\"featureFlags\": {}, \"batch\": null}"), [""; 0]);
    for text in [
        "",
        "{",
        "[]",
        "\0",
        "{\"batch\": 7}",
        "{\"batch\": {\"permissions\": {\"posture\": \"curated\"}}}",
        "{\"a\": 1, \"a\": 2, \"batch\": {\"permissions\": []}}",
    ] {
        let told = warnings(text);
        assert_eq!(told.len(), 1, "{text:?}: {told:?}");
        assert!(told[0].contains("config.json") && told[0].ends_with("ignored"), "{told:?}");
    }
    fs::remove_file(&user).unwrap();
    fs::create_dir(&user).unwrap();
    assert_eq!(site.project.warnings().unwrap().len(), 1);
}

// B-V25 B-V26 B-V36
#[test]
fn a_setting_is_written_and_a_secret_never_echoed() {
    let site = Site::new();
    site.put("config.yml", "# mine\nbatch:\n  gate: voluntary # for now\n");
    let before = site.text("config.yml");
    for refused in ["gate=loud", "colour=red", "gate", "port=0", "image="] {
        assert!(site.project.set_setting(refused).is_err(), "{refused}");
        assert_eq!(site.text("config.yml"), before);
    }
    site.project.set_setting("gate=every-phase").unwrap();
    let token = site.project.set_setting("authToken=hunter2=x").unwrap();
    assert_eq!(token.shown, "***");
    site.project.set_setting("port=8443").unwrap();
    site.project.set_setting("agent={apply: codex}").unwrap();
    let text = site.text("config.yml");
    assert!(text.starts_with("# mine\nbatch:\n  gate: every-phase # for now\n"), "{text}");
    assert!(text.contains("authToken: hunter2=x") && text.contains("port: 8443\n"), "{text}");
    assert!(!site.exists("config.yaml"));
    let settings = site.project.settings(None, Escalation::Clamped).unwrap();
    assert_eq!(settings.port, Some(8443.0));
    assert!(!format!("{settings:?}").contains("hunter2"));
}

// B-E10 B-E11 B-F03 B-F04 B-F05
#[test]
fn a_posture_is_kept_by_the_project_or_by_the_user() {
    let site = Site::new();
    assert!(!site.project.has_permissions().unwrap());
    site.project.save_posture(PostureHome::User, Posture::CuratedAllowlist).unwrap();
    assert!(site.project.has_permissions().unwrap());
    assert!(!site.exists("config.yaml"));
    let settings = site.project.settings(None, Escalation::Clamped).unwrap();
    assert_eq!(settings.permissions.posture, Posture::CuratedAllowlist);
    site.put("config.yaml", "batch:\n  permissions:\n    deny: [x]\n  gate: voluntary\n");
    site.project.save_posture(PostureHome::Project, Posture::FullAutonomy).unwrap();
    let settings = site.project.settings(None, Escalation::Clamped).unwrap();
    assert_eq!(settings.permissions.posture, Posture::FullAutonomy);
    assert_eq!(settings.permissions.deny, ["x"]);
}

// B-V31
#[test]
fn each_kind_of_report_writes_what_it_must() {
    let site = Site::with_batch();
    site.report("a", Report::Status("looking".into())).unwrap();
    assert!(!site.exists("batches/shop/run/state.json"));
    site.report("a", Report::Blocker("Which yarn?".into())).unwrap();
    let park = json!({"parkedAt": "2031-05-04T09:00:00.000Z", "change": "a", "kind": "blocked", "reason": "Which yarn?"});
    assert_eq!(site.state()["parked"]["a"], park);
    let told = site.report("a", Report::Answer("blue".into())).unwrap();
    assert_eq!((told.kind, told.change.as_str()), ("answer", "a"));
    assert_eq!(site.state()["parked"]["a"]["answer"], "blue");
    site.report("pr:shop", Report::NeedsInput("card".into())).unwrap();
    assert_eq!(site.state()["parked"]["pr:shop"]["kind"], "blocked");
    site.report("a", Report::Complete("done".into())).unwrap();
    site.report("a", Report::CompleteAwaitingApproval("planned".into())).unwrap();
    site.report("a", Report::Reject("no".into())).unwrap();
    let park = &site.state()["parked"]["a"];
    assert_eq!((&park["feedback"], &park["approved"]), (&json!("no"), &json!(false)));
    let kinds: Vec<Value> = site.journal().iter().map(|entry| entry["kind"].clone()).collect();
    let expected =
        ["progress", "blocker", "answer", "needs-input", "completion", "completion", "reject"];
    assert_eq!(kinds, expected);
    assert!(site.journal().iter().all(|entry| entry.get("transition").is_none()));
}

// B-V31
#[test]
fn a_decision_about_a_step_that_is_not_parked_leaves_no_trace() {
    let site = Site::with_batch();
    for report in [Report::Answer("x".into()), Report::Reject("x".into()), Report::Approve] {
        let error = site.report("a", report).unwrap_err().to_string();
        assert_eq!(error, "No parked step for change 'a' in batch 'shop'.");
    }
    assert!(!site.exists("batches/shop/run"));
}

#[test]
fn an_approval_removes_the_park_and_remembers_what_was_approved() {
    let site = Site::with_batch();
    site.put("changes/a/plan.md", "- [x] one\n");
    site.put(
        "batches/shop/run/state.json",
        r#"{"parked":{"a":{"kind":"awaiting-approval","reason":"Ready for archive.","transition":"verify"}}}"#,
    );
    site.report("a", Report::Approve).unwrap();
    assert_eq!(site.state(), json!({"parked": {}}));
    let journal = site.journal();
    assert_eq!(journal[0]["kind"], "answer");
    assert!(journal[0]["approved"].as_str().unwrap().starts_with("sha256:"));
    assert_eq!(
        (&journal[1]["kind"], &journal[1]["transition"]),
        (&json!("completion"), &json!("verify"))
    );
    assert_eq!(site.project.status(&shop()).unwrap().done_count, 1);
}

#[test]
fn a_question_cannot_be_approved() {
    let site = Site::with_batch();
    site.report("a", Report::Blocker("?".into())).unwrap();
    let error = site.report("a", Report::Approve).unwrap_err();
    assert_eq!(error.code(), "not-a-result");
    assert_eq!(site.journal().len(), 1);
}

#[test]
fn reports_under_the_stand_in_command_say_so() {
    let site = Site::with_env(&[("RATCHET_BATCH_AGENT_CMD", "sh x")]);
    site.put_batch("shop", SHOP);
    site.report("a", Report::Blocker("?".into())).unwrap();
    site.report("a", Report::Answer("a person's".into())).unwrap();
    assert_eq!(site.journal()[0]["via"], "env-override");
    assert_eq!(site.journal()[1].get("via"), None);
}

#[test]
fn a_standalone_report_needs_its_change_and_parks_nothing_by_itself() {
    let site = Site::new();
    let report = Report::Blocker("Which?".into());
    let error = site.project.report_change(&change("a"), &report).unwrap_err();
    assert!(matches!(error, Error::ChangeNotFound { .. }));
    assert!(!site.exists("changes"));
    site.put("changes/a/plan.md", "");
    site.project.report_change(&change("a"), &report).unwrap();
    let run = site.project.layout().run(&RunHome::Change(change("a")));
    assert_eq!(entries_of(&run, &StepKey::from_text("a")).unwrap().len(), 1);
    assert!(!run.state().exists());
    site.put(
        "changes/a/.run/state.json",
        r#"{"parked":{"a":{"kind":"blocked","reason":"Which?"}}}"#,
    );
    site.project.report_change(&change("a"), &Report::Answer("this".into())).unwrap();
    let park = RunState::read(&run).unwrap().park(&StepKey::from_text("a")).unwrap();
    assert_eq!((park.kind, park.answer.as_deref()), (ParkKind::Blocked, Some("this")));
}

#[test]
fn a_proof_is_set_aside_once_and_only_if_there_is_one() {
    let site = Site::with_batch();
    let error = site.project.invalidate_proof(&shop(), "p9").unwrap_err().to_string();
    assert!(error.contains("'p9'") && error.contains("'shop'") && error.contains("p1"), "{error}");
    assert!(!site.project.invalidate_proof(&shop(), "p1").unwrap().invalidated);
    assert!(!site.exists("batches/shop/run/journal.jsonl"));
    let record = json!({"phase": "p1", "passed": true, "gatePassed": true, "policy": "warn", "reason": "error", "detail": "d"});
    let entry = json!({"at": "2031-05-04T00:00:00.000Z", "change": "proof-of-work:p1", "kind": "proof-of-work", "message": "d", "proof": record});
    site.put("batches/shop/run/journal.jsonl", &format!("{entry}\n"));
    assert!(site.project.invalidate_proof(&shop(), "p1").unwrap().invalidated);
    assert!(!site.project.invalidate_proof(&shop(), "p1").unwrap().invalidated);
    assert_eq!(site.journal()[1]["kind"], "proof-of-work-invalidated");
    assert_eq!(site.journal()[1]["change"], "proof-of-work:p1");
}

const FEATURE: &str = "Feature: add\n  Scenario: one\n    Given a\n    When b\n    Then c\n";

// B-W01 B-W02 B-W03 B-W04
#[test]
fn a_batch_is_put_away_with_its_changes_in_phase_order() {
    let site = Site::new();
    let more = "      - {name: z, done: d}\n      - {name: never, done: d}\n";
    site.put_batch("shop", &format!("{SHOP}{more}"));
    site.put("batches/shop/run/journal.jsonl", "");
    site.put("changes/z/plan.md", "- [x] one\n");
    site.put("changes/a/plan.md", "- [x] one\n");
    site.put("changes/a/features/cart/add.feature", FEATURE);
    site.put("changes/archive/2030-01-01-b/plan.md", "");
    let report = site.project.archive_batch(&shop()).unwrap();
    assert_eq!(report.archived_changes, [change("a"), change("z")]);
    assert_eq!(report.skipped_archived, [change("b")]);
    assert_eq!(report.skipped_pending, [change("never")]);
    assert!(site.exists("changes/archive/2031-05-04-a/plan.md"));
    assert!(site.exists("features/cart/add.feature"));
    assert!(site.exists("batches/archive/2031-05-04-shop/batch.yaml"));
    assert!(site.exists("batches/archive/2031-05-04-shop/run/journal.jsonl"));
    assert!(!site.exists("batches/archive/2031-05-04-shop/run/step.lock"));
    assert!(!site.exists("batches/shop"));
    assert!(site.project.batch_names().unwrap().is_empty());
    let json = serde_json::to_value(&report).unwrap();
    let members: Vec<&String> = json.as_object().unwrap().keys().collect();
    assert_eq!(
        members,
        ["archivePath", "archivedChanges", "batchName", "skippedArchived", "skippedPending"]
    );
}

#[test]
fn a_feature_that_is_none_keeps_the_whole_batch_where_it_is() {
    let site = Site::new();
    site.put_batch("shop", &format!("{SHOP}      - {{name: z, done: d}}\n"));
    site.put("changes/a/plan.md", "- [x] one\n");
    site.put("changes/a/features/cart/add.feature", FEATURE);
    site.put("changes/z/plan.md", "- [x] one\n");
    site.put("changes/z/features/cart/add.feature", "not a feature");
    let error = site.project.archive_batch(&shop()).unwrap_err();
    assert!(matches!(&error, Error::ChangeNotArchivable { .. }), "{error}");
    let text = error.to_string();
    let place = "features/cart/add.feature: there is no 'Feature:' with a name (line 1, column 1)";
    assert!(text.starts_with("Change 'z' cannot be archived:") && text.contains(place), "{text}");
    assert!(site.exists("changes/a/plan.md") && site.exists("batches/shop/batch.yaml"));
    assert!(!site.exists("features/cart/add.feature"));
    site.put("changes/z/features/cart/add.feature", FEATURE);
    assert_eq!(site.project.archive_batch(&shop()).unwrap().archived_changes.len(), 2);
}

// B-W05
#[test]
fn a_taken_place_is_refused_before_anything_moves() {
    let site = Site::with_batch();
    site.put("changes/a/plan.md", "- [x] one\n");
    site.put("batches/archive/2031-05-04-shop/x", "");
    let error = site.project.archive_batch(&shop()).unwrap_err();
    assert!(matches!(error, Error::ArchiveExists { .. }), "{error}");
    assert!(site.exists("batches/shop/batch.yaml") && site.exists("changes/a/plan.md"));
}

// B-W06
#[test]
fn an_unknown_batch_cannot_be_put_away() {
    let error = Site::new().project.archive_batch(&shop()).unwrap_err();
    assert!(matches!(error, Error::BatchNotFound { .. }), "{error}");
}

// B-W07 B-W08
#[test]
fn unfinished_changes_are_named_and_a_parked_one_is_among_them() {
    let site = Site::with_batch();
    site.put("changes/archive/a/plan.md", "");
    site.report("b", Report::Blocker("?".into())).unwrap();
    let status = site.project.status(&shop()).unwrap();
    assert_eq!(unfinished(&status), [&change("b")]);
    site.put("changes/archive/b/plan.md", "");
    let status = site.project.status(&shop()).unwrap();
    assert!(unfinished(&status).is_empty());
    assert_eq!(status.status, BatchState::InProgress, "its proof has not run");
}

#[test]
fn nothing_is_put_away_while_a_step_runs_or_is_not_concluded() {
    let site = Site::with_batch();
    let home = RunHome::Batch(shop());
    let held = StepLock::acquire(site.project.layout(), &home, Clock::System.now()).unwrap();
    assert_eq!(site.project.archive_batch(&shop()).unwrap_err().code(), "step-running");
    drop(held);
    let proving =
        json!({"phase": "p1", "proof": {"kind": "integration", "run": "true", "pass": ""}});
    let task = json!({"proof": {"proving": proving, "policy": "warn"}});
    let intent = json!({"version": 1, "spawn": "s1", "key": "proof-of-work:p1", "task": task,
        "journalCount": 0, "locus": "local", "spawns": "/h", "startedAt": ""});
    site.put("batches/shop/run/inflight.json", &intent.to_string());
    assert_eq!(site.project.archive_batch(&shop()).unwrap_err().code(), "step-unfinished");
    assert!(site.exists("batches/shop/batch.yaml"));
}

#[test]
fn an_unsafe_feature_keeps_its_change_where_it_is() {
    let site = Site::new();
    site.put("changes/a/plan.md", "");
    site.put("changes/a/features/.deleted", "../../config.yaml\n");
    site.put("config.yaml", "schema: x\n");
    let error = site.project.archive_change(&change("a")).unwrap_err();
    assert_eq!(error.code(), "change-not-archivable");
    assert!(site.exists("changes/a/plan.md") && site.exists("config.yaml"));
    let error = site.project.archive_change(&change("none")).unwrap_err();
    assert!(matches!(error, Error::ChangeNotFound { .. }));
}

#[test]
fn a_decision_that_does_not_fit_the_park_is_not_told_as_freeing_it() {
    let site = Site::with_batch();
    site.report("a", Report::NeedsInput("which port?".into())).unwrap();
    let rejected = site.report("a", Report::Reject("no".into())).unwrap().text;
    assert_eq!(
        rejected,
        "Kept this with a, which waits for an answer all the same: record an answer with `ratchet batch report shop \
         --change a --answer \"...\"`"
    );
    let answered = site.report("a", Report::Answer("8080".into())).unwrap().text;
    assert_eq!(answered, "Answered a; the next apply goes on with it");
    site.report("b", Report::CompleteAwaitingApproval("planned".into())).unwrap();
    let answered = site.report("b", Report::Answer("fine".into())).unwrap().text;
    assert!(
        answered
            .contains("waits for approval all the same: approve with `ratchet batch approve shop"),
        "{answered}"
    );
    let rejected = site.report("b", Report::Reject("no".into())).unwrap().text;
    assert_eq!(rejected, "Rejected b; the next apply runs it again");
}

#[test]
fn a_decision_is_refused_inside_an_agent_and_what_an_agent_says_is_not() {
    let site = Site::with_env(&[("RATCHET_SPAWN_ID", "01")]);
    site.put_batch("shop", SHOP);
    site.report("a", Report::CompleteAwaitingApproval("planned".into())).unwrap();
    let before = (site.state(), site.journal());
    for decision in [Report::Approve, Report::Reject("no".into()), Report::Answer("yes".into())] {
        let error = site.report("a", decision).unwrap_err();
        assert_eq!(error.code(), "person-needed");
        assert!(error.to_string().contains("spawn 01"), "{error}");
        assert!(error.help().unwrap().contains("RATCHET_SPAWN_ID"));
    }
    assert_eq!((site.state(), site.journal()), before);
}

#[test]
fn help_about_a_change_on_its_own_names_the_command_of_such_changes() {
    let site = Site::new();
    site.put("changes/solo/plan.md", "# plan");
    let change = ChangeName::parse("solo").unwrap();
    let error = site.project.report_change(&change, &Report::Approve).unwrap_err();
    assert_eq!(error.to_string(), "No parked step for change 'solo'.");
    let parked = r#"{"parked":{"solo":{"kind":"blocked","reason":"which?"}}}"#;
    site.put("changes/solo/.run/state.json", parked);
    let error = site.project.report_change(&change, &Report::Approve).unwrap_err();
    assert_eq!(error.code(), "not-a-result");
    assert_eq!(
        error.help().unwrap(),
        "record an answer with `ratchet report solo --answer \"...\"`"
    );
}

#[test]
fn the_archives_name_is_nobodys() {
    let site = Site::new();
    let error = site.project.create_batch("archive").unwrap_err();
    assert_eq!(error.code(), "bad-batch-name");
    assert!(!error.to_string().contains("already exists"), "{error}");
    for (objective, name) in [("Archive!", None), ("x", Some("archive"))] {
        let error = site.project.name_proposal(objective, name).unwrap_err();
        assert_eq!(error.code(), "bad-change-name", "{error}");
        assert!(error.to_string().contains("'archive'"), "{error}");
    }
}

#[test]
fn a_name_that_no_batch_can_have_is_not_told_how_to_be_made() {
    let site = Site::new();
    let told = |name: &str| site.project.resolve_batch(Some(name)).unwrap_err().to_string();
    assert_eq!(
        told("shop"),
        "Batch 'shop' not found under .ratchet/batches. Create it with 'ratchet new batch shop'."
    );
    for name in ["../shop", "", "archive", "Shop"] {
        assert_eq!(told(name), format!("Batch '{name}' not found under .ratchet/batches."));
    }
}

#[test]
fn an_error_about_a_name_says_its_reason_once() {
    let site = Site::new();
    let error = site.project.create_batch("Foo").unwrap_err();
    assert!(std::error::Error::source(&error).is_none(), "{error:?}");
}

#[test]
fn a_path_that_is_no_text_does_not_keep_an_answer_from_being_json() {
    use std::os::unix::ffi::OsStringExt as _;
    let name = ratchet_engine::name::BatchName::parse("shop").unwrap();
    let path = std::path::PathBuf::from(std::ffi::OsString::from_vec(b"/w\xff/x".to_vec()));
    let made =
        serde_json::to_value(CreatedBatch { name: name.clone(), path: path.clone() }).unwrap();
    assert_eq!(made["path"], "/w\u{fffd}/x");
    let archived = ArchivedBatch { archive_path: Some(path), ..ArchivedBatch::aborted(name) };
    assert_eq!(serde_json::to_value(archived).unwrap()["archivePath"], "/w\u{fffd}/x");
}
