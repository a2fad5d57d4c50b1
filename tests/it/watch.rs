//! The live dashboard: each test sits at a real pseudo-terminal of 80 columns and 24 lines.

use ratchet_tests::{Action, Manifest, Script, Seat, TestEnv, wait};
use rustix::process::Signal;

use crate::{apply, empty, shop, with};

const WATCH: [&str; 4] = ["batch", "view", "shop", "--watch"];

/// The terminal is as it was before, whatever was drawn on it.
#[track_caller]
fn assert_given_back(left: &ratchet_tests::seat::Left) {
    let screen = left.screen.screen();
    assert!(left.is_restored, "lines are edited and echoed again");
    assert!(!screen.alternate_screen() && !screen.hide_cursor(), "the screen is back");
    assert!(!screen.bracketed_paste(), "a paste is plain again");
}

fn gated() -> TestEnv {
    with(&Manifest::of_changes("shop", &["add-api"]).setting("gate: after-propose"))
}

#[test]
fn a_person_sees_a_step_come_and_go_approves_it_with_a_key_and_leaves() {
    let env = gated();
    let mut seat = Seat::take(&env, &WATCH);
    seat.shows("shop");
    seat.shows("nothing runs");
    let script = Script::always([
        Action::ReadPrompt,
        Action::say("\x1b[35mreading the code"),
        Action::wait_for("go"),
        Action::Plan { change: None, tasks: 2 },
        Action::complete("planned two tasks"),
    ]);
    let step = env.ratchet(["batch", "apply"]).agent(&env.agent(&script)).start();
    seat.shows("▶ propose 00:0");
    seat.shows("reading the code");
    env.write("go", "");
    step.wait().assert_code(0);
    seat.shows("⏸ needs approval");
    seat.shows("propose of add-api · over");
    seat.types("\t");
    seat.shows("planned two tasks");
    seat.types("a");
    seat.shows("Approved add-api");
    seat.shows("→ apply");
    assert!(env.park("shop", "add-api").is_null(), "nothing is waited for any more");
    seat.resize(40, 10);
    seat.shows_that("the small picture", |screen| {
        screen.lines().all(|line| line.chars().count() <= 40) && screen.contains("add-api")
    });
    seat.resize(20, 5);
    seat.shows("small: 20×5");
    seat.resize(200, 60);
    seat.shows_that("the large picture", |screen| {
        screen.lines().any(|line| line.chars().count() == 200) && screen.lines().count() == 60
    });
    seat.types("q");
    let left = seat.leaves();
    assert_eq!(left.status.code(), Some(0));
    assert_given_back(&left);
}

#[test]
fn a_question_is_answered_in_a_line_of_ones_own() {
    let env = gated();
    apply(&env, &Script::always([Action::ReadPrompt, Action::blocker("which table?")]));
    let mut seat = Seat::take(&env, &WATCH);
    seat.shows("⚠ needs an answer");
    seat.types("\ti");
    seat.shows("Answer add-api");
    // Pasted with a line break, and corrected.
    seat.types("\x1b[200~the first\none\x1b[201~\x17two ü");
    seat.types("\r");
    seat.shows("answered: the first two ü");
    assert_eq!(env.park("shop", "add-api")["answer"], "the first two ü");
    seat.types("q");
    assert_given_back(&seat.leaves());
}

#[test]
fn a_result_is_rejected_with_a_reason_and_not_without_one() {
    let env = gated();
    apply(&env, &Script::honest());
    let mut seat = Seat::take(&env, &WATCH);
    seat.shows("⏸ needs approval");
    seat.types("\t");
    seat.types("r");
    seat.shows("Reject add-api");
    seat.types("\r");
    seat.shows("The text is empty, and work goes on by what it says");
    seat.types("rtoo long\r");
    seat.shows("rejected: too long");
    assert_eq!(env.park("shop", "add-api")["feedback"], "too long");
    seat.types("q");
    assert_given_back(&seat.leaves());
}

#[test]
fn what_the_command_refuses_is_said_in_its_words() {
    let env = shop();
    let refused = env.ratchet(["batch", "approve", "shop", "--change", "add-api"]).refused();
    let mut seat = Seat::take(&env, &WATCH);
    seat.shows("add-api");
    seat.types("jja");
    for line in refused.lines() {
        // A screen breaks what is longer than it is wide.
        let start: String = line.trim_end().chars().take(70).collect();
        seat.shows(&start);
    }
    seat.types("q");
    assert_given_back(&seat.leaves());
}

#[test]
fn a_step_is_stopped_with_a_key_after_a_yes_and_its_output_can_be_read() {
    let env = shop();
    let lines: String = (1..=60).map(|line| format!("line {line}\n")).collect();
    let script = Script::always([Action::say(&lines), Action::write("here", ""), Action::Hang]);
    let step = env.ratchet(["batch", "apply"]).agent(&env.agent(&script)).start();
    wait::until_exists(&env.path("here"));
    let mut seat = Seat::take(&env, &WATCH);
    seat.shows("line 60");
    seat.types("lg");
    seat.shows_that("the first line", |screen| {
        screen.lines().any(|line| line.trim_end() == "line 1")
    });
    seat.types("qc");
    seat.shows("Stop propose of add-api? [y/N]");
    seat.types("n");
    seat.shows_that("the question to be gone", |screen| !screen.contains("[y/N]"));
    seat.types("cy");
    seat.shows("Stopped the step of 'add-api'");
    step.wait();
    seat.shows("propose of add-api · over");
    // The row of the change: its stored output, found as `batch log --last` finds it.
    seat.types("jjl");
    seat.shows("line 60");
    seat.types("qq");
    assert_given_back(&seat.leaves());
}

#[test]
fn every_end_gives_the_terminal_back() {
    let env = shop();
    for (end, signal) in [("\x03", Signal::INT), ("", Signal::TERM), ("", Signal::INT)] {
        let mut seat = Seat::take(&env, &WATCH);
        seat.shows("add-api");
        if end.is_empty() {
            seat.signal(signal);
        } else {
            seat.types(end);
        }
        let left = seat.leaves();
        let by = std::os::unix::process::ExitStatusExt::signal(&left.status);
        assert_eq!(by, Some(signal.as_raw()), "it dies by what ended it");
        assert_given_back(&left);
    }
}

#[test]
fn every_batch_of_a_project_is_watched_and_one_that_comes_later_appears() {
    let env = empty();
    env.write(".ratchet/config.yaml", "");
    let mut seat = Seat::take(&env, &["view", "--watch"]);
    seat.shows("No batches found. Create one with 'ratchet new batch <name>'.");
    env.add_batch(&Manifest::of_changes("shop", &["add-api"]));
    seat.shows("add-api");
    env.write(".ratchet/batches/broken/batch.yaml", "phases: 3\n");
    seat.shows("▾ broken  ✗ invalid: Invalid batch manifest");
    env.add_plan("add-api", 4, 2);
    seat.shows("50%");
    seat.types("q");
    assert_given_back(&seat.leaves());
}

#[test]
fn no_colour_is_drawn_when_told_so() {
    let env = shop();
    for (flags, no_color, coloured) in
        [(&[][..], "", true), (&[], "1", false), (&["--no-color"], "", false)]
    {
        let arguments = [&WATCH, flags].concat();
        let mut seat = Seat::take_of(&env, &arguments, &[("NO_COLOR", no_color)]);
        seat.shows("add-api");
        assert_eq!(seat.is_coloured(), coloured, "{flags:?} NO_COLOR={no_color}");
        seat.types("q");
        assert_given_back(&seat.leaves());
    }
}

#[test]
fn without_a_terminal_it_is_refused_and_says_what_to_use_instead() {
    let env = shop();
    for arguments in [&WATCH[..], &["batch", "view", "--watch", "--json"], &["view", "--watch"]] {
        if arguments[0] == "view" {
            env.write(".ratchet/config.yaml", "");
        }
        let refused = env.ratchet(arguments).refused();
        assert!(
            refused.contains("ratchet batch") && refused.contains("code: terminal-needed"),
            "{refused}"
        );
    }
    let (code, shown) = Seat::take(&env, &[&WATCH[..], &["--json"]].concat()).ends();
    assert!(code == Some(1) && shown.contains("--json is one document"), "{shown}");
    let dumb = Seat::take_of(&env, &WATCH, &[("TERM", "dumb")]);
    assert!(dumb.ends().1.contains("--watch needs a terminal"));
}
