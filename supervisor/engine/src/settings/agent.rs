//! Which agent runs which stage: the spec `agent[:model]`, its grammar, and the merge over scopes
//! (spec `batch-manifest-and-settings` 5). Whether an agent of that name exists is asked before a spawn.

use std::collections::BTreeMap;
use std::fmt;

use thiserror::Error;

use super::Scope;
use crate::name::AgentName;
use crate::transition::StepKind;
use crate::yaml::Node;
use crate::yaml::reader::{Reader, Trail};

/// An agent and, if named, its model: `agent[:model]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentSpec {
    /// The part before the first colon.
    pub agent: AgentName,
    /// The part after it.
    pub model: Option<String>,
}

/// What one layer says about agents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentChoice {
    /// The same for every stage.
    Every(AgentSpec),
    /// Some stages, each with its own.
    ByStage(BTreeMap<StepKind, AgentSpec>),
}

/// Says why a text is no agent spec.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("Invalid agent spec \"{value}\": {why} (expected \"agent[:model]\")")]
pub struct AgentSpecError {
    /// The text.
    pub value: String,
    /// What is wrong with it.
    pub why: String,
}

impl AgentSpec {
    /// Parses a spec; the first colon divides it.
    ///
    /// # Errors
    /// Refuses an empty part, blanks at the ends of a part, and a model that looks like a flag.
    pub fn parse(text: &str) -> Result<Self, AgentSpecError> {
        let refuse = |why: String| Err(AgentSpecError { value: text.to_owned(), why });
        let (agent, model) = match text.split_once(':') {
            Some((agent, model)) => (agent, Some(model)),
            None => (text, None),
        };
        for (part, name) in [(Some(agent), "agent"), (model, "model")] {
            let Some(part) = part else { continue };
            if part.is_empty() {
                return refuse(format!("the {name} part is empty"));
            }
            if part.trim() != part {
                return refuse(format!("the {name} part \"{part}\" has blanks at its ends"));
            }
        }
        if let Some(model) = model.filter(|model| model.starts_with('-')) {
            return refuse(format!("the model part \"{model}\" begins with \"-\", like a flag"));
        }
        Ok(Self { agent: AgentName::new(agent), model: model.map(str::to_owned) })
    }
}

impl fmt::Display for AgentSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.model {
            Some(model) => write!(f, "{}:{model}", self.agent),
            None => write!(f, "{}", self.agent),
        }
    }
}

impl AgentChoice {
    /// Returns the spec of a stage; nothing means the default agent.
    #[must_use]
    pub fn of(&self, stage: StepKind) -> Option<&AgentSpec> {
        match self {
            Self::Every(spec) => Some(spec),
            Self::ByStage(stages) => stages.get(&stage),
        }
    }

    /// Reads the value of `agent`.
    pub(super) fn read(reader: &mut Reader, trail: &Trail<'_>, node: &Node) -> Option<Self> {
        if node.as_map().is_some() {
            return reader.named(trail, node, read_stage).map(Self::ByStage);
        }
        if node.as_text().is_none() {
            let message =
                format!("expected \"agent[:model]\" or a map of stages, got {}", node.kind());
            reader.refuse(trail, node, message);
        }
        read_spec(reader, trail, node).map(Self::Every)
    }
}

/// Returns the stage of a word.
pub(super) fn stage_of(word: &str) -> Option<StepKind> {
    StepKind::ALL.into_iter().find(|stage| stage.as_str() == word)
}

fn read_stage(
    reader: &mut Reader,
    trail: &Trail<'_>,
    member: &crate::yaml::Member,
) -> Option<(StepKind, AgentSpec)> {
    let Some(stage) = stage_of(&member.key) else {
        reader.unknown(trail, member, "propose, apply, verify, pr, decompose");
        return None;
    };
    if member.node.as_text().is_none() {
        let message = format!("expected \"agent[:model]\", got {}", member.node.kind());
        reader.refuse(trail, &member.node, message);
    }
    read_spec(reader, trail, &member.node).map(|spec| (stage, spec))
}

fn read_spec(reader: &mut Reader, trail: &Trail<'_>, node: &Node) -> Option<AgentSpec> {
    match AgentSpec::parse(node.as_text()?) {
        Ok(spec) => Some(spec),
        Err(error) => {
            reader.refuse(trail, node, error.to_string());
            None
        }
    }
}

/// Merges what the scopes say, low to high, and tells for each stage whose word it is (5.3).
pub(super) fn merge(
    layers: &[(Scope, Option<&AgentChoice>)],
) -> (Option<AgentChoice>, BTreeMap<StepKind, Scope>) {
    let mut base: Option<(&AgentSpec, Scope)> = None;
    let mut stages: Option<BTreeMap<StepKind, (&AgentSpec, Scope)>> = None;
    for (scope, choice) in layers {
        match choice {
            None => {}
            Some(AgentChoice::Every(spec)) => (base, stages) = (Some((spec, *scope)), None),
            Some(AgentChoice::ByStage(said)) => {
                let said = said.iter().map(|(stage, spec)| (*stage, (spec, *scope)));
                stages.get_or_insert_default().extend(said);
            }
        }
    }
    let of = |stage| stages.as_ref().and_then(|stages| stages.get(&stage).copied()).or(base);
    let resolved = StepKind::ALL.into_iter().filter_map(|stage| Some((stage, of(stage)?)));
    let resolved: BTreeMap<_, _> = resolved.collect();
    let scopes = resolved.iter().map(|(stage, (_, scope))| (*stage, *scope)).collect();
    let choice = match (base, &stages) {
        (None, None) => None,
        (Some((spec, _)), None) => Some(AgentChoice::Every(spec.clone())),
        (_, Some(_)) => {
            let specs = resolved.into_iter().map(|(stage, (spec, _))| (stage, spec.clone()));
            Some(AgentChoice::ByStage(specs.collect()))
        }
    };
    (choice, scopes)
}
