//! Damaged files: whatever stands in a file of `.ratchet/`, every command either works or says which file is wrong and
//! leaves it as it was. First every damage to every file, then what some of them must say.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use ratchet_tests::{Action, Finished, Manifest, Phase, Script, TestEnv};
use rustix::process::Signal;

use crate::crash::CRASH_VAR;
use crate::{apply, change_status, empty, shop, status, with};

const MANIFEST: &str = ".ratchet/batches/shop/batch.yaml";
const JOURNAL: &str = ".ratchet/batches/shop/run/journal.jsonl";
const STATE: &str = ".ratchet/batches/shop/run/state.json";
const LOCK: &str = ".ratchet/batches/shop/run/step.lock";
const INFLIGHT: &str = ".ratchet/batches/shop/run/inflight.json";
const CONFIG: &str = ".ratchet/config.yaml";
const PLAN: &str = ".ratchet/changes/add-api/plan.md";

/// What has happened to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Damage {
    Missing,
    Empty,
    Binary,
    Zeros,
    Torn,
    WindowsLines,
    ByteOrderMark,
    OtherType,
    Deep,
    Huge,
    Folder,
    Pipe,
    Loop,
    Unreadable,
    ReadOnly,
}

impl Damage {
    const ALL: [Self; 15] = [
        Self::Missing,
        Self::Empty,
        Self::Binary,
        Self::Zeros,
        Self::Torn,
        Self::WindowsLines,
        Self::ByteOrderMark,
        Self::OtherType,
        Self::Deep,
        Self::Huge,
        Self::Folder,
        Self::Pipe,
        Self::Loop,
        Self::Unreadable,
        Self::ReadOnly,
    ];

    fn befall(self, env: &TestEnv, file: &str) {
        let path = env.path(file);
        let good = env.read_bytes(file);
        match self {
            Self::Missing => fs::remove_file(&path).expect("the file was there"),
            Self::Empty => env.write(file, ""),
            Self::Binary => env.write(file, (0..=255).collect::<Vec<u8>>().repeat(4)),
            Self::Zeros => env.write(file, [0; 4096]),
            Self::Torn => env.write(file, &good[..good.len() / 2]),
            Self::WindowsLines => {
                env.write(file, String::from_utf8_lossy(&good).replace('\n', "\r\n"))
            }
            Self::ByteOrderMark => env.write(file, [b"\xef\xbb\xbf", &good[..]].concat()),
            Self::OtherType => env.write(file, "[1, 2, 3]\n"),
            Self::Deep => env.write(file, "[".repeat(100_000)),
            Self::Huge => env.write(file, "x".repeat(20_000_000)),
            Self::Folder => {
                fs::remove_file(&path).expect("the file was there");
                fs::create_dir(&path).expect("a folder takes its place");
            }
            Self::Pipe => {
                fs::remove_file(&path).expect("the file was there");
                let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
                rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0)
                    .expect("a pipe");
            }
            Self::Loop => {
                fs::remove_file(&path).expect("the file was there");
                std::os::unix::fs::symlink(&path, &path).expect("a link to itself");
            }
            Self::Unreadable => {
                fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).expect("a mode")
            }
            Self::ReadOnly => {
                fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).expect("a mode")
            }
        }
    }
}

/// A batch in which every file exists and matters: an answered question, and the lock and the intent of a process that
/// died while its agent worked.
fn lived_in() -> TestEnv {
    let env =
        with(&Manifest::new("shop").phase(Phase::new("p1").change("add-api").change("add-docs")));
    env.write(CONFIG, "batch:\n  gate: voluntary\n");
    env.add_plan("add-api", 3, 1);
    apply(&env, &Script::always([Action::ReadPrompt, Action::blocker("which?")]));
    env.ratchet(["batch", "report", "--change", "add-api", "--answer", "that one"]).ok();
    let asks_again = env.agent(&Script::always([Action::ReadPrompt, Action::blocker("and now?")]));
    let died =
        env.ratchet(["batch", "apply"]).agent(&asks_again).embedded().var(CRASH_VAR, "act").run();
    assert_eq!(died.signal, Some(Signal::KILL.as_raw()), "{died}");
    env.wait_until_empty();
    assert!(env.path(LOCK).exists() && env.path(INFLIGHT).exists(), "{died}");
    env
}

/// What is in a file; nothing if it is none. Never waits for a pipe.
fn content(env: &TestEnv, file: &str) -> Option<Vec<u8>> {
    let path = env.path(file);
    path.is_file().then(|| fs::read(path).ok()).flatten()
}

fn assert_sane(finished: &Finished, file: &str, damage: Damage) {
    assert!(matches!(finished.code, Some(0 | 1)), "{damage:?} {file}:\n{finished}");
    assert!(!finished.stderr().contains("panicked"), "{damage:?} {file}:\n{finished}");
    if finished.code == Some(1) {
        assert!(
            finished.stdout.is_empty(),
            "{damage:?} {file}: a refusal prints nothing on stdout:\n{finished}"
        );
        // A step that was taken up may have said what it was before.
        let has_error = finished.stderr().lines().any(|line| line.starts_with("Error: "));
        assert!(has_error, "{damage:?} {file}:\n{finished}");
        let name = file.rsplit('/').next().unwrap_or(file);
        let told = finished.stderr();
        // A batch without its manifest is no batch: its name is all there is to say.
        assert!(
            told.contains(name) || told.contains("No batches found"),
            "{damage:?} {file}:\n{finished}"
        );
    }
}

fn sweep(file: &str) {
    for damage in Damage::ALL {
        let env = lived_in();
        damage.befall(&env, file);
        let before = content(&env, file);
        let calls: [&[&str]; 4] = [
            &["batch", "status", "--json"],
            &["batch", "view", "--json"],
            &["batch", "report", "--change", "add-docs", "--status", "still here", "--json"],
            &["batch", "apply", "--json"],
        ];
        for arguments in calls {
            let finished = env
                .ratchet(arguments)
                .agent(&env.agent(&Script::honest()))
                .without_privileges()
                .run();
            assert_sane(&finished, file, damage);
        }
        // What a person or an agent wrote is never lost: the journal only grows, the others stay as they were.
        let after = content(&env, file);
        match (file, before, after) {
            (JOURNAL, Some(before), Some(after)) => {
                assert!(after.starts_with(&before), "{damage:?} {file}")
            }
            (MANIFEST | CONFIG, before, after) => assert_eq!(before, after, "{damage:?} {file}"),
            _ => {}
        }
        env.wait_until_empty();
    }
}

#[test]
fn no_damage_to_a_manifest_goes_unsaid_or_is_made_worse() {
    sweep(MANIFEST);
}

// B-G07
#[test]
fn no_damage_to_a_journal_stops_reading_it_or_loses_a_line() {
    sweep(JOURNAL);
}

#[test]
fn no_damage_to_the_run_state_stops_a_batch_without_a_word() {
    sweep(STATE);
}

#[test]
fn no_damage_to_a_lock_keeps_a_batch_shut() {
    sweep(LOCK);
}

#[test]
fn no_damage_to_an_intent_starts_an_agent_twice_or_stops_a_batch_without_a_word() {
    sweep(INFLIGHT);
}

#[test]
fn no_damage_to_the_projects_settings_goes_unsaid() {
    sweep(CONFIG);
}

#[test]
fn no_damage_to_a_plan_counts_as_progress() {
    sweep(PLAN);
}

// B-G05 B-G06
#[test]
fn a_torn_or_missing_journal_reads_as_what_is_whole_in_it() {
    let env = shop();
    env.add_done("shop", "add-api");
    let line = env.read(JOURNAL);
    for end in 1..line.len() {
        env.write(JOURNAL, &line[..end]);
        let state = change_status(&env, "add-api")["status"].clone();
        // The last line counts without its newline too, once it is complete.
        assert_eq!(
            state,
            if end == line.len() - 1 { "done" } else { "awaiting-verify" },
            "cut at {end}"
        );
    }
    fs::remove_file(env.path(JOURNAL)).expect("the journal was there");
    assert_eq!(change_status(&env, "add-api")["status"], "awaiting-verify");
}

#[test]
fn junk_between_lines_hides_neither_neighbour() {
    let env = with(&Manifest::of_changes("shop", &["one", "two"]));
    env.add_done("shop", "one");
    env.write(JOURNAL, env.read(JOURNAL) + "{\"at\": \nnull\n\n[]\n\u{0}\n");
    env.add_done("shop", "two");
    assert_eq!(status(&env)["doneCount"], 2);
}

#[test]
fn an_alias_bomb_is_refused_in_no_time() {
    let mut text = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..12 {
        let refer = format!("*a{}", level - 1);
        text += &format!("a{level}: &a{level} [{}]\n", [refer.as_str(); 10].join(", "));
    }
    let env = empty();
    env.write(MANIFEST, text + "name: shop\nphases: *a11\n");
    let finished = env.ratchet(["batch", "status"]).run().assert_code(1);
    assert!(finished.elapsed.as_secs() < 5, "{finished}");
    assert!(finished.stderr().contains("batch.yaml"), "{finished}");
}

#[test]
fn a_key_given_twice_is_refused_with_its_line() {
    let env = shop();
    env.write(MANIFEST, env.read(MANIFEST) + "name: other\n");
    let error = env.ratchet(["batch", "status"]).refused();
    assert!(error.contains("name") && error.contains("line"), "{error}");
}

#[test]
fn broken_settings_are_warned_about_one_by_one_and_the_good_ones_kept() {
    let env = shop();
    env.write(
        CONFIG,
        "batch:\n  gate: sometimes\n  strategy: feature\n  port: many\n  authToken: [s3cr3t]\n",
    );
    let shown = env.ratchet(["batch", "config", "--json"]).ok();
    assert_eq!(shown.json()["settings"]["strategy"], "feature");
    assert_eq!(shown.json()["settings"]["gate"], "voluntary");
    let told = shown.stderr();
    assert!(
        told.contains("batch.gate") && told.contains("sometimes") && told.contains("batch.port"),
        "{shown}"
    );
    assert!(told.contains("batch.authToken") && !told.contains("s3cr3t"), "{shown}");
}

#[test]
fn a_name_that_leads_out_of_the_project_is_refused() {
    let env = empty();
    env.write("secret/batch.yaml", "name: secret\nphases: []\n");
    for name in ["../../secret", "/etc", "a/b", "..", ".", "archive"] {
        let finished = env.ratchet(["batch", "status", "--", name]).run();
        assert_eq!(finished.code, Some(1), "{finished}");
    }
    for key in ["../../../up", "/tmp/x", "a/../../b"] {
        let finished = env.ratchet(["report", "--status", "x", "--", key]).run();
        assert_eq!(finished.code, Some(1), "{finished}");
    }
    assert!(!env.base().join("up").exists() && !env.path("up").exists());
}

#[test]
fn a_change_named_like_a_path_is_refused_at_load() {
    let env = empty();
    env.write(MANIFEST, Manifest::of_changes("shop", &["../../../escape"]).to_yaml());
    assert!(env.ratchet(["batch", "status"]).refused().contains("escape"));
    env.ratchet(["batch", "apply"]).agent(&env.agent(&Script::honest())).refused();
    assert!(!env.base().join("escape").exists());
}

#[test]
fn a_full_disk_is_an_error_and_never_an_acknowledged_report() {
    let env = shop();
    env.ratchet(["batch", "report", "--change", "add-api", "--status", "before"]).ok();
    let before = env.read_bytes(JOURNAL);
    let finished = env
        .ratchet(["batch", "report", "--change", "add-api", "--status", "after"])
        .with_file_size_limit(0)
        .run();
    assert_eq!(finished.code, Some(1), "{finished}");
    assert!(finished.stderr().contains("journal.jsonl"), "{finished}");
    assert_eq!(env.read_bytes(JOURNAL), before);
    env.ratchet(["batch", "report", "--change", "add-api", "--status", "after"]).ok();
    assert_eq!(env.journal("shop").len(), 2);
}

#[test]
fn a_line_cut_short_by_a_full_disk_is_not_glued_to_the_next() {
    let env = shop();
    let text = "x".repeat(1500);
    let call =
        |words: &str| env.ratchet(["batch", "report", "--change", "add-api", "--status", words]);
    let finished = call(&text).with_file_size_limit(1).run();
    assert_eq!(finished.code, Some(1), "{finished}");
    call("short").ok();
    assert_eq!(
        env.journaled("shop", "add-api", "progress").last().map(|entry| entry["message"].clone()),
        Some("short".into())
    );
}

#[test]
fn an_apply_on_a_full_disk_starts_no_agent() {
    let env = shop();
    let script = Script::always([Action::ran("started")]);
    let finished = env
        .ratchet(["batch", "apply"])
        .agent(&env.agent(&script))
        .embedded()
        .with_file_size_limit(0)
        .run();
    assert_eq!(finished.code, Some(1), "{finished}");
    assert_eq!(env.agent_runs(), 0, "no intent on disk, no agent");
}

#[test]
fn a_project_that_may_not_be_written_can_still_be_read() {
    let env = shop();
    for folder in [".ratchet/batches/shop", ".ratchet/batches", ".ratchet"] {
        fs::set_permissions(env.path(folder), fs::Permissions::from_mode(0o555)).expect("a mode");
    }
    env.ratchet(["batch", "status"]).without_privileges().ok();
    let finished = env
        .ratchet(["batch", "report", "--change", "add-api", "--status", "x"])
        .without_privileges()
        .run();
    assert_eq!(finished.code, Some(1), "{finished}");
    for folder in [".ratchet", ".ratchet/batches", ".ratchet/batches/shop"] {
        fs::set_permissions(env.path(folder), fs::Permissions::from_mode(0o755)).expect("a mode");
    }
}

#[test]
fn a_reader_that_goes_away_early_is_no_crash() {
    let env = shop();
    let script = format!("{} batch status | true", env.base().join("bin/ratchet").display());
    let output = std::process::Command::new("bash")
        .args(["-c", &script])
        .current_dir(env.root())
        .output()
        .expect("bash is installed");
    assert!(!String::from_utf8_lossy(&output.stderr).contains("panicked"));
}

#[test]
fn a_change_that_is_a_file_or_a_plan_that_is_a_folder_is_not_started_yet() {
    let env = with(&Manifest::of_changes("shop", &["file", "folder"]));
    env.write(".ratchet/changes/file", "not a folder");
    env.write(".ratchet/changes/folder/plan.md/inside", "");
    for change in ["file", "folder"] {
        assert_eq!(change_status(&env, change)["progress"]["total"], 0, "{change}");
    }
}

#[test]
fn a_plan_that_cannot_be_read_is_warned_about() {
    for damage in [Damage::Folder, Damage::Pipe, Damage::Zeros, Damage::Unreadable] {
        let env = shop();
        env.add_plan("add-api", 2, 1);
        damage.befall(&env, PLAN);
        for verb in ["status", "apply"] {
            // An agent that looked into the plan would wait for the pipe.
            let agent = env.agent(&Script::always([Action::ReadPrompt]));
            let finished = env
                .ratchet(["batch", verb, "--json"])
                .agent(&agent)
                .embedded()
                .without_privileges()
                .run();
            let warned = finished.stderr().contains("plan.md");
            assert!(warned, "{damage:?} {verb}:\n{finished}");
        }
    }
}

#[test]
fn no_agent_is_spent_on_a_step_that_could_not_be_recorded() {
    fn dangling(env: &TestEnv, file: &str) {
        std::os::unix::fs::symlink("gone/away", env.path(file)).expect("a link");
    }
    fn folder(env: &TestEnv, file: &str) {
        fs::create_dir(env.path(file)).expect("a folder");
    }
    type Befall = fn(&TestEnv, &str);
    for file in [STATE, JOURNAL, LOCK, INFLIGHT] {
        for befall in [dangling as Befall, folder] {
            let env = shop();
            fs::create_dir(env.path(".ratchet/batches/shop/run")).expect("a folder");
            befall(&env, file);
            let agent = env.agent(&Script::always([Action::ran("started")]));
            let error = env.ratchet(["batch", "apply"]).agent(&agent).refused();
            let name = file.rsplit('/').next().expect("a name");
            assert!(error.contains(name) && !error.contains("running"), "{error}");
            assert_eq!(env.agent_runs(), 0, "{file}");
        }
    }
}

#[test]
fn a_tree_with_closed_rooms_can_be_approved_and_worked_in() {
    let env = shop();
    env.write(CONFIG, "batch:\n  gate: every-phase\n");
    let agent = env.agent(&Script::honest());
    let call = |words: &[&str]| env.ratchet(words).agent(&agent).without_privileges().ok();
    env.write("pgdata/base", "x");
    env.write("key.pem", "x");
    let shut = |mode| {
        for path in ["pgdata", "key.pem"] {
            fs::set_permissions(env.path(path), fs::Permissions::from_mode(mode)).expect("a mode");
        }
    };
    shut(0o000);
    for _ in 0..2 {
        call(&["batch", "apply"]);
        call(&["batch", "approve", "--change", "add-api"]);
    }
    call(&["batch", "apply"]);
    shut(0o700);
    assert_eq!(env.agent_runs(), 3);
}

#[test]
fn a_users_broken_settings_are_warned_about() {
    let env = shop();
    let folder = env.base().join("config/ratchet");
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("config.json"), "{").expect("a file");
    let finished = env.ratchet(["batch", "status", "--json"]).ok();
    assert!(finished.stderr().contains("config.json"), "{finished}");
}
