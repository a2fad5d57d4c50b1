//! `ratchet worker …` as types.

use clap::{Args, Subcommand};

use super::Output;

pub(crate) const EXAMPLES: &str = "\
Examples:
  ratchet worker list
  ratchet worker check
  ratchet worker drain attic:7431";

#[derive(Debug, Subcommand)]
pub(crate) enum Worker {
    /// List the workers that the settings name: who answers, how busy each is, which commands it knows
    ///
    /// A worker that does not answer is listed with the reason.
    #[command(after_long_help = LIST_EXAMPLES)]
    List(List),

    /// Say of each worker whether it can take steps, and what to do if not
    ///
    /// Exits 0 if every worker that the settings name can take steps, and 1 if one cannot.
    #[command(after_long_help = CHECK_EXAMPLES)]
    Check(Check),

    /// Have a worker take no new commands, so that it can be stopped or updated; or have it take them again
    ///
    /// What runs there goes on. A worker that is started anew takes commands.
    #[command(after_long_help = DRAIN_EXAMPLES)]
    Drain(Drain),
}

const LIST_EXAMPLES: &str = "\
Examples:
  ratchet worker list
  ratchet worker list --json";

const CHECK_EXAMPLES: &str = "\
Examples:
  ratchet worker check
  ratchet worker check --json";

const DRAIN_EXAMPLES: &str = "\
Examples:
  ratchet worker drain
  ratchet worker drain attic:7431
  ratchet worker drain attic:7431 --resume";

#[derive(Debug, Args)]
pub(crate) struct List {
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct Check {
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct Drain {
    /// The worker, as HOST:PORT; needed if the settings name several
    #[arg(value_name = "WORKER")]
    pub(crate) worker: Option<String>,

    /// Take commands again
    #[arg(long)]
    pub(crate) resume: bool,

    #[command(flatten)]
    pub(crate) output: Output,
}
