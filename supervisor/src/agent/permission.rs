//! What an agent may do, as flags of its command line (spec `agents-and-runtimes` 2).
//!
//! Pure, and flags only: no settings file of the user's is ever written. What a command line cannot enforce comes back
//! as a [`Warning`]; whether it is shown is the caller's business. Which policy is in force is the engine's decision.

use std::fmt;

use ratchet_engine::name::AgentName;
use ratchet_engine::permission::{Permissions, Posture};
use serde::Serialize;

use super::{Agent, Arg, CLAUDE_SKIP, ExtraFile, LocusFacts};

mod gemini_policy;

/// Denied under the sandboxed posture, before what the operator denies. A speed bump, not a wall: an agent that wants
/// to delete a folder finds another spelling.
pub const BASELINE_DENIALS: [&str; 7] = [
    "Bash(rm -rf *)",
    "Bash(sudo *)",
    "Bash(* > /*)",
    "Bash(curl * | sh)",
    "Bash(curl * | bash)",
    "Bash(wget * | sh)",
    "Bash(wget * | bash)",
];

const POLICY_FILE: &str = "gemini-policy.toml";

/// The end of an agent's command line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[must_use]
pub struct Flags {
    /// What the posture and the lists amount to.
    pub posture: Vec<Arg>,
    /// What the user adds for this agent; comes last.
    pub raw: Vec<String>,
    /// Files that the flags point at.
    pub files: Vec<ExtraFile>,
    /// What cannot be enforced.
    pub warnings: Vec<Warning>,
}

/// Something that was asked for and that this agent's command line cannot enforce.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Warning {
    /// The whole posture.
    Posture {
        /// The agent.
        agent: &'static str,
        /// The posture.
        posture: Posture,
    },
    /// Some items of the lists.
    Items {
        /// The agent.
        agent: &'static str,
        /// The items.
        items: Vec<String>,
    },
    /// Nothing on the allow list lets the agent report, so its steps will park.
    ReportNotAllowed {
        /// The agent.
        agent: &'static str,
    },
}

/// Whether an agent's posture is enforced, as `batch config` and `batch view` show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Enforcement {
    /// The agent.
    pub agent: AgentName,
    /// Its command line enforces the posture.
    pub enforced: bool,
    /// The same in words.
    pub detail: &'static str,
}

/// Translates a policy into flags of `agent`. One that is not in the table gets only its raw flags.
pub fn flags(agent: &AgentName, permissions: &Permissions, facts: &LocusFacts) -> Flags {
    let mut flags = match Agent::find(agent) {
        Ok(Agent::Claude) => claude(permissions, facts),
        Ok(Agent::Codex) => codex(permissions, facts),
        Ok(Agent::Gemini) => gemini(permissions),
        Ok(Agent::Cursor) => {
            only_full(Agent::Cursor, permissions, &["--force", "--sandbox", "disabled"])
        }
        Ok(Agent::Opencode) => only_full(Agent::Opencode, permissions, &["--auto"]),
        Err(_) => Flags::default(),
    };
    flags.raw = permissions.raw.get(agent).cloned().unwrap_or_default();
    flags
}

/// Says whether the posture reaches `agent` at all. Raw flags do not count.
#[must_use]
pub fn enforcement(agent: &AgentName, permissions: &Permissions) -> Enforcement {
    let enforced = !flags(agent, permissions, &LocusFacts::default()).posture.is_empty();
    let detail =
        if enforced { "enforced via flags" } else { "NOT ENFORCED — agent defaults apply" };
    Enforcement { agent: agent.clone(), enforced, detail }
}

fn claude(permissions: &Permissions, facts: &LocusFacts) -> Flags {
    let mut flags = Flags::default();
    match permissions.posture {
        Posture::RepoSandboxedPermissive => {
            flags.add(["--permission-mode", "acceptEdits", "--add-dir"]);
            flags.posture.push(Arg::text(&facts.repo_root));
            flags.add_list("--allowedTools", &allow_or_shell(permissions));
            flags.add_list("--disallowedTools", &denials(permissions));
        }
        Posture::CuratedAllowlist => {
            flags.add(["--permission-mode", "default"]);
            flags.add_list("--allowedTools", &permissions.allow);
            flags.add_list("--disallowedTools", &permissions.deny);
            flags.warn_if_mute(Agent::Claude, permissions);
        }
        Posture::FullAutonomy => flags.add([CLAUDE_SKIP]),
    }
    flags
}

fn codex(permissions: &Permissions, facts: &LocusFacts) -> Flags {
    let mut flags = Flags::default();
    let approval = match permissions.posture {
        Posture::RepoSandboxedPermissive => "approval_policy=never",
        Posture::CuratedAllowlist => "approval_policy=on-request",
        Posture::FullAutonomy => {
            flags.add(["--dangerously-bypass-approvals-and-sandbox"]);
            return flags;
        }
    };
    flags.add(["--sandbox", "workspace-write", "-c", approval]);
    // Its sandbox has the git directory read-only, and a step must be able to commit.
    let git_dirs = [facts.git_dir.as_deref(), facts.git_common_dir.as_deref()];
    let mut known = Vec::new();
    for dir in git_dirs.into_iter().flatten() {
        if !known.contains(&dir) {
            known.push(dir);
            flags.posture.extend([Arg::text("--add-dir"), Arg::text(dir)]);
        }
    }
    flags.warn_of_lists(Agent::Codex, permissions);
    flags
}

fn gemini(permissions: &Permissions) -> Flags {
    let mut flags = Flags::default();
    let (mode, allow, deny) = match permissions.posture {
        Posture::RepoSandboxedPermissive => {
            ("auto_edit", allow_or_shell(permissions), denials(permissions))
        }
        Posture::CuratedAllowlist => {
            flags.warn_if_mute(Agent::Gemini, permissions);
            ("default", permissions.allow.clone(), permissions.deny.clone())
        }
        Posture::FullAutonomy => {
            flags.add(["--approval-mode", "yolo"]);
            return flags;
        }
    };
    flags.add(["--approval-mode", mode]);
    // Headless, the shell is not even offered to the model unless a policy file allows it.
    let policy = gemini_policy::render(&allow, &deny);
    if !policy.text.is_empty() {
        flags.posture.extend([Arg::text("--policy"), Arg::File(POLICY_FILE)]);
        flags.files.push(ExtraFile { name: POLICY_FILE, bytes: policy.text.into_bytes() });
    }
    flags.warn_of_items(Agent::Gemini, policy.inexpressible);
    flags
}

/// An agent whose command line knows one posture only.
fn only_full(agent: Agent, permissions: &Permissions, full: &[&str]) -> Flags {
    let mut flags = Flags::default();
    match permissions.posture {
        Posture::FullAutonomy => flags.add(full),
        posture @ (Posture::RepoSandboxedPermissive | Posture::CuratedAllowlist) => {
            flags.warnings.push(Warning::Posture { agent: agent.id(), posture });
        }
    }
    flags
}

/// An operator's list replaces the shell that is allowed by itself.
fn allow_or_shell(permissions: &Permissions) -> Vec<String> {
    if permissions.allow.is_empty() { vec!["Bash".to_owned()] } else { permissions.allow.clone() }
}

fn denials(permissions: &Permissions) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let operator = permissions.deny.iter().map(String::as_str);
    for item in BASELINE_DENIALS.into_iter().chain(operator) {
        if !all.iter().any(|known| known == item) {
            all.push(item.to_owned());
        }
    }
    all
}

impl Flags {
    fn add<'a>(&mut self, texts: impl IntoIterator<Item = impl AsRef<str> + 'a>) {
        self.posture.extend(texts.into_iter().map(|text| Arg::text(text.as_ref())));
    }

    fn add_list(&mut self, flag: &str, items: &[String]) {
        if !items.is_empty() {
            self.add([flag]);
            self.add(items);
        }
    }

    fn warn_of_lists(&mut self, agent: Agent, permissions: &Permissions) {
        let items = permissions.allow.iter().chain(&permissions.deny).cloned().collect();
        self.warn_of_items(agent, items);
    }

    fn warn_of_items(&mut self, agent: Agent, items: Vec<String>) {
        if !items.is_empty() {
            self.warnings.push(Warning::Items { agent: agent.id(), items });
        }
    }

    fn warn_if_mute(&mut self, agent: Agent, permissions: &Permissions) {
        let may_report =
            |item: &String| item == "Bash" || item.starts_with("Bash(") && item.contains("ratchet");
        if !permissions.allow.iter().any(may_report) {
            self.warnings.push(Warning::ReportNotAllowed { agent: agent.id() });
        }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Posture { agent, posture } => write!(
                f,
                "the permission posture '{}' cannot be enforced through the arguments of {agent}: its own defaults \
                 apply",
                word(*posture)
            ),
            Self::Items { agent, items } => write!(
                f,
                "these permission patterns cannot be enforced through the arguments of {agent}: {}",
                items.join(", ")
            ),
            Self::ReportNotAllowed { agent } => write!(
                f,
                "nothing on the allow list lets {agent} run 'ratchet', so it cannot report and its steps will park: \
                 add 'Bash(ratchet *)' to batch.permissions.allow"
            ),
        }
    }
}

fn word(posture: Posture) -> &'static str {
    match posture {
        Posture::CuratedAllowlist => "curated-allowlist",
        Posture::RepoSandboxedPermissive => "repo-sandboxed-permissive",
        Posture::FullAutonomy => "full-autonomy",
    }
}

#[cfg(test)]
mod tests;
