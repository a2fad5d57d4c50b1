//! `ratchet batch …`: one file a verb.

mod apply;
mod archive;
pub(super) mod attach;
pub(super) mod cancel;
mod config;
pub(super) mod first_run;
pub(crate) mod list;
mod log;
pub(super) mod new;
mod patience;
mod rerun_proof;
mod run;
mod running;
mod status;
mod view;

pub(super) use apply::{consent, draw_park, limits};

use super::{Ended, report};
use crate::args::batch::Batch;
use crate::ui::Ui;

/// Runs one verb.
pub(super) fn run(verb: &Batch, ui: Ui) -> Ended {
    match verb {
        Batch::New(args) => new::run(args, ui),
        Batch::Status(args) => status::run(args, ui),
        Batch::List(args) => list::run(args, ui),
        Batch::View(args) => view::run(args, ui),
        Batch::Config(args) => config::run(args, ui),
        Batch::Apply(args) => apply::run(args, ui),
        Batch::Run(args) => run::run(args, ui),
        Batch::Report(args) => report::batch(args, ui),
        Batch::Approve(args) => report::approve(args, ui),
        Batch::Cancel(args) => cancel::run(args, ui),
        Batch::Attach(args) => attach::run(args, ui),
        Batch::Log(args) => log::run(args, ui),
        Batch::RerunProof(args) => rerun_proof::run(args, ui),
        Batch::Archive(args) => archive::run(args, ui),
    }
}
