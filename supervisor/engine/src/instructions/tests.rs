//! The texts: golden ones for each kind of step, and the rules that all of them keep.

use super::*;
use crate::decide::Resume;
use crate::name::{BatchName, ChangeName, StepKey};
use crate::sketch;

fn change(transition: Transition) -> Step {
    let change = ChangeName::parse("add-api").unwrap();
    Step {
        batch: Some(BatchName::parse("shop").unwrap()),
        key: StepKey::of_change(&change),
        phase: sketch::phase("p1", &["add-api"]),
        work: Work::Change { change, done: "GET /health answers".to_owned(), transition },
        resume: None,
        guidance: None,
    }
}

fn decompose() -> Step {
    let changes = vec![(ChangeName::parse("add-api").unwrap(), "GET /health answers".to_owned())];
    let name = crate::name::PhaseName::parse("p1").unwrap();
    Step {
        key: StepKey::from_text("p2"),
        phase: sketch::phase("p2", &[]),
        work: Work::Decompose { prior: vec![PriorPhase { name, changes }] },
        ..change(Transition::Propose)
    }
}

fn pull_request() -> Step {
    Step {
        key: StepKey::from_text("pr:shop:p1"),
        work: Work::PullRequest {
            group: Some(Group { index: 1, id: "p1".to_owned(), stacked_on: Some("p0".to_owned()) }),
            changes: vec![ChangeName::parse("add-api").unwrap()],
            branches: Some(Branches { work: "p1".to_owned(), base: "p0".to_owned() }),
        },
        ..change(Transition::Propose)
    }
}

fn answered() -> Option<Resume> {
    Some(Resume::Answered { question: "which port?".to_owned(), answer: "8080".to_owned() })
}

fn rejected() -> Option<Resume> {
    let summary = "two tasks".to_owned();
    Some(Resume::Rejected { summary, feedback: "one task less".to_owned() })
}

fn text(step: &Step) -> String {
    let token = match step.kind() {
        crate::transition::StepKind::Decompose => "/rct:decompose-phase",
        crate::transition::StepKind::Pr => "/rct:open-pr",
        crate::transition::StepKind::Propose => "/rct:propose",
        crate::transition::StepKind::Apply => "/rct:apply",
        crate::transition::StepKind::Verify => "/rct:verify",
    };
    let file = Some("commands/rct.md");
    render(step, &Wording { token, file, ratchet: "ratchet", strategy: Strategy::VerticalSlice })
}

fn every_step() -> Vec<Step> {
    let mut steps: Vec<Step> = [Transition::Propose, Transition::Apply, Transition::Verify]
        .into_iter()
        .map(change)
        .chain([decompose(), pull_request()])
        .collect();
    let with = |resume: Option<Resume>| {
        steps.iter().map(|step| Step { resume: resume.clone(), ..step.clone() }).collect::<Vec<_>>()
    };
    let more: Vec<Step> = [with(answered()), with(rejected())].concat();
    steps.extend(more);
    steps
}

/// The indented lines that hold the invocation and its arguments.
fn invoked(text: &str) -> Vec<&str> {
    let from = text.find("    /rct").expect("the command is invoked");
    text[from..].lines().take_while(|line| line.starts_with("    ")).map(str::trim).collect()
}

// B-N01 B-N08 B-N17
#[test]
fn a_proposal_reads_like_this() {
    insta::assert_snapshot!("propose", text(&change(Transition::Propose)));
}

// B-N05 B-N10 B-N14 B-N16
#[test]
fn an_answered_apply_with_guidance_reads_like_this() {
    let guidance = Some("Keep it small.\nNo new crates.".to_owned());
    let step = Step { resume: answered(), guidance, ..change(Transition::Apply) };
    insta::assert_snapshot!("apply_answered_guided", text(&step));
}

// B-N20 B-N15 B-L36
#[test]
fn a_rejected_verify_reads_like_this() {
    let step = Step { resume: rejected(), ..change(Transition::Verify) };
    insta::assert_snapshot!("verify_rejected", text(&step));
}

// B-K20
#[test]
fn a_decomposition_reads_like_this() {
    insta::assert_snapshot!("decompose", text(&decompose()));
}

// B-N18 B-N19 B-U09 B-U15
#[test]
fn a_pull_request_reads_like_this() {
    insta::assert_snapshot!("pull_request", text(&pull_request()));
}

// B-X13 B-X20
#[test]
fn a_step_of_its_own_reads_like_this() {
    let name = ChangeName::parse("add-api").unwrap();
    let step = Step::standalone(name, Transition::Propose, Some("sell more"), None, None);
    insta::assert_snapshot!("standalone_propose", text(&step));
}

// B-N01 B-N05 B-N13
#[test]
fn every_transition_delegates_with_a_bare_invocation() {
    for transition in [Transition::Propose, Transition::Apply, Transition::Verify] {
        let text = text(&change(transition));
        assert_eq!(invoked(&text), [format!("/rct:{transition} add-api")]);
        assert!(text.contains(&transition.as_str().to_uppercase()));
    }
    assert_eq!(invoked(&text(&pull_request())), ["/rct:open-pr"]);
}

// B-N02 B-N09
#[test]
fn the_prompt_frames_the_invocation_and_has_no_recipe() {
    for step in every_step() {
        let text = text(&step);
        assert!(text.lines().count() > 15);
        assert!(text.contains("do not build its steps by hand"));
        assert!(!text.contains("1. "));
    }
}

// B-N03
#[test]
fn no_coding_agent_is_named() {
    for step in every_step() {
        let text = text(&step).to_lowercase();
        for agent in ["claude", "codex", "gemini", "cursor", "opencode"] {
            assert!(!text.contains(agent), "{agent}");
        }
    }
}

// B-N04
#[test]
fn the_duty_to_report_stands_near_the_top() {
    for step in every_step() {
        let text = text(&step);
        let duty = text.find("--complete").expect("the duty is there");
        assert!(text[..duty].lines().count() < 10, "{text}");
        assert!(text.contains("counts as unreported"));
    }
}

// B-N06 B-N07 B-N12
#[test]
fn the_token_is_the_agents_own() {
    let step = Step { guidance: Some("small".to_owned()), ..change(Transition::Apply) };
    let wording = Wording {
        token: "/rct-apply",
        file: None,
        ratchet: "ratchet",
        strategy: Strategy::Feature,
    };
    let text = render(&step, &wording);
    assert_eq!(invoked(&text), ["/rct-apply add-api small"]);
    assert!(!text.contains("/rct:"));
}

// B-N10 B-N13 B-X13
#[test]
fn guidance_stands_verbatim_in_a_block_of_its_own_or_not_at_all() {
    let guidance = "Use  two blanks.\n\n  - and a list";
    let step = Step { guidance: Some(guidance.to_owned()), ..change(Transition::Apply) };
    assert!(text(&step).contains(&format!("\n\nAdditional guidance:\n{guidance}\n\n")));
    assert!(!text(&change(Transition::Apply)).contains("Additional guidance"));
}

// B-N14 B-N15 B-N16 B-K21
#[test]
fn guidance_and_reply_are_arguments_in_order() {
    let guidance = Some("small\nsteps".to_owned());
    let step = Step { guidance, resume: answered(), ..change(Transition::Propose) };
    assert_eq!(invoked(&text(&step)), ["/rct:propose add-api small", "steps", "8080"]);
    let step = Step { resume: rejected(), ..change(Transition::Propose) };
    assert_eq!(invoked(&text(&step)), ["/rct:propose add-api one task less"]);
    let step = Step { resume: answered(), ..decompose() };
    assert_eq!(invoked(&text(&step)), ["/rct:decompose-phase p2 8080"]);
}

#[test]
fn the_reply_to_a_pull_request_is_in_its_frame() {
    for (resume, said) in [(answered(), "8080"), (rejected(), "one task less")] {
        let text = text(&Step { resume, ..pull_request() });
        assert_eq!(invoked(&text), ["/rct:open-pr"]);
        assert!(text.contains(&format!("The reply is: {said}")));
    }
}

// B-L36
#[test]
fn a_rejection_names_the_transition_that_runs() {
    let text = text(&Step { resume: rejected(), ..change(Transition::Apply) });
    assert!(text.contains("The earlier apply work was rejected"));
    assert!(text.contains("Do the apply step again"));
    assert!(!text.contains("propos"));
}

#[test]
fn an_agent_without_commands_is_told_where_the_commands_text_is() {
    for step in every_step() {
        let text = text(&step);
        let invoked = text.find("    /rct").expect("the command is invoked");
        let named = text.find("\n    commands/rct.md\n").expect("the file has a line of its own");
        assert!(invoked < named, "{text}");
    }
    let wording = Wording {
        token: "/rct:apply",
        file: None,
        ratchet: "ratchet",
        strategy: Strategy::Feature,
    };
    assert!(!render(&change(Transition::Apply), &wording).contains("read this file"));
}

// B-N17
#[test]
fn the_definition_of_done_has_a_line_of_its_own() {
    for transition in [Transition::Propose, Transition::Apply, Transition::Verify] {
        let text = text(&change(transition));
        assert!(text.contains("\nDefinition of done: GET /health answers\n"));
        assert!(!text.contains("Change success criteria"));
    }
}

// B-N20
#[test]
fn only_a_verify_asks_for_a_verdict() {
    assert!(text(&change(Transition::Verify)).contains("\"Ready for archive\""));
    assert!(!text(&change(Transition::Apply)).contains("archive"));
}

#[test]
fn only_a_proposal_has_a_strategy() {
    let strategy = |strategy| {
        let wording = Wording { token: "/rct:propose", file: None, ratchet: "ratchet", strategy };
        render(&change(Transition::Propose), &wording)
    };
    assert!(strategy(Strategy::VerticalSlice).contains("vertical slice"));
    assert!(strategy(Strategy::Feature).contains("self-contained"));
    assert!(!text(&change(Transition::Apply)).contains("Strategy"));
}

#[test]
fn nothing_that_is_to_be_run_needs_a_substitution() {
    for step in every_step() {
        let text = text(&step);
        assert!(!text.contains('`') && !text.contains("$("), "{text}");
    }
}

// B-N19 B-X20
#[test]
fn the_report_commands_are_quoted_for_a_shell() {
    let mut step = decompose();
    step.key = StepKey::from_text("Ana's phase");
    step.batch = Some(BatchName::parse("die Bude").unwrap());
    let command = r"ratchet batch report 'die Bude' --change 'Ana'\''s phase' --complete";
    assert!(text(&step).contains(command));
    let wording = Wording {
        token: "/rct:apply",
        file: None,
        ratchet: "/opt/my tools/ratchet",
        strategy: Strategy::Feature,
    };
    let alone = Step { batch: None, ..change(Transition::Apply) };
    let text = render(&alone, &wording);
    for flag in ["--status", "--blocker", "--needs-input", "--complete"] {
        assert!(text.contains(&format!("'/opt/my tools/ratchet' report add-api {flag} '")));
    }
}
