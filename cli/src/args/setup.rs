//! The commands that set a project up and look at its surroundings, as types.

use std::path::PathBuf;

use clap::Args;

use super::Output;

pub(crate) const INIT_EXAMPLES: &str = "\
Makes .ratchet/ with its folders, writes skills and commands for your coding tools, and tells git what to ignore. What is
there stays: a file that you have changed is kept as <file>.bak before it is replaced.

At a terminal you are asked which tools, and what agents may do. Elsewhere, and with --yes, the tools that this project is
worked on with are taken.

Tools: claude, codex, cursor, gemini, github-copilot, opencode

Examples:
  ratchet init
  ratchet init --tools claude,codex
  ratchet init --tools none --force
  ratchet init ../shop --yes --json";

pub(crate) const UPDATE_EXAMPLES: &str = "\
Which workflows, and in which form, is said in the user's configuration, ~/.config/ratchet/config.json:

  {\"profile\": \"custom\", \"workflows\": [\"propose\", \"apply\", \"eval\"], \"delivery\": \"skills\"}

Without it every project gets the core workflows, as skills and as commands.

Examples:
  ratchet update
  ratchet update --force";

#[derive(Debug, Args)]
pub(crate) struct Init {
    /// The project's folder; made if it is missing
    #[arg(default_value = ".")]
    pub(crate) path: PathBuf,
    /// The coding tools: all, none, or ids with commas between
    #[arg(long, value_name = "TOOLS")]
    pub(crate) tools: Option<String>,
    /// Write .ratchet/config.yaml even if nobody is there to ask
    #[arg(long)]
    pub(crate) force: bool,
    /// The workflows: core or custom
    #[arg(long, value_name = "PROFILE")]
    pub(crate) profile: Option<String>,
    /// Ask nothing
    #[arg(short = 'y', long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct Update {
    /// The project's folder
    #[arg(default_value = ".")]
    pub(crate) path: PathBuf,
    /// Write every file, also those that are as they should be
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) output: Output,
}
