//! Command files: their table, their texts, and that nothing of the user's is overwritten.

use super::*;

fn roots(project: &Path) -> Roots {
    Roots { project: project.to_owned(), codex_home: Some(project.join("codex")) }
}

// O01
#[test]
fn each_kind_of_step_has_its_own_command() {
    let ids = StepKind::ALL.map(|kind| CommandId::from(kind).as_str());
    assert_eq!(ids, ["propose", "apply", "verify", "open-pr", "decompose-phase"]);
    for id in CommandId::ALL {
        assert_eq!(CommandId::parse(id.as_str()).unwrap(), id);
    }
    assert!(matches!(CommandId::parse("pr-open"), Err(CommandError::Unknown { .. })));
}

// N06 N07 O03
#[test]
fn token_path_and_text_follow_the_tool() {
    let roots = Roots { project: "/p".into(), codex_home: Some("/h/.codex".into()) };
    let expected = [
        (Tool::Claude, "/rct:decompose-phase", "/p/.claude/commands/rct/decompose-phase.md"),
        (Tool::Codex, "/rct-decompose-phase", "/h/.codex/prompts/rct-decompose-phase.md"),
        (Tool::Cursor, "/rct-decompose-phase", "/p/.cursor/commands/rct-decompose-phase.md"),
        (Tool::Gemini, "/rct-decompose-phase", "/p/.gemini/commands/rct-decompose-phase.md"),
        (
            Tool::GithubCopilot,
            "/rct-decompose-phase",
            "/p/.github/prompts/rct-decompose-phase.prompt.md",
        ),
        (Tool::Opencode, "/rct-decompose-phase", "/p/.opencode/commands/rct-decompose-phase.md"),
    ];
    for (tool, token_text, file) in expected {
        assert_eq!(token(tool, CommandId::DecomposePhase), token_text);
        assert_eq!(path(tool, CommandId::DecomposePhase, &roots).unwrap(), Path::new(file));
        let has_colon = CommandId::ALL.iter().any(|id| render(tool, *id).contains("/rct:"));
        assert_eq!(has_colon, tool == Tool::Claude, "{tool:?}");
    }
}

#[test]
fn the_home_of_codex_is_what_the_agent_will_see() {
    let env = |pairs: &[(&str, &str)]| {
        pairs.iter().map(|(name, value)| (name.into(), value.into())).collect::<BTreeMap<_, _>>()
    };
    let home = |pairs| Roots::of(Path::new("/p"), &env(pairs)).codex_home;
    assert_eq!(home(&[("HOME", "/h"), ("CODEX_HOME", "/c")]), Some("/c".into()));
    assert_eq!(home(&[("HOME", "/h"), ("CODEX_HOME", "")]), Some("/h/.codex".into()));
    assert_eq!(home(&[("CODEX_HOME", "c")]), Some("/p/c".into()));
    let homeless = Roots::of(Path::new("/p"), &env(&[]));
    let error = path(Tool::Codex, CommandId::Apply, &homeless).unwrap_err();
    assert!(error.to_string().contains("CODEX_HOME"), "{error}");
}

#[test]
fn front_matter_is_in_the_tools_own_format() {
    for (tool, keys) in [
        (Tool::Claude, &["name", "description", "category", "tags"][..]),
        (Tool::Codex, &["description", "argument-hint"]),
        (Tool::Cursor, &["name", "id", "category", "description"]),
        (Tool::Gemini, &["description"]),
        (Tool::GithubCopilot, &["description"]),
        (Tool::Opencode, &["description"]),
    ] {
        for id in CommandId::ALL {
            let text = render(tool, id);
            let (header, body) = text.strip_prefix("---\n").unwrap().split_once("---\n\n").unwrap();
            let found: Vec<&str> =
                header.lines().map(|line| line.split_once(": ").unwrap().0).collect();
            assert_eq!(found, keys, "{tool:?}");
            assert!(body.starts_with("# "), "{body}");
        }
    }
}

#[test]
fn the_texts_carry_what_the_code_depends_on() {
    let facts: [(CommandId, &[&str]); 5] = [
        (
            CommandId::Propose,
            &[
                ".ratchet/standards/",
                "features/",
                ".feature",
                "plan.md",
                "## Why",
                "## What Changes",
                "## Design",
                "## Tasks",
                "- [ ]",
                "ratchet instructions",
                ".ratchet.yaml",
            ],
        ),
        (CommandId::Apply, &["ratchet instructions apply", "contextFiles", "- [x]", "plan.md"]),
        (
            CommandId::Verify,
            &["Ready for archive", "critical issue(s) found", "ratchet instructions verify"],
        ),
        (CommandId::DecomposePhase, &["batch.yaml", "changes", "done", "after", "kebab-case"]),
        (CommandId::OpenPr, &["Work branch", "Base branch", "run/", ".run/", "git push"]),
    ];
    for (id, words) in facts {
        let body = id.workflow().body;
        for word in words {
            assert!(body.contains(word), "{}: {word}", id.as_str());
        }
        assert!(body.contains("report"), "{}", id.as_str());
    }
}

// N03
#[test]
fn the_texts_name_no_agent_and_ask_for_no_substitution() {
    for id in CommandId::ALL {
        let body = id.workflow().body;
        for forbidden in ["`", "$(", "<(", ">(", "rm -f", "sleep"] {
            assert!(!body.contains(forbidden), "{}: {forbidden}", id.as_str());
        }
        let lower = body.to_lowercase();
        for agent in ["claude", "codex", "gemini", "cursor", "opencode", "copilot"] {
            assert!(!lower.contains(agent), "{}: {agent}", id.as_str());
        }
        assert!(body.ends_with('\n') && !body.ends_with("\n\n"));
    }
}

// O02 O08
#[test]
fn a_missing_command_is_written_with_its_folders() {
    let dir = tempfile::tempdir().unwrap();
    for agent in Agent::ALL {
        let roots = roots(dir.path());
        let ensured = ensure(agent, CommandId::Verify, &roots, Locus::Local).unwrap();
        assert_eq!(ensured, Ensured::Written);
        let file = path(agent.into(), CommandId::Verify, &roots).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), render(agent.into(), CommandId::Verify));
        let beside = fs::read_dir(file.parent().unwrap()).unwrap().count();
        assert_eq!(beside, 1, "no temporary file is left");
    }
}

// O04
#[test]
fn an_existing_command_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join(".claude/commands/rct/apply.md");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, "mine").unwrap();
    let ensured = ensure(Agent::Claude, CommandId::Apply, &roots(dir.path()), Locus::Docker);
    assert_eq!(ensured.unwrap(), Ensured::Present);
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
}

// O05 O06
#[test]
fn a_remote_locus_is_refused_and_nothing_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let error = ensure(Agent::Gemini, CommandId::Apply, &roots(dir.path()), Locus::Remote);
    let text = error.unwrap_err().to_string();
    for part in ["'apply'", "/rct-apply", "'remote'", ".gemini/commands/rct-apply.md", "'docker'"] {
        assert!(text.contains(part), "{text}");
    }
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

// O07
#[test]
fn a_write_that_fails_names_the_path_and_the_reason() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join(".claude"), "a file where a folder is needed").unwrap();
    let error = ensure(Agent::Claude, CommandId::Apply, &roots(dir.path()), Locus::Local);
    let text = error.unwrap_err().to_string();
    assert!(text.contains(".claude/commands/rct/apply.md") && text.contains("os error"), "{text}");
}

#[test]
fn a_link_that_leads_nowhere_is_not_followed() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join(".claude/commands/rct/apply.md");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink("/nowhere/at/all", &file).unwrap();
    let ensured = ensure(Agent::Claude, CommandId::Apply, &roots(dir.path()), Locus::Local);
    assert!(matches!(ensured, Err(CommandError::Write { .. })));
}
