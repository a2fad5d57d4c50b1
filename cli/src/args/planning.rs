//! The commands that make, show and check changes, as types.

use clap::{Args, ValueEnum};

use super::Output;

pub(crate) const NEW_CHANGE_EXAMPLES: &str = "\
Examples:
  ratchet new change add-cart
  ratchet new change add-cart --description \"A cart that outlives the session\"";

pub(crate) const VALIDATE_EXAMPLES: &str = "\
Without an item and without --all, --changes or --specs a person is asked; where nobody can be, it exits 1.

What is looked at: of a change its features, its plan, its .ratchet.yaml and the standards it names; of a capability the
features in .ratchet/features/<capability>; of a batch its manifest.

Examples:
  ratchet validate add-cart
  ratchet validate --all
  ratchet validate --changes --strict --json
  ratchet validate shop --type batch";

pub(crate) const STATUS_EXAMPLES: &str = "\
Examples:
  ratchet status --change add-cart
  ratchet status --change add-cart --json";

pub(crate) const INSTRUCTIONS_EXAMPLES: &str = "\
Scenarios tagged @holdout are left out of what 'apply' names, so that there is something left to check the work by;
'verify' names everything.

Examples:
  ratchet instructions features --change add-cart --json
  ratchet instructions plan --change add-cart
  ratchet instructions apply --change add-cart --json
  ratchet instructions verify --change add-cart --json";

pub(crate) const TEMPLATE_EXAMPLES: &str = "\
Examples:
  ratchet template plan
  ratchet template standard > .ratchet/standards/naming.md
  ratchet template batch";

pub(crate) const LIST_EXAMPLES: &str = "\
Examples:
  ratchet list
  ratchet list --sort name --json
  ratchet list --specs";

pub(crate) const VIEW_EXAMPLES: &str = "\
With --watch it is every batch of the project, live, as 'ratchet batch view --watch' shows one.

Examples:
  ratchet view
  ratchet view --watch";

pub(crate) const ARCHIVE_EXAMPLES: &str = "\
The change's features replace those of the same paths in .ratchet/features/, what features/.deleted names goes, and the
folder moves to .ratchet/changes/archive/<date>-<name>. Bad features and unknown standards keep everything where it is, and
exit 1.

Examples:
  ratchet archive add-cart
  ratchet archive add-cart --yes --json
  ratchet archive fix-typo --skip-features";

#[derive(Debug, Args)]
pub(crate) struct Archive {
    /// The change; asked for at a terminal if left out
    pub(crate) change: Option<String>,
    /// Ask nothing, and go on past open tasks
    #[arg(short = 'y', long)]
    pub(crate) yes: bool,
    /// Leave the feature store and the standards as they are
    #[arg(long)]
    pub(crate) skip_features: bool,
    /// Check neither features nor standards
    #[arg(long)]
    pub(crate) no_validate: bool,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct View {
    /// Stay on the screen with every batch, live; needs a terminal
    #[arg(long)]
    pub(crate) watch: bool,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct NewChange {
    /// The change's name, kebab-case
    pub(crate) name: Option<String>,
    /// What it is for; kept in its README.md
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) description: Option<String>,
    /// The workflow, if not the project's
    #[arg(long, value_name = "NAME")]
    pub(crate) schema: Option<String>,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct Validate {
    /// A change, a capability or a batch
    pub(crate) item: Option<String>,
    /// Check every change and every capability
    #[arg(long)]
    pub(crate) all: bool,
    /// Check every change
    #[arg(long)]
    pub(crate) changes: bool,
    /// Check the features of every capability
    #[arg(long)]
    pub(crate) specs: bool,
    /// What the item is, if several have the same name: change, spec or batch
    #[arg(long = "type", value_name = "TYPE")]
    pub(crate) kind: Option<String>,
    /// Let warnings make an item invalid, too
    #[arg(long)]
    pub(crate) strict: bool,
    /// How many items may be checked at once
    ///
    /// Kept for scripts of older versions: one after the other is faster here than any number at once.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) concurrency: Option<u32>,
    /// Ask nothing
    #[arg(long)]
    pub(crate) no_interactive: bool,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct Status {
    /// The change
    #[arg(long, value_name = "NAME")]
    pub(crate) change: Option<String>,
    /// The workflow, if not the change's own
    #[arg(long, value_name = "NAME")]
    pub(crate) schema: Option<String>,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct Instructions {
    /// An artifact of the workflow (features, plan), or apply, or verify
    pub(crate) artifact: Option<String>,
    /// The change
    #[arg(long, value_name = "NAME")]
    pub(crate) change: Option<String>,
    /// The workflow, if not the change's own
    #[arg(long, value_name = "NAME")]
    pub(crate) schema: Option<String>,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct Template {
    /// Which one: plan, feature, standard, batch, or another of the workflow's
    pub(crate) name: String,
    /// The workflow it belongs to
    #[arg(long, value_name = "NAME")]
    pub(crate) schema: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct List {
    /// List the capabilities of the feature store
    #[arg(long, conflicts_with = "changes")]
    pub(crate) specs: bool,
    /// List the changes; this is what happens without a flag
    #[arg(long)]
    pub(crate) changes: bool,
    /// The order of the changes
    #[arg(long, value_enum, default_value_t = Sort::Recent)]
    pub(crate) sort: Sort,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// The order of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Sort {
    /// The newest first
    Recent,
    /// By name
    Name,
}
