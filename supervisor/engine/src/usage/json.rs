//! A [`Tally`] as `batch status --json` and `batch view --json` print it. A figure of which nothing is known is left out,
//! so that no reader takes it for nothing.

use serde::Serialize;

use super::{Completeness, Tally, Usd};

/// The member `usage`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TallyJson {
    spawns: u64,
    #[serde(flatten)]
    tokens: Option<TokensJson>,
    completeness: Completeness,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost_usd: Option<Usd>,
    cost_completeness: Completeness,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct TokensJson {
    input_tokens: u64,
    cached_input_tokens: u64,
    cache_write_tokens: u64,
    output_tokens: u64,
    reasoning_tokens: u64,
    total_tokens: u64,
}

impl From<&Tally> for TallyJson {
    fn from(tally: &Tally) -> Self {
        let usage = &tally.usage;
        let tokens = TokensJson {
            input_tokens: usage.input_tokens,
            cached_input_tokens: usage.cached_input_tokens,
            cache_write_tokens: usage.cache_write_tokens,
            output_tokens: usage.output_tokens,
            reasoning_tokens: usage.reasoning_tokens,
            total_tokens: usage.tokens(),
        };
        Self {
            spawns: tally.spawns,
            tokens: (tally.tokens != Completeness::Unknown).then_some(tokens),
            completeness: tally.tokens,
            cost_usd: usage.cost_usd,
            cost_completeness: tally.cost,
        }
    }
}
