//! The coding agents: who they are, and how one is called.
//!
//! Everything here is a pure function from values to values. Nothing is written here, that is the store's job, and
//! nothing is started, that is the runtimes'. The flags and formats were checked against the real programs; where the
//! original's are refused today, today's are used (spec `agents-and-runtimes` 1, decision OQ-44).
//! A user replaces a row that a newer version broke by `batch.agents.<name>.{command,args,env}`.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use ratchet_engine::journal::Via;
use ratchet_engine::name::AgentName;
use ratchet_engine::permission::Permissions;
use ratchet_engine::settings::{AgentOverride, AgentSpec, Settings};
use ratchet_engine::transition::StepKind;
use thiserror::Error;

use self::profile::Profile;
use self::stream::StreamFormat;

pub mod command;
pub mod environment;
pub mod failure;
pub mod generated;
pub mod permission;
mod profile;
pub mod render;
pub mod skill;
pub mod stream;
pub mod tool;
pub mod workflow;

/// A coding agent that ratchet can start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Agent {
    /// Claude Code, the default.
    Claude,
    /// Codex.
    Codex,
    /// Gemini CLI.
    Gemini,
    /// The agent of Cursor.
    Cursor,
    /// opencode.
    Opencode,
}

impl Agent {
    /// Every agent, sorted by id.
    pub const ALL: [Self; 5] =
        [Self::Claude, Self::Codex, Self::Cursor, Self::Gemini, Self::Opencode];

    /// Finds an agent by the name it has in settings.
    ///
    /// # Errors
    /// Fails for a name that is not in the table; the text lists those that are.
    pub fn find(name: &AgentName) -> Result<Self, AgentError> {
        Self::ALL
            .into_iter()
            .find(|agent| agent.id() == name.as_str())
            .ok_or_else(|| AgentError::Unknown { id: name.as_str().to_owned() })
    }

    /// Returns the id in settings.
    #[must_use]
    pub fn id(self) -> &'static str {
        self.profile().id
    }

    /// Returns the names its program goes by, the best first.
    #[must_use]
    pub fn binaries(self) -> &'static [&'static str] {
        self.profile().binaries
    }

    /// Returns the variables it reads; a name that ends in `*` is a prefix.
    #[must_use]
    pub fn variables(self) -> &'static [&'static str] {
        self.profile().variables
    }

    /// Returns what it prints.
    #[must_use]
    pub fn format(self) -> StreamFormat {
        self.profile().format
    }
}

/// Gives the agent that settings name for a stage, else the default one.
#[must_use]
pub fn chosen(settings: &Settings, stage: StepKind) -> AgentSpec {
    let named = settings.agent.as_ref().and_then(|choice| choice.of(stage));
    let default = || AgentSpec { agent: AgentName::new(Agent::Claude.id()), model: None };
    named.cloned().unwrap_or_else(default)
}

/// What settings say about one call.
#[derive(Debug, Clone, Copy, Default)]
pub struct Asked<'a> {
    /// The model, if one was named.
    pub model: Option<&'a str>,
    /// What the agent may do; without a policy no permission flag is given.
    pub permissions: Option<&'a Permissions>,
    /// What the user changed about this agent's command.
    pub overrides: Option<&'a AgentOverride>,
}

/// What is known of the place where the agent will run. Paths are as seen from there.
#[derive(Debug, Clone, Default)]
pub struct LocusFacts {
    /// The project root, which is also the agent's working directory.
    pub repo_root: PathBuf,
    /// The directory git works with; `None` outside of a repository.
    pub git_dir: Option<PathBuf>,
    /// The directory shared by all worktrees; in a plain clone the same as `git_dir`.
    pub git_common_dir: Option<PathBuf>,
    /// Which of [`Agent::binaries`] was found; `None` if nobody looked, or none was.
    pub program: Option<String>,
    /// The agent will run as root.
    pub as_root: bool,
    /// `IS_SANDBOX` is set in the agent's environment.
    pub marked_sandbox: bool,
}

/// How an agent is called. The prompt goes to its standard input, which is then closed.
#[derive(Clone, PartialEq, Eq)]
#[must_use]
pub struct Invocation {
    /// The program.
    pub program: String,
    /// Its arguments.
    pub args: Vec<Arg>,
    /// Files to write before the start, for [`Arg::File`] to point at.
    pub files: Vec<ExtraFile>,
    /// Variables to set over the allow-listed ones. Values may be secret.
    pub env: BTreeMap<String, String>,
    /// How its output is read.
    pub format: StreamFormat,
    /// What could not be done as asked.
    pub warnings: Vec<permission::Warning>,
    /// Set when `RATCHET_BATCH_AGENT_CMD` stands in for the agent.
    pub via: Option<Via>,
}

/// One argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Arg {
    /// A text.
    Text(OsString),
    /// The path of the [`ExtraFile`] of this name.
    File(&'static str),
}

/// A file that an argument points at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtraFile {
    /// Its name, to be written in a folder of the caller's choice.
    pub name: &'static str,
    /// What is in it.
    pub bytes: Vec<u8>,
}

/// Says why an agent cannot be called.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum AgentError {
    /// Nothing is known of such an agent.
    #[error("Unknown agent adapter '{id}'. Available adapters: {}.", available())]
    Unknown {
        /// The name that was asked for.
        id: String,
    },
    /// A model's name would be read as a flag.
    #[error(
        "the model '{model}' of agent '{agent}' starts with a dash and would be read as a flag; \
         correct the agent setting to <agent>:<model>"
    )]
    ModelIsAFlag {
        /// The agent.
        agent: &'static str,
        /// The text that was given.
        model: String,
    },
    /// Claude Code ends at once.
    #[error(
        "claude refuses to run with full autonomy as root; run ratchet as another user, choose another \
         batch.permissions.posture, or, if this machine is a throw-away sandbox, set IS_SANDBOX=1 under \
         batch.agents.claude.env"
    )]
    RootRefused,
}

fn available() -> String {
    Agent::ALL.map(Agent::id).join(", ")
}

const CLAUDE_SKIP: &str = "--dangerously-skip-permissions";

/// Works out how `agent` is called: its base arguments, the model, then permission flags, the raw ones last.
///
/// # Errors
/// Refuses a model that would be read as a flag, and Claude Code with full autonomy as root.
pub fn invocation(
    agent: Agent,
    asked: &Asked<'_>,
    facts: &LocusFacts,
) -> Result<Invocation, AgentError> {
    let profile = agent.profile();
    let mut args = base_args(agent, asked, facts);
    if let Some(model) = asked.model {
        if model.starts_with('-') {
            return Err(AgentError::ModelIsAFlag { agent: profile.id, model: model.to_owned() });
        }
        args.extend([profile.model_flag, model].map(Arg::text));
    }
    let flags = asked
        .permissions
        .map(|permissions| permission::flags(&AgentName::new(profile.id), permissions, facts));
    let flags = flags.unwrap_or_default();
    args.extend(flags.posture);
    args.extend(flags.raw.iter().map(Arg::text));

    let chosen = asked.overrides.and_then(|overrides| overrides.command.clone());
    refuse_root(agent, chosen.as_deref(), &args, asked, facts)?;
    Ok(Invocation {
        program: chosen
            .or_else(|| facts.program.clone())
            .unwrap_or_else(|| profile.binaries[0].to_owned()),
        args,
        files: flags.files,
        env: variables(profile, asked.overrides),
        format: profile.format,
        warnings: flags.warnings,
        via: None,
    })
}

/// Works out the call of `RATCHET_BATCH_AGENT_CMD`, whose trimmed text bash runs in the agent's stead; `None` if it
/// is blank (spec `agents-and-runtimes` 4).
#[must_use]
pub fn stand_in(command: &str) -> Option<Invocation> {
    let command = command.trim();
    (!command.is_empty()).then(|| Invocation {
        program: "bash".to_owned(),
        args: ["-c", command].map(Arg::text).to_vec(),
        files: Vec::new(),
        env: BTreeMap::new(),
        format: StreamFormat::Raw,
        warnings: Vec::new(),
        via: Some(Via::EnvOverride),
    })
}

fn base_args(agent: Agent, asked: &Asked<'_>, facts: &LocusFacts) -> Vec<Arg> {
    if let Some(own) = asked.overrides.and_then(|overrides| overrides.args.as_ref()) {
        return own.iter().map(Arg::text).collect();
    }
    let mut args: Vec<Arg> = agent.profile().base.iter().map(Arg::text).collect();
    if agent == Agent::Codex && facts.git_dir.is_none() {
        args.push(Arg::text("--skip-git-repo-check"));
    }
    args
}

fn refuse_root(
    agent: Agent,
    own_command: Option<&str>,
    args: &[Arg],
    asked: &Asked<'_>,
    facts: &LocusFacts,
) -> Result<(), AgentError> {
    let marked = facts.marked_sandbox
        || asked.overrides.is_some_and(|overrides| overrides.env.contains_key("IS_SANDBOX"));
    let skips = args.contains(&Arg::text(CLAUDE_SKIP));
    if agent == Agent::Claude && own_command.is_none() && facts.as_root && skips && !marked {
        return Err(AgentError::RootRefused);
    }
    Ok(())
}

fn variables(profile: &Profile, overrides: Option<&AgentOverride>) -> BTreeMap<String, String> {
    let mut env: BTreeMap<String, String> = profile
        .settings
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    if let Some(overrides) = overrides {
        env.extend(overrides.env.clone());
    }
    env
}

impl Invocation {
    /// Gives program and arguments; `files_at` is where the extra files will be, as the agent sees it.
    #[must_use]
    pub fn argv(&self, files_at: &Path) -> Vec<OsString> {
        let args = self.args.iter().map(|arg| match arg {
            Arg::Text(text) => text.clone(),
            Arg::File(name) => files_at.join(name).into_os_string(),
        });
        std::iter::once(OsString::from(&self.program)).chain(args).collect()
    }
}

impl Arg {
    /// Makes an argument of a text or a path.
    pub fn text(text: impl Into<OsString>) -> Self {
        Self::Text(text.into())
    }
}

impl fmt::Debug for Invocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Invocation")
            .field("program", &self.program)
            .field("args", &self.args)
            .field("env", &self.env.keys())
            .field("format", &self.format)
            .field("warnings", &self.warnings)
            .field("via", &self.via)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
