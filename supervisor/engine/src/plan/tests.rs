//! Plans that say too little, or too much.

use super::*;

const GOOD: &str = "# Plan\n\n## Why\nReaders cannot find a book by its author, and give up on the shelf.\n\n## What \
    Changes\n- a search\n\n## Design\nOne index.\n\n## Tasks\n- [ ] build it\n";

fn flaws(text: &str) -> Vec<String> {
    check(text).iter().map(|fault| fault.flaw.to_string()).collect()
}

// C-J11
#[test]
fn a_plan_has_four_sections_and_a_task() {
    assert_eq!(flaws(GOOD), [""; 0]);
    assert_eq!(flaws(&GOOD.replace("## ", "#### ").to_uppercase()), [""; 0]);
    let tasks = GOOD.find("## Tasks").unwrap();
    assert_eq!(flaws(&GOOD[..tasks]), ["these sections are missing: Tasks"]);
    assert_eq!(flaws(""), ["these sections are missing: Why, What Changes, Design, Tasks"]);
    let fenced = GOOD.replace("## Design", "```\n## Design\n```");
    assert_eq!(flaws(&fenced), ["these sections are missing: Design"]);
}

// C-J11
#[test]
fn a_section_that_says_nothing_is_told_with_its_line() {
    let no_task = check(&GOOD.replace("- [ ] build it", "- build it"));
    assert_eq!((no_task[0].line, &no_task[0].flaw), (Some(12), &PlanFlaw::NoTask));
    let nothing = check(&GOOD.replace("- a search", ""));
    assert_eq!((nothing[0].line, &nothing[0].flaw), (Some(6), &PlanFlaw::NothingChanges));
    assert!(nothing.iter().all(|fault| fault.flaw.level() == Level::Error));
}

// C-J11
#[test]
fn a_why_of_a_wrong_length_is_worth_a_warning() {
    let with = |why: &str| {
        let (before, rest) = GOOD.split_once("Readers").unwrap();
        let (_, after) = rest.split_once("shelf.").unwrap();
        check(&format!("{before}{why}{after}"))
    };
    let found = with("short");
    assert_eq!(found[0].flaw, PlanFlaw::ShortWhy(5));
    assert_eq!(found[0].flaw.level(), Level::Warning);
    assert_eq!(with(&"ä".repeat(50)), []);
    assert_eq!(with(&"ä".repeat(1000)), []);
    assert_eq!(with(&"ä".repeat(1001))[0].flaw, PlanFlaw::LongWhy(1001));
}
