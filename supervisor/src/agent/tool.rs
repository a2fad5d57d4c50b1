//! The one list of coding tools: what `init` sets up, what `doctor` looks for, and which of them can be started.
//!
//! A tool without a program (GitHub Copilot lives in its editor) gets command files but is never spawned.
//! What a tool's files look like is in [`super::command`] (spec `cli-core` 4.1).

use super::Agent;

/// A coding tool that ratchet can be set up for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tool {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
    /// Cursor.
    Cursor,
    /// Gemini CLI.
    Gemini,
    /// GitHub Copilot.
    GithubCopilot,
    /// opencode.
    Opencode,
}

impl Tool {
    /// Every tool, sorted by id.
    pub const ALL: [Self; 6] = [
        Self::Claude,
        Self::Codex,
        Self::Cursor,
        Self::Gemini,
        Self::GithubCopilot,
        Self::Opencode,
    ];

    /// Finds a tool by its id.
    #[must_use]
    pub fn find(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.id() == id)
    }

    /// Returns the id.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self.agent() {
            Some(agent) => agent.id(),
            None => "github-copilot",
        }
    }

    /// Returns the name that people know.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Claude => "Claude Code",
            Self::Codex => "Codex",
            Self::Cursor => "Cursor",
            Self::Gemini => "Gemini",
            Self::GithubCopilot => "GitHub Copilot",
            Self::Opencode => "OpenCode",
        }
    }

    /// Returns its folder in a project.
    #[must_use]
    pub fn folder(self) -> &'static str {
        match self {
            Self::Claude => ".claude",
            Self::Codex => ".codex",
            Self::Cursor => ".cursor",
            Self::Gemini => ".gemini",
            Self::GithubCopilot => ".github",
            Self::Opencode => ".opencode",
        }
    }

    /// Returns the paths of which one must exist for the tool to count as used in a project.
    #[must_use]
    pub fn detected_by(self) -> &'static [&'static str] {
        match self {
            Self::Claude => &[".claude"],
            Self::Codex => &[".codex"],
            Self::Cursor => &[".cursor"],
            Self::Gemini => &[".gemini"],
            // The bare folder proves nothing: most projects on GitHub have it.
            Self::GithubCopilot => &[
                ".github/copilot-instructions.md",
                ".github/instructions",
                ".github/workflows/copilot-setup-steps.yml",
                ".github/prompts",
                ".github/agents",
                ".github/skills",
                ".github/.mcp.json",
            ],
            Self::Opencode => &[".opencode"],
        }
    }

    /// Returns the agent behind the tool, if it can be started.
    #[must_use]
    pub fn agent(self) -> Option<Agent> {
        match self {
            Self::Claude => Some(Agent::Claude),
            Self::Codex => Some(Agent::Codex),
            Self::Cursor => Some(Agent::Cursor),
            Self::Gemini => Some(Agent::Gemini),
            Self::Opencode => Some(Agent::Opencode),
            Self::GithubCopilot => None,
        }
    }
}

impl From<Agent> for Tool {
    fn from(agent: Agent) -> Self {
        match agent {
            Agent::Claude => Self::Claude,
            Agent::Codex => Self::Codex,
            Agent::Cursor => Self::Cursor,
            Agent::Gemini => Self::Gemini,
            Agent::Opencode => Self::Opencode,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // B-P19
    #[test]
    fn tools_with_a_program_and_agents_are_the_same() {
        let mut spawnable: Vec<Agent> = Tool::ALL.into_iter().filter_map(Tool::agent).collect();
        spawnable.sort_by_key(|agent| agent.id());
        assert_eq!(spawnable, Agent::ALL);
        for agent in Agent::ALL {
            assert_eq!(Tool::from(agent).id(), agent.id());
            assert!(!agent.binaries().is_empty());
        }
    }

    // B-P20
    #[test]
    fn a_tool_without_a_program_is_no_agent() {
        assert_eq!(Tool::find("github-copilot"), Some(Tool::GithubCopilot));
        assert_eq!(Tool::GithubCopilot.agent(), None);
        let name = ratchet_engine::name::AgentName::new("github-copilot");
        assert!(Agent::find(&name).is_err());
    }
}
