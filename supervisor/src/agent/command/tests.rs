//! Command files: their table, their texts, and that nothing of the user's is overwritten.

use super::*;

fn roots(project: &Path) -> Roots {
    Roots { project: project.to_owned(), codex_home: Some(project.join("codex")) }
}

// B-O01
#[test]
fn each_kind_of_step_has_its_own_command() {
    let ids = StepKind::ALL.map(|kind| CommandId::from(kind).as_str());
    assert_eq!(ids, ["propose", "apply", "verify", "open-pr", "decompose-phase"]);
    for id in CommandId::ALL {
        assert_eq!(CommandId::find(id.as_str()), Some(id));
    }
    assert_eq!(CommandId::find("pr-open"), None);
}

// B-N06 B-N07 B-O03
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
        assert_eq!(token_of(tool, CommandId::DecomposePhase), token_text);
        assert_eq!(path(tool, CommandId::DecomposePhase, &roots).unwrap(), PathBuf::from(file));
        let has_colon = CommandId::ALL.iter().any(|id| render(tool, *id).contains("/rct:"));
        assert_eq!(has_colon, tool == Tool::Claude, "{tool:?}");
    }
}

#[test]
fn an_agent_that_is_not_known_gets_a_token_and_no_file() {
    let double = AgentName::new("double");
    assert_eq!(token(&double, StepKind::Verify), "/rct:verify");
    assert_eq!(token(&AgentName::new("codex"), StepKind::Pr), "/rct-open-pr");
    assert_eq!(CommandFile::of(&double, StepKind::Verify, &roots(Path::new("/p"))), None);
}

#[test]
fn the_home_of_codex_is_what_the_agent_will_see() {
    let home = |pairs: &[(&str, &str)], own: &[(&str, &str)]| {
        let env = own.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let own = AgentOverride { env: env.collect(), ..AgentOverride::default() };
        let environment = Environment::new("/w", pairs.iter().copied());
        Roots::of(Path::new("/p"), &environment, Some(&own)).codex_home
    };
    let plain = [("HOME", "/h"), ("CODEX_HOME", "/c")];
    assert_eq!(home(&plain, &[]), Some("/c".into()));
    assert_eq!(home(&plain, &[("CODEX_HOME", "/own")]), Some("/own".into()));
    assert_eq!(home(&[("HOME", "/h"), ("CODEX_HOME", "")], &[]), Some("/h/.codex".into()));
    assert_eq!(home(&[("CODEX_HOME", "c")], &[]), Some("/p/c".into()));
    assert_eq!(home(&[], &[]), None);
    let homeless = Roots { project: "/p".into(), codex_home: None };
    let file = CommandFile::of(&AgentName::new("codex"), StepKind::Apply, &homeless).unwrap();
    let refusal = file.rendered().unwrap_err();
    assert!(refusal.to_string().contains("CODEX_HOME"), "{refusal}");
}

#[test]
fn a_file_in_the_project_is_named_from_there_and_one_outside_by_its_path() {
    let roots = Roots { project: "/p".into(), codex_home: Some("/h/.codex".into()) };
    let seen = |agent: &str| {
        CommandFile::of(&AgentName::new(agent), StepKind::Apply, &roots)?.as_seen(&roots)
    };
    assert_eq!(seen("claude").as_deref(), Some(".claude/commands/rct/apply.md"));
    assert_eq!(seen("codex").as_deref(), Some("/h/.codex/prompts/rct-apply.md"));
    assert_eq!(seen("nobody"), None);
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

// B-N03
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

// B-O02
#[test]
fn each_agent_gets_its_file_with_the_text_of_the_step() {
    let roots = roots(Path::new("/p"));
    for agent in Agent::ALL {
        let name = AgentName::new(agent.id());
        let file = CommandFile::of(&name, StepKind::Verify, &roots).unwrap();
        let rendered = file.rendered().unwrap();
        assert_eq!(rendered.path(), path(agent.into(), CommandId::Verify, &roots).unwrap());
        assert_eq!(rendered.text(), render(agent.into(), CommandId::Verify));
    }
}

// B-O07
#[test]
fn a_file_that_cannot_be_written_is_named_with_its_command_and_the_reason() {
    let file = CommandFile::of(&AgentName::new("claude"), StepKind::Apply, &roots(Path::new("/p")));
    let rendered = file.unwrap().rendered().unwrap();
    let text = rendered.unwritable("the disk is full".to_owned()).to_string();
    for part in ["/rct:apply", "/p/.claude/commands/rct/apply.md", "the disk is full"] {
        assert!(text.contains(part), "{text}");
    }
}
