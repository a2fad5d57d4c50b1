//! The command files: what a coding agent finds when a prompt tells it to run `/rct:propose`.
//!
//! A table of our own workflow texts, each agent's file format and path, and [`ensure`], which puts a missing file
//! there before a spawn and leaves an existing one alone (spec `agents-and-runtimes` 5). `init` writes the same files
//! from the same table. What a prompt says is the engine's business.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use ratchet_engine::settings::Locus;
use ratchet_engine::transition::StepKind;
use thiserror::Error;

use super::Agent;
use super::tool::Tool;

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
    ///
    /// # Errors
    /// Fails for a text that is no id.
    pub fn parse(text: &str) -> Result<Self, CommandError> {
        Self::ALL
            .into_iter()
            .find(|id| id.as_str() == text)
            .ok_or_else(|| CommandError::Unknown { id: text.to_owned() })
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
    /// Where Codex keeps its prompts: they do not belong to a project.
    pub codex_home: Option<PathBuf>,
}

/// What [`ensure`] found or did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ensured {
    /// The file was there, and was left alone.
    Present,
    /// It was missing and has been written.
    Written,
}

/// Says why an agent will not find the command of its step.
#[derive(Debug, Error)]
pub enum CommandError {
    /// There is no such command.
    #[error("there is no rct command '{id}'")]
    Unknown {
        /// The text that was given.
        id: String,
    },
    /// The agent will run where this process cannot write.
    #[error(
        "the rct command '{id}' ({token}) cannot be guaranteed where the agent would run: with locus 'remote' its \
         workspace is on another machine, and '{path}' cannot be written there from here. Put the command files into \
         the remote workspace yourself, or set locus to 'local' or 'docker'. No agent was started."
    )]
    Remote {
        /// The command.
        id: &'static str,
        /// How the agent would have called it.
        token: String,
        /// The file it would have read.
        path: String,
    },
    /// The agent keeps its commands in the user's home, and there is none.
    #[error(
        "the folder for the commands of codex is unknown: neither CODEX_HOME nor HOME is set; set one of them"
    )]
    NoHome,
    /// The file could not be written.
    #[error(
        "the rct command '{id}' could not be written to '{}': {source}. Make that place writable, or put the file \
         there yourself, then resume.",
        path.display()
    )]
    Write {
        /// The command.
        id: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

/// Gives the text by which an agent calls a command.
#[must_use]
pub fn token(tool: Tool, id: CommandId) -> String {
    format!("{}{}", token_prefix(tool), id.as_str())
}

/// Gives the path of a command's file: below the project root, or absolute.
///
/// # Errors
/// Fails for Codex if the user has no home.
pub fn path(tool: Tool, id: CommandId, roots: &Roots) -> Result<PathBuf, CommandError> {
    let id = id.as_str();
    Ok(match tool {
        Tool::Claude => roots.project.join(format!(".claude/commands/rct/{id}.md")),
        Tool::Codex => {
            let home = roots.codex_home.as_ref().ok_or(CommandError::NoHome)?;
            home.join(format!("prompts/rct-{id}.md"))
        }
        Tool::Cursor => roots.project.join(format!(".cursor/commands/rct-{id}.md")),
        Tool::Gemini => roots.project.join(format!(".gemini/commands/rct-{id}.md")),
        Tool::GithubCopilot => roots.project.join(format!(".github/prompts/rct-{id}.prompt.md")),
        Tool::Opencode => roots.project.join(format!(".opencode/commands/rct-{id}.md")),
    })
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

/// Makes sure that the command is where the agent will look for it, before anything is spawned.
///
/// # Errors
/// Fails for a remote locus, and if the file cannot be written; the text says what to do.
pub fn ensure(
    agent: Agent,
    id: CommandId,
    roots: &Roots,
    locus: Locus,
) -> Result<Ensured, CommandError> {
    let tool = Tool::from(agent);
    let path = path(tool, id, roots)?;
    match locus {
        Locus::Remote => Err(CommandError::Remote {
            id: id.as_str(),
            token: token(tool, id),
            path: path.display().to_string(),
        }),
        Locus::Local | Locus::Docker => write_missing(&path, &render(tool, id))
            .map_err(|source| CommandError::Write { id: id.as_str(), path, source }),
    }
}

impl Roots {
    /// Works the places out of the project root and the environment that the agent will have.
    #[must_use]
    pub fn of(project: &Path, agent_env: &BTreeMap<OsString, OsString>) -> Self {
        let set = |name: &str| {
            agent_env.get(OsStr::new(name)).filter(|value| !value.is_empty()).map(PathBuf::from)
        };
        let codex_home = set("CODEX_HOME").or_else(|| Some(set("HOME")?.join(".codex")));
        // The agent's working directory is the project root, so that is what a relative path is relative to.
        let codex_home = codex_home.map(|home| project.join(home));
        Self { project: project.to_owned(), codex_home }
    }
}

/// Two spawns may do this at once; the first file stays.
fn write_missing(path: &Path, text: &str) -> io::Result<Ensured> {
    if path.is_file() {
        return Ok(Ensured::Present);
    }
    let folder = path.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(folder)?;
    // It belongs to the project, so the user's umask decides who may read it.
    let mut file = tempfile::Builder::new()
        .prefix(".rct-")
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(folder)?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    match file.persist_noclobber(path) {
        Ok(_) => Ok(Ensured::Written),
        Err(_) if path.is_file() => Ok(Ensured::Present),
        Err(error) => Err(error.error),
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
