//! What an agent's end tells beyond its outcome: why it failed by its own word, what it used, and whether it can be asked
//! again.

use ratchet_engine::outcome::{Cause, SessionEnd, Told};
use ratchet_engine::time::Timestamp;
use ratchet_engine::usage::SpawnUsage;

use crate::agent::Agent;
use crate::agent::failure::Failure;
use crate::agent::stream::StreamFacts;
use crate::clock::local_zone;
use crate::error::with_causes;
use crate::house::House;
use crate::store::inflight::{Inflight, StepTask};
use crate::store::usage::UsageLine;
use crate::watch::Seen;

/// Gives what the agent said of its failure: in its last word, else by its exit code, else on standard error.
pub(super) fn told(task: &StepTask, seen: &Seen, now: Timestamp) -> Option<Told> {
    let agent = agent_of(task)?;
    let SessionEnd::Exited(code) = seen.end else {
        let last_word = seen.facts.last_word.as_ref()?;
        return Some(last_word.failure?.told(words(seen), now, &local_zone()));
    };
    let by_code = Failure::from_exit(agent, code);
    let failure = match &seen.facts.last_word {
        Some(last_word) => last_word.failure.or(by_code)?,
        None if code != 0 => Failure::from_text(&seen.stderr),
        None => return None,
    };
    let failure = if failure == Failure::Other { by_code.unwrap_or(failure) } else { failure };
    // What an agent left on standard error without an event may be about anything.
    let is_clear = failure != Failure::Other || seen.facts.last_word.is_some();
    is_clear.then(|| failure.told(words(seen), now, &local_zone()))
}

fn words(seen: &Seen) -> &str {
    let last_word = seen.facts.last_word.as_ref().and_then(|last_word| last_word.text.as_deref());
    last_word.unwrap_or(&seen.stderr)
}

/// Gives the line of `usage.jsonl`; a command that stands in for an agent has none.
pub(super) fn usage_line(
    inflight: &Inflight,
    task: &StepTask,
    seen: &Seen,
    now: Timestamp,
) -> Option<UsageLine> {
    agent_of(task)?;
    let named = || task.model.as_ref().map(|named| named.model.clone());
    let spent = match &seen.end {
        SessionEnd::NotStarted { .. } => SpawnUsage::NOTHING,
        _ => seen.facts.usage,
    };
    Some(UsageLine {
        at: now,
        change: inflight.key.clone(),
        transition: task.subject.kind,
        spawn: inflight.spawn.clone(),
        agent: task.agent.clone(),
        model: seen.facts.model.clone().or_else(named),
        spent,
    })
}

/// Remembers for every later step of this user that the agent's limit was reached, or that it is back. The step is judged
/// either way; what could not be remembered is told with it.
pub(super) fn remember_limit(
    house: &House,
    task: &StepTask,
    told: Option<&Told>,
    facts: &StreamFacts,
) -> Option<String> {
    agent_of(task)?;
    let limits = house.project.limits()?;
    let now = house.project.now();
    let noted = match told {
        Some(Told { cause: Cause::Quota, retry_at: Some(until), .. }) => {
            limits.note(&task.agent, *until, now)
        }
        // It answered to the end.
        None if facts.last_word.is_some() => limits.forget(&task.agent),
        Some(_) | None => Ok(()),
    };
    let error = noted.err()?;
    Some(format!("the agent's limit could not be remembered: {}", with_causes(&error)))
}

fn agent_of(task: &StepTask) -> Option<Agent> {
    Agent::find(&task.agent).ok().filter(|_| task.via.is_none())
}
