//! What a person is asked at a terminal, and that leaving a question leaves everything as it is. Each test sits at a real
//! pseudo-terminal of 80 columns and 24 lines.

use std::fs;

use ratchet_tests::{Seat, TestEnv};

use crate::empty;

const DOWN: &str = "\x1b[B";
const ESCAPE: &str = "\x1b";

// C-M10 C-M02
#[test]
fn a_person_chooses_the_tools_and_the_posture_and_gets_a_configuration() {
    let env = empty();
    fs::create_dir(env.path(".gemini")).unwrap();
    let mut seat = Seat::take(&env, &["init"]);
    // Gemini is ticked, because it is used here; the first one is ticked by the person.
    seat.sees_then_types("Which coding tools", " \r");
    seat.sees_then_types("What may agents do", "2\r");
    seat.sees_then_types("in every project?", "\r");
    let (code, shown) = seat.ends();
    assert_eq!(code, Some(0), "{shown}");
    assert!(
        env.path(".claude/commands/rct/apply.md").exists() && env.path(".gemini/skills").exists()
    );
    assert!(!env.path(".codex").exists());
    let config = env.read(".ratchet/config.yaml");
    assert!(config.contains("posture: curated-allowlist"), "{config}");
    let mut seat = Seat::take(&env, &["init"]);
    seat.sees_then_types("Which coding tools", "\r");
    let (code, shown) = seat.ends();
    assert_eq!((code, shown.contains("What may agents do")), (Some(0), false), "{shown}");
}

#[test]
fn whoever_leaves_the_question_about_tools_leaves_everything_as_it_is() {
    let env = empty();
    let mut seat = Seat::take(&env, &["init"]);
    seat.sees_then_types("Which coding tools", ESCAPE);
    let (code, shown) = seat.ends();
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.contains("Cancelled: nothing was written."), "{shown}");
    assert!(!env.path(".ratchet").exists());
}

// C-K18
#[test]
fn a_person_is_shown_what_can_be_validated() {
    let env = empty();
    env.ratchet(["new", "change", "add-cart"]).ok();
    let mut seat = Seat::take(&env, &["validate"]);
    seat.sees_then_types("What is to be validated?", &format!("{DOWN}\r"));
    let (code, shown) = seat.ends();
    assert_eq!(code, Some(1), "{shown}");
    assert!(shown.contains("Change 'add-cart' has issues"), "{shown}");
    let mut seat = Seat::take(&env, &["validate"]);
    seat.sees_then_types("What is to be validated?", "\r");
    let (code, shown) = seat.ends();
    assert!(code == Some(1) && shown.contains("0 passed, 1 failed"), "{shown}");
    let mut seat = Seat::take(&env, &["validate"]);
    seat.sees_then_types("What is to be validated?", ESCAPE);
    assert_eq!(seat.ends().0, Some(0));
}

// C-L06 C-L07
#[test]
fn a_person_chooses_what_is_archived_and_says_yes_or_no() {
    let env = empty();
    env.add_plan("open", 2, 1);
    env.write(
        ".ratchet/changes/open/features/cart/a.feature",
        "Feature: a\nScenario: b\nGiven c\nWhen d\nThen e\n",
    );
    let archived = |env: &TestEnv| env.path(".ratchet/changes/archive").exists();
    for (choice, answer) in [(ESCAPE, None), ("\r", Some("\r")), ("\r", Some("n\r"))] {
        let mut seat = Seat::take(&env, &["archive"]);
        seat.sees_then_types("Which change is to be archived?", choice);
        if let Some(answer) = answer {
            seat.sees_then_types("1 tasks are open. Archive it all the same?", answer);
        }
        let (code, shown) = seat.ends();
        assert!(code == Some(0) && shown.contains("Cancelled: nothing was moved."), "{shown}");
        assert!(!archived(&env));
    }
    let mut seat = Seat::take(&env, &["archive", "open"]);
    seat.sees_then_types("Archive it all the same?", "y\r");
    seat.sees_then_types("Take its features into the store?", "n\r");
    let (code, shown) = seat.ends();
    assert!(code == Some(0) && shown.contains("Feature store left as it is."), "{shown}");
    assert!(archived(&env) && !env.path(".ratchet/features").exists());
    let mut seat = Seat::take(&env, &["archive"]);
    let (code, shown) = {
        seat.sees_then_types("No active changes found", "");
        seat.ends()
    };
    assert_eq!(code, Some(1), "{shown}");
}

#[test]
fn a_yes_beforehand_or_json_asks_nothing_even_at_a_terminal() {
    let env = empty();
    fs::create_dir(env.path(".codex")).unwrap();
    for arguments in [&["init", "--yes"][..], &["init", "--json"]] {
        let (code, shown) = Seat::take(&env, arguments).ends();
        assert_eq!(code, Some(0), "{shown}");
        assert!(!shown.contains("Which coding tools") && !shown.contains("What may agents"));
    }
}
