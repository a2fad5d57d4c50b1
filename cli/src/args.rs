//! The command line as types. The doc comments are the manual: `--help`, the man pages and the completions come from here.
//!
//! Only shape is checked here. What a name stands for, and which flags go together, is for the commands: their errors
//! say more than clap's.

pub(crate) mod batch;
pub(crate) mod change;
pub(crate) mod doctor;
pub(crate) mod duration;
pub(crate) mod eval;
mod help;
pub(crate) mod planning;
pub(crate) mod setup;
pub(crate) mod supervisor;
pub(crate) mod topics;
pub(crate) mod worker;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use ratchet_telemetry::log;
use ratchet_telemetry::log::Level;

pub(crate) use help::command;

/// Drives coding agents through a project's work, one forced step at a time.
#[derive(Debug, Parser)]
#[command(name = "ratchet", version, after_long_help = help::EXIT_CODES)]
pub(crate) struct Cli {
    /// Print without colours
    ///
    /// The same as setting NO_COLOR=1. Output that is not a terminal has colours only with CLICOLOR_FORCE=1.
    #[arg(long, global = true)]
    pub(crate) no_color: bool,

    #[command(flatten)]
    pub(crate) logging: Logging,

    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What is told of the work itself, on standard error.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Logging {
    /// Say on standard error what is done, and how much of it: off, error, warn, info, debug or trace
    ///
    /// Without this flag RATCHET_LOG says it. The supervisor's is info if nobody says anything, everybody else's is off.
    #[arg(long, global = true, value_name = "LEVEL", value_parser = parse_level, hide_short_help = true)]
    log_level: Option<Level>,

    /// How these lines look: text, or one JSON object each
    #[arg(
        long,
        global = true,
        value_name = "FORMAT",
        default_value = "text",
        hide_short_help = true
    )]
    log_format: LogFormat,
}

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// For people
    Text,
    /// One object a line
    Json,
}

impl Logging {
    /// Returns the level that was asked for.
    pub(crate) fn level(self) -> Option<Level> {
        self.log_level
    }

    /// Returns the format.
    pub(crate) fn format(self) -> log::Format {
        self.log_format.into()
    }
}

fn parse_level(word: &str) -> Result<Level, String> {
    Level::parse(word).ok_or_else(|| "use off, error, warn, info, debug or trace".to_owned())
}

// The order is the order of the help: plain commands first, then the workflow in the order in which it is used.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Set a project up: its folders, and skills and commands for your coding tools
    #[command(after_long_help = setup::INIT_EXAMPLES)]
    Init(setup::Init),

    /// Bring the skills and commands of a project up to this version and to your profile
    #[command(after_long_help = setup::UPDATE_EXAMPLES)]
    Update(setup::Update),

    /// Look at what work needs, and say how to get what is missing
    #[command(after_long_help = doctor::EXAMPLES)]
    Doctor(doctor::Doctor),

    /// Create something new: a change or a batch
    #[command(subcommand)]
    New(New),

    /// List the changes that are not archived, or the capabilities of the feature store
    #[command(after_long_help = planning::LIST_EXAMPLES)]
    List(planning::List),

    /// Show drafts, work in progress and finished changes at a glance
    #[command(after_long_help = planning::VIEW_EXAMPLES)]
    View(planning::View),

    /// Show how far a change is planned, and what to type next
    #[command(after_long_help = planning::STATUS_EXAMPLES)]
    Status(planning::Status),

    /// Say how an artifact of a change is made, or how its plan is carried out or checked
    ///
    /// Agents call this before they write anything.
    #[command(after_long_help = planning::INSTRUCTIONS_EXAMPLES)]
    Instructions(planning::Instructions),

    /// Print a template of a workflow
    #[command(after_long_help = planning::TEMPLATE_EXAMPLES)]
    Template(planning::Template),

    /// Check changes, features or a batch's manifest, and say everything that is wrong
    ///
    /// Exits 0 if everything is valid and 1 if anything is not. Every finding is listed with its place.
    #[command(after_long_help = planning::VALIDATE_EXAMPLES)]
    Validate(planning::Validate),

    /// Put a finished change away: its features into the store, its folder into the archive
    #[command(after_long_help = planning::ARCHIVE_EXAMPLES)]
    Archive(planning::Archive),

    /// Print the completion script of a shell
    #[command(after_long_help = "\
Examples:
  ratchet completions bash > ~/.local/share/bash-completion/completions/ratchet
  ratchet completions zsh > ~/.zfunc/_ratchet
  ratchet completions fish > ~/.config/fish/completions/ratchet.fish")]
    Completions(Completions),

    /// Read what is good to know and belongs to no single command
    #[command(hide = true, long_about = topics::ABOUT, help_template = "{about}\n")]
    Topics(topics::Topics),

    /// Write the man pages into a folder
    #[command(hide = true)]
    Man(Man),

    /// Run one owner for all batches, so that steps outlive terminals; ask it, stop it
    ///
    /// Nothing needs it: without a supervisor every command runs its step itself.
    #[command(subcommand, after_long_help = supervisor::EXAMPLES)]
    Supervisor(supervisor::Supervisor),

    /// Look after the machines on which steps run: list them, check them, drain one
    ///
    /// They are named by the settings `host` and `port`, or `workers`.
    #[command(subcommand, after_long_help = worker::EXAMPLES)]
    Worker(worker::Worker),

    /// Have one agent propose a change: its features and its plan
    #[command(after_long_help = change::PROPOSE_EXAMPLES)]
    Propose(change::Propose),

    /// Have one agent carry out a change's plan
    #[command(after_long_help = change::APPLY_EXAMPLES)]
    Apply(change::Move),

    /// Have one agent check a change against its plan
    #[command(after_long_help = change::VERIFY_EXAMPLES)]
    Verify(change::Move),

    /// Report on a change that runs outside of a batch
    ///
    /// The agent of `ratchet propose`, `apply` or `verify` calls this; a person uses it to answer, approve or reject.
    /// The report is on disk when the command returns 0.
    #[command(after_long_help = change::REPORT_EXAMPLES)]
    Report(change::Report),

    /// Judge cases, evaluate invariants, and see whether the tests notice planted faults
    #[command(subcommand, after_long_help = eval::EXAMPLES)]
    Eval(eval::Eval),

    /// Work through a batch of changes, phase by phase and step by step
    #[command(subcommand, after_long_help = batch::EXAMPLES)]
    Batch(batch::Batch),
}

#[derive(Debug, Subcommand)]
pub(crate) enum New {
    /// Create a change: a folder to plan in
    ///
    /// Writes .ratchet/changes/<NAME>/ with a .ratchet.yaml. A change that is there is never touched.
    #[command(after_long_help = planning::NEW_CHANGE_EXAMPLES)]
    Change(planning::NewChange),

    /// Create a batch; the same as `ratchet batch new`
    Batch(batch::New),
}

#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// bash, elvish, fish, powershell or zsh
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub(crate) struct Man {
    /// The folder to write to; it must exist
    pub(crate) folder: PathBuf,
}

/// How a command answers.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Output {
    /// Print one JSON document and nothing else on standard output
    #[arg(long)]
    json: bool,
}

/// The two ways to answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// For people.
    Text,
    /// For programs.
    Json,
}

impl Output {
    /// Returns the way that was asked for.
    pub(crate) fn format(self) -> Format {
        if self.json { Format::Json } else { Format::Text }
    }
}

/// Flags of every command that runs a step.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Stepping {
    /// Let RATCHET_BATCH_AGENT_CMD stand in for the agent where the project demands this flag
    ///
    /// Needed only if the project's config says `batch.requireOverrideFlag: true`.
    #[arg(long)]
    pub(crate) allow_agent_override: bool,

    /// Start an agent although it has reached its usage limit
    ///
    /// Without this flag an agent that said when its limit resets is not started before.
    #[arg(long)]
    pub(crate) ignore_limit: bool,

    /// Say by the exit code how the step ended
    ///
    /// 0 advanced or passed, 10 blocked, 11 awaiting approval, 12 nothing ready, 13 proof-of-work failed. Without this
    /// flag every recorded outcome exits 0, and 1 means that nothing was recorded.
    #[arg(long)]
    pub(crate) exit_code: bool,
}

#[cfg(test)]
mod tests;
