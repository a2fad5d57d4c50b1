//! Invariants: what must hold whatever a change does. The manifest is read as a whole or not at all, because an entry that
//! cannot be read would otherwise be one that is not checked (spec `eval` 8).

use ratchet_engine::outcome::SessionEnd;
use ratchet_engine::proof::Matcher;
use ratchet_engine::yaml::{self, Node};
use serde::{Deserialize, Serialize};

use crate::mutation::Mutation;

/// The file's name in messages and in `failing`.
pub const MANIFEST: &str = "invariants.yaml";

/// One entry of the manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invariant {
    /// Its id; no other has it.
    pub id: String,
    /// Whether it is evaluated.
    pub active: bool,
    /// What it is for.
    pub description: Option<String>,
    /// What it checks.
    pub check: Check,
    /// Its line in the file, from 1.
    pub line: u32,
}

/// What an invariant checks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Check {
    /// A command meets its pass condition.
    Deterministic {
        /// The command.
        run: String,
        /// The condition, as for a proof-of-work.
        pass: String,
    },
    /// A number does not fall.
    Monotonic {
        /// Which.
        measure: String,
    },
    /// What a command prints stays the same.
    Snapshot {
        /// The file it is held against, from the project's root.
        golden: String,
        /// The command.
        run: String,
    },
    /// The project's tests notice planted faults.
    Mutation(Mutation),
}

/// What an invariant came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InvariantOutcome {
    /// Which.
    pub id: String,
    /// Its kind, as the manifest spells it.
    pub kind: String,
    /// Whether it holds.
    pub status: Status,
    /// What was measured.
    pub measure: String,
    /// Why.
    pub evidence: String,
    /// The mutants, for the kind that has them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifacts: Option<Vec<Artifact>>,
}

/// Whether an invariant holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// It does.
    Pass,
    /// It does not.
    Fail,
    /// Nobody can say. A violation like [`Status::Fail`].
    Unevaluable,
}

/// What is kept of one mutant. Paths are from the project's root.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Artifact {
    /// The attempt's number.
    pub index: u32,
    /// `killed` or `survived`.
    pub outcome: String,
    /// The fault.
    pub diff_path: String,
    /// What the oracle said.
    pub test_output_path: String,
}

/// What all invariants came to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InvariantGate {
    /// Each that was evaluated, in the order of the manifest.
    pub outcomes: Vec<InvariantOutcome>,
    /// The ids of those that do not hold.
    pub failing: Vec<String>,
    /// Why the manifest could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load_error: Option<String>,
}

/// A manifest that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{MANIFEST}: {}", problems.join("; "))]
pub struct ManifestError {
    /// Everything that is wrong, each with its entry and its place.
    pub problems: Vec<String>,
}

impl InvariantOutcome {
    /// Whether it spoils the run.
    #[must_use]
    pub fn is_violation(&self) -> bool {
        self.status != Status::Pass
    }
}

impl Status {
    /// Returns the word of reports.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Unevaluable => "unevaluable",
        }
    }
}

impl InvariantGate {
    /// Gathers outcomes.
    #[must_use]
    pub fn of(outcomes: Vec<InvariantOutcome>) -> Self {
        let failing = outcomes.iter().filter(|one| one.is_violation()).map(|one| one.id.clone());
        Self { failing: failing.collect(), outcomes, load_error: None }
    }

    /// Says that the manifest cannot be read.
    #[must_use]
    pub fn unloadable(error: &ManifestError) -> Self {
        Self {
            outcomes: Vec::new(),
            failing: vec![MANIFEST.to_owned()],
            load_error: Some(error.to_string()),
        }
    }
}

impl Check {
    /// Returns the kind as the manifest spells it.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Deterministic { .. } => "deterministic",
            Self::Monotonic { .. } => "monotonic",
            Self::Snapshot { .. } => "snapshot",
            Self::Mutation(_) => "mutation",
        }
    }
}

/// Reads the manifest. An empty one declares nothing.
///
/// # Errors
/// Everything that is wrong with it, at once.
pub fn read(bytes: &[u8]) -> Result<Vec<Invariant>, ManifestError> {
    let root = yaml::parse_bytes(bytes)
        .map_err(|error| ManifestError { problems: vec![error.to_string()] })?;
    let mut reader = Reader::default();
    let found = reader.manifest(&root);
    if reader.problems.is_empty() {
        Ok(found)
    } else {
        Err(ManifestError { problems: reader.problems })
    }
}

#[derive(Default)]
struct Reader {
    problems: Vec<String>,
}

impl Reader {
    fn manifest(&mut self, root: &Node) -> Vec<Invariant> {
        let empty = matches!(root.value, yaml::Value::Null);
        let Some(list) = root.get("invariants") else {
            if !empty {
                self.refuse("invariants", root, "required, but missing");
            }
            return Vec::new();
        };
        if matches!(list.value, yaml::Value::Null) {
            return Vec::new();
        }
        let Some(items) = list.as_list() else {
            self.refuse("invariants", list, &format!("must be a list, got {}", list.kind()));
            return Vec::new();
        };
        let mut found: Vec<Invariant> = Vec::new();
        for (index, item) in items.iter().enumerate() {
            let Some(invariant) = self.entry(index, item) else { continue };
            if let Some(first) = found.iter().find(|other| other.id == invariant.id) {
                let id = &invariant.id;
                let message = format!("the id '{id}' is given twice; first in line {}", first.line);
                self.refuse(id, item, &message);
            }
            found.push(invariant);
        }
        found
    }

    fn entry(&mut self, index: usize, item: &Node) -> Option<Invariant> {
        let before = self.problems.len();
        let id = item.get("id").and_then(Node::as_text).filter(|id| !id.is_empty());
        let name = id.map_or_else(|| format!("#{index}"), str::to_owned);
        if item.as_map().is_none() {
            self.refuse(&name, item, &format!("must be a map, got {}", item.kind()));
            return None;
        }
        if id.is_none() {
            self.refuse(&name, item, "id must be a text that is not empty");
        }
        let active = item.get("active").and_then(Node::as_bool);
        if active.is_none() {
            self.refuse(&name, item.get("active").unwrap_or(item), "active must be true or false");
        }
        let check = self.check(&name, item);
        let description = item.get("description").and_then(Node::as_text).map(str::to_owned);
        let (active, check) = (active?, check?);
        (self.problems.len() == before).then_some(Invariant {
            id: name,
            active,
            description,
            check,
            line: item.line,
        })
    }

    fn check(&mut self, name: &str, item: &Node) -> Option<Check> {
        let kind = item.get("kind").and_then(Node::as_text);
        match kind {
            Some("deterministic") => {
                let check = self.part(name, item, "check")?;
                let run = self.text(name, check, "check.run", "run")?;
                let pass = match check.get("pass") {
                    None => DEFAULT_PASS.to_owned(),
                    Some(_) => self.text(name, check, "check.pass", "pass")?,
                };
                Some(Check::Deterministic { run, pass })
            }
            Some("monotonic") => {
                Some(Check::Monotonic { measure: self.text(name, item, "measure", "measure")? })
            }
            Some("snapshot") => {
                let golden = self.text(name, item, "golden", "golden");
                let produce = self.part(name, item, "produce");
                let run = produce.and_then(|part| self.text(name, part, "produce.run", "run"));
                Some(Check::Snapshot { golden: golden?, run: run? })
            }
            Some("mutation") => {
                let test = self.text(name, item, "test", "test");
                let budget = self.count(name, item, "budget");
                let threshold = self.count(name, item, "threshold");
                Some(Check::Mutation(Mutation {
                    id: name.to_owned(),
                    test: test?,
                    budget: budget?,
                    threshold: threshold?,
                }))
            }
            _ => {
                let got = item.get("kind").map_or("nothing", Node::kind);
                let got = kind.map_or_else(|| got.to_owned(), |kind| format!("'{kind}'"));
                let message = format!(
                    "kind must be one of: deterministic, monotonic, snapshot, mutation (got {got})"
                );
                self.refuse(name, item.get("kind").unwrap_or(item), &message);
                None
            }
        }
    }

    fn part<'n>(&mut self, name: &str, map: &'n Node, key: &str) -> Option<&'n Node> {
        let part = map.get(key).filter(|part| part.as_map().is_some());
        if part.is_none() {
            self.refuse(
                name,
                map.get(key).unwrap_or(map),
                &format!("{key} must be a map with 'run'"),
            );
        }
        part
    }

    fn text(&mut self, name: &str, map: &Node, path: &str, key: &str) -> Option<String> {
        let node = map.get(key);
        let text = node.and_then(Node::as_text).filter(|text| !text.trim().is_empty());
        if text.is_none() {
            self.refuse(
                name,
                node.unwrap_or(map),
                &format!("{path} must be a text that is not empty"),
            );
        }
        text.map(str::to_owned)
    }

    fn count(&mut self, name: &str, map: &Node, key: &str) -> Option<u32> {
        let node = map.get(key);
        let count = node.and_then(whole);
        if count.is_none() {
            let message = format!("{key} must be a whole number from 1 to {}", u32::MAX);
            self.refuse(name, node.unwrap_or(map), &message);
        }
        count
    }

    fn refuse(&mut self, name: &str, node: &Node, message: &str) {
        let place = format!("line {}, column {}", node.line, node.column);
        self.problems.push(format!("{name}: {message} ({place})"));
    }
}

/// The pass condition when none is given.
pub(crate) const DEFAULT_PASS: &str = "exit-zero";

/// Gives a number that is whole, from 1, and fits.
pub(crate) fn whole(node: &Node) -> Option<u32> {
    node.as_whole_number().and_then(|number| u32::try_from(number).ok())
}

/// Says what is odd about a manifest that is fine as it is.
#[must_use]
pub fn warnings(invariants: &[Invariant]) -> Vec<String> {
    let odd = invariants.iter().filter_map(|invariant| match &invariant.check {
        Check::Mutation(mutation) => mutation.warning(),
        Check::Deterministic { pass, .. } => ratchet_engine::proof::classify(pass)
            .err()
            .map(|error| format!("invariant '{}' can never pass: {error}", invariant.id)),
        Check::Monotonic { .. } | Check::Snapshot { .. } => None,
    });
    odd.collect()
}

/// Whether a command that exited like this and printed that meets a pass condition; `Err` says why not.
///
/// # Errors
/// The reason: `nonzero-exit`, `pass-condition-unmet` or `error`.
pub fn meets(pass: &str, end: &SessionEnd, stdout: &[u8]) -> Result<(), &'static str> {
    use ratchet_engine::proof::ProofReason;
    let mut matcher = Matcher::new(pass);
    matcher.feed(stdout);
    match matcher.finish(end).reason {
        ProofReason::PassConditionMet => Ok(()),
        ProofReason::PassConditionUnmet => Err("pass-condition-unmet"),
        ProofReason::NonzeroExit => Err("nonzero-exit"),
        ProofReason::Error | ProofReason::JudgePass | ProofReason::JudgeFail => Err("error"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(text: &str) -> String {
        read(text.as_bytes()).unwrap_err().to_string()
    }

    // E-C11
    #[test]
    fn every_kind_is_read_in_order_with_its_own_fields() {
        let text = "
invariants:
  - {id: a, kind: deterministic, active: true, check: {run: make}}
  - {id: b, kind: monotonic, active: false, measure: scenario-count}
  - {id: c, kind: snapshot, active: true, golden: g.txt, produce: {run: ./list}}
  - {id: d, kind: mutation, active: true, test: make test, budget: 5, threshold: 3, extra: 1}
";
        let all = read(text.as_bytes()).unwrap();
        let ids: Vec<(&str, bool, &str)> =
            all.iter().map(|one| (one.id.as_str(), one.active, one.check.kind())).collect();
        assert_eq!(
            ids,
            [
                ("a", true, "deterministic"),
                ("b", false, "monotonic"),
                ("c", true, "snapshot"),
                ("d", true, "mutation")
            ]
        );
        let deterministic = Check::Deterministic { run: "make".into(), pass: "exit-zero".into() };
        assert_eq!(all[0].check, deterministic);
    }

    // E-C12
    #[test]
    fn an_empty_manifest_declares_nothing() {
        for text in ["", "# nothing\n", "invariants: []\n", "invariants:\n"] {
            assert_eq!(read(text.as_bytes()).unwrap(), [], "{text}");
        }
    }

    // E-C13
    #[test]
    fn what_cannot_be_read_is_named_with_its_entry_and_its_place() {
        assert!(problems("invariants: {a: 1}").contains("must be a list"));
        assert!(problems("a: [").contains("line 1"));
        let bad = problems(
            "invariants:\n  - {id: a, kind: nope, active: true}\n  - {kind: monotonic, active: 1, measure: x}\n",
        );
        assert!(bad.contains("a: kind must be one of: deterministic, monotonic, snapshot, mutation (got 'nope') (line 2, column 19)"), "{bad}");
        assert!(
            bad.contains("#1: id must be a text that is not empty (line 3, column 5)"),
            "{bad}"
        );
        assert!(bad.contains("#1: active must be true or false (line 3, column 31)"), "{bad}");
        let twice = "invariants:\n- {id: a, kind: monotonic, active: true, measure: x}\n- {id: a, kind: monotonic, active: false, measure: x}\n";
        assert!(problems(twice).contains("the id 'a' is given twice; first in line 2"));
        let mutation = problems(
            "invariants:\n- {id: m, kind: mutation, active: false, test: t, budget: 0, threshold: 1.5}\n",
        );
        assert!(mutation.contains("budget must be") && mutation.contains("threshold must be"));
    }

    #[test]
    fn a_definition_that_can_never_pass_is_warned_of() {
        let text = "invariants:\n- {id: m, kind: mutation, active: true, test: t, budget: 1, threshold: 2}\n- {id: d, kind: deterministic, active: true, check: {run: x, pass: 'regex:('}}\n";
        let told = warnings(&read(text.as_bytes()).unwrap());
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(told[0].contains("below its threshold"));
    }

    // E-C14 E-C15 E-C17
    #[test]
    fn the_gate_names_what_does_not_hold() {
        let outcome = |id: &str, status| InvariantOutcome {
            id: id.into(),
            kind: "deterministic".into(),
            status,
            measure: String::new(),
            evidence: String::new(),
            artifacts: None,
        };
        let gate = InvariantGate::of(vec![
            outcome("a", Status::Pass),
            outcome("b", Status::Fail),
            outcome("c", Status::Unevaluable),
        ]);
        assert_eq!(gate.failing, ["b", "c"]);
        let error = ManifestError { problems: vec!["x".into()] };
        let unloadable = InvariantGate::unloadable(&error);
        assert_eq!(unloadable.failing, ["invariants.yaml"]);
        assert_eq!(unloadable.load_error.as_deref(), Some("invariants.yaml: x"));
    }
}
