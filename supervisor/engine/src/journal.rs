//! What may be written to a journal, and how one line is read (spec `step-and-outcome` 5.1 and 5.2).
//!
//! Writing is strict, reading is tolerant: a line that is no entry is nothing, never an error. Locks, torn tails and
//! syncing are the store's; what entries amount to is [`crate::fold`]'s.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeOwned, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};

use crate::name::{SpawnId, StepKey};
use crate::proof::ProofRecord;
use crate::time::Timestamp;
use crate::transition::StepKind;

#[cfg(test)]
mod tests;

/// One line of a journal. The order of the fields is the order of the members on the line.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Entry {
    /// When it was written.
    pub at: Timestamp,
    /// Whose entry it is.
    pub change: StepKey,
    /// What it says.
    pub kind: EntryKind,
    /// The text of its author.
    pub message: String,
    /// Only on entries that ratchet itself writes: the step they conclude.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transition: Option<StepKind>,
    /// Set when the agent ran by `RATCHET_BATCH_AGENT_CMD`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub via: Option<Via>,
    /// Only on `proof-of-work` entries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proof: Option<ProofRecord>,
    /// The spawn that this entry concludes: an outcome is recorded at most once for each.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spawn: Option<SpawnId>,
    /// The very image the spawn ran in, if it ran in a container: its digest, else the engine's number for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// Only on the `answer` entry of an approval: a hash of what was approved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approved: Option<String>,
    /// Only on a `completion` that a person is to look at first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub awaits: Option<Awaits>,
    /// Only on entries that were written on a worker: the spawn and the number under which this one came, so that it is
    /// taken over once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relayed: Option<String>,
}

/// What an entry says. The file may hold kinds of a later version; readers skip those.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EntryKind {
    /// Work goes on.
    Progress,
    /// The agent cannot go on.
    Blocker,
    /// The agent needs a decision.
    NeedsInput,
    /// The agent, or ratchet, says the step is complete.
    Completion,
    /// A person answered or approved.
    Answer,
    /// A person rejected.
    Reject,
    /// A proof-of-work was recorded.
    ProofOfWork,
    /// A recorded proof-of-work no longer counts.
    ProofOfWorkInvalidated,
}

/// How an entry came about, where that is unusual.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Via {
    /// The agent's command was replaced by `RATCHET_BATCH_AGENT_CMD`.
    EnvOverride,
}

/// What a step waits for that its agent calls complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Awaits {
    /// A person's approval.
    Approval,
}

/// One line as it was found. Texts are borrowed from the line where they need no unescaping.
///
/// Members that are absent, or of the wrong type, read as empty; members and kinds of a later version are let pass.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ReadEntry<'a> {
    /// When it was written, as text.
    pub at: Cow<'a, str>,
    /// Whose entry it is.
    pub change: Cow<'a, str>,
    /// What it says, as text; see [`ReadEntry::kind`].
    pub kind_text: Cow<'a, str>,
    /// The text of its author.
    pub message: Cow<'a, str>,
    /// The step it concludes.
    pub transition: Option<StepKind>,
    /// How it came about.
    pub via: Option<Via>,
    /// The proof record.
    pub proof: Option<ProofRecord>,
    /// The spawn it concludes.
    pub spawn: Option<Cow<'a, str>>,
    /// The image it ran in.
    pub image: Option<Cow<'a, str>>,
    /// A hash of what was approved.
    pub approved: Option<Cow<'a, str>>,
    /// What the step waits for.
    pub awaits: Option<Awaits>,
}

/// Reads one line, with or without its line end. Bytes that are no UTF-8 are replaced.
///
/// Gives nothing for a blank line, a torn one, and anything that is no JSON object.
#[must_use]
pub fn parse_line(line: &[u8]) -> Option<ReadEntry<'_>> {
    match std::str::from_utf8(line) {
        Ok(text) => serde_json::from_str(text).ok(),
        Err(_) => {
            let text = String::from_utf8_lossy(line);
            serde_json::from_str::<ReadEntry<'_>>(&text).ok().map(ReadEntry::into_owned)
        }
    }
}

impl Entry {
    /// Makes an entry that concludes nothing: who, what and when.
    #[must_use]
    pub fn new(at: Timestamp, change: StepKey, kind: EntryKind, message: String) -> Self {
        Self {
            at,
            change,
            kind,
            message,
            transition: None,
            via: None,
            proof: None,
            spawn: None,
            image: None,
            approved: None,
            awaits: None,
            relayed: None,
        }
    }

    /// Gives the line to append, with its line end.
    #[must_use]
    pub fn to_line(&self) -> Vec<u8> {
        let mut line =
            serde_json::to_vec(self).expect("an entry holds only texts and enums, which are JSON");
        line.push(b'\n');
        line
    }
}

impl EntryKind {
    /// Every kind.
    pub const ALL: [Self; 8] = [
        Self::Progress,
        Self::Blocker,
        Self::NeedsInput,
        Self::Completion,
        Self::Answer,
        Self::Reject,
        Self::ProofOfWork,
        Self::ProofOfWorkInvalidated,
    ];

    /// Returns the word used in the file.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Progress => "progress",
            Self::Blocker => "blocker",
            Self::NeedsInput => "needs-input",
            Self::Completion => "completion",
            Self::Answer => "answer",
            Self::Reject => "reject",
            Self::ProofOfWork => "proof-of-work",
            Self::ProofOfWorkInvalidated => "proof-of-work-invalidated",
        }
    }
}

impl ReadEntry<'_> {
    /// Returns what the entry says, unless only a later version knows.
    #[must_use]
    pub fn kind(&self) -> Option<EntryKind> {
        EntryKind::ALL.into_iter().find(|kind| kind.as_str() == self.kind_text)
    }

    /// Cuts the ties to the line.
    #[must_use]
    pub fn into_owned(self) -> ReadEntry<'static> {
        let own = |text: Cow<'_, str>| Cow::Owned(text.into_owned());
        ReadEntry {
            at: own(self.at),
            change: own(self.change),
            kind_text: own(self.kind_text),
            message: own(self.message),
            transition: self.transition,
            via: self.via,
            proof: self.proof,
            spawn: self.spawn.map(own),
            image: self.image.map(own),
            approved: self.approved.map(own),
            awaits: self.awaits,
        }
    }
}

impl<'de> Deserialize<'de> for ReadEntry<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(EntryVisitor)
    }
}

struct EntryVisitor;

impl<'de> Visitor<'de> for EntryVisitor {
    type Value = ReadEntry<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a journal entry")
    }

    /// Takes the members as they come; of a repeated one the last counts.
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut entry = ReadEntry::default();
        while let Some(member) = map.next_key()? {
            match member {
                Member::At => entry.at = map.next_value::<Text<'de>>()?.or_empty(),
                Member::Change => entry.change = map.next_value::<Text<'de>>()?.or_empty(),
                Member::Kind => entry.kind_text = map.next_value::<Text<'de>>()?.or_empty(),
                Member::Message => entry.message = map.next_value::<Text<'de>>()?.or_empty(),
                Member::Transition => entry.transition = map.next_value::<Text<'de>>()?.word(),
                Member::Via => entry.via = map.next_value::<Text<'de>>()?.word(),
                Member::Spawn => entry.spawn = map.next_value::<Text<'de>>()?.0,
                Member::Image => entry.image = map.next_value::<Text<'de>>()?.0,
                Member::Approved => entry.approved = map.next_value::<Text<'de>>()?.0,
                Member::Awaits => entry.awaits = map.next_value::<Text<'de>>()?.word(),
                Member::Proof => {
                    entry.proof = serde_json::from_value(map.next_value()?).ok();
                }
                Member::Other => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(entry)
    }
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "lowercase")]
enum Member {
    At,
    Change,
    Kind,
    Message,
    Transition,
    Via,
    Proof,
    Spawn,
    Image,
    Approved,
    Awaits,
    #[serde(other)]
    Other,
}

/// A text, or nothing when the value is of another type.
struct Text<'a>(Option<Cow<'a, str>>);

impl<'a> Text<'a> {
    fn or_empty(self) -> Cow<'a, str> {
        self.0.unwrap_or_default()
    }

    /// Reads the text as a word of an enum; an unknown word is nothing.
    fn word<T: DeserializeOwned>(self) -> Option<T> {
        serde_json::from_value(serde_json::Value::String(self.0?.into_owned())).ok()
    }
}

impl<'de> Deserialize<'de> for Text<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextVisitor).map(Text)
    }
}

struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Option<Cow<'de, str>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Some(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Some(Cow::Owned(text.to_owned())))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(None)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(None)
    }
}
