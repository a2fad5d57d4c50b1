//! Reads a manifest out of a tree: every issue is collected, in the order of the file, names that repeat come last.
//!
//! Unknown keys are let pass everywhere but in `settings`.

use std::collections::BTreeMap;

use super::{ChangeIntent, Issue, Manifest, ManifestError, Phase, ProofKind, ProofOfWork};
use crate::name::{ARCHIVE, ChangeName, NameError, PhaseName, StepKey};
use crate::proof::{Condition, classify};
use crate::settings::{Layer, Word};
use crate::yaml::Node;
use crate::yaml::reader::{Reader, Trail};

/// The kind that the schema knows and `batch apply` cannot run.
const LLM_JUDGE: &str = "llm-judge";

pub(super) fn manifest(root: &Node) -> Result<Manifest, ManifestError> {
    if root.as_map().is_none() {
        return Err(ManifestError::NotAMap);
    }
    let mut reading = Reading::default();
    let manifest = reading.manifest(root);
    reading.refuse_repeats();
    match (manifest, reading.unsupported) {
        (Some(manifest), None) if reading.reader.issues.is_empty() => Ok(manifest),
        (_, Some(unsupported)) if reading.reader.issues.is_empty() => Err(unsupported),
        _ => Err(ManifestError::Invalid { issues: reading.reader.issues }),
    }
}

#[derive(Default)]
struct Reading<'n> {
    reader: Reader,
    /// The first proof that cannot be run.
    unsupported: Option<ManifestError>,
    doubts: Vec<Issue>,
    phases: Vec<Named<'n>>,
    changes: Vec<Named<'n>>,
}

/// A name and where it was given.
struct Named<'n> {
    name: &'n str,
    phase: usize,
    path: String,
    node: &'n Node,
}

impl<'n> Reading<'n> {
    fn manifest(&mut self, root: &'n Node) -> Option<Manifest> {
        let at = Trail::Root;
        let name = self.filled(&at, root, "name");
        let created = match root.get("created") {
            Some(node) => self.reader.text(&Trail::Key(&at, "created"), node).map(str::to_owned),
            None => None,
        };
        let settings = match root.get("settings") {
            Some(node) => {
                Layer::read_manifest(&mut self.reader, &Trail::Key(&at, "settings"), node)
            }
            None => Layer::default(),
        };
        let phases = self.items(&at, root, "phases", Self::phase);
        let doubts = std::mem::take(&mut self.doubts);
        Some(Manifest { name: name?.to_owned(), created, settings, phases, doubts })
    }

    fn phase(&mut self, at: &Trail<'_>, node: &'n Node, index: usize) -> Option<Phase> {
        self.reader.map(at, node)?;
        let name = self.filled(at, node, "name");
        if let Some(name) = name {
            self.phases.push(named(name, index, at, node));
        }
        let goal = self.filled(at, node, "goal");
        let success = self.filled(at, node, "success");
        let proof = self.required(at, node, "proofOfWork").and_then(|proof| {
            let at = Trail::Key(at, "proofOfWork");
            self.proof(&at, proof)
        });
        let changes =
            self.items(at, node, "changes", |reading, at, node, _| reading.change(at, node, index));
        Some(Phase {
            name: PhaseName::parse(name?).ok()?,
            goal: goal?.to_owned(),
            success: success?.to_owned(),
            proof: proof?,
            changes,
        })
    }

    fn change(&mut self, at: &Trail<'_>, node: &'n Node, phase: usize) -> Option<ChangeIntent> {
        self.reader.map(at, node)?;
        let name = self.filled(at, node, "name");
        if let Some(name) = name {
            self.changes.push(named(name, phase, at, node));
        }
        let name =
            name.and_then(|name| self.change_name(&Trail::Key(at, "name"), node, "name", name));
        let after = self.items(at, node, "after", |reading, at, item, _| {
            let text = reading.reader.text(at, item)?;
            reading.checked(at, item, ChangeName::parse(text))
        });
        let done = self.filled(at, node, "done");
        let place = Some((node.line, node.column));
        Some(ChangeIntent { name: name?, after, done: done?.to_owned(), place })
    }

    /// Checks a name that will be a folder beside the archive's.
    fn change_name(
        &mut self,
        at: &Trail<'_>,
        map: &Node,
        key: &str,
        name: &str,
    ) -> Option<ChangeName> {
        let node = map.get(key)?;
        if name == ARCHIVE {
            self.reader.refuse(
                at,
                node,
                "'archive' is the folder of archived changes; choose another name",
            );
            return None;
        }
        self.checked(at, node, ChangeName::parse(name))
    }

    fn proof(&mut self, at: &Trail<'_>, node: &'n Node) -> Option<ProofOfWork> {
        self.reader.map(at, node)?;
        let kind = self.required(at, node, "kind");
        let kind = kind.and_then(|kind| self.proof_kind(&Trail::Key(at, "kind"), kind));
        let run = self.filled(at, node, "run");
        let pass = self.filled(at, node, "pass");
        if let (Some(pass), Some(pass_node)) = (pass, node.get("pass")) {
            self.lint(&Trail::Key(at, "pass"), pass_node, pass, run.unwrap_or_default());
        }
        Some(ProofOfWork { kind: kind?, run: run?.to_owned(), pass: pass?.to_owned() })
    }

    fn proof_kind(&mut self, at: &Trail<'_>, node: &Node) -> Option<ProofKind> {
        if node.as_text() == Some(LLM_JUDGE) {
            self.unsupported.get_or_insert_with(|| ManifestError::UnsupportedProof {
                path: at.to_string(),
                line: node.line,
                column: node.column,
            });
            return None;
        }
        let kind = node.as_text().and_then(ProofKind::parse);
        if kind.is_none() {
            let message =
                format!("proof-of-work kind must be one of: {}, {LLM_JUDGE}", ProofKind::list());
            self.reader.refuse(at, node, message);
        }
        kind
    }

    /// Refuses a pass condition that can never pass, and doubts one that its own command satisfies by being shown (2.2).
    fn lint(&mut self, at: &Trail<'_>, node: &Node, pass: &str, run: &str) {
        let condition = match classify(pass) {
            Ok(condition) => condition,
            Err(error) => return self.reader.refuse(at, node, error.to_string()),
        };
        let needle = match &condition {
            Condition::Contains(needle) | Condition::Substring(needle) => needle,
            Condition::ExitZero | Condition::Regex(_) => return,
        };
        if run.contains(needle.as_str()) {
            let prefix =
                if matches!(condition, Condition::Contains(_)) { "contains: " } else { "" };
            let message = format!(
                "{prefix}self-satisfying, because '{needle}' stands in the run command itself; look for a text that \
                 only a success prints"
            );
            self.doubts.push(Issue::at(at, node, message));
        }
    }

    /// Refuses names that share a place in the journal: of two phases, of two changes in different phases, of a
    /// phase and a change (OQ-14), or of either and a pull request or a proof. Two changes of one phase are [`crate::dag`]'s.
    fn refuse_repeats(&mut self) {
        let mut phases: BTreeMap<&str, &Named<'_>> = BTreeMap::new();
        let mut changes: BTreeMap<&str, &Named<'_>> = BTreeMap::new();
        let mut refuse = |named: &Named<'_>, message: String| {
            let path = Trail::Key(&Trail::Root, &named.path);
            let node = named.node.get("name").unwrap_or(named.node);
            self.reader.refuse(&Trail::Key(&path, "name"), node, message);
        };
        for named in self.phases.iter().chain(&self.changes) {
            if StepKey::is_ambiguous(named.name) {
                let message = "a name cannot begin with 'pr:' or 'proof-of-work:': the journal keeps pull requests \
                               and proofs under such names";
                refuse(named, message.to_owned());
            }
        }
        for phase in &self.phases {
            let Named { name, .. } = phase;
            if let Some(first) = phases.get(name) {
                refuse(
                    phase,
                    format!("a second phase named '{name}'; the first is {}", first.path),
                );
            } else {
                phases.insert(name, phase);
            }
        }
        for change in &self.changes {
            let Named { name, .. } = change;
            if let Some(phase) = phases.get(name) {
                let message =
                    format!("a change cannot have the name of a phase ('{name}', {})", phase.path);
                refuse(change, message);
            }
            match changes.get(name) {
                Some(first) if first.phase != change.phase => {
                    refuse(
                        change,
                        format!("a second change named '{name}'; the first is {}", first.path),
                    );
                }
                Some(_) => {}
                None => {
                    changes.insert(name, change);
                }
            }
        }
    }

    /// Reads an optional list, leaving out items that have issues.
    fn items<T>(
        &mut self,
        at: &Trail<'_>,
        map: &'n Node,
        key: &str,
        mut read: impl FnMut(&mut Self, &Trail<'_>, &'n Node, usize) -> Option<T>,
    ) -> Vec<T> {
        let at = Trail::Key(at, key);
        let Some(list) = map.get(key) else { return Vec::new() };
        let items = self.reader.list(&at, list).unwrap_or_default().iter().enumerate();
        items
            .filter_map(|(index, item)| read(self, &Trail::Index(&at, index), item, index))
            .collect()
    }

    fn required(&mut self, at: &Trail<'_>, map: &'n Node, key: &str) -> Option<&'n Node> {
        let node = map.get(key);
        if node.is_none() {
            self.reader.missing(&Trail::Key(at, key), map);
        }
        node
    }

    fn filled(&mut self, at: &Trail<'_>, map: &'n Node, key: &str) -> Option<&'n str> {
        let node = self.required(at, map, key)?;
        self.reader.filled_text(&Trail::Key(at, key), node)
    }

    fn checked<T>(&mut self, at: &Trail<'_>, node: &Node, name: Result<T, NameError>) -> Option<T> {
        match name {
            Ok(name) => Some(name),
            Err(error) => {
                self.reader.refuse(at, node, error.to_string());
                None
            }
        }
    }
}

fn named<'n>(name: &'n str, phase: usize, at: &Trail<'_>, node: &'n Node) -> Named<'n> {
    Named { name, phase, path: at.to_string(), node }
}
