//! `ratchet batch …` as types.

use clap::{Args, Subcommand};

use super::{Output, Stepping};

pub(crate) const EXAMPLES: &str = "\
A batch is a folder .ratchet/batches/<name>/ with a batch.yaml: ordered phases, each with
changes and a command that proves the phase. Every step forces one change one move on: propose,
apply, verify. Nothing but the files tells how far a batch is, so a step can be stopped or can
crash at any time, and the next one goes on from there.

Examples:
  ratchet batch new shop           write a manifest to fill in
  ratchet batch status shop        what is done, what is next
  ratchet batch apply shop         run exactly one step
  ratchet batch run shop           run steps until one needs a person
  ratchet batch approve shop --change add-cart
  ratchet batch report shop --change add-cart --answer \"use the existing table\"";

#[derive(Debug, Subcommand)]
pub(crate) enum Batch {
    /// Create a batch with a manifest to fill in
    ///
    /// Writes .ratchet/batches/<NAME>/batch.yaml and nothing else. An existing manifest is never touched.
    #[command(after_long_help = "\
Examples:
  ratchet batch new checkout-flow")]
    New(New),

    /// Show what is done, what is blocked and what comes next
    Status(Show),

    /// List every batch with its progress
    List(List),

    /// Show a batch with progress bars, its runtime and its permissions
    ///
    /// With --watch it stays on the screen and follows everything that happens: parks can be answered and approved with a
    /// key, and the step that runs can be read and stopped. `?` lists the keys; leaving it leaves everything running.
    #[command(after_long_help = "\
Examples:
  ratchet batch view shop
  ratchet batch view shop --watch")]
    View(View),

    /// Show the settings in force and where each comes from, or set one
    ///
    /// Settings come from the built-in defaults, the user's configuration (permissions only), the project's
    /// .ratchet/config.yaml and the manifest's `settings`, the nearest winning. --set always writes the project's file.
    #[command(after_long_help = "\
Examples:
  ratchet batch config
  ratchet batch config shop
  ratchet batch config --set gate=after-propose
  ratchet batch config --set agent=codex
  ratchet batch config --set 'agent={propose: claude:opus, apply: codex}'")]
    Config(Config),

    /// Run exactly one step: the next one
    ///
    /// The step is the next move of the next runnable change, a phase's proof-of-work, the decomposition of an empty
    /// phase, or a pull request. The agent's output is shown while it runs. Ctrl-C stops the agent and records that; a
    /// second Ctrl-C leaves at once.
    ///
    /// If an earlier `ratchet` died while its agent was running, this goes on with that agent instead of starting
    /// another.
    #[command(after_long_help = "\
Examples:
  ratchet batch apply
  ratchet batch apply shop --json 2>live.log
  ratchet batch apply shop --exit-code || ratchet batch status shop")]
    Apply(Apply),

    /// Run steps until one needs a person, or nothing is left
    #[command(after_long_help = "\
Halts when a step is blocked, waits for approval, a proof-of-work fails, a budget is used up, nothing is ready, or a step
that says it is complete left nothing behind and would only run again; and says why. If an agent reaches its usage limit
and says when that resets, waits until then and goes on.

Examples:
  ratchet batch run shop
  ratchet batch run shop --max-steps 3
  ratchet batch run shop --json --exit-code 2>live.log")]
    Run(Run),

    /// Report on a step: what an agent did, or what a person decides
    ///
    /// Exactly one of the kinds is given. The report is on disk when the command returns 0.
    #[command(after_long_help = "\
Examples, by the agent:
  ratchet batch report shop --change add-cart --status \"three of five tasks done\"
  ratchet batch report shop --change add-cart --needs-input \"Which currency?\"
  ratchet batch report shop --change add-cart --complete \"cart added, tests pass\"

Examples, by a person:
  ratchet batch report shop --change add-cart --answer \"euro\"
  ratchet batch report shop --change add-cart --approve
  ratchet batch report shop --change add-cart --reject \"split the first task\"")]
    Report(Report),

    /// Approve a step that waits for approval
    ///
    /// The same as `ratchet batch report --change <KEY> --approve`. Refused inside an agent, as --answer and --reject are.
    #[command(after_long_help = "\
Examples:
  ratchet batch approve shop --change add-cart")]
    Approve(Approve),

    /// Stop the step that is running, from anywhere
    ///
    /// The agent and everything it started is ended. The step is recorded as stopped and can be run again.
    Cancel(Cancel),

    /// Follow the output of the step that is running
    ///
    /// Ends when the step ends. Ctrl-C ends the following, never the step.
    #[command(after_long_help = "\
Examples:
  ratchet batch attach shop
  ratchet batch attach shop --from 0     from the first byte on")]
    Attach(Attach),

    /// Show what the steps' agents printed
    ///
    /// Without a spawn and without --last it lists the steps with their spawns; with one it prints the stored output.
    #[command(after_long_help = "\
Examples:
  ratchet batch log shop
  ratchet batch log shop --last
  ratchet batch log shop --change add-cart
  ratchet batch log shop --spawn 0192f3a4-… --raw")]
    Log(Log),

    /// Have a phase's proof-of-work run again
    ///
    /// The recorded proof no longer counts; `batch apply` runs the command again when its turn comes.
    #[command(
        name = "rerun-proof",
        after_long_help = "\
Examples:
  ratchet batch rerun-proof shop --phase checkout"
    )]
    RerunProof(RerunProof),

    /// Archive a batch and its changes
    ///
    /// Finished changes go to .ratchet/changes/archive/, the batch to .ratchet/batches/archive/<date>-<name>/.
    Archive(Archive),
}

#[derive(Debug, Args)]
pub(crate) struct New {
    /// The batch's name, kebab-case
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct Show {
    /// The batch; the only one if left out
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct View {
    /// The batch; the only one if left out
    pub(crate) name: Option<String>,
    /// Stay on the screen, live; needs a terminal
    #[arg(long)]
    pub(crate) watch: bool,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct List {
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct Config {
    /// The batch; the project's level if left out
    pub(crate) name: Option<String>,
    /// Set one setting in the project's file
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Option<String>,
    #[command(flatten)]
    pub(crate) raise: Raise,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// What a manifest may ask for.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Raise {
    /// Let the manifest raise the permission posture above the user's and the project's
    #[arg(long)]
    pub(crate) allow_manifest_escalation: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Apply {
    /// The batch; the only one if left out
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) raise: Raise,
    #[command(flatten)]
    pub(crate) stepping: Stepping,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct Run {
    /// The batch; the only one if left out
    pub(crate) name: Option<String>,
    /// Halt after this many steps
    ///
    /// Without it a run halts after 10,000 steps: more than work takes, and an end to what goes round in circles.
    #[arg(
        long,
        value_name = "N",
        allow_negative_numbers = true,
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    pub(crate) max_steps: Option<u32>,
    /// Halt when an agent reaches its usage limit, instead of waiting until it resets
    #[arg(long)]
    pub(crate) no_wait: bool,
    #[command(flatten)]
    pub(crate) raise: Raise,
    #[command(flatten)]
    pub(crate) stepping: Stepping,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct Report {
    /// The batch; the only one if left out
    pub(crate) name: Option<String>,
    /// Whose step: a change, a phase (decomposition) or a pull request's key
    #[arg(long, value_name = "KEY", allow_hyphen_values = true)]
    pub(crate) change: Option<String>,
    /// With --complete: ask a person to approve before the next step
    #[arg(long)]
    pub(crate) awaiting_approval: bool,
    #[command(flatten)]
    pub(crate) output: Output,
    #[command(flatten)]
    pub(crate) kind: ReportKind,
}

/// The kinds of report; exactly one must be given. A message may begin with a hyphen.
#[derive(Debug, Args)]
#[command(next_help_heading = "Kind of report")]
pub(crate) struct ReportKind {
    /// Work goes on
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) status: Option<String>,
    /// The agent cannot go on
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) blocker: Option<String>,
    /// The agent needs a decision
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) needs_input: Option<String>,
    /// The step is complete
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) complete: Option<String>,
    /// A person answers the step's question
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) answer: Option<String>,
    /// A person rejects the result and says why
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) reject: Option<String>,
    /// A person approves the result
    #[arg(long)]
    pub(crate) approve: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Approve {
    /// The batch; the only one if left out
    pub(crate) name: Option<String>,
    /// Whose step: a change, a phase or a pull request's key
    #[arg(long, value_name = "KEY", allow_hyphen_values = true)]
    pub(crate) change: Option<String>,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct Cancel {
    /// The batch; the only one if left out
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct Attach {
    /// The batch; the only one if left out
    pub(crate) name: Option<String>,
    /// Begin at this offset of the stored output instead of at its end
    #[arg(long, value_name = "OFFSET", allow_negative_numbers = true)]
    pub(crate) from: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct Log {
    /// The batch; the only one if left out
    pub(crate) name: Option<String>,
    /// Only steps of this change, phase or pull request
    #[arg(long, value_name = "KEY", allow_hyphen_values = true)]
    pub(crate) change: Option<String>,
    /// Print the output of this spawn
    #[arg(long, value_name = "ID")]
    pub(crate) spawn: Option<String>,
    /// Print the output of the latest spawn
    #[arg(long, conflicts_with = "spawn")]
    pub(crate) last: bool,
    /// Print the output byte for byte, as the agent wrote it
    #[arg(long, conflicts_with = "json")]
    pub(crate) raw: bool,
    /// Show what the step changed on a worker and could not be brought in
    #[arg(long, conflicts_with_all = ["json", "raw"])]
    pub(crate) diff: bool,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct RerunProof {
    /// The batch; the only one if left out
    pub(crate) name: Option<String>,
    /// The phase whose proof no longer counts
    #[arg(long, value_name = "PHASE", allow_hyphen_values = true)]
    pub(crate) phase: Option<String>,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct Archive {
    /// The batch; the only one if left out
    pub(crate) name: Option<String>,
    /// Archive even if some changes are not done
    #[arg(short, long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) output: Output,
}
