//! The text an agent gets that is to plant a fault. The same for every attempt but for what was tried before, so that two
//! attempts do not plant the same, and for the files that a fault must be in.

use std::fmt::Write as _;

use super::Mutation;

/// How many files are named at most.
const MOST_NAMED: usize = 100;

/// Writes the instructions. `tried` are files in which faults were planted before; `only`, if not empty, those that a fault
/// must be in.
#[must_use]
pub fn seed(mutation: &Mutation, attempt: u32, tried: &[String], only: &[String]) -> String {
    let mut text = format!(
        "You are a mutation seeder. Plant exactly one small, discrete fault in the existing production code of the \
project in the current directory: of the kind that a real regression would have, such as a flipped comparison, an \
off-by-one, an inverted boolean, swapped arguments or a removed null check.

Rules:
- Edit exactly one file, with the smallest plausible edit.
- The fault must change what the code does. Comments, blanks, names and formatting are no fault.
- Never touch a test, a spec, a fixture or anything in a test directory, nor build files, lock files or configuration.
- Do not run the tests or any other command. Do not commit.
- Do not explain and do not ask: make the edit and stop.

Somebody else will run the project's own test command afterwards, to see whether it notices the fault:
{}

This is attempt {} of {}.
",
        mutation.test,
        attempt + 1,
        mutation.budget
    );
    list(&mut text, "The fault must be in one of these files:", only);
    list(
        &mut text,
        "Earlier attempts planted a fault in these files; choose another place:",
        tried,
    );
    text
}

fn list(text: &mut String, title: &str, files: &[String]) {
    if files.is_empty() {
        return;
    }
    writeln!(text, "{title}").expect("a string takes every text");
    for file in files.iter().take(MOST_NAMED) {
        writeln!(text, "- {file}").expect("a string takes every text");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_instructions_say_what_a_seeder_may_do_and_who_runs_the_tests() {
        let mutation = Mutation { id: "m".into(), test: "make t".into(), budget: 4, threshold: 1 };
        let text = seed(&mutation, 1, &["src/a.py".into()], &["src/b.py".into()]);
        for part in [
            "mutation seeder",
            "exactly one small, discrete fault",
            "Edit exactly one file",
            "Never touch a test",
            "Do not run the tests",
            "make t",
            "attempt 2 of 4",
            "choose another place:\n- src/a.py\n",
            "must be in one of these files:\n- src/b.py\n",
        ] {
            assert!(text.contains(part), "{part} is missing in:\n{text}");
        }
        let first = seed(&mutation, 0, &[], &[]);
        assert!(!first.contains("Earlier") && !first.contains("must be in"));
    }
}
