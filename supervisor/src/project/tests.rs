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

mod archive;
mod report;

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
    let valid = validated(&site, &made.name);
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

fn validated(site: &Site, batch: &BatchName) -> Validated {
    let subjects = [Subject::Batch(batch.clone())];
    site.project.validate(&subjects, Strictness::Lenient).unwrap().remove(0)
}

#[test]
fn validation_lists_what_is_wrong_with_its_place() {
    let site = Site::new();
    site.put_batch("shop", &SHOP.replace("{name: a, done: d}", "{name: a, done: d, after: [b]}"));
    let found = validated(&site, &shop());
    assert!(!found.valid);
    assert_eq!(found.issues[0].path, "phases.p1");
    assert!(found.issues[0].message.contains("Cycle detected"));
    assert!(matches!(site.project.status(&shop()), Err(Error::Dag { .. })));
    site.put_batch("shop", "name: x\nphases: 7\n");
    let found = validated(&site, &shop());
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
