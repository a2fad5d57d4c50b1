//! `ratchet update`: the files of the coding tools are brought up to this version (spec `cli-core` 5).

use ratchet_supervisor::environment::Environment;
use ratchet_supervisor::error::Error;
use ratchet_supervisor::project::Project;
use ratchet_supervisor::project::setup::{Freshness, SetupError};

use super::{Ended, failed, warn};
use crate::args::setup::Update;
use crate::exit::Exit;
use crate::render::setup;
use crate::ui::Ui;

/// Brings a project up to date.
pub(super) fn run(args: &Update, ui: Ui) -> Ended {
    let environment = Environment::from_process()
        .map_err(|source| failed(Error::NoWorkingDirectory { source }))?;
    let root = environment.cwd().join(&args.path);
    let project = Project::at(&root, environment).map_err(failed)?;
    if !project.is_set_up() {
        return Err(failed(SetupError::NotSetUp.into()));
    }
    warn(project.selection_warnings(), ui);
    let freshness = if args.force { Freshness::Any } else { Freshness::Stale };
    let report = project.update(freshness).map_err(failed)?;
    ui.answer(args.output.format(), &report, |page| setup::update(page, &report))?;
    Ok(Exit::Success)
}
