//! What an agent may do: posture, lists, and the clamp on what a manifest may ask for
//! (spec `batch-manifest-and-settings` 6). The flags that enforce it are `ratchet-supervisor`'s.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::manifest::Issue;
use crate::name::AgentName;
use crate::settings::{Scope, Word};
use crate::yaml::reader::{Reader, Trail};
use crate::yaml::{Node, Value};

mod redact;
#[cfg(test)]
mod tests;

pub use redact::redact_tokens;

/// How much an agent may do without asking. Ordered by privilege.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Posture {
    /// Only what the lists allow.
    CuratedAllowlist,
    /// Edits and shell in the repository, with baseline denials.
    #[default]
    RepoSandboxedPermissive,
    /// Everything.
    FullAutonomy,
}

/// What one scope says about permissions.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PermissionsLayer {
    /// `posture`
    pub posture: Option<Posture>,
    /// `allow`; an empty list counts as said.
    pub allow: Option<Vec<String>>,
    /// `deny`
    pub deny: Option<Vec<String>>,
    /// `raw`: argv tokens for one agent.
    pub raw: BTreeMap<AgentName, Vec<String>>,
}

/// The resolved permission policy.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Permissions {
    /// The winning posture.
    pub posture: Posture,
    /// The nearest allow list.
    pub allow: Vec<String>,
    /// The union of all deny lists, first seen first.
    pub deny: Vec<String>,
    /// For each agent the nearest list.
    pub raw: BTreeMap<AgentName, Vec<String>>,
}

/// A raise of the posture that a manifest asked for and was not given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct SuppressedEscalation {
    /// Always [`Scope::Manifest`].
    pub scope: Scope,
    /// The posture that was asked for.
    pub requested: Posture,
}

/// Whether a manifest may raise the posture (`--allow-manifest-escalation`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Escalation {
    /// It may not: a raise is dropped and reported.
    #[default]
    Clamped,
    /// It may, for this invocation.
    Allowed,
}

/// A resolved policy and how it came about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// The policy.
    pub policy: Permissions,
    /// The scope that gave the posture.
    pub posture_scope: Scope,
    /// What the manifest asked for and did not get.
    pub suppressed: Option<SuppressedEscalation>,
}

/// Merges what user, project and manifest say (spec 6). The clamp is on the manifest's posture only: its lists apply, and
/// so do its lowerings.
#[must_use]
pub fn resolve(
    user: Option<&PermissionsLayer>,
    project: Option<&PermissionsLayer>,
    manifest: Option<&PermissionsLayer>,
    escalation: Escalation,
) -> Resolved {
    let mut resolved = Resolved {
        policy: Permissions::default(),
        posture_scope: Scope::Default,
        suppressed: None,
    };
    let layers = [(Scope::User, user), (Scope::Project, project), (Scope::Manifest, manifest)];
    for (scope, layer) in layers.into_iter().filter_map(|(scope, layer)| Some((scope, layer?))) {
        resolved.take_posture(scope, layer.posture, escalation);
        resolved.policy.take_lists(layer);
    }
    resolved
}

impl Resolved {
    fn take_posture(&mut self, scope: Scope, posture: Option<Posture>, escalation: Escalation) {
        let Some(requested) = posture else { return };
        let is_raise = scope == Scope::Manifest && requested > self.policy.posture;
        if is_raise && escalation == Escalation::Clamped {
            self.suppressed = Some(SuppressedEscalation { scope, requested });
        } else {
            self.policy.posture = requested;
            self.posture_scope = scope;
        }
    }
}

impl Permissions {
    fn take_lists(&mut self, layer: &PermissionsLayer) {
        if let Some(allow) = &layer.allow {
            self.allow.clone_from(allow);
        }
        for pattern in layer.deny.iter().flatten() {
            if !self.deny.contains(pattern) {
                self.deny.push(pattern.clone());
            }
        }
        self.raw.extend(layer.raw.iter().map(|(agent, tokens)| (agent.clone(), tokens.clone())));
    }
}

impl PermissionsLayer {
    /// Reads `batch.permissions` of the user's configuration. A malformed policy is left out as a whole;
    /// the issues say why.
    #[must_use]
    pub fn from_user(config: &Node) -> (Option<Self>, Vec<Issue>) {
        let mut reader = Reader::default();
        let layer = reader.whole(|reader| {
            let trail = Trail::Key(&Trail::Root, "batch");
            let batch = config.get("batch").filter(|node| node.value != Value::Null)?;
            reader.map(&trail, batch)?;
            let node = batch.get("permissions").filter(|node| node.value != Value::Null)?;
            Self::read(reader, &Trail::Key(&trail, "permissions"), node)
        });
        (layer, reader.issues)
    }

    /// Reads a strict `permissions` map.
    pub(crate) fn read(reader: &mut Reader, trail: &Trail<'_>, node: &Node) -> Option<Self> {
        let members = reader.map(trail, node)?;
        reader.whole(|reader| {
            let mut layer = Self::default();
            for member in members {
                let (node, trail) = (&member.node, Trail::Key(trail, &member.key));
                match member.key.as_str() {
                    "posture" => layer.posture = reader.word(&trail, node),
                    "allow" => layer.allow = reader.secret_texts(&trail, node),
                    "deny" => layer.deny = reader.secret_texts(&trail, node),
                    "raw" => layer.raw = reader.named(&trail, node, read_raw).unwrap_or_default(),
                    _ => reader.unknown(&trail, member, "posture, allow, deny, raw"),
                }
            }
            Some(layer)
        })
    }
}

impl Word for Posture {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("repo-sandboxed-permissive", Self::RepoSandboxedPermissive),
        ("curated-allowlist", Self::CuratedAllowlist),
        ("full-autonomy", Self::FullAutonomy),
    ];
}

/// The agents whose argv `raw` can extend.
const RAW_AGENTS: [&str; 5] = ["claude", "codex", "gemini", "cursor", "opencode"];

fn read_raw(
    reader: &mut Reader,
    trail: &Trail<'_>,
    member: &crate::yaml::Member,
) -> Option<(AgentName, Vec<String>)> {
    if !RAW_AGENTS.contains(&member.key.as_str()) {
        reader.unknown(trail, member, &RAW_AGENTS.join(", "));
        return None;
    }
    let tokens = reader.secret_texts(trail, &member.node)?;
    Some((AgentName::new(&member.key), tokens))
}
