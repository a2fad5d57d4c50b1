//! The rules of the house that a machine can hold: sizes, headers, names, who may import whom, and that every known
//! behaviour has a test or a reason. Reads sources as text; knows no crate's insides.
//!
//! `RATCHET_BLESS=1` rewrites what is made from the sources: the last column of `docs/behaviours.md`, and the lists of pages.

mod behaviours;
mod pages;

use std::fs;
use std::path::{Path, PathBuf};

/// The most lines of code a file may have; tests apart.
const MOST_LINES: usize = 500;

/// A source file of the workspace.
struct Source {
    /// Relative to the workspace.
    path: String,
    text: String,
}

fn workspace() -> PathBuf {
    fs::canonicalize(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))
        .expect("the workspace is above its member")
}

/// Every Rust source of the workspace, in order.
fn sources() -> Vec<Source> {
    let root = workspace();
    let mut found = Vec::new();
    for folder in ["cli", "proto", "runtime-agent", "supervisor", "tests"] {
        collect(&root, &root.join(folder), &mut found);
    }
    assert!(found.len() > 20, "the sources are not where this test looks");
    found.sort_by(|one: &Source, other| one.path.cmp(&other.path));
    found
}

fn collect(root: &Path, folder: &Path, found: &mut Vec<Source>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries {
        let path = entry.expect("a folder can be read").path();
        if path.is_dir() && !path.ends_with("target") {
            collect(root, &path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let relative =
                path.strip_prefix(root).expect("below the workspace").display().to_string();
            found.push(Source {
                path: relative,
                text: fs::read_to_string(&path).expect("a source is text"),
            });
        }
    }
}

impl Source {
    /// Whether the whole file is tests.
    fn is_test(&self) -> bool {
        self.path.starts_with("tests/it/")
            || self.path.ends_with("tests.rs")
            || self.path.contains("/tests/")
    }

    /// The text before the tests that stand at the file's end.
    fn code(&self) -> &str {
        self.text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or(&self.text)
    }
}

/// Fails with every offence, not only the first.
fn assert_none(offences: impl IntoIterator<Item = String>, rule: &str) {
    let offences: Vec<String> = offences.into_iter().collect();
    assert!(offences.is_empty(), "{rule}:\n  {}", offences.join("\n  "));
}

#[test]
fn every_file_says_at_its_top_what_its_job_is() {
    let silent = sources()
        .into_iter()
        .filter(|source| !source.text.starts_with("//! "))
        .map(|source| source.path);
    assert_none(silent, "a file opens with `//!`");
}

#[test]
fn no_file_has_more_code_than_a_reader_can_hold() {
    let long = sources().into_iter().filter_map(|source| {
        let lines = if source.is_test() { 0 } else { source.code().lines().count() };
        (lines > MOST_LINES).then(|| format!("{}: {lines}", source.path))
    });
    assert_none(long, "at most 500 lines of code in a file, split by job");
}

#[test]
fn modules_are_named_after_their_job() {
    let bad = sources().into_iter().map(|source| source.path).filter(|path| {
        let name = path.rsplit('/').next().unwrap_or(path);
        matches!(
            name,
            "mod.rs"
                | "utils.rs"
                | "util.rs"
                | "common.rs"
                | "helpers.rs"
                | "manager.rs"
                | "info.rs"
        )
    });
    assert_none(bad, "no mod.rs, no drawer for odds and ends");
}

#[test]
fn no_test_is_put_off_and_no_work_is_left_as_a_note() {
    // Put together here, so that this file doesn't find itself.
    let words = [
        ["#[ign", "ore"].concat(),
        ["TO", "DO"].concat(),
        ["FIX", "ME"].concat(),
        ["#[al", "low("].concat(),
    ];
    let notes = sources().into_iter().flat_map(|source| {
        let found: Vec<String> =
            words.iter().filter(|word| source.text.contains(*word)).cloned().collect();
        found.into_iter().map(move |word| format!("{}: {word}", source.path))
    });
    assert_none(notes, "no ignored test, no note to self, no allowed lint");
}

/// The arrows between crates: folder, and the crates of ours that it may name, itself included.
const CRATES: [(&str, &[&str]); 14] = [
    ("proto/door/", &["ratchet_door", "ratchet_telemetry"]),
    ("proto/telemetry/", &["ratchet_telemetry"]),
    ("proto/", &["ratchet_proto", "ratchet_spawn"]),
    ("supervisor/engine/", &["ratchet_engine"]),
    ("runtime-agent/spawn/", &["ratchet_spawn"]),
    ("runtime-agent/workspace/", &["ratchet_workspace"]),
    (
        "runtime-agent/src/",
        &[
            "ratchet_door",
            "ratchet_proto",
            "ratchet_spawn",
            "ratchet_telemetry",
            "ratchet_workspace",
            "ratchet_runtime_agent",
        ],
    ),
    ("supervisor/eval/", &["ratchet_engine", "ratchet_spawn", "ratchet_eval"]),
    (
        "supervisor/src/",
        &[
            "ratchet_door",
            "ratchet_proto",
            "ratchet_engine",
            "ratchet_spawn",
            "ratchet_workspace",
            "ratchet_eval",
            "ratchet_supervisor",
            "ratchet_telemetry",
        ],
    ),
    (
        "cli/",
        &[
            "ratchet_engine",
            "ratchet_spawn",
            "ratchet_eval",
            "ratchet_supervisor",
            "ratchet_telemetry",
            "ratchet",
        ],
    ),
    ("tests/it/telemetry", &["ratchet_telemetry", "ratchet_tests"]),
    ("tests/it/daemon", &["ratchet_proto", "ratchet_supervisor", "ratchet_tests"]),
    ("tests/benches/bench/rows/supervisor", &["ratchet_proto", "ratchet_tests"]),
    ("tests/", &["ratchet", "ratchet_tests", "ratchet_runtime_agent"]),
];

#[test]
fn crates_import_only_along_the_arrows() {
    let ours = [
        "ratchet_door",
        "ratchet_proto",
        "ratchet_engine",
        "ratchet_spawn",
        "ratchet_workspace",
        "ratchet_eval",
        "ratchet_supervisor",
        "ratchet_runtime_agent",
        "ratchet_telemetry",
        "ratchet_tests",
    ];
    let mut wrong = Vec::new();
    for source in sources() {
        let Some((_, may)) = CRATES.iter().find(|(folder, _)| source.path.starts_with(folder))
        else {
            continue;
        };
        let code = source.code();
        let named = ours
            .iter()
            .filter(|krate| !may.contains(krate) && code.contains(&format!("use {krate}::")));
        wrong.extend(named.map(|krate| format!("{} imports {krate}", source.path)));
    }
    assert_none(wrong, "imports follow docs/architecture.md");
}

/// Inside the supervisor, requests travel one way: a folder, and the modules it must not name.
const ROOMS: [(&str, &[&str]); 3] = [
    ("supervisor/src/store", &["crate::agent", "crate::runtime", "crate::actor", "crate::perform"]),
    ("supervisor/src/agent", &["crate::store", "crate::runtime", "crate::actor", "crate::perform"]),
    ("supervisor/src/runtime", &["crate::store", "crate::agent", "crate::actor", "crate::perform"]),
];

#[test]
fn rooms_of_the_supervisor_know_only_what_is_below_them() {
    let mut wrong = Vec::new();
    for source in sources() {
        let Some((_, never)) = ROOMS.iter().find(|(room, _)| source.path.starts_with(room)) else {
            continue;
        };
        let named = never.iter().filter(|module| source.code().contains(**module));
        wrong.extend(named.map(|module| format!("{} names {module}", source.path)));
    }
    assert_none(
        wrong,
        "store, agent and runtime import neither each other nor what stands above them",
    );
}

/// A worker says which agents it has; it may not ask the supervisor's crate what their programs are called.
#[test]
fn a_worker_looks_for_the_programs_that_the_profiles_name() {
    let read = |path: &str| fs::read_to_string(workspace().join(path)).expect("a source is text");
    let (profiles, worker) =
        (read("supervisor/src/agent/profile.rs"), read("runtime-agent/src/agents.rs"));
    let lists = profiles.lines().filter_map(|line| line.trim().strip_prefix("binaries: &["));
    let lists: Vec<&str> = lists.filter_map(|line| line.strip_suffix("],")).collect();
    assert!(lists.len() >= 5, "the profiles are not where this test looks");
    let unknown = lists.into_iter().filter(|list| !worker.contains(&format!("&[{list}]")));
    assert_none(unknown.map(str::to_owned), "runtime-agent/src/agents.rs has the same programs");
}

/// What the engine must never touch.
const IMPURE: [&str; 9] = [
    "std::fs",
    "std::env",
    "std::net",
    "std::process",
    "std::thread",
    "std::time::SystemTime",
    "std::time::Instant",
    "tokio",
    "HashMap",
];

#[test]
fn the_engine_decides_from_values_alone() {
    let impure = sources()
        .into_iter()
        .filter(|source| source.path.starts_with("supervisor/engine/src"))
        .flat_map(|source| {
            let code: String =
                source.code().lines().filter(|line| !line.trim_start().starts_with("//")).collect();
            let found: Vec<String> = IMPURE
                .iter()
                .filter(|word| code.contains(**word))
                .map(ToString::to_string)
                .collect();
            found.into_iter().map(move |word| format!("{}: {word}", source.path))
        });
    assert_none(
        impure,
        "no disk, no clock, no network, no environment, no random order in the engine",
    );
}

/// Telemetry's own interfaces, by which a name could be given that is in no table.
const RAW_TELEMETRY: [&str; 5] =
    ["opentelemetry", "span_builder(", "KeyValue::new(", "otel.", "tracing_subscriber"];

/// Names as telemetry shows them.
const SHOWN_NAMES: [&str; 5] = ["\"cicd.", "\"gen_ai.", "\"ratchet.", "\"process.", "\"container."];

#[test]
fn telemetry_gets_its_names_from_the_one_table() {
    let raw = sources().into_iter().filter(|source| {
        !source.is_test()
            // Packages of messages are named like ours, and are none of its names.
            && !source.path.starts_with("proto/")
            && !source.path.starts_with("tests/")
    });
    let found = raw.flat_map(|source| {
        let code: Vec<&str> =
            source.code().lines().filter(|line| !line.trim_start().starts_with("//")).collect();
        let words = RAW_TELEMETRY.iter().chain(&SHOWN_NAMES);
        let found: Vec<String> = words
            .filter(|word| code.iter().any(|line| line.contains(**word)))
            .map(|word| format!("{}: {word}", source.path))
            .collect();
        found
    });
    assert_none(
        found,
        "names of spans, attributes and metrics stand in proto/telemetry/src/name.rs",
    );
    let own = sources().into_iter().filter(|source| {
        source.path.starts_with("proto/telemetry/src/")
            && !source.is_test()
            && source.path != "proto/telemetry/src/name.rs"
            && SHOWN_NAMES.iter().any(|name| {
                // What a process is, is told once, with the resource.
                source
                    .code()
                    .lines()
                    .any(|line| line.contains(name) && !line.contains("process.pid"))
            })
    });
    assert_none(own.map(|source| source.path), "and nowhere else in its crate");
}

#[test]
fn every_name_of_telemetry_is_used() {
    let all = sources();
    let name = "proto/telemetry/src/name.rs";
    let table = all.iter().find(|source| source.path == name).expect("the table is there");
    let users: String =
        all.iter().filter(|source| source.path != name).map(|source| source.code()).collect();
    let unused = ["Attribute", "EventName", "MetricName"].into_iter().flat_map(|kind| {
        let start = format!("    {kind} {{\n");
        let rows = table.text.split(&start).nth(1).expect("the table has this kind");
        let rows = rows.lines().take_while(|line| line.starts_with("        "));
        let names = rows.filter_map(|row| row.split_whitespace().next());
        let unused: Vec<String> = names
            .map(|name| format!("{kind}::{name}"))
            .filter(|name| !users.contains(name))
            .collect();
        unused
    });
    assert_none(unused, "a name that nothing has is in no table");
}

#[test]
fn only_the_store_knows_where_files_lie() {
    let joining = sources().into_iter().filter(|source| {
        let inside = ["supervisor/src/store/layout", "tests/", "supervisor/src/agent/workflow"];
        !source.is_test()
            && !inside.iter().any(|room| source.path.starts_with(room))
            && [
                "\"batch.yaml\"",
                "\"journal.jsonl\"",
                "\"state.json\"",
                "\"step.lock\"",
                "\"inflight.json\"",
            ]
            .iter()
            .any(|name| source.code().contains(&format!("join({name})")))
    });
    assert_none(
        joining.map(|source| source.path),
        "only store/layout.rs joins a path below .ratchet",
    );
}

#[test]
fn every_test_file_belongs_to_the_one_binary() {
    let main = fs::read_to_string(workspace().join("tests/it/main.rs")).expect("main.rs is text");
    let forgotten = sources().into_iter().filter_map(|source| {
        let name = source.path.strip_prefix("tests/it/")?.strip_suffix(".rs")?.to_owned();
        (name != "main" && !name.contains('/') && !main.contains(&format!("mod {name};")))
            .then_some(name)
    });
    assert_none(forgotten, "a file of tests/it is named in main.rs");
}
