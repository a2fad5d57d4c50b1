//! The command files: what a coding agent finds when a prompt tells it to run `/rct:propose`.
//!
//! A table of our own workflow texts, each tool's file format and path (spec `agents-and-runtimes` 5). `init` writes the
//! same files from the same table. The writing itself is `store::command_file`'s, what a prompt says the engine's.

use std::path::{Path, PathBuf};

use ratchet_engine::name::AgentName;
use ratchet_engine::outcome::Refusal;
use ratchet_engine::settings::{AgentOverride, Locus};
use ratchet_engine::transition::StepKind;

use super::Agent;
use super::tool::Tool;
use crate::environment::Environment;

/// A workflow that a step delegates to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandId {
    /// Author a change's features and plan.
    Propose,
    /// Carry out a change's plan.
    Apply,
    /// Check a change against its plan.
    Verify,
    /// Author a phase's changes.
    DecomposePhase,
    /// Open a pull request.
    OpenPr,
}

/// One workflow text, the same for every agent.
struct Workflow {
    title: &'static str,
    description: &'static str,
    tags: [&'static str; 2],
    body: &'static str,
}

const PROPOSE: Workflow = Workflow {
    title: "RCT: Propose",
    description: "Author the features and the plan of one change",
    tags: ["workflow", "propose"],
    body: include_str!("workflow/propose.md"),
};
const APPLY: Workflow = Workflow {
    title: "RCT: Apply",
    description: "Carry out the tasks of a change's plan",
    tags: ["workflow", "apply"],
    body: include_str!("workflow/apply.md"),
};
const VERIFY: Workflow = Workflow {
    title: "RCT: Verify",
    description: "Check an applied change against its features, plan and standards",
    tags: ["workflow", "verify"],
    body: include_str!("workflow/verify.md"),
};
const DECOMPOSE_PHASE: Workflow = Workflow {
    title: "RCT: Decompose Phase",
    description: "Author the changes of an empty phase in its batch's manifest",
    tags: ["workflow", "batch"],
    body: include_str!("workflow/decompose_phase.md"),
};
const OPEN_PR: Workflow = Workflow {
    title: "RCT: Open PR",
    description: "Commit, push and open one pull request for finished work",
    tags: ["workflow", "batch"],
    body: include_str!("workflow/open_pr.md"),
};

impl CommandId {
    /// Every id.
    pub const ALL: [Self; 5] =
        [Self::Propose, Self::Apply, Self::Verify, Self::DecomposePhase, Self::OpenPr];

    /// Returns the id as it stands in file names and tokens.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Propose => "propose",
            Self::Apply => "apply",
            Self::Verify => "verify",
            Self::DecomposePhase => "decompose-phase",
            Self::OpenPr => "open-pr",
        }
    }

    /// Finds an id by its text.
    #[must_use]
    pub fn find(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|id| id.as_str() == text)
    }

    fn workflow(self) -> &'static Workflow {
        match self {
            Self::Propose => &PROPOSE,
            Self::Apply => &APPLY,
            Self::Verify => &VERIFY,
            Self::DecomposePhase => &DECOMPOSE_PHASE,
            Self::OpenPr => &OPEN_PR,
        }
    }
}

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

    /// Renders the file for a locus; it must be there before anything is spawned.
    ///
    /// # Errors
    /// Refuses a remote locus, where this process cannot write, and an agent whose files have no place.
    pub fn rendered(&self, locus: Locus) -> Result<Rendered, Refusal> {
        let token = token_of(self.tool, self.id);
        let Some(path) = self.path.clone() else {
            let why = "neither CODEX_HOME nor HOME is set, so the command files of codex have no place; set one of them";
            return Err(Refusal::Runtime { why: why.to_owned() });
        };
        match locus {
            Locus::Remote => Err(Refusal::UnreachableLocus {
                path: path.display().to_string(),
                token,
                locus: "remote".to_owned(),
            }),
            Locus::Local | Locus::Docker => {
                Ok(Rendered { path, text: render(self.tool, self.id), token })
            }
        }
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
    let Workflow { title, description, tags, body } = id.workflow();
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
    let body = body.replace(token_prefix(Tool::Claude), token_prefix(tool));
    format!("---\n{header}---\n\n{body}")
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
