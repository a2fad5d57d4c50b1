//! What an agent may do: posture, lists, and the clamp on what a manifest may ask for
//! (spec `batch-manifest-and-settings` 6). The flags that enforce it are `ratchet-supervisor`'s.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::name::AgentName;
use crate::settings::Scope;

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
