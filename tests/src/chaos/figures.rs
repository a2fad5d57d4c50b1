//! What a round has seen: how much was done to it, and what the checks must know of that.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// The figures of one round, or of several together.
#[derive(Debug, Default)]
pub struct Figures {
    /// Rounds.
    pub rounds: u64,
    /// Processes that were killed or asked to end, or made to die at a point.
    pub kills: u64,
    /// Supervisors that were started.
    pub supervisors: u64,
    /// Agents and proofs that were started.
    pub starts: usize,
    /// Outcomes that were recorded.
    pub outcomes: usize,
    /// Reports and decisions that were acknowledged.
    pub words: usize,
    /// Steps whose answer was heard.
    pub answers: usize,
    /// Spawns that were intended and never started.
    pub unstarted: usize,
    /// What each agent prints in all, by the note it leaves at its start.
    pub(super) prints: BTreeMap<String, Vec<u8>>,
    /// The spawns whose shim was killed.
    pub(super) shims_killed: BTreeSet<String>,
}

impl Figures {
    /// Adds those of another round.
    pub fn add(&mut self, other: &Self) {
        self.rounds += other.rounds;
        self.kills += other.kills;
        self.supervisors += other.supervisors;
        self.starts += other.starts;
        self.outcomes += other.outcomes;
        self.words += other.words;
        self.answers += other.answers;
        self.unstarted += other.unstarted;
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} rounds, {} kills, {} supervisors, {} starts, {} outcomes, {} answers heard, {} words taken, {} spawns never started",
            self.rounds,
            self.kills,
            self.supervisors,
            self.starts,
            self.outcomes,
            self.answers,
            self.words,
            self.unstarted
        )
    }
}
