//! What is said of an agent that failed: which option or model it may be, its own account, and the cause.

use super::*;

fn failed_with_model(scope: Scope) -> Session {
    let mut session = session(SessionEnd::Exited(1), &[]);
    session.stderr = "no such thing".to_owned();
    session.model = Some(model(scope));
    session
}

// B-L18 B-L19 B-L26 B-L27
#[test]
fn a_named_model_is_hinted_at_when_the_agent_failed_at_once() {
    let session = failed_with_model(Scope::Project);
    let verdict = judge(&Subject::of(&step(Transition::Apply), GateMode::Voluntary), &session);
    let hint = "The \"apply\" stage ran agent \"codex\" with model \"gpt-x\", as set by the project \
                config. If this model id is invalid, correct the agent setting in the project config \
                and resume.";
    let plain = "Agent exited with code 1 without reporting completion.";
    assert_eq!(blocker(&verdict.result), format!("{plain} {hint}"));
    assert_eq!(verdict.entry_message, format!("Agent failed during apply. {hint}"));
    assert_eq!(verdict.result.detail, Some(format!("{hint}\n\nno such thing")));
    let ParkChange::Set(park) = park_after(&verdict.result, verdict.blocked_by) else {
        panic!("not parked")
    };
    assert!(park.reason.contains("gpt-x"));
}

// B-L19 B-L20
#[test]
fn the_hint_names_stage_and_scope() {
    let manifest = failed_with_model(Scope::Manifest);
    for step in [step(Transition::Verify), decompose(), pull_request()] {
        let result = judged(&step, &manifest);
        assert!(blocker(&result).contains(&format!("\"{}\" stage", step.kind())));
        assert!(blocker(&result).contains("the batch manifest"));
    }
    for (scope, place) in [(Scope::User, "the user config"), (Scope::Default, "the default")] {
        let result = judged(&step(Transition::Apply), &failed_with_model(scope));
        assert!(blocker(&result).contains(place));
    }
}

// B-L22 B-L23 B-L24 B-L25
#[test]
fn nothing_else_is_hinted_at() {
    let apply = step(Transition::Apply);
    let hinted = failed_with_model(Scope::Project);
    let plain = judged(&apply, &Session { model: None, ..hinted.clone() });
    assert_eq!(blocker(&plain), "Agent exited with code 1 without reporting completion.");
    assert_eq!(plain.detail.as_deref(), Some("no such thing"));
    let progress = Report { index: 0, kind: EntryKind::Progress, message: "hi".to_owned() };
    let quiet = [
        Session { reports: vec![progress], ..hinted.clone() },
        Session { via: Some(Via::EnvOverride), ..hinted.clone() },
        Session { end: SessionEnd::Signaled("SIGKILL".to_owned()), ..hinted.clone() },
        Session {
            end: SessionEnd::TimedOut { limit: "wall".to_owned(), after_ms: 1 },
            ..hinted.clone()
        },
        Session {
            end: SessionEnd::NotStarted { error: "x".to_owned(), code: 127 },
            ..hinted.clone()
        },
        Session { end: SessionEnd::Exited(0), ..hinted.clone() },
    ];
    for session in quiet {
        assert!(!blocker(&judged(&apply, &session)).contains("model"), "{session:?}");
    }
}

// B-L28
#[test]
fn an_option_that_the_agent_does_not_know_is_named_instead_of_the_model() {
    let mut session = failed_with_model(Scope::Project);
    session.stderr = "error: unexpected argument '--full-auto' found\n\nUsage: codex".to_owned();
    for session in [session.clone(), Session { model: None, ..session.clone() }] {
        let result = judged(&step(Transition::Apply), &session);
        assert!(blocker(&result).contains("\"codex\""));
        assert!(blocker(&result).contains("\"--full-auto\""));
        assert!(blocker(&result).contains("batch.agents.codex.args"));
        assert!(!blocker(&result).contains("gpt-x"));
    }
    session.end = SessionEnd::Signaled("SIGKILL".to_owned());
    assert!(!blocker(&judged(&step(Transition::Apply), &session)).contains("--full-auto"));
}

#[test]
fn an_agents_own_account_of_its_failure_comes_first_in_the_detail() {
    let mut session = session(SessionEnd::Exited(1), &[]);
    session.account = Some("a usage limit was reached: try later".to_owned());
    session.stdout = "I begin.".to_owned();
    for end in [SessionEnd::Exited(1), SessionEnd::Exited(0)] {
        let result = judged(&step(Transition::Apply), &Session { end, ..session.clone() });
        let detail = result.detail.as_deref().unwrap();
        assert_eq!(detail, "a usage limit was reached: try later\n\nI begin.");
        assert_eq!(result.notes, ["codex said: a usage limit was reached: try later"]);
        assert!(!blocker(&result).contains("limit"), "the blocker claims no cause");
    }
}

#[test]
fn an_account_of_a_failure_changes_no_outcome() {
    let mut session = on_disk(ChangeFacts::default(), plan(0, 2), said("two tasks planned"));
    session.account = Some("the model's provider has trouble".to_owned());
    let result = judged(&step(Transition::Propose), &session);
    assert_eq!((result.state, result.notes.len()), (StepState::Advanced, 0));
    let mut asked = self::session(SessionEnd::Exited(1), &[(EntryKind::Blocker, "which port?")]);
    asked.account = session.account;
    let result = judged(&step(Transition::Propose), &asked);
    assert_eq!((blocker(&result), result.notes.len()), ("which port?", 0));
}

fn told(cause: Cause, retry_at: Option<i64>) -> Told {
    let text = if cause == Cause::Quota { "limit reached" } else { "not logged in" };
    Told { cause, text: text.to_owned(), retry_at: retry_at.map(Timestamp::from_unix_ms) }
}

#[test]
fn a_limit_that_ended_the_agent_is_said_everywhere() {
    let session =
        Session { told: Some(told(Cause::Quota, Some(0))), ..failed_with_model(Scope::Project) };
    let verdict = judge(&Subject::of(&step(Transition::Propose), GateMode::Voluntary), &session);
    let said = "limit reached, resets at 1970-01-01T00:00:00.000Z";
    for text in [blocker(&verdict.result), &verdict.entry_message] {
        assert!(text.contains(said) && !text.contains("model id"), "{text}");
    }
    assert_eq!(verdict.result.cause, Some(Cause::Quota));
    let ParkChange::Set(park) = park_after(&verdict.result, verdict.blocked_by) else {
        panic!("not parked")
    };
    assert!(park.reason.contains(said), "{park:?}");
    assert_eq!(park.retry_at, Some(Timestamp::from_unix_ms(0)));
}

#[test]
fn causes_are_told_apart_and_what_the_supervisor_knows_comes_first() {
    let limit = "wall".to_owned();
    let login = told(Cause::Login, None);
    for (end, said, cause) in [
        (SessionEnd::Exited(9), None, Cause::Crash),
        (SessionEnd::Signaled("SIGSEGV".to_owned()), None, Cause::Crash),
        (SessionEnd::Exited(1), Some(login.clone()), Cause::Login),
        (SessionEnd::Exited(0), Some(login.clone()), Cause::Login),
        (SessionEnd::Lingered, Some(login.clone()), Cause::Login),
        (SessionEnd::TimedOut { limit, after_ms: 5 }, Some(login.clone()), Cause::Timeout),
        (SessionEnd::OutOfMemory, Some(login.clone()), Cause::OutOfMemory),
        (SessionEnd::OutputLimit { bytes: 1 }, None, Cause::OutputLimit),
        (SessionEnd::Stopped { by: "cancel".to_owned() }, Some(login), Cause::Stopped),
        (SessionEnd::Lost { reason: "x".to_owned() }, None, Cause::Lost),
        (SessionEnd::NotStarted { error: "x".to_owned(), code: 127 }, None, Cause::NotStarted),
    ] {
        let session = Session { told: said, ..session(end, &[]) };
        assert_eq!(judged(&step(Transition::Apply), &session).cause, Some(cause), "{session:?}");
    }
}

#[test]
fn what_is_no_failure_has_no_cause() {
    let question = [(EntryKind::Blocker, "which port?")];
    let limited = Some(told(Cause::Quota, Some(0)));
    let asked = Session { told: limited.clone(), ..session(SessionEnd::Exited(1), &question) };
    let silent = session(SessionEnd::Exited(0), &[]);
    let disagreeing = said("planned");
    for session in [asked, silent, disagreeing] {
        let result = judged(&step(Transition::Propose), &session);
        assert_eq!((result.state, result.cause), (StepState::Blocked, None), "{session:?}");
        assert!(!serde_json::to_string(&result).unwrap().contains("cause"));
    }
    let claimed = Session {
        told: limited,
        end: SessionEnd::Exited(1),
        ..on_disk(ChangeFacts::default(), plan(0, 2), said("planned"))
    };
    let result = judged(&step(Transition::Propose), &claimed);
    assert_eq!(result.cause, Some(Cause::Quota));
    assert!(blocker(&result).contains("(limit reached, resets at"), "{result:?}");
}
