//! What agents used, and what they may.

use ratchet_engine::usage::budget::{Amount, Overspent};
use ratchet_engine::usage::{Tally, Usd};
use ratchet_proto::supervisor::v1 as wire;
use ratchet_proto::supervisor::v1::overspent;

use super::request::batch;
use super::{FromWire, IntoWire, Malformed, from_word, word};

impl IntoWire for Tally {
    type Message = wire::Tally;

    fn into_wire(self) -> wire::Tally {
        wire::Tally {
            spawns: self.spawns,
            completeness: word(self.tokens),
            input_tokens: self.usage.input_tokens,
            cached_input_tokens: self.usage.cached_input_tokens,
            cache_write_tokens: self.usage.cache_write_tokens,
            output_tokens: self.usage.output_tokens,
            reasoning_tokens: self.usage.reasoning_tokens,
            cost_usd: self.usage.cost_usd.map(Usd::dollars),
            cost_completeness: word(self.cost),
        }
    }
}

impl IntoWire for Overspent {
    type Message = wire::Overspent;

    fn into_wire(self) -> wire::Overspent {
        let amount = match self.amount {
            Amount::Cost { used, limit } => overspent::Amount::Cost(wire::CostAmount {
                used_usd: used.dollars(),
                limit_usd: limit.dollars(),
            }),
            Amount::Tokens { used, limit } => {
                overspent::Amount::Tokens(wire::TokenAmount { used, limit })
            }
        };
        wire::Overspent {
            amount: Some(amount),
            completeness: word(self.completeness),
            scope: word(self.scope),
            batch: self.batch.to_string(),
        }
    }
}

impl FromWire<wire::Overspent> for Overspent {
    fn from_wire(message: wire::Overspent) -> Result<Self, Malformed> {
        let usd = |dollars| {
            Usd::from_dollars(dollars).ok_or_else(|| Malformed::new("an amount of money"))
        };
        let amount = match message.amount.ok_or_else(|| Malformed::missing("the amount"))? {
            overspent::Amount::Cost(wire::CostAmount { used_usd, limit_usd }) => {
                Amount::Cost { used: usd(used_usd)?, limit: usd(limit_usd)? }
            }
            overspent::Amount::Tokens(wire::TokenAmount { used, limit }) => {
                Amount::Tokens { used, limit }
            }
        };
        Ok(Self {
            amount,
            completeness: from_word("the completeness", message.completeness)?,
            scope: from_word("the scope", message.scope)?,
            batch: batch(&message.batch)?,
        })
    }
}
