//! What agents used, in a few words, with what is not known of it.

use ratchet_engine::status::BatchStatus;
use ratchet_engine::usage::{Completeness, Tally};

use super::page::{Page, Tone};

/// Draws what a batch has used, if an agent ran.
pub(crate) fn used(page: &mut Page, batch: &BatchStatus) {
    if let Some(tally) = &batch.usage {
        let runs = if tally.spawns == 1 { "run" } else { "runs" };
        page.tone(Tone::Dim, format_args!("Used: {} in {} {runs}", figures(tally), tally.spawns));
        page.end();
    }
}

/// Says what was used: `at least` where more may have been, `unknown` where nothing is known.
pub(crate) fn figures(tally: &Tally) -> String {
    let cost = tally.usage.cost_usd.unwrap_or_default();
    let tokens = tally.usage.tokens();
    let cost = match tally.cost {
        Completeness::Known => cost.to_string(),
        Completeness::Partial => format!("at least {cost}"),
        Completeness::Unknown => "cost unknown".to_owned(),
    };
    let tokens = match tally.tokens {
        Completeness::Known => format!("{tokens} tokens"),
        Completeness::Partial => format!("at least {tokens} tokens"),
        Completeness::Unknown => "tokens unknown".to_owned(),
    };
    format!("{cost} · {tokens}")
}

#[cfg(test)]
mod tests {
    use ratchet_engine::usage::{SpawnUsage, Usage, Usd};

    use super::*;

    #[test]
    fn what_is_not_known_is_never_shown_as_nothing() {
        let of = |cost: Option<f64>, completeness| {
            let cost_usd = cost.and_then(Usd::from_dollars);
            let usage = Usage { output_tokens: 1200, cost_usd, ..Usage::default() };
            figures(&Tally::of(&SpawnUsage { usage, completeness }))
        };
        assert_eq!(of(Some(0.05), Completeness::Known), "$0.0500 · 1200 tokens");
        assert_eq!(of(None, Completeness::Known), "cost unknown · 1200 tokens");
        assert_eq!(
            of(Some(0.05), Completeness::Partial),
            "at least $0.0500 · at least 1200 tokens"
        );
        assert_eq!(of(None, Completeness::Unknown), "cost unknown · tokens unknown");
    }
}
