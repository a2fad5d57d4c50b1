//! `ratchet help topics`: what is good to know and belongs to no single command.

use clap::{Args, Subcommand};

pub(crate) const ABOUT: &str = "\
What is good to know and belongs to no single command.

  ratchet help topics start         from an empty repository to the first finished batch
  ratchet help topics changes       what a change is, and the three moves it makes
  ratchet help topics batches       phases, steps and what decides which comes next
  ratchet help topics gates         where a step waits for you, and how you let it go on
  ratchet help topics agents        which agents, which models, and what they may do
  ratchet help topics holdouts      scenarios that an implementer does not see
  ratchet help topics files         what lies where, and what may be edited
  ratchet help topics environment   the variables that count";

#[derive(Debug, Args)]
pub(crate) struct Topics {
    #[command(subcommand)]
    pub(crate) topic: Topic,
}

/// A topic; its text is the help of a command of its name.
#[derive(Debug, Clone, Copy, Subcommand)]
#[command(disable_help_subcommand = true)]
pub(crate) enum Topic {
    /// From an empty repository to the first finished batch
    #[command(long_about = START, help_template = TEXT)]
    Start,
    /// What a change is, and the three moves it makes
    #[command(long_about = CHANGES, help_template = TEXT)]
    Changes,
    /// Phases, steps and what decides which comes next
    #[command(long_about = BATCHES, help_template = TEXT)]
    Batches,
    /// Where a step waits for you, and how you let it go on
    #[command(long_about = GATES, help_template = TEXT)]
    Gates,
    /// Which agents, which models, and what they may do
    #[command(long_about = AGENTS, help_template = TEXT)]
    Agents,
    /// Scenarios that an implementer does not see
    #[command(long_about = HOLDOUTS, help_template = TEXT)]
    Holdouts,
    /// What lies where, and what may be edited
    #[command(long_about = FILES, help_template = TEXT)]
    Files,
    /// The variables that count
    #[command(long_about = ENVIRONMENT, help_template = TEXT)]
    Environment,
}

const TEXT: &str = "{about}\n";

const START: &str = "\
START

  ratchet init                       folders, and skills for your coding tools
  ratchet doctor                     is everything here that work needs?
  ratchet batch new first            writes .ratchet/batches/first/batch.yaml
  $EDITOR .ratchet/batches/first/batch.yaml
  ratchet validate first
  ratchet batch apply                one step; look at what it did
  ratchet batch run                  step after step, until something needs you
  ratchet batch archive first        when every phase is proved

One change without a batch around it:

  ratchet propose \"Add a shopping cart\"
  ratchet apply add-a-shopping-cart
  ratchet verify add-a-shopping-cart
  ratchet archive add-a-shopping-cart";

const CHANGES: &str = "\
CHANGES

A change is a folder .ratchet/changes/<name>/ with features (what can be observed when it is done), a plan.md (why, what
changes, how, and tasks with boxes) and a .ratchet.yaml (its workflow, and the standards that apply).

  propose   an agent writes the features and the plan
  apply     an agent carries out the tasks and ticks their boxes
  verify    an agent holds the result against the features, and gives a verdict
  archive   the features go into .ratchet/features/, the folder into the archive

A change is done when every box is ticked and a verification is on record. What an agent says is held against the files:
a completion that left nothing behind is a blocked step.

  ratchet list                       the changes and their tasks
  ratchet status --change <name>     what is there of it, what is next
  ratchet validate <name>            everything that is wrong with it";

const BATCHES: &str = "\
BATCHES

A batch is a manifest .ratchet/batches/<name>/batch.yaml: phases in order, each with a goal, changes, and a proof-of-work.
The manifest holds what is wanted. How far it is, is derived from the files each time, so that a step can be killed at any
moment and the next one goes on from there.

One step moves one change one move on, or runs a proof, or has an empty phase decomposed, or opens a pull request. The next
one is the first change of the first open phase that waits for nobody. A phase opens when the one before it is done and its
proof-of-work has passed.

  ratchet batch status     what is done, blocked and next
  ratchet batch apply      exactly one step
  ratchet batch run        until something needs you, or nothing is left";

const GATES: &str = "\
GATES

A step is parked when its agent asks something, when it failed, or when a gate demands your approval:

  voluntary        only if the agent asks for it (the default)
  after-propose    after each proposal
  every-phase      after each move of each change
  autonomous       never

Set it with 'ratchet batch config --set gate=after-propose'. Then:

  ratchet batch status shop
  ratchet batch report shop --change add-cart --answer \"euro\"
  ratchet batch approve shop --change add-cart
  ratchet batch report shop --change add-cart --reject \"split the first task\"

Other changes go on meanwhile. Between phases stands the proof-of-work; with proofOfWork: warn a failed one is recorded and
the next phase opens all the same.";

const AGENTS: &str = "\
AGENTS

claude, codex, cursor, gemini and opencode are started by their own command lines, with your own login. Choose one for
everything, or one for each move, each with its model:

  ratchet batch config --set agent=codex
  ratchet batch config --set 'agent={propose: claude:opus, apply: codex}'

What they may do without asking is the permission posture: curated-allowlist, repo-sandboxed-permissive (the default) or
full-autonomy. A manifest cannot raise it unless you say --allow-manifest-escalation.

  ratchet batch config     the settings in force, and where each comes from
  ratchet doctor           which agents are here, and whether they start";

const HOLDOUTS: &str = "\
HOLDOUTS

A scenario tagged @holdout is not shown to the agent that implements the change: 'ratchet instructions apply' names copies
of the features without it, in .apply-context/. The agent that verifies sees it. So there is something left to check the
work by that it was not written for.

Hold back few, and none without which the others cannot be understood. A rule that is tagged is held back as a whole.";

const FILES: &str = "\
FILES

  .ratchet/config.yaml             settings of the project; yours
  .ratchet/features/               the behaviour that was agreed, by capability; archive writes here
  .ratchet/standards/              guidelines; yours, but for the list at their end
  .ratchet/changes/<name>/         changes in progress; yours and the agents'
  .ratchet/batches/<name>/         manifests; yours
  .ratchet/batches/<name>/run/     what has happened; ratchet's alone
  .ratchet/schemas/<name>/         workflows of your own
  .ratchet/evals/                  invariants and baselines

  ~/.config/ratchet/config.json    your own profile and permissions
  ~/.local/state/ratchet/          the output of steps, kept for a while

Everything but run/, .run/, .apply-context/ and evals/runs/ belongs into version control; 'ratchet init' tells git.";

const ENVIRONMENT: &str = "\
ENVIRONMENT

  NO_COLOR, CLICOLOR_FORCE      colours
  CI, OPEN_SPEC_INTERACTIVE=0   nobody is asked anything
  RATCHET_SUPERVISOR            who runs steps: embedded, unix:/absolute/path or https://host:port; if it is unset or
                                empty, the supervisor at this user's socket if one answers, else the command itself
  RATCHET_SUPERVISOR_TOKEN_FILE the token for https, in a file that only you can open
  RATCHET_SUPERVISOR_CA         certificates to trust for https instead of the system's, a PEM file
  RATCHET_LOG                   how much a supervisor logs: off, error, warn, info, debug or trace
  RATCHET_BATCH_AGENT_CMD       a command that stands in for every agent
  RATCHET_AGENT_TIMEOUT_MS      the longest that an agent may run
  RATCHET_AGENT_ENV_ALLOW       variables that agents get beside the usual ones
  DOCKER_HOST                   which Docker engine
  CODEX_HOME                    where Codex looks for its prompts
  XDG_CONFIG_HOME, XDG_STATE_HOME, XDG_DATA_HOME, XDG_RUNTIME_DIR";
