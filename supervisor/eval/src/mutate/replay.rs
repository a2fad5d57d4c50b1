//! One stored mutant again: its diff in a fresh copy, the oracle on it, and no agent.

use std::fs;

use crate::call::{Command, Shell as _};
use crate::evidence::Evidence;
use crate::git::told;
use crate::ground::Ground;
use crate::harness::Patience;
use crate::harness::site::Site as _;
use crate::mutation::attempt::Verdict;
use crate::run_id::RunId;
use crate::scratch::Ignored;

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replayed {
    /// The invariant.
    pub invariant: String,
    /// The attempt.
    pub index: u32,
    /// What it came to this time.
    pub verdict: Verdict,
    /// What it came to then; `None` if that is not known any more.
    pub before: Option<Verdict>,
    /// The fault.
    pub diff: String,
    /// What the oracle said, its end at most.
    pub said: String,
}

/// Why it could not be run again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// There is no such mutant.
    #[error("run {run} has no mutant {index}{}", whose(invariant))]
    NotFound {
        /// The run.
        run: String,
        /// The attempt.
        index: u32,
        /// The invariant that was asked for.
        invariant: Option<String>,
    },
    /// Several invariants have one.
    #[error("mutant {index} is not the only one of its number; name one of: {}", invariants.join(", "))]
    Ambiguous {
        /// The attempt.
        index: u32,
        /// Those that have one.
        invariants: Vec<String>,
    },
    /// Something went wrong.
    #[error("{0}")]
    Failed(String),
}

fn whose(invariant: &Option<String>) -> String {
    invariant.as_ref().map(|id| format!(" of invariant '{id}'")).unwrap_or_default()
}

/// How much of what the oracle said is told, in bytes.
const MOST_SAID: usize = 4_000;

/// Runs a mutant again.
///
/// # Errors
/// [`ReplayError`].
pub fn replay(
    ground: &Ground<'_>,
    run: &RunId,
    index: u32,
    invariant: Option<&str>,
    ignored: Ignored,
    patience: &Patience,
) -> Result<Replayed, ReplayError> {
    let failed = |error: &dyn std::error::Error| ReplayError::Failed(told(error));
    let id = find(ground, run, index, invariant)?;
    let evidence = Evidence::new(&ground.place, run, &id, &|_| {});
    let missing =
        || ReplayError::NotFound { run: run.to_string(), index, invariant: Some(id.clone()) };
    let diff = evidence.diff(index).map_err(|error| failed(&error))?.ok_or_else(missing)?;
    let beginning = evidence.beginning().map_err(|error| failed(&error))?.ok_or_else(missing)?;
    let attempts = evidence.attempts().map_err(|error| failed(&error))?;
    let before = attempts.into_iter().find(|one| one.index == index).map(|one| one.verdict);
    let repository = ground.git.usable(ground.place.root()).map_err(ReplayError::Failed)?;
    let origin =
        ground.scratch.origin(&ground.git, &repository, ignored).map_err(|error| failed(&error))?;
    let mut copy = ground.scratch.job(&origin, 0).map_err(|error| failed(&error))?;
    copy.apply(&diff).map_err(|error| {
        let moved = if beginning.commit == repository.head {
            String::new()
        } else {
            format!(" (it was planted on commit {})", beginning.commit)
        };
        ReplayError::Failed(format!(
            "the fault does not fit the project as it is{moved}: {}",
            told(&error)
        ))
    })?;
    copy.settle().map_err(|error| failed(&error))?;
    let limits = patience.oracle(ONE_HOUR_MS);
    let command = Command { script: &beginning.test, cwd: copy.project(), limits };
    let ran = ground.bash().run(&command).map_err(|error| failed(&error))?;
    let verdict = Verdict::of_oracle(&ran);
    let all = [ran.stdout, ran.stderr].concat();
    let end = &all[all.len().saturating_sub(MOST_SAID)..];
    Ok(Replayed {
        invariant: id,
        index,
        verdict,
        before,
        diff: String::from_utf8_lossy(&diff).into_owned(),
        said: String::from_utf8_lossy(end).into_owned(),
    })
}

const ONE_HOUR_MS: u64 = 3_600_000;

/// Finds the invariant whose mutant is meant.
fn find(
    ground: &Ground<'_>,
    run: &RunId,
    index: u32,
    invariant: Option<&str>,
) -> Result<String, ReplayError> {
    let not_found = || ReplayError::NotFound {
        run: run.to_string(),
        index,
        invariant: invariant.map(str::to_owned),
    };
    let folder = ground.place.artifacts(run).join("invariants");
    let entries = fs::read_dir(folder).map_err(|_| not_found())?;
    let mut found = Vec::new();
    for entry in entries.flatten() {
        let beginning = crate::place::read(&entry.path().join("beginning.json"));
        let Ok(Some(bytes)) = beginning else { continue };
        let Ok(beginning) = serde_json::from_slice::<crate::evidence::Beginning>(&bytes) else {
            continue;
        };
        let has = entry.path().join(format!("mutant-{index}.diff")).is_file();
        if has && invariant.is_none_or(|wanted| wanted == beginning.invariant) {
            found.push(beginning.invariant);
        }
    }
    found.sort();
    match &found[..] {
        [] => Err(not_found()),
        [one] => Ok(one.clone()),
        _ => Err(ReplayError::Ambiguous { index, invariants: found }),
    }
}
