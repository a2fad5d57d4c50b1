//! The text an agent gets that is to plant a fault. The same for every attempt but for what was tried before, so that two
//! attempts do not plant the same.

use std::fmt::Write as _;

use super::Mutation;

/// Writes the instructions. `tried` are files in which faults were planted before.
#[must_use]
pub fn seed(mutation: &Mutation, attempt: u32, tried: &[String]) -> String {
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
    if !tried.is_empty() {
        text.push_str("Earlier attempts planted a fault in these files; choose another place:\n");
        for file in tried {
            writeln!(text, "- {file}").expect("a string takes every text");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_instructions_say_what_a_seeder_may_do_and_who_runs_the_tests() {
        let mutation = Mutation { id: "m".into(), test: "make t".into(), budget: 4, threshold: 1 };
        let text = seed(&mutation, 1, &["src/a.py".into()]);
        for part in [
            "mutation seeder",
            "exactly one small, discrete fault",
            "Edit exactly one file",
            "Never touch a test",
            "Do not run the tests",
            "make t",
            "attempt 2 of 4",
            "- src/a.py",
        ] {
            assert!(text.contains(part), "{part} is missing in:\n{text}");
        }
        assert!(!seed(&mutation, 0, &[]).contains("Earlier"));
    }
}
