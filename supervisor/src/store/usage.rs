//! `usage.jsonl`, beside the journal: one line for each concluded spawn of an agent, so that what was used is known also
//! of runs that were killed. Proofs and commands that stand in for an agent use no model and have no line.
//!
//! The sums are made in [`ratchet_engine::usage`]. Lines that this version does not understand count for nothing.

use std::io;

use memchr::memmem;
use ratchet_engine::name::{AgentName, SpawnId, StepKey};
use ratchet_engine::time::Timestamp;
use ratchet_engine::transition::StepKind;
use ratchet_engine::usage::{Completeness, Ledger, SpawnUsage, Usage};
use serde::{Deserialize, Serialize};

use super::file::{self, Doing, FileError, Of as _};
use super::journal::{Recorded, Writer, append_line, blocks, lines_of};
use super::layout::RunDir;

/// What one spawn of an agent has used.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UsageLine {
    /// When it was concluded.
    pub at: Timestamp,
    /// Whose step it was.
    pub change: StepKey,
    /// What kind of step.
    pub transition: StepKind,
    /// The spawn.
    pub spawn: SpawnId,
    /// The agent.
    pub agent: AgentName,
    /// The model that answered, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The figures.
    #[serde(flatten)]
    pub spent: SpawnUsage,
}

/// What a sum needs of a line.
#[derive(Deserialize)]
struct ReadLine {
    change: StepKey,
    usage: Usage,
    completeness: Completeness,
}

/// Adds the line of a spawn, unless it has one.
///
/// # Errors
/// Fails if the file cannot be read or written.
pub fn record(writer: &Writer<'_>, line: &UsageLine) -> Result<Recorded, FileError> {
    if is_there(writer.run(), &line.spawn)? {
        return Ok(Recorded::Before);
    }
    let mut text = serde_json::to_vec(line).expect("texts and numbers are always JSON");
    text.push(b'\n');
    append_line(&writer.run().usage(), text)?;
    Ok(Recorded::Now)
}

/// Sums up the file; a missing one is empty.
///
/// # Errors
/// Fails if it is there and cannot be read.
pub fn read(run: &RunDir) -> Result<Ledger, FileError> {
    let mut ledger = Ledger::default();
    each_line(run, |line| {
        if let Ok(line) = serde_json::from_slice::<ReadLine>(line) {
            let ReadLine { change, usage, completeness } = line;
            ledger.add(&change, &SpawnUsage { usage, completeness });
        }
    })?;
    Ok(ledger)
}

fn is_there(run: &RunDir, spawn: &SpawnId) -> Result<bool, FileError> {
    let member = format!("\"spawn\":\"{spawn}\"");
    let finder = memmem::Finder::new(member.as_bytes());
    let mut found = false;
    each_line(run, |line| {
        found |= finder.find(line).is_some() && serde_json::from_slice::<ReadLine>(line).is_ok();
    })?;
    Ok(found)
}

fn each_line(run: &RunDir, mut each: impl FnMut(&[u8])) -> Result<(), FileError> {
    let path = run.usage();
    match file::open(&path) {
        Ok(file) => {
            let read = blocks(file, |block| lines_of(block).for_each(&mut each));
            read.of(&path, Doing::Read)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(FileError::new(&path, Doing::Read, error)),
    }
}

#[cfg(test)]
mod tests;
