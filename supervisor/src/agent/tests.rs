//! The whole command line of every agent, and what is refused.

use super::*;
use ratchet_engine::permission::Posture;

pub(super) fn facts() -> LocusFacts {
    LocusFacts {
        repo_root: PathBuf::from("/repo"),
        git_dir: Some(PathBuf::from("/repo/.git")),
        git_common_dir: Some(PathBuf::from("/repo/.git")),
        ..LocusFacts::default()
    }
}

fn line(invocation: &Invocation) -> String {
    let argv = invocation.argv(Path::new("/spawn"));
    argv.iter().map(|arg| arg.to_str().unwrap()).collect::<Vec<_>>().join(" ")
}

fn called(agent: Agent, asked: &Asked<'_>) -> String {
    line(&invocation(agent, asked, &facts()).unwrap())
}

// By decision OQ-44 codex, gemini and cursor speak a JSON stream today, with today's arguments.
// B-P01 B-P02 B-P03 B-P04 B-E39 B-D21
#[test]
fn without_a_policy_the_command_line_is_the_base() {
    let expected = [
        (
            Agent::Claude,
            "claude -p --output-format stream-json --verbose --include-partial-messages",
            StreamFormat::Claude,
        ),
        (
            Agent::Codex,
            "codex exec - --json -c allow_login_shell=false -c features.unbounded_connection_retries=false",
            StreamFormat::Codex,
        ),
        (
            Agent::Cursor,
            "cursor-agent -p --output-format stream-json --trust",
            StreamFormat::Cursor,
        ),
        (Agent::Gemini, "gemini --output-format stream-json --skip-trust", StreamFormat::Gemini),
        (Agent::Opencode, "opencode run --format json", StreamFormat::Opencode),
    ];
    for (agent, argv, format) in expected {
        assert_eq!(called(agent, &Asked::default()), argv);
        assert_eq!(agent.format(), format);
    }
}

// B-D20 B-D22
#[test]
fn the_model_stands_between_base_and_permission_flags() {
    let permissions = Permissions { posture: Posture::FullAutonomy, ..Permissions::default() };
    let asked = Asked { model: Some("m:1"), permissions: Some(&permissions), ..Asked::default() };
    for (agent, end) in [
        (Agent::Claude, "--model m:1 --dangerously-skip-permissions"),
        (Agent::Codex, "-m m:1 --dangerously-bypass-approvals-and-sandbox"),
        (Agent::Cursor, "--model m:1 --force --sandbox disabled"),
        (Agent::Gemini, "-m m:1 --approval-mode yolo"),
        (Agent::Opencode, "--model m:1 --auto"),
    ] {
        let argv = called(agent, &asked);
        assert!(argv.ends_with(end), "{argv}");
    }
}

// B-E37 B-E38
#[test]
fn posture_and_raw_flags_reach_the_command_line() {
    let raw = BTreeMap::from([(AgentName::new("gemini"), vec!["--debug".to_owned()])]);
    let permissions = Permissions { raw, ..Permissions::default() };
    let asked = Asked { permissions: Some(&permissions), ..Asked::default() };
    let argv = called(Agent::Gemini, &asked);
    assert!(
        argv.ends_with("--approval-mode auto_edit --policy /spawn/gemini-policy.toml --debug"),
        "{argv}"
    );
}

#[test]
fn an_unknown_agent_is_refused_with_the_list() {
    let error = Agent::find(&AgentName::new("rex")).unwrap_err();
    let expected = "Unknown agent adapter 'rex'. \
                    Available adapters: claude, codex, cursor, gemini, opencode.";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn a_model_cannot_smuggle_in_a_flag() {
    let asked = Asked { model: Some("--yolo"), ..Asked::default() };
    let error = invocation(Agent::Gemini, &asked, &facts()).unwrap_err();
    assert!(matches!(error, AgentError::ModelIsAFlag { .. }));
}

#[test]
fn full_autonomy_of_claude_as_root_names_the_way_out() {
    let permissions = Permissions { posture: Posture::FullAutonomy, ..Permissions::default() };
    let asked = Asked { permissions: Some(&permissions), ..Asked::default() };
    let root = LocusFacts { as_root: true, ..facts() };
    let error = invocation(Agent::Claude, &asked, &root).unwrap_err();
    assert!(error.to_string().contains("IS_SANDBOX=1"), "{error}");

    let marked = LocusFacts { marked_sandbox: true, ..root.clone() };
    assert!(invocation(Agent::Claude, &asked, &marked).is_ok());
    let overrides = AgentOverride {
        env: BTreeMap::from([("IS_SANDBOX".to_owned(), "1".to_owned())]),
        ..AgentOverride::default()
    };
    let own = Asked { overrides: Some(&overrides), ..asked };
    assert!(invocation(Agent::Claude, &own, &root).is_ok());
    assert!(invocation(Agent::Codex, &asked, &root).is_ok());
    assert!(invocation(Agent::Claude, &Asked::default(), &root).is_ok());
}

#[test]
fn a_user_replaces_command_arguments_and_variables() {
    let overrides = AgentOverride {
        command: Some("my-gemini".to_owned()),
        args: Some(vec!["--new".to_owned()]),
        env: BTreeMap::from([("TOKEN".to_owned(), "hunter2-hunter2".to_owned())]),
    };
    let asked = Asked { model: Some("m"), overrides: Some(&overrides), ..Asked::default() };
    let invocation = invocation(Agent::Gemini, &asked, &facts()).unwrap();
    assert_eq!(line(&invocation), "my-gemini --new -m m");
    assert_eq!(invocation.env["GEMINI_CLI_NO_RELAUNCH"], "true");
    assert_eq!(invocation.env["TOKEN"], "hunter2-hunter2");
    let debug = format!("{invocation:?}");
    assert!(debug.contains("TOKEN") && !debug.contains("hunter2"), "{debug}");
}

#[test]
fn codex_starts_outside_of_a_repository() {
    let argv = line(&invocation(Agent::Codex, &Asked::default(), &LocusFacts::default()).unwrap());
    assert!(argv.ends_with("--skip-git-repo-check"), "{argv}");
}

#[test]
fn the_program_that_was_found_is_called() {
    let found = LocusFacts { program: Some("agent".to_owned()), ..facts() };
    let invocation = invocation(Agent::Cursor, &Asked::default(), &found).unwrap();
    assert_eq!(invocation.program, "agent");
}

// B-P05 B-P06 B-P07
#[test]
fn a_stand_in_is_run_by_bash_and_read_as_plain_lines() {
    let invocation = stand_in("  echo hi; cat \n").unwrap();
    assert_eq!(invocation.argv(Path::new("/x")), ["bash", "-c", "echo hi; cat"]);
    assert_eq!(invocation.format, StreamFormat::Raw);
    assert_eq!(invocation.via, Some(Via::EnvOverride));
    assert_eq!(stand_in(" \t"), None);
}
