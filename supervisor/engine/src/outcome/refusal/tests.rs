//! What a refusal says.

use super::*;
use crate::name::ChangeName;
use crate::transition::Transition;

fn step() -> Step {
    Step::standalone(ChangeName::parse("api").unwrap(), Transition::Propose, None, None, None)
}

// B-K09 B-P12
#[test]
fn a_refusal_is_blocked_and_says_what_to_do() {
    let unknown = Refusal::UnknownAgent {
        agent: AgentName::new("nobody"),
        available: vec!["claude".to_owned(), "codex".to_owned()],
    };
    let result = unknown.result(&step());
    assert_eq!(
        result.blocker.as_deref().unwrap(),
        "Unknown agent adapter 'nobody'. Available adapters: claude, codex."
    );
    assert_eq!((result.message.clone(), result.journal_refs.clone()), (result.blocker, None));
    assert_eq!(result.state, StepState::Blocked);
    let refused = Refusal::OverrideNotAllowed.to_string();
    assert!(refused.contains("RATCHET_BATCH_AGENT_CMD"));
    assert!(refused.contains("--allow-agent-override"));
}

// B-O05 B-O06 B-O07
#[test]
fn a_refusal_about_the_command_names_token_place_and_remedy() {
    let unwritten = Refusal::CommandFile {
        path: "/p/.codex/prompts/rct-apply.md".to_owned(),
        token: "/rct-apply".to_owned(),
        why: "permission denied".to_owned(),
    };
    for word in ["/p/.codex/prompts/rct-apply.md", "/rct-apply", "permission denied"] {
        assert!(unwritten.to_string().contains(word));
    }
}

// B-O05 B-O06
#[test]
fn a_remote_locus_without_a_worker_is_refused() {
    let why = "the remote locus needs host, port".to_owned();
    let remote = Refusal::NoWorker { token: "/rct-apply".to_owned(), why };
    for word in ["/rct-apply", "'remote'", "host, port", "local", "docker"] {
        assert!(remote.to_string().contains(word));
    }
}
