//! `init` and `update`: a project gets what it needs, and nothing that a person wrote is lost.

use std::fs;
use std::path::PathBuf;

use ratchet_tests::TestEnv;
use serde_json::{Value, json};

use crate::empty;

const CORE: [(&str, &str); 11] = [
    ("propose", "ratchet-propose"),
    ("apply", "ratchet-apply-change"),
    ("verify", "ratchet-verify-change"),
    ("archive", "ratchet-archive-change"),
    ("propose-standard", "ratchet-propose-standard"),
    ("brainstorm", "ratchet-brainstorm"),
    ("apply-batch", "ratchet-apply-batch"),
    ("archive-batch", "ratchet-archive-batch"),
    ("propose-batch", "ratchet-propose-batch"),
    ("decompose-phase", "ratchet-decompose-phase"),
    ("open-pr", "ratchet-open-pr"),
];

fn user_config(env: &TestEnv, text: &str) {
    let folder = env.base().join("config/ratchet");
    fs::create_dir_all(&folder).expect("a test's own world holds");
    fs::write(folder.join("config.json"), text).expect("a test's own world holds");
}

fn init(env: &TestEnv, tools: &str) -> Value {
    env.ratchet(["init", "--tools", tools]).json()
}

/// Every file below a folder with its bytes.
fn files(folder: PathBuf) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![folder];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a test's own world holds").flatten() {
            match entry.file_type().expect("a test's own world holds").is_dir() {
                true => folders.push(entry.path()),
                false => found.push((
                    entry.path(),
                    fs::read(entry.path()).expect("a test's own world holds"),
                )),
            }
        }
    }
    found.sort();
    found
}

// C-M01 C-M02 C-M03 C-M04 C-M08 C-O11
#[test]
fn a_project_gets_its_folders_and_the_files_of_its_tool() {
    let env = empty();
    let report = init(&env, "claude");
    for folder in ["features", "standards", "changes/archive", "evals"] {
        assert!(env.path(".ratchet").join(folder).is_dir(), "{folder}");
    }
    assert_eq!(fs::read_dir(env.path(".ratchet/standards")).unwrap().count(), 0);
    for (id, skill) in CORE {
        let text = env.read(&format!(".claude/skills/{skill}/SKILL.md"));
        for line in [
            &format!("---\nname: {skill}\ndescription: "),
            "\nlicense: MIT\ncompatibility: ",
            "\nmetadata:\n  author: ratchet\n  version: \"1.0\"\n  generatedBy: \"",
        ] {
            assert!(text.contains(line), "{line}: {text}");
        }
        let body = text.split_once("\n---\n\n").unwrap().1;
        let command = env.read(&format!(".claude/commands/rct/{id}.md"));
        let same = |text: &str| text.rsplit_once("\n<!-- ratchet ").unwrap().0.to_owned();
        assert_eq!(same(command.split_once("\n---\n\n").unwrap().1), same(body), "{id}");
    }
    assert!(!env.path(".claude/commands/rct/eval.md").exists());
    assert_eq!((&report["extended"], &report["config"]), (&json!(false), &json!("left-out")));
    assert!(env.read(".ratchet/evals/invariants.yaml").contains("spec-not-weakened"));
    assert!(!env.path(".ratchet/config.yaml").exists(), "nobody was there to want it");
    env.ratchet(["init", "--tools", "none", "--force"]).ok();
    assert!(env.read(".ratchet/config.yaml").contains("schema: ratchet\n"));
}

// C-M01 C-M02 C-M03 C-M09
#[test]
fn setting_up_twice_is_setting_up_once_and_what_was_written_stays() {
    let env = empty();
    env.write(".gitignore", "target");
    init(&env, "claude,cursor,codex");
    env.write(".ratchet/standards/mine.md", "mine");
    env.write(".ratchet/features/shop/a.feature", "Feature: a\n");
    env.write(".ratchet/config.yaml", "schema: ratchet # mine\n");
    env.write(".ratchet/evals/invariants.yaml", "invariants: [] # mine\n");
    let before = files(env.base());
    let again = init(&env, "claude,cursor,codex");
    assert_eq!(again["extended"], true);
    assert_eq!((&again["config"], &again["invariants"]), (&json!("kept"), &json!("kept")));
    assert_eq!(again["gitignore"], json!([]));
    for tool in again["tools"].as_array().unwrap() {
        assert_eq!((&tool["created"], &tool["unchanged"]), (&json!([]), &json!(22)), "{tool:#}");
    }
    assert!(before == files(env.base()), "not one byte has changed");
    let ignored = env.read(".gitignore");
    assert!(ignored.starts_with("target\n\n") && ignored.contains("\n.ratchet/evals/runs/\n"));
}

#[test]
fn what_a_run_leaves_behind_does_not_dirty_the_repository_and_the_rest_is_seen() {
    let env = empty();
    init(&env, "none");
    for path in [
        ".ratchet/changes/a/.run/journal.jsonl",
        ".ratchet/changes/a/.apply-context/features/x.feature",
        ".ratchet/batches/run/run/state.json",
        ".ratchet/evals/runs/1.json",
    ] {
        env.write(path, "");
    }
    env.write(".ratchet/features/run/a.feature", "");
    env.write(".ratchet/batches/run/batch.yaml", "");
    let seen = env.git(&["status", "--porcelain", "--untracked-files=all"]);
    for ignored in [".run/", ".apply-context/", "run/state.json", "evals/runs"] {
        assert!(!seen.contains(ignored), "{ignored}: {seen}");
    }
    for kept in ["features/run/a.feature", "batches/run/batch.yaml"] {
        assert!(seen.contains(kept), "{kept}: {seen}");
    }
}

// C-M04 C-M18
#[test]
fn each_tool_has_its_own_places_and_words() {
    let env = empty();
    let report = init(&env, "all");
    assert_eq!(report["tools"].as_array().unwrap().len(), 6);
    let files = [
        (".claude/commands/rct/propose.md", "tags: [workflow, propose]"),
        (".cursor/commands/rct-propose.md", "name: /rct-propose\nid: rct-propose\n"),
        (".gemini/commands/rct-propose.md", "---\ndescription: "),
        (".github/prompts/rct-propose.prompt.md", "---\ndescription: "),
        (".opencode/commands/rct-propose.md", "---\ndescription: "),
        ("../home/.codex/prompts/rct-propose.md", "argument-hint: command arguments"),
    ];
    for (file, words) in files {
        let text = env.read(file);
        assert!(text.contains(words), "{file}: {text}");
        assert_eq!(text.contains("/rct:"), file.starts_with(".claude"), "{file}");
    }
    for folder in [".claude", ".codex", ".cursor", ".gemini", ".github", ".opencode"] {
        assert!(env.path(folder).join("skills/ratchet-decompose-phase/SKILL.md").is_file());
    }
    assert!(!env.read(".opencode/skills/ratchet-propose/SKILL.md").contains("/rct:"));
    let codex =
        env.ratchet(["init", "--tools", "codex"]).var("CODEX_HOME", env.base().join("elsewhere"));
    codex.ok().says("outside of the project").says("elsewhere/prompts").says("Codex");
    assert!(env.base().join("elsewhere/prompts/rct-apply.md").is_file());
}

// C-M05 C-O11
#[test]
fn tools_that_are_none_are_refused_before_anything_is_written() {
    let env = empty();
    for tools in ["", " , ", "emacs", "all,claude", "none,all", "claude;codex"] {
        let error = env.ratchet(["init", "--tools", tools]).refused();
        assert!(error.contains("github-copilot, opencode"), "{tools}: {error}");
    }
    let error = env.ratchet(["init", "--tools", "none", "--profile", "tiny"]).refused();
    assert!(error.contains("Invalid profile 'tiny'"), "{error}");
    assert!(!env.path(".ratchet").exists());
    assert_eq!(init(&env, " Claude , CODEX,claude ")["tools"].as_array().unwrap().len(), 2);
    assert_eq!(init(&env, "none")["tools"], json!([]));
}

// C-M06 C-M15
#[test]
fn without_a_word_about_tools_those_in_use_are_taken() {
    let env = empty();
    let error = env.ratchet(["init"]).refused();
    assert!(
        error.contains("No coding tool was found here") && error.contains("--tools"),
        "{error}"
    );
    assert!(!env.path(".ratchet").exists());
    fs::create_dir_all(env.path(".gemini")).unwrap();
    fs::create_dir_all(env.path(".github/workflows")).unwrap();
    let report = env.ratchet(["init", "--yes"]).json();
    let ids: Vec<&Value> =
        report["tools"].as_array().unwrap().iter().map(|tool| &tool["id"]).collect();
    assert_eq!(ids, ["gemini"]);
}

// C-M07 C-M16 C-M17 C-M20
#[test]
fn the_users_profile_says_which_workflows_and_in_which_form() {
    let env = empty();
    user_config(
        &env,
        r#"{"profile":"custom","workflows":["eval","batch"],"delivery":"skills","other":1}"#,
    );
    init(&env, "claude");
    let skills = fs::read_dir(env.path(".claude/skills")).unwrap().count();
    assert_eq!(skills, 2);
    assert!(env.path(".claude/skills/ratchet-eval/SKILL.md").is_file());
    assert!(!env.path(".claude/commands").exists());
    env.ratchet(["init", "--tools", "claude", "--profile", "core"]).ok();
    assert_eq!(fs::read_dir(env.path(".claude/skills")).unwrap().count(), 11);
    user_config(&env, r#"{"delivery":"commands"}"#);
    let report = env.ratchet(["update"]).json();
    assert_eq!(report["updated"][0]["removed"].as_array().unwrap().len(), 11);
    assert!(
        !env.path(".claude/skills").exists() && env.path(".claude/commands/rct/apply.md").exists()
    );
    user_config(&env, "{");
    let told = env.ratchet(["update"]).ok();
    assert!(told.stderr().contains("config.json"), "{told}");
}

// C-M09
#[test]
fn a_folder_is_made_and_one_that_cannot_be_is_told() {
    let env = empty();
    env.ratchet(["init", "new/deep", "--tools", "none"]).ok();
    assert!(env.path("new/deep/.ratchet/changes/archive").is_dir());
    env.write("file", "");
    assert!(env.ratchet(["init", "file", "--tools", "none"]).refused().contains("is not a folder"));
    fs::create_dir(env.path("shut")).unwrap();
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(env.path("shut"), fs::Permissions::from_mode(0o555)).unwrap();
    let error = env.ratchet(["init", "shut", "--tools", "none"]).without_privileges().refused();
    assert!(error.contains("shut") && error.contains("permission denied"), "{error}");
}

#[test]
fn a_file_that_a_person_has_changed_is_kept_beside_the_new_one() {
    let env = empty();
    init(&env, "claude");
    let path = ".claude/commands/rct/apply.md";
    let ours = env.read(path);
    env.write(path, "my own words");
    let report = init(&env, "claude");
    assert_eq!(report["tools"][0]["copies"], json!([env.path(&format!("{path}.bak"))]));
    assert_eq!((env.read(path), env.read(&format!("{path}.bak"))), (ours, "my own words".into()));
    env.write(path, "other words");
    env.ratchet(["init", "--tools", "claude"])
        .ok()
        .says("your version is kept: .claude/commands/rct/apply.md.bak2");
    env.write(".claude/skills/ratchet-eval/SKILL.md", "my own eval");
    let report = init(&env, "claude");
    let left = env.path(".claude/skills/ratchet-eval/SKILL.md");
    assert_eq!(report["tools"][0]["leftAlone"], json!([left]));
    assert!(left.exists());
}

// C-M12 C-M14
#[test]
fn a_tool_that_cannot_be_set_up_keeps_no_other_from_it() {
    let env = empty();
    env.write(".claude", "a file where a folder should be");
    let report = init(&env, "claude,cursor");
    assert!(report["tools"][0]["error"].as_str().unwrap().contains(".claude"), "{report:#}");
    assert_eq!(report["tools"][1].get("error"), None);
    assert!(env.path(".cursor/commands/rct-apply.md").is_file());
    let text = env.ratchet(["init", "--tools", "claude,cursor"]).ok().stdout();
    assert!(text.contains("✗ Claude Code") && text.contains("✓ Cursor"), "{text}");
}

// C-M13
#[test]
fn the_first_time_the_surroundings_are_looked_at() {
    let env = empty();
    let bare = format!("{}:/usr/bin:/bin", env.base().join("bin").display());
    let first = env.ratchet(["init", "--tools", "none"]).var("PATH", bare).json();
    assert_eq!(first["doctor"]["checks"][0]["id"], "agent");
    assert_eq!(first["doctor"]["ok"], false, "and yet it has exited 0");
    assert_eq!(init(&env, "none").get("doctor"), None);
}

// C-M10 C-K20
#[test]
fn without_a_person_nobody_is_asked_and_nothing_is_chosen() {
    let env = empty();
    env.ratchet(["init", "--tools", "claude"]).var("CI", "").ok();
    assert!(!env.path(".ratchet/config.yaml").exists());
    assert!(!env.base().join("config/ratchet/config.json").exists());
}

// C-M14
#[test]
fn an_update_needs_a_project_that_is_set_up() {
    let env = empty();
    let error = env.ratchet(["update"]).refused();
    assert!(error.contains("No Ratchet directory found. Run 'ratchet init' first."), "{error}");
    init(&env, "none");
    env.ratchet(["update"]).ok().says("No coding tool is set up here");
}

// C-M14 C-M17
#[test]
fn an_update_writes_what_drifted_and_nothing_else() {
    let env = empty();
    init(&env, "claude,cursor");
    fs::create_dir(env.path(".gemini")).unwrap();
    let fresh = env.ratchet(["update"]).json();
    assert_eq!((&fresh["updated"], &fresh["upToDate"]), (&json!([]), &json!(["claude", "cursor"])));
    assert_eq!(fresh["newTools"], json!(["gemini"]));
    env.ratchet(["update"]).ok().says("Up to date (version ").says("ratchet init --tools gemini");
    fs::remove_file(env.path(".claude/skills/ratchet-apply-change/SKILL.md")).unwrap();
    let older = env.read(".cursor/commands/rct-apply.md");
    env.write(
        ".cursor/commands/rct-apply.md",
        older.replace("\n<!-- ratchet 0.1.0 ", "\n<!-- ratchet 0.0.1 "),
    );
    let drifted = env.ratchet(["update"]).json();
    let [claude, cursor] = &drifted["updated"].as_array().unwrap()[..] else {
        panic!("{drifted:#}")
    };
    assert_eq!(claude["created"].as_array().unwrap().len(), 1);
    assert_eq!((&cursor["updated"].as_array().unwrap().len(), &cursor["copies"]), (&1, &json!([])));
    let forced = env.ratchet(["update", "--force"]).json();
    assert_eq!(forced["updated"][0]["unchanged"], 22);
    assert!(!env.path(".gemini/commands").exists(), "no tool is set up that nobody asked for");
}

// C-M14
#[test]
fn a_tool_with_commands_alone_is_set_up_too() {
    let env = empty();
    user_config(&env, r#"{"delivery":"commands"}"#);
    init(&env, "opencode");
    assert_eq!(env.ratchet(["update"]).json()["upToDate"], json!(["opencode"]));
}
