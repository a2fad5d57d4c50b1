//! `ratchet man`: the man pages, for whoever packages ratchet. Hidden, because a user reads `--help`.

use super::Ended;
use crate::args::{self, Man};
use crate::diagnostic::Failure;
use crate::exit::Exit;

/// Writes a man page for every command into a folder.
pub(crate) fn run(args: &Man) -> Ended {
    clap_mangen::generate_to(args::command(), &args.folder).map_err(|error| {
        Failure::new(format!("could not write the man pages to {}: {error}", args.folder.display()))
            .help("Give a folder that exists and can be written to.")
    })?;
    Ok(Exit::Success)
}
