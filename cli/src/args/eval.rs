//! `ratchet eval …` as types.

use clap::{Args, Subcommand, ValueEnum};

use super::Output;

pub(crate) const EXAMPLES: &str = "\
A case is a scenario of a feature file; .ratchet/evals/specs/*.yaml says on which sample of code it is judged, and by whom.
.ratchet/evals/invariants.yaml says what must hold whatever changes. Without --exit-code a run exits 0 whatever it finds.

Examples:
  ratchet eval set
  ratchet eval run --json
  ratchet eval run --change add-cart --only deterministic,regression
  ratchet eval baseline 20261201T042259123Z-a1b2c3
  ratchet eval mutate --jobs 4
  ratchet eval mutate --in-diff main --budget 10
  ratchet eval replay 20261201T042259123Z-a1b2c3 0";

#[derive(Debug, Subcommand)]
pub(crate) enum Eval {
    /// List the cases, and how each is judged
    Set(Set),

    /// Judge the cases, evaluate the invariants, and keep a record
    Run(Run),

    /// Show what a run came to; starts nothing
    Report(Report),

    /// Give a case another verdict by hand
    Record(Record),

    /// Make a complete run the one that later runs are held against
    Baseline(Baseline),

    /// Plant faults and see whether the project's own tests notice them
    ///
    /// An agent plants one small fault at a time, in a copy of the project, and the invariant's test command says whether it
    /// notices. Your own files are never written to, but for the evidence below .ratchet/evals/runs/.
    Mutate(Box<Mutate>),

    /// Run the tests on a fault again that an earlier run has planted; needs no agent
    Replay(Replay),
}

/// Which cases are meant.
#[derive(Debug, Args)]
pub(crate) struct Scoping {
    /// Take the changes that are not archived, too
    #[arg(long)]
    pub(crate) changes: bool,
    /// Take one change
    #[arg(long, value_name = "NAME")]
    pub(crate) change: Option<String>,
    /// Take a part of the feature store
    #[arg(long, value_name = "DIR-OR-FILE")]
    pub(crate) path: Option<String>,
    /// Take only scenarios tagged @holdout
    #[arg(long, conflicts_with = "no_holdout")]
    pub(crate) holdout: bool,
    /// Leave scenarios tagged @holdout out
    #[arg(long)]
    pub(crate) no_holdout: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Set {
    #[command(flatten)]
    pub(crate) scope: Scoping,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) scope: Scoping,
    /// Let only these count: deterministic, llm-judge, invariants, regression
    #[arg(long, value_name = "LIST")]
    pub(crate) gate: Option<String>,
    /// Of those that count, let only these
    #[arg(long, value_name = "LIST")]
    pub(crate) only: Option<String>,
    /// Do not ask agents
    #[arg(long)]
    pub(crate) no_llm_judge: bool,
    /// Do not evaluate invariants
    #[arg(long)]
    pub(crate) no_invariants: bool,
    /// The old way to say which judges count: auto, deterministic or llm-judge
    #[arg(long, value_name = "MODE")]
    pub(crate) judge: Option<String>,
    /// Judge cases that are tagged @skip or named by eval.skip
    #[arg(long)]
    pub(crate) include_skipped: bool,
    #[command(flatten)]
    pub(crate) planting: Planting,
    #[command(flatten)]
    pub(crate) evaluating: Evaluating,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// Flags of whatever starts agents and tests.
#[derive(Debug, Args)]
pub(crate) struct Evaluating {
    /// Let RATCHET_EVAL_AGENT_CMD stand in for the agent where the project demands this flag
    #[arg(long)]
    pub(crate) allow_agent_override: bool,
    /// Say by the exit code what was found: 0 pass, 14 fail
    #[arg(long)]
    pub(crate) exit_code: bool,
}

/// How faults are planted.
#[derive(Debug, Args)]
pub(crate) struct Planting {
    /// How many copies are worked in at once
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) jobs: u16,
    /// Plant faults in your own work tree, for tests that run nowhere else; one at a time
    ///
    /// A kill can leave a fault there. The next evaluation repairs that, or says what to type.
    #[arg(long, conflicts_with = "jobs")]
    pub(crate) in_place: bool,
    /// What becomes of files that git ignores and the tests may need
    #[arg(long, value_enum, default_value_t = IgnoredFiles::Copy)]
    pub(crate) ignored: IgnoredFiles,
    /// How often the tests must pass before a fault is planted
    #[arg(long, value_name = "K", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) baseline_runs: u32,
    /// How long the tests may take, in milliseconds; 20 s or five times what they take without a fault if left out
    #[arg(long, value_name = "MS")]
    pub(crate) test_timeout_ms: Option<u64>,
    /// How long the tests may be silent, in milliseconds
    #[arg(long, value_name = "MS")]
    pub(crate) test_idle_ms: Option<u64>,
    /// How long the agent may take, in milliseconds; ten minutes if left out
    #[arg(long, value_name = "MS")]
    pub(crate) agent_timeout_ms: Option<u64>,
    /// How much memory each process of tests and agents may have, in MiB
    #[arg(long, value_name = "MIB")]
    pub(crate) memory_mib: Option<u64>,
}

/// What becomes of ignored files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum IgnoredFiles {
    /// Each copy of the project has its own; bytes are shared where the filesystem can
    Copy,
    /// All copies share one file, which is a copy of yours
    Link,
    /// They are left out
    None,
}

#[derive(Debug, Args)]
pub(crate) struct Report {
    /// The run; the newest if left out
    #[arg(long, value_name = "ID")]
    pub(crate) run: Option<String>,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct Record {
    /// The run
    #[arg(long, value_name = "ID")]
    pub(crate) run: Option<String>,
    /// The case
    #[arg(long, value_name = "ID")]
    pub(crate) case: Option<String>,
    /// pass, fail or unjudged
    #[arg(long, value_name = "VERDICT")]
    pub(crate) verdict: Option<String>,
    /// What shows it; a fail needs some
    #[arg(long, value_name = "TEXT")]
    pub(crate) evidence: Option<String>,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct Baseline {
    /// The run
    #[arg(value_name = "RUN")]
    pub(crate) run: Option<String>,
    /// Take it although something stood in for its agent
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct Mutate {
    /// The invariant, active or not; all active ones of kind mutation if left out
    #[arg(long, value_name = "ID")]
    pub(crate) invariant: Option<String>,
    /// How many attempts are made, whatever the manifest says
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) budget: Option<u32>,
    /// Count only faults in files that differ from this commit
    #[arg(long, value_name = "BASE")]
    pub(crate) in_diff: Option<String>,
    /// Make only this share of the attempts, as 1/4
    #[arg(long, value_name = "K/N")]
    pub(crate) shard: Option<String>,
    /// Go on with a run that was stopped or killed
    #[arg(long, value_name = "RUN")]
    pub(crate) resume: Option<String>,
    #[command(flatten)]
    pub(crate) planting: Planting,
    #[command(flatten)]
    pub(crate) evaluating: Evaluating,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct Replay {
    /// The run
    pub(crate) run: String,
    /// The number of the attempt
    pub(crate) mutant: u32,
    /// The invariant, if several have an attempt of that number
    #[arg(long, value_name = "ID")]
    pub(crate) invariant: Option<String>,
    /// What becomes of files that git ignores and the tests may need
    #[arg(long, value_enum, default_value_t = IgnoredFiles::Copy)]
    pub(crate) ignored: IgnoredFiles,
    /// How long the tests may take, in milliseconds
    #[arg(long, value_name = "MS")]
    pub(crate) test_timeout_ms: Option<u64>,
    #[command(flatten)]
    pub(crate) output: Output,
}
