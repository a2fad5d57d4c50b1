//! `state.json` (what waits for a person) and `inflight.json` (what was started): read tolerantly, replaced whole.
//!
//! What a park means is decided in [`ratchet_engine::park`]. Members and parks that this version does not know survive
//! every rewrite. All writing happens under the journal's lock, which a [`Writer`] proves.

use std::collections::BTreeMap;

use ratchet_engine::name::StepKey;
use ratchet_engine::outcome::Cause;
use ratchet_engine::park::{Park, ParkKind};
use ratchet_engine::time::Timestamp;
use ratchet_engine::transition::StepKind;
use serde::ser::SerializeMap as _;
use serde::{Deserialize as _, Serialize, Serializer};
use serde_json::{Map, Value};

use super::file::{FileError, Limit, read_if_there, replace};
use super::journal::Writer;
use super::layout::RunDir;

#[cfg(test)]
mod tests;

/// The members of a park in the order of spec `step-and-outcome` 5.4; others follow, sorted.
const PARK_MEMBERS: [&str; 11] = [
    "parkedAt",
    "change",
    "kind",
    "reason",
    "answer",
    "feedback",
    "approved",
    "transition",
    "retry",
    "cause",
    "retryAt",
];

/// How often a broken file is kept under a new name before the oldest name is used again.
const BROKEN_COPIES: u32 = 1_000;

/// What `state.json` holds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunState {
    members: Map<String, Value>,
    /// The bytes of a file that is no JSON object; they are kept beside before a rewrite.
    broken: Option<Vec<u8>>,
}

impl RunState {
    /// Reads the file. A missing or broken one is empty (spec `step-and-outcome` 5.4).
    ///
    /// # Errors
    /// Fails if the file is there and cannot be read, for then a parked step could run.
    pub fn read(run: &RunDir) -> Result<Self, FileError> {
        let bytes = match read_if_there(&run.state(), Limit::STATE) {
            Ok(Some(bytes)) => bytes,
            Ok(None) | Err(FileError::WrongKind { .. }) => return Ok(Self::default()),
            Err(error) => return Err(error),
        };
        Ok(match serde_json::from_slice(&bytes) {
            Ok(Value::Object(members)) => Self { members, broken: None },
            Ok(Value::Null) => Self::default(),
            Ok(_) | Err(_) if bytes.is_empty() => Self::default(),
            Ok(_) | Err(_) => Self { members: Map::new(), broken: Some(bytes) },
        })
    }

    /// Returns every park that this version understands.
    #[must_use]
    pub fn parks(&self) -> BTreeMap<StepKey, Park> {
        let Some(Value::Object(parked)) = self.members.get("parked") else {
            return BTreeMap::new();
        };
        let known = parked.iter().filter_map(|(key, value)| park_of(key, value));
        known.map(|park| (park.key.clone(), park)).collect()
    }

    /// Returns the park of one step.
    #[must_use]
    pub fn park(&self, key: &StepKey) -> Option<Park> {
        park_of(key.as_str(), self.members.get("parked")?.get(key.as_str())?)
    }

    /// Parks a step, in place of an older park: an old answer is gone.
    pub fn set(&mut self, park: &Park) {
        let mut entry = Map::new();
        let mut put = |name: &str, value: Option<Value>| {
            if let Some(value) = value {
                entry.insert(name.to_owned(), value);
            }
        };
        put("parkedAt", Some(park.parked_at.as_str().into()));
        put("change", Some(park.key.as_str().into()));
        put("kind", Some(kind_text(park.kind).into()));
        put("reason", Some(park.reason.as_str().into()));
        put("answer", park.answer.as_deref().map(Value::from));
        put("feedback", park.feedback.as_deref().map(Value::from));
        put("approved", park.approved.map(Value::from));
        put("transition", park.transition.map(|kind| kind.as_str().into()));
        put("retry", park.retry.then_some(Value::Bool(true)));
        put("cause", park.cause.and_then(|cause| serde_json::to_value(cause).ok()));
        put("retryAt", park.retry_at.map(|at| at.to_string().into()));
        self.parked().insert(park.key.as_str().to_owned(), Value::Object(entry));
    }

    /// Removes a park; tells whether there was one.
    pub fn clear(&mut self, key: &StepKey) -> bool {
        self.parked().remove(key.as_str()).is_some()
    }

    /// Stores a person's answer; `false` if the step is not parked.
    #[must_use]
    pub fn answer(&mut self, key: &StepKey, answer: &str) -> bool {
        self.amend(key, [("answer", answer.into())])
    }

    /// Stores a person's reason to reject; `false` if the step is not parked.
    #[must_use]
    pub fn reject(&mut self, key: &StepKey, feedback: &str) -> bool {
        self.amend(key, [("feedback", feedback.into()), ("approved", false.into())])
    }

    /// Says that the file is damaged: what was parked is not known.
    #[must_use]
    pub fn is_broken(&self) -> bool {
        self.broken.is_some()
    }

    /// Replaces the file, if anything in it changed. A broken one is first copied to `state.json.broken-<n>`.
    ///
    /// # Errors
    /// Fails if a file cannot be written; then the old one is still whole.
    pub fn write(&self, writer: &Writer<'_>) -> Result<(), FileError> {
        let run = writer.run();
        if self.broken.is_none() && Self::read(run)?.members == self.members {
            return Ok(());
        }
        if let Some(bytes) = &self.broken {
            let free = |n: &u32| !run.broken_state(*n).exists();
            let number = (1..BROKEN_COPIES).find(free).unwrap_or(BROKEN_COPIES);
            replace(&run.broken_state(number), bytes)?;
        }
        let mut text = serde_json::to_vec_pretty(&StateFile(&self.members))
            .expect("a JSON value is always JSON");
        text.push(b'\n');
        replace(&run.state(), &text)
    }

    fn amend<const N: usize>(&mut self, key: &StepKey, members: [(&str, Value); N]) -> bool {
        let Some(Value::Object(entry)) = self.parked().get_mut(key.as_str()) else {
            return false;
        };
        for (name, value) in members {
            entry.insert(name.to_owned(), value);
        }
        true
    }

    fn parked(&mut self) -> &mut Map<String, Value> {
        let parked = self.members.entry("parked").or_insert(Value::Null);
        if !parked.is_object() {
            *parked = Value::Object(Map::new());
        }
        parked.as_object_mut().expect("it was made an object just now")
    }
}

/// Reads a park leniently; `None` for one of a kind that this version does not know.
fn park_of(key: &str, value: &Value) -> Option<Park> {
    let text = |name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
    let kind = match value.get("kind")?.as_str()? {
        "blocked" => ParkKind::Blocked,
        "awaiting-approval" => ParkKind::AwaitingApproval,
        _ => return None,
    };
    let transition = text("transition");
    Some(Park {
        parked_at: text("parkedAt").unwrap_or_default(),
        key: StepKey::from_text(key),
        kind,
        reason: text("reason").unwrap_or_default(),
        answer: text("answer"),
        feedback: text("feedback"),
        approved: value.get("approved").and_then(Value::as_bool),
        transition: StepKind::ALL
            .into_iter()
            .find(|kind| Some(kind.as_str()) == transition.as_deref()),
        retry: value.get("retry").and_then(Value::as_bool).unwrap_or_default(),
        cause: value.get("cause").and_then(|cause| Cause::deserialize(cause).ok()),
        retry_at: text("retryAt").as_deref().and_then(Timestamp::parse),
    })
}

fn kind_text(kind: ParkKind) -> &'static str {
    match kind {
        ParkKind::Blocked => "blocked",
        ParkKind::AwaitingApproval => "awaiting-approval",
    }
}

/// Prints the file with the members of each park in their documented order.
struct StateFile<'a>(&'a Map<String, Value>);
struct Parked<'a>(&'a Map<String, Value>);
struct ParkEntry<'a>(&'a Map<String, Value>);

impl Serialize for StateFile<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let none = Map::new();
        let parked = self.0.get("parked").and_then(Value::as_object).unwrap_or(&none);
        map.serialize_entry("parked", &Parked(parked))?;
        for (name, value) in self.0.iter().filter(|(name, _)| *name != "parked") {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

impl Serialize for Parked<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (key, park) in self.0 {
            match park {
                Value::Object(entry) => map.serialize_entry(key, &ParkEntry(entry))?,
                other => map.serialize_entry(key, other)?,
            }
        }
        map.end()
    }
}

impl Serialize for ParkEntry<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for name in PARK_MEMBERS {
            if let Some(value) = self.0.get(name) {
                map.serialize_entry(name, value)?;
            }
        }
        let unknown = |name: &&String| !PARK_MEMBERS.contains(&name.as_str());
        for name in self.0.keys().filter(unknown) {
            map.serialize_entry(name, &self.0[name])?;
        }
        map.end()
    }
}
