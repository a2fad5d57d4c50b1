//! The command files: what a coding agent finds when a prompt tells it to run `/rct:propose`.
//!
//! Each tool's file format and path (spec `agents-and-runtimes` 5); the texts are [`super::workflow`]'s. `init` writes the
//! same files. The writing itself is `store::command_file`'s, what a prompt says the engine's.

use std::path::{Path, PathBuf};

use ratchet_engine::name::AgentName;
use ratchet_engine::outcome::Refusal;
use ratchet_engine::settings::AgentOverride;
use ratchet_engine::transition::StepKind;

pub use super::workflow::CommandId;

use super::tool::Tool;
use super::workflow::Workflow;
use super::{Agent, generated};
use crate::environment::Environment;

impl From<StepKind> for CommandId {
    fn from(kind: StepKind) -> Self {
        match kind {
            StepKind::Propose => Self::Propose,
            StepKind::Apply => Self::Apply,
            StepKind::Verify => Self::Verify,
            StepKind::Decompose => Self::DecomposePhase,
            StepKind::Pr => Self::OpenPr,
        }
    }
}

/// Where command files go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Roots {
    /// The project root.
    pub project: PathBuf,
    /// Where Codex keeps its prompts: they do not belong to a project. `None` if the user has no home.
    pub codex_home: Option<PathBuf>,
}

/// The file that the agent of one step will read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandFile {
    tool: Tool,
    id: CommandId,
    path: Option<PathBuf>,
}

/// A command's file as it must lie where the agent will look for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    path: PathBuf,
    text: String,
    token: String,
}

impl CommandFile {
    /// Finds the file for a step of `agent`; `None` for an agent that is not known, which reads none.
    #[must_use]
    pub fn of(agent: &AgentName, kind: StepKind, roots: &Roots) -> Option<Self> {
        let tool = Tool::from(Agent::find(agent).ok()?);
        let id = CommandId::from(kind);
        Some(Self { tool, id, path: path(tool, id, roots) })
    }

    /// Says where the file is, as the agent sees it: from its working directory, the project root, if it is below that.
    /// `None` if it has no place, which [`Self::rendered`] refuses.
    #[must_use]
    pub fn as_seen(&self, roots: &Roots) -> Option<String> {
        let path = self.path.as_ref()?;
        Some(path.strip_prefix(&roots.project).unwrap_or(path).display().to_string())
    }

    /// Renders the file; it must be there before anything is spawned. On a worker it is in the snapshot, or goes with the
    /// spawn.
    ///
    /// # Errors
    /// Refuses an agent whose files have no place.
    pub fn rendered(&self) -> Result<Rendered, Refusal> {
        let token = token_of(self.tool, self.id);
        let Some(path) = self.path.clone() else {
            let why = "neither CODEX_HOME nor HOME is set, so the command files of codex have no place; set one of them";
            return Err(Refusal::Runtime { why: why.to_owned() });
        };
        Ok(Rendered { path, text: render(self.tool, self.id), token })
    }
}

impl Rendered {
    /// Where it goes.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What stands in it.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Refuses the step because the file cannot be written.
    #[must_use]
    pub fn unwritable(&self, why: String) -> Refusal {
        let path = self.path.display().to_string();
        Refusal::CommandFile { path, token: self.token.clone(), why }
    }
}

/// Gives the text by which `agent` calls the command of a step; one that is not known calls it as Claude Code does
/// (spec `agents-and-runtimes` 6).
#[must_use]
pub fn token(agent: &AgentName, kind: StepKind) -> String {
    token_of(Agent::find(agent).map_or(Tool::Claude, Tool::from), kind.into())
}

/// Gives the text by which a tool calls a command.
#[must_use]
pub fn token_of(tool: Tool, id: CommandId) -> String {
    format!("{}{}", token_prefix(tool), id.as_str())
}

/// Gives the path of a command's file; `None` for Codex if the user has no home.
#[must_use]
pub fn path(tool: Tool, id: CommandId, roots: &Roots) -> Option<PathBuf> {
    let id = id.as_str();
    let in_project = match tool {
        Tool::Codex => {
            return Some(roots.codex_home.as_ref()?.join(format!("prompts/rct-{id}.md")));
        }
        Tool::Claude => format!(".claude/commands/rct/{id}.md"),
        Tool::Cursor => format!(".cursor/commands/rct-{id}.md"),
        Tool::Gemini => format!(".gemini/commands/rct-{id}.md"),
        Tool::GithubCopilot => format!(".github/prompts/rct-{id}.prompt.md"),
        Tool::Opencode => format!(".opencode/commands/rct-{id}.md"),
    };
    Some(roots.project.join(in_project))
}

/// Renders a command's file in the format of its tool (spec `cli-core` 4.1).
#[must_use]
pub fn render(tool: Tool, id: CommandId) -> String {
    let Workflow { title, description, tags, body, .. } = id.workflow();
    let header = match tool {
        Tool::Claude => format!(
            "name: {}\ndescription: {description}\ncategory: Workflow\ntags: [{}]\n",
            quoted(title),
            tags.join(", ")
        ),
        Tool::Cursor => {
            let id = id.as_str();
            format!(
                "name: /rct-{id}\nid: rct-{id}\ncategory: Workflow\ndescription: {description}\n"
            )
        }
        Tool::Codex => format!("description: {description}\nargument-hint: command arguments\n"),
        Tool::Gemini | Tool::GithubCopilot | Tool::Opencode => {
            format!("description: {description}\n")
        }
    };
    let body = in_words_of(tool, body);
    generated::sealed(&format!("---\n{header}---\n\n{body}"))
}

/// Has a text call other workflows as a tool does.
pub(super) fn in_words_of(tool: Tool, body: &str) -> String {
    body.replace(token_prefix(Tool::Claude), token_prefix(tool))
}

impl Roots {
    /// Works the places out of the environment that the agent will have: the process's, and what the user sets for it.
    #[must_use]
    pub fn of(project: &Path, environment: &Environment, own: Option<&AgentOverride>) -> Self {
        let own = |name: &str| own.and_then(|own| own.env.get(name)).map(PathBuf::from);
        let codex_home = own("CODEX_HOME")
            .or_else(|| environment.var_os("CODEX_HOME").map(PathBuf::from))
            .filter(|home| !home.as_os_str().is_empty())
            .or_else(|| {
                Some(own("HOME").or(environment.home().map(PathBuf::from))?.join(".codex"))
            });
        // The agent's working directory is the project root, so that is what a relative path is relative to.
        Self { project: project.to_owned(), codex_home: codex_home.map(|home| project.join(home)) }
    }
}

fn token_prefix(tool: Tool) -> &'static str {
    match tool {
        Tool::Claude => "/rct:",
        Tool::Codex | Tool::Cursor | Tool::Gemini | Tool::GithubCopilot | Tool::Opencode => "/rct-",
    }
}

/// A double-quoted YAML scalar; the table has neither quotes nor backslashes.
fn quoted(text: &str) -> String {
    format!("\"{text}\"")
}

#[cfg(test)]
mod tests;
