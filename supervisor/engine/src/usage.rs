//! What agents used: tokens by class, what they cost, and how much of that is known.
//!
//! A run that was killed says less than one that ended, and some agents name no price at all. So nothing that is not known
//! is ever counted as nothing: every sum says how complete it is. Reading the agents' own shapes is `ratchet-supervisor`'s;
//! limits on the sums are in [`budget`].

pub mod budget;
mod json;
mod usd;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::name::StepKey;

pub use json::TallyJson;
pub use usd::Usd;

/// Tokens by class, and their price. The classes do not overlap: their sum is what went through the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// Read by the model, and not from a cache.
    #[serde(default)]
    pub input_tokens: u64,
    /// Read from a cache.
    #[serde(default)]
    pub cached_input_tokens: u64,
    /// Read, and written to a cache.
    #[serde(default)]
    pub cache_write_tokens: u64,
    /// Written by the model; with its reasoning, where the agent does not tell that apart.
    #[serde(default)]
    pub output_tokens: u64,
    /// Written as reasoning.
    #[serde(default)]
    pub reasoning_tokens: u64,
    /// The price, if the agent named one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<Usd>,
}

/// How much of a figure is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Completeness {
    /// All of it.
    Known,
    /// It was at least this.
    Partial,
    /// Nothing.
    #[default]
    Unknown,
}

/// What is known of one spawn's usage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SpawnUsage {
    /// The figures.
    pub usage: Usage,
    /// How much of the tokens is known; and of the cost, if there is one.
    pub completeness: Completeness,
}

/// A sum over spawns; at least one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tally {
    /// The figures.
    pub usage: Usage,
    /// How many spawns it is about.
    pub spawns: u64,
    /// How much of the tokens is known.
    pub tokens: Completeness,
    /// How much of the cost is known.
    pub cost: Completeness,
}

/// What a batch has used: in all, and by whose steps.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ledger {
    total: Option<Tally>,
    by_key: BTreeMap<StepKey, Tally>,
}

impl Usage {
    /// Returns the tokens of all classes.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        let classes = [self.input_tokens, self.cached_input_tokens, self.cache_write_tokens];
        let written = [self.output_tokens, self.reasoning_tokens];
        classes.into_iter().chain(written).fold(0, u64::saturating_add)
    }

    /// Adds another one. A price that is not known adds nothing; who adds has to say so ([`Tally`]).
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        self.joined(other, u64::saturating_add, Usd::plus)
    }

    /// Gives the larger figure of each class: what two accounts of the same thing come to.
    #[must_use]
    pub fn or_more(self, other: Self) -> Self {
        self.joined(other, u64::max, Usd::max)
    }

    /// Takes away what was counted before. Prices are left alone: they are only ever told for a whole.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        Self { cost_usd: self.cost_usd, ..self.joined(other, u64::saturating_sub, |one, _| one) }
    }

    fn joined(self, other: Self, count: fn(u64, u64) -> u64, cost: fn(Usd, Usd) -> Usd) -> Self {
        Self {
            input_tokens: count(self.input_tokens, other.input_tokens),
            cached_input_tokens: count(self.cached_input_tokens, other.cached_input_tokens),
            cache_write_tokens: count(self.cache_write_tokens, other.cache_write_tokens),
            output_tokens: count(self.output_tokens, other.output_tokens),
            reasoning_tokens: count(self.reasoning_tokens, other.reasoning_tokens),
            cost_usd: match (self.cost_usd, other.cost_usd) {
                (Some(one), Some(two)) => Some(cost(one, two)),
                (one, two) => one.or(two),
            },
        }
    }
}

impl Completeness {
    /// Gives the completeness of a sum of two figures.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        match (self, other) {
            (Self::Known, Self::Known) => Self::Known,
            (Self::Unknown, Self::Unknown) => Self::Unknown,
            (Self::Known | Self::Partial | Self::Unknown, _) => Self::Partial,
        }
    }
}

impl SpawnUsage {
    /// A spawn that used nothing, for sure.
    pub const NOTHING: Self = Self {
        usage: Usage {
            input_tokens: 0,
            cached_input_tokens: 0,
            cache_write_tokens: 0,
            output_tokens: 0,
            reasoning_tokens: 0,
            cost_usd: Some(Usd::ZERO),
        },
        completeness: Completeness::Known,
    };

    /// Says how much of the cost is known.
    #[must_use]
    pub fn cost(&self) -> Completeness {
        match (self.usage.cost_usd, self.completeness) {
            (None, _) => Completeness::Unknown,
            (Some(_), Completeness::Known) => Completeness::Known,
            (Some(_), Completeness::Partial | Completeness::Unknown) => Completeness::Partial,
        }
    }
}

impl Tally {
    /// Starts a sum.
    #[must_use]
    pub fn of(spawn: &SpawnUsage) -> Self {
        Self { usage: spawn.usage, spawns: 1, tokens: spawn.completeness, cost: spawn.cost() }
    }

    /// Adds a spawn.
    pub fn add(&mut self, spawn: &SpawnUsage) {
        self.usage = self.usage.plus(spawn.usage);
        self.spawns += 1;
        self.tokens = self.tokens.with(spawn.completeness);
        self.cost = self.cost.with(spawn.cost());
    }
}

impl Ledger {
    /// Adds a spawn of a step.
    pub fn add(&mut self, key: &StepKey, spawn: &SpawnUsage) {
        add_to(&mut self.total, spawn);
        match self.by_key.get_mut(key) {
            Some(tally) => tally.add(spawn),
            None => {
                self.by_key.insert(key.clone(), Tally::of(spawn));
            }
        }
    }

    /// Returns the sum over all spawns; `None` if there was none.
    #[must_use]
    pub fn total(&self) -> Option<&Tally> {
        self.total.as_ref()
    }

    /// Returns the sum over one key's spawns; `None` if there was none.
    #[must_use]
    pub fn of(&self, key: &str) -> Option<&Tally> {
        self.by_key.get(key)
    }
}

fn add_to(total: &mut Option<Tally>, spawn: &SpawnUsage) {
    match total {
        Some(tally) => tally.add(spawn),
        None => *total = Some(Tally::of(spawn)),
    }
}

#[cfg(test)]
mod tests;
