//! The numbers that ratchet promises, measured on the release binary: `cargo bench -p ratchet-tests`.
//!
//! Each row stands beside its own baseline, taken in the same run on the same machine: a bare process, the bare agent,
//! `cat`. `-- --check` exits 1 when a bar is missed; `-- ROW` runs the rows whose name holds the word. The binary is
//! `RATCHET_BIN`, else the one in the release folder.

mod measure;
mod rows;
mod world;

use std::io::Write as _;
use std::process::ExitCode;

use anyhow::{Context as _, Result};

use crate::rows::{ROWS, Row};
use crate::world::World;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // The bench calls itself to measure a child's memory: what a parent holds counts into its children's peak.
    if let Some(command) = arguments.strip_prefix(&[measure::CHILD_FLAG.to_owned()]) {
        return measure::child(command);
    }
    match run(&arguments) {
        Ok(missed) if missed == 0 || !arguments.iter().any(|word| word == "--check") => {
            ExitCode::SUCCESS
        }
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            let _nowhere_else_to_say_it = writeln!(std::io::stderr(), "bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Measures the chosen rows; how many missed their bar.
fn run(arguments: &[String]) -> Result<usize> {
    let chosen: Vec<&String> = arguments.iter().filter(|word| !word.starts_with("--")).collect();
    let world = World::new().context("cannot set the bench up")?;
    let mut missed = 0;
    say(&format!("{:<58} {:>14} {:>14} {:>14}  bar", "what", "ours", "baseline", "difference"));
    for Row { name, measure } in ROWS {
        if !chosen.is_empty() && !chosen.iter().any(|word| name.contains(word.as_str())) {
            continue;
        }
        for line in measure(&world).with_context(|| format!("cannot measure: {name}"))? {
            missed += usize::from(!line.holds);
            say(&line.to_string());
        }
    }
    say(if missed == 0 { "every bar holds" } else { "a bar is missed" });
    Ok(missed)
}

fn say(line: &str) {
    let _reader_may_be_gone = writeln!(std::io::stdout(), "{line}");
}
