//! Sums and what is known of them, and where a budget ends.

use super::budget::{Amount, blind_spot, overspent};
use super::*;
use crate::name::BatchName;
use crate::permission::Escalation;
use crate::settings::{self, Key, Layer, Scope, Settings};

fn usd(dollars: f64) -> Usd {
    Usd::from_dollars(dollars).expect("an amount")
}

fn spawn(tokens: u64, cost: Option<f64>, completeness: Completeness) -> SpawnUsage {
    let usage = Usage { output_tokens: tokens, cost_usd: cost.map(usd), ..Usage::default() };
    SpawnUsage { usage, completeness }
}

fn ledger(spawns: &[SpawnUsage]) -> Ledger {
    let mut ledger = Ledger::default();
    for spawn in spawns {
        ledger.add(&StepKey::from_text("api"), spawn);
    }
    ledger
}

fn settings(project: Layer, manifest: Layer) -> Settings {
    settings::resolve(None, &project, Some(&manifest), Escalation::Clamped)
}

fn limit(usd: f64) -> Layer {
    Layer { budget_usd: Usd::from_dollars(usd), ..Layer::default() }
}

fn shop() -> BatchName {
    BatchName::parse("shop").expect("a name")
}

#[test]
fn money_is_added_without_drift() {
    let mut sum = Usd::ZERO;
    for _tenth in 0..10 {
        sum = sum.plus(usd(0.1));
    }
    assert_eq!(sum, usd(1.0));
    assert_eq!((sum.to_string(), usd(0.012_34).to_string()), ("$1.00".into(), "$0.0123".into()));
    for none in [-0.1, f64::NAN, f64::INFINITY, 1e300] {
        assert_eq!(Usd::from_dollars(none), None);
    }
    assert_eq!(serde_json::to_string(&usd(0.012_34)).unwrap(), "0.01234");
    assert_eq!(serde_json::from_str::<Usd>("2").unwrap(), usd(2.0));
    assert!(serde_json::from_str::<Usd>("-2").is_err());
}

#[test]
fn a_sum_is_known_only_if_all_of_it_is() {
    use Completeness::{Known, Partial, Unknown};
    let of = |spawns: &[SpawnUsage]| {
        let total = *ledger(spawns).total().expect("a spawn");
        (total.tokens, total.cost, total.usage.tokens(), total.spawns)
    };
    let known = spawn(10, Some(0.5), Known);
    assert_eq!(of(&[known, known]), (Known, Known, 20, 2));
    assert_eq!(of(&[known, spawn(3, None, Known)]), (Known, Partial, 13, 2));
    assert_eq!(of(&[known, spawn(3, None, Partial)]), (Partial, Partial, 13, 2));
    assert_eq!(of(&[spawn(0, None, Unknown)]), (Unknown, Unknown, 0, 1));
    assert_eq!(of(&[known, spawn(0, None, Unknown)]), (Partial, Partial, 10, 2));
    assert_eq!(of(&[SpawnUsage::NOTHING, known]), (Known, Known, 10, 2));
    assert_eq!(ledger(&[]).total(), None);
}

#[test]
fn a_ledger_knows_whose_steps_used_what() {
    let mut ledger = ledger(&[spawn(10, None, Completeness::Known)]);
    ledger.add(&StepKey::from_text("web"), &spawn(5, None, Completeness::Known));
    let tokens = |tally: Option<&Tally>| tally.map(|tally| tally.usage.tokens());
    assert_eq!(tokens(ledger.of("api")), Some(10));
    assert_eq!(tokens(ledger.of("web")), Some(5));
    assert_eq!(tokens(ledger.of("db")), None);
    assert_eq!(tokens(ledger.total()), Some(15));
}

#[test]
fn what_is_not_known_is_left_out_of_the_json() {
    let json = |spawn| {
        let ledger = ledger(&[spawn]);
        serde_json::to_string(&ledger.total().map(TallyJson::from)).unwrap()
    };
    assert_eq!(
        json(spawn(0, None, Completeness::Unknown)),
        r#"{"spawns":1,"completeness":"unknown","costCompleteness":"unknown"}"#
    );
    let usage = Usage { cached_input_tokens: 70, input_tokens: 3, ..Usage::default() };
    let part = SpawnUsage { usage, completeness: Completeness::Partial };
    assert_eq!(
        json(part),
        concat!(
            r#"{"spawns":1,"inputTokens":3,"cachedInputTokens":70,"cacheWriteTokens":0,"outputTokens":0,"#,
            r#""reasoningTokens":0,"totalTokens":73,"completeness":"partial","costCompleteness":"unknown"}"#
        )
    );
}

#[test]
fn a_budget_ends_when_it_is_reached_and_says_what_to_type() {
    let settings = settings(limit(1.0), Layer::default());
    let used = |cost| ledger(&[spawn(10, Some(cost), Completeness::Known)]);
    assert_eq!(overspent(&shop(), &settings, &used(0.999)), None);
    let over = overspent(&shop(), &settings, &used(1.0)).expect("it is used up");
    assert_eq!(
        over.message(),
        "The budget is used up: $1.00 of budgetUsd $1.00. No agent was started."
    );
    assert_eq!(
        over.hint(),
        "raise it with `ratchet batch config --set budgetUsd=…`, then run it again"
    );
    assert_eq!(overspent(&shop(), &settings, &Ledger::default()), None);
}

#[test]
fn a_budget_of_tokens_counts_every_class_and_says_if_there_was_more() {
    let manifest = Layer { budget_tokens: Some(100), ..Layer::default() };
    let settings = settings(Layer::default(), manifest);
    let usage = Usage { cached_input_tokens: 97, output_tokens: 3, ..Usage::default() };
    let ledger = ledger(&[SpawnUsage { usage, completeness: Completeness::Partial }]);
    let over = overspent(&shop(), &settings, &ledger).expect("it is used up");
    assert_eq!(over.amount, Amount::Tokens { used: 100, limit: 100 });
    assert!(over.message().contains("at least 100 tokens of budgetTokens 100"), "{over:?}");
    assert!(over.hint().contains(".ratchet/batches/shop/batch.yaml"), "{over:?}");
    assert!(blind_spot(&settings, &ledger).is_some());
}

#[test]
fn a_manifest_can_tighten_a_budget_and_not_loosen_it() {
    let resolved = |project, manifest| {
        let settings = settings(limit(project), limit(manifest));
        (settings.budget_usd, settings.source(Key::BudgetUsd))
    };
    assert_eq!(resolved(5.0, 2.0), (Some(usd(2.0)), Scope::Manifest));
    assert_eq!(resolved(5.0, 50.0), (Some(usd(5.0)), Scope::Project));
}

#[test]
fn a_budget_of_money_says_that_it_cannot_see_unnamed_prices() {
    let settings = settings(limit(1.0), Layer::default());
    let unnamed = ledger(&[spawn(10, None, Completeness::Known)]);
    assert_eq!(overspent(&shop(), &settings, &unnamed), None);
    assert!(blind_spot(&settings, &unnamed).expect("a price is missing").contains("not known"));
    let named = ledger(&[spawn(10, Some(0.1), Completeness::Known)]);
    assert_eq!(blind_spot(&settings, &named), None);
}
