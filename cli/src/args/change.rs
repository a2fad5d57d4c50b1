//! The verbs that move one change outside of a batch, as types.

use clap::Args;

use super::{Output, Stepping};

pub(crate) const PROPOSE_EXAMPLES: &str = "\
The change's folder must not exist yet; its name is made from the objective unless --name is given.

Examples:
  ratchet propose \"Add a shopping cart\"
  ratchet propose \"Add a shopping cart\" --name add-cart -m \"no new dependencies\" --agent codex";

pub(crate) const APPLY_EXAMPLES: &str = "\
Examples:
  ratchet apply add-cart
  ratchet apply add-cart --agent claude:opus --json 2>live.log";

pub(crate) const VERIFY_EXAMPLES: &str = "\
Every task of the plan must be ticked, unless --force is given.

Examples:
  ratchet verify add-cart
  ratchet verify add-cart --exit-code";

pub(crate) const REPORT_EXAMPLES: &str = "\
Examples, by the agent:
  ratchet report add-cart --status \"three of five tasks done\"
  ratchet report add-cart --complete \"plan written\"

Examples, by a person:
  ratchet report add-cart --answer \"use euro\"
  ratchet report add-cart --approve";

#[derive(Debug, Args)]
pub(crate) struct Propose {
    /// What the change is to achieve
    pub(crate) objective: String,
    /// The change's name, kebab-case; made from the objective if left out
    #[arg(long)]
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) run: AgentRun,
}

/// The arguments of `apply` and `verify`.
#[derive(Debug, Args)]
pub(crate) struct Move {
    /// The change
    pub(crate) change: String,
    /// Run even if the change is not ready for it; it must exist all the same
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) run: AgentRun,
}

/// How the one agent is run.
#[derive(Debug, Args)]
pub(crate) struct AgentRun {
    /// Guidance for the agent; may be given several times
    #[arg(short = 'm', long = "message", value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) messages: Vec<String>,
    /// The agent and, if wanted, its model: AGENT[:MODEL]
    #[arg(long, value_name = "SPEC")]
    pub(crate) agent: Option<String>,
    /// Where it runs: local, docker or remote
    #[arg(long)]
    pub(crate) locus: Option<String>,
    /// The container image, where it runs in one
    #[arg(long)]
    pub(crate) image: Option<String>,
    #[command(flatten)]
    pub(crate) stepping: Stepping,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct Report {
    /// The change
    pub(crate) change: String,
    #[command(flatten)]
    pub(crate) output: Output,
    #[command(flatten)]
    pub(crate) kind: super::batch::ReportKind,
}
