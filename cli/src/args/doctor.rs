//! `ratchet doctor …` as types.

use std::time::Duration;

use clap::{Args, ValueEnum};

use super::{Output, duration};

pub(crate) const EXAMPLES: &str = "\
Exits 0 if everything that is required is there and 1 if not.

Examples:
  ratchet doctor
  ratchet doctor --json
  ratchet doctor --locus docker
  ratchet doctor --locus docker --image registry.example/team/agent:1
  ratchet doctor --reap --dry-run";

#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// The place to look at
    ///
    /// `docker` starts a throw-away container of the configured image, under the walls that a step would have, and says
    /// whether the agents that the settings name, and git, start in it.
    #[arg(long, value_enum)]
    pub(crate) locus: Option<Place>,

    /// The image to look at instead of the configured one
    #[arg(long, requires = "locus")]
    pub(crate) image: Option<String>,

    /// Remove what steps in containers left behind
    ///
    /// Containers, networks and volumes that carry ratchet's labels and that no step uses any more, whatever state they
    /// are in. Nothing else is touched.
    #[arg(long, conflicts_with = "locus")]
    pub(crate) reap: bool,

    /// Say what would be removed, and remove nothing
    #[arg(long, requires = "reap")]
    pub(crate) dry_run: bool,

    /// How old something must be to be removed, such as 90s or 5m; a minute if left out
    #[arg(long, value_name = "DURATION", requires = "reap", value_parser = duration::parse)]
    pub(crate) grace: Option<Duration>,

    #[command(flatten)]
    pub(crate) output: Output,
}

/// A place that can be looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Place {
    /// Containers.
    Docker,
}
