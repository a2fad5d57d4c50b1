//! The harness with seams of the tests' own: no git, no process, no agent.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Mutex};

use super::site::{Capture, SiteError};
use super::*;
use crate::call::{Ended, Errand};
use crate::mutation::attempt::Cause;
use crate::mutation::scope::Change;

/// Everything that happened, in order.
type Log = Arc<Mutex<Vec<String>>>;

fn note(log: &Log, what: impl Into<String>) {
    log.lock().unwrap().push(what.into());
}

/// Answers oracles and agents from a script; the last answer stands for ever.
struct Script {
    log: Log,
    oracle: Mutex<VecDeque<Result<i32, String>>>,
    agent: Mutex<VecDeque<Result<i32, String>>>,
}

fn next(script: &Mutex<VecDeque<Result<i32, String>>>) -> Result<Ran, CannotRun> {
    let mut script = script.lock().unwrap();
    let answer = if script.len() > 1 { script.pop_front() } else { script.front().cloned() };
    match answer.expect("a script has an answer") {
        Ok(code) => Ok(Ran { ended: Ended::Exited { code }, ..Ran::default() }),
        Err(why) => Err(CannotRun::Failed(why)),
    }
}

impl Shell for Script {
    fn run(&self, command: &Command<'_>) -> Result<Ran, CannotRun> {
        note(&self.log, format!("test {}", command.cwd.display()));
        next(&self.oracle)
    }
}

impl Agents for Script {
    fn ask(&self, errand: &Errand<'_>) -> Result<Ran, CannotRun> {
        note(&self.log, format!("spawn {}", errand.change));
        next(&self.agent)
    }
}

impl Ledger for Script {
    fn keep(&self, attempt: &mut Attempt, diff: &[u8], _: Option<&Ran>) -> io::Result<()> {
        note(&self.log, "keep");
        if diff == b"too much" {
            return Err(io::ErrorKind::StorageFull.into());
        }
        attempt.diff_path = Some("kept".into());
        Ok(())
    }

    fn tell(&self, _: &Progress) {}
}

/// A place whose changes are given: each attempt finds the next.
struct Place {
    log: Log,
    captures: VecDeque<Capture>,
}

impl Site for Place {
    fn project(&self) -> &Path {
        Path::new("/p")
    }
    fn capture(&mut self) -> Result<Capture, SiteError> {
        note(&self.log, "diff");
        Ok(self.captures.pop_front().unwrap_or_default())
    }
    fn settle(&mut self) -> Result<(), SiteError> {
        Ok(())
    }
    fn adopt(&mut self) -> Result<(), SiteError> {
        note(&self.log, "revert");
        Ok(())
    }
    fn reset(&mut self) -> Result<(), SiteError> {
        note(&self.log, "revert");
        Ok(())
    }
}

fn fault(text: &str) -> Capture {
    let change = Change {
        path: "src/a.rs".into(),
        old: Some(b"old".to_vec()),
        new: Some(text.into()),
        mode_only: false,
    };
    Capture { changes: vec![change], diff: text.into(), line: 1, ..Capture::default() }
}

struct Run {
    outcome: Result<HarnessOutcome, HarnessError>,
    log: Vec<String>,
}

fn run_with(
    budget: u32,
    oracle: &[Result<i32, String>],
    agent: &[Result<i32, String>],
    captures: Vec<Capture>,
) -> Run {
    let log = Log::default();
    let script = Script {
        log: Arc::clone(&log),
        oracle: Mutex::new(oracle.iter().cloned().collect()),
        agent: Mutex::new(agent.iter().cloned().collect()),
    };
    let mutation = Mutation { id: "m".into(), test: "make t".into(), budget, threshold: 1 };
    let plan = Plan {
        mutation: &mutation,
        prefix: "",
        baseline_runs: 1,
        limits: Patience::default(),
        only: None,
        attempts: (0..budget).collect(),
        made: Vec::new(),
    };
    let place = Place { log: Arc::clone(&log), captures: captures.into() };
    let mut sites: Vec<Box<dyn Site>> = vec![Box::new(place)];
    let outcome = run(&plan, &script, &script, &script, &mut sites).map(|(outcome, _)| outcome);
    let log = log.lock().unwrap().clone();
    Run { outcome, log }
}

fn attempts(run: &Run) -> Vec<(u32, &'static str)> {
    match run.outcome.as_ref().unwrap() {
        HarnessOutcome::Completed { attempts } => {
            attempts.iter().map(|one| (one.index, one.verdict.word())).collect()
        }
        other => panic!("{other:?}"),
    }
}

fn count(run: &Run, what: &str) -> usize {
    run.log.iter().filter(|line| line.starts_with(what)).count()
}

// E-A04 E-A17 E-A18
#[test]
fn two_attempts_go_through_their_steps_in_the_order_of_the_seed() {
    let run = run_with(2, &[Ok(0)], &[Ok(0)], vec![fault("a"), fault("b")]);
    let expected = [
        "test /p", "revert", "spawn m", "diff", "test /p", "revert", "keep", "spawn m", "diff",
        "test /p", "revert", "keep",
    ];
    assert_eq!(run.log, expected);
    assert_eq!(attempts(&run), [(0, "survived"), (1, "survived")]);
}

// E-A05
#[test]
fn there_are_never_more_agents_than_the_budget() {
    let captures = ["a", "b", "c", "d"].map(fault).to_vec();
    let run = run_with(3, &[Ok(0)], &[Ok(0)], captures);
    assert_eq!((count(&run, "spawn"), attempts(&run).len()), (3, 3));
}

// E-A06
#[test]
fn an_attempt_without_a_change_runs_no_oracle_and_is_restored_all_the_same() {
    let run = run_with(1, &[Ok(0)], &[Ok(0)], vec![Capture::default()]);
    assert_eq!(attempts(&run), [(0, "no-change")]);
    assert_eq!((count(&run, "test"), count(&run, "revert")), (1, 2));
}

// E-A08
#[test]
fn survivors_and_kills_stand_in_the_order_of_their_attempts() {
    let run = run_with(2, &[Ok(0), Ok(0), Ok(1), Ok(0)], &[Ok(0)], vec![fault("a"), fault("b")]);
    assert_eq!(attempts(&run), [(0, "survived"), (1, "killed")]);
}

// E-A14
#[test]
fn an_oracle_that_cannot_run_ends_it_after_the_fault_is_gone() {
    let run = run_with(2, &[Ok(0), Err("gone".into())], &[Ok(0)], vec![fault("a"), fault("b")]);
    assert!(matches!(run.outcome, Err(HarnessError::Oracle(_))), "{:?}", run.outcome);
    assert_eq!(run.log.last().map(String::as_str), Some("revert"));
    assert_eq!(count(&run, "spawn"), 1);
}

// E-A15
#[test]
fn an_agent_that_cannot_be_started_ends_it_after_the_place_is_restored() {
    let run = run_with(2, &[Ok(0)], &[Err("no such agent".into())], vec![]);
    assert!(matches!(run.outcome, Err(HarnessError::Agent(_))), "{:?}", run.outcome);
    assert_eq!(run.log.last().map(String::as_str), Some("revert"));
}

// E-A16
#[test]
fn a_red_baseline_plants_nothing_and_names_the_command_and_how_it_ended() {
    let run = run_with(2, &[Ok(2)], &[Ok(0)], vec![]);
    match run.outcome.as_ref().unwrap() {
        HarnessOutcome::OracleNotGreen { reason } => {
            assert!(reason.contains("`make t` gave exit 2"), "{reason}");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(run.log, ["test /p", "revert"]);
}

// E-A19
#[test]
fn a_baseline_that_cannot_run_is_not_reported_as_red() {
    let run = run_with(1, &[Err("no bash".into())], &[Ok(0)], vec![]);
    assert!(matches!(run.outcome, Err(HarnessError::Oracle(_))), "{:?}", run.outcome);
    assert_eq!(run.log, ["test /p", "revert"]);
}

#[test]
fn kills_are_worth_nothing_when_the_oracle_is_red_in_the_end() {
    let run = run_with(1, &[Ok(0), Ok(1)], &[Ok(0)], vec![fault("a")]);
    assert!(matches!(run.outcome, Err(HarnessError::RedInTheEnd(_))), "{:?}", run.outcome);
}

#[test]
fn the_same_fault_twice_is_judged_once() {
    let run = run_with(2, &[Ok(0), Ok(1), Ok(0)], &[Ok(0)], vec![fault("a"), fault("a // again")]);
    assert_eq!(attempts(&run), [(0, "killed"), (1, "duplicate")]);
}

#[test]
fn what_is_out_of_scope_and_what_moved_head_is_recorded_and_not_judged() {
    let mut test = fault("a");
    test.changes[0].path = "tests/a.rs".into();
    let moved = Capture { moved: Some("the agent moved HEAD".into()), ..fault("b") };
    let ignored = Capture { ignored: vec!["target/x".into()], ..Capture::default() };
    let run = run_with(3, &[Ok(0)], &[Ok(1)], vec![test, moved, ignored]);
    assert_eq!(attempts(&run), [(0, "out-of-scope"), (1, "voided"), (2, "out-of-scope")]);
    assert_eq!(count(&run, "test"), 1);
}

#[test]
fn an_agent_that_fails_is_noted_and_its_fault_counts_all_the_same() {
    let run = run_with(1, &[Ok(0), Ok(1), Ok(0)], &[Ok(7)], vec![fault("a")]);
    let Ok(HarnessOutcome::Completed { attempts }) = &run.outcome else {
        panic!("{run:?}", run = run.log)
    };
    assert_eq!(attempts[0].verdict, Verdict::Killed { cause: Cause::Failed { code: 1 } });
    assert_eq!(attempts[0].notes, ["the agent ended with exit 7"]);
}

#[test]
fn the_default_time_of_an_oracle_follows_its_baseline() {
    let patience = Patience::default();
    assert_eq!(patience.oracle_ms_after(100), 20_000);
    assert_eq!(patience.oracle_ms_after(10_000), 50_000);
    let asked = Patience { oracle_ms: Some(7), ..patience };
    assert_eq!(asked.oracle_ms_after(10_000), 7);
}

#[test]
fn a_full_disk_ends_it_when_the_fault_is_gone() {
    let run = run_with(2, &[Ok(0)], &[Ok(0)], vec![fault("too much"), fault("b")]);
    assert!(matches!(run.outcome, Err(HarnessError::Evidence(_))), "{:?}", run.outcome);
    assert_eq!(run.log[run.log.len() - 2..], ["revert", "keep"]);
    assert_eq!(count(&run, "spawn"), 1);
}
