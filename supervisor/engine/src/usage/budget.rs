//! Budgets: a batch that has used what it may starts no further agent. What runs is not stopped, and proofs, which use no
//! model, still run.
//!
//! Only what is known counts. That part of the use is unknown is said ([`blind_spot`]), never guessed.

use super::{Completeness, Ledger, Usd};
use crate::name::BatchName;
use crate::settings::{Key, Scope, Settings};

/// A budget that is used up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overspent {
    /// What was used, of what limit.
    pub amount: Amount,
    /// Whether more was used than is known.
    pub completeness: Completeness,
    /// Whose setting the limit is.
    pub scope: Scope,
    /// The batch.
    pub batch: BatchName,
}

/// An amount that was used, and its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Amount {
    /// `budgetUsd`
    Cost {
        /// What was used.
        used: Usd,
        /// The limit.
        limit: Usd,
    },
    /// `budgetTokens`
    Tokens {
        /// What was used.
        used: u64,
        /// The limit.
        limit: u64,
    },
}

/// Says which budget is used up, if one is; money first.
#[must_use]
pub fn overspent(batch: &BatchName, settings: &Settings, ledger: &Ledger) -> Option<Overspent> {
    let total = ledger.total()?;
    let over = |amount: Amount, completeness| {
        let scope = settings.source(amount.key());
        Overspent { amount, completeness, scope, batch: batch.clone() }
    };
    if let (Some(limit), Some(used)) = (settings.budget_usd, total.usage.cost_usd)
        && used >= limit
    {
        return Some(over(Amount::Cost { used, limit }, total.cost));
    }
    let (limit, used) = (settings.budget_tokens?, total.usage.tokens());
    (used >= limit).then(|| over(Amount::Tokens { used, limit }, total.tokens))
}

/// Says that a budget cannot be kept exactly because part of what was used is not known.
#[must_use]
pub fn blind_spot(settings: &Settings, ledger: &Ledger) -> Option<String> {
    let total = ledger.total()?;
    if settings.budget_usd.is_some() && total.cost != Completeness::Known {
        return Some(format!(
            "budgetUsd counts only what is known, and what the agents of this batch cost is {}; budgetTokens \
             limits agents that name no price",
            partly(total.cost)
        ));
    }
    (settings.budget_tokens.is_some() && total.tokens != Completeness::Known).then(|| {
        format!(
            "budgetTokens counts only what is known, and what the agents of this batch used is {}",
            partly(total.tokens)
        )
    })
}

fn partly(completeness: Completeness) -> &'static str {
    match completeness {
        Completeness::Known => "known",
        Completeness::Partial => "known in part",
        Completeness::Unknown => "not known",
    }
}

impl Amount {
    /// Returns the setting that is the limit.
    #[must_use]
    pub fn key(self) -> Key {
        match self {
            Self::Cost { .. } => Key::BudgetUsd,
            Self::Tokens { .. } => Key::BudgetTokens,
        }
    }
}

impl Overspent {
    /// Says in one line what was used, of what, and that nothing was started.
    #[must_use]
    pub fn message(&self) -> String {
        let (used, limit) = match self.amount {
            Amount::Cost { used, limit } => (used.to_string(), limit.to_string()),
            Amount::Tokens { used, limit } => (format!("{used} tokens"), format!("{limit}")),
        };
        let least = match self.completeness {
            Completeness::Known => "",
            Completeness::Partial | Completeness::Unknown => "at least ",
        };
        let key = self.amount.key().as_str();
        format!("The budget is used up: {least}{used} of {key} {limit}. No agent was started.")
    }

    /// Says what to do to go on.
    #[must_use]
    pub fn hint(&self) -> String {
        let key = self.amount.key().as_str();
        match self.scope {
            Scope::Manifest => format!(
                "raise settings.{key} in .ratchet/batches/{}/batch.yaml, then run it again",
                self.batch
            ),
            Scope::Default | Scope::User | Scope::Project => {
                format!("raise it with `ratchet batch config --set {key}=…`, then run it again")
            }
        }
    }
}
