//! `ratchet eval set`: the cases, and how each is judged.

use ratchet_eval::binding::Binding;
use ratchet_eval::case::{Scope, Step};
use ratchet_eval::evaluate::list;
use serde::Serialize;

use super::{place, refusal, scope};
use crate::args::eval::Set;
use crate::commands::{Ended, open, warn};
use crate::exit::Exit;
use crate::render::eval;
use crate::ui::Ui;

/// What `eval set --json` prints.
#[derive(Debug, Serialize)]
pub(crate) struct EvalSet {
    pub(crate) scope: Scope,
    pub(crate) count: usize,
    pub(crate) cases: Vec<SetCase>,
}

/// A case and how it is judged.
#[derive(Debug, Serialize)]
pub(crate) struct SetCase {
    pub(crate) id: String,
    pub(crate) feature: String,
    pub(crate) scenario: String,
    pub(crate) source: String,
    pub(crate) steps: Vec<Step>,
    pub(crate) binding: &'static str,
    pub(crate) holdout: bool,
}

pub(super) fn run(args: &Set, ui: Ui) -> Ended {
    let (scope, holdout) = scope(&args.scope)?;
    let project = open()?;
    let (cases, bindings) =
        list(&place(&project), &scope, holdout).map_err(|error| refusal::load(&error))?;
    warn(bindings.warnings().iter().cloned(), ui);
    let cases: Vec<SetCase> = cases
        .into_iter()
        .map(|case| SetCase {
            binding: bindings.of(&case.id).map(Binding::kind).map_or("unbound", |kind| kind.word()),
            holdout: case.is_held_out(),
            id: case.id,
            feature: case.feature,
            scenario: case.scenario,
            source: case.source,
            steps: case.steps,
        })
        .collect();
    let set = EvalSet { scope, count: cases.len(), cases };
    ui.answer(args.output.format(), &set, |page| eval::set(page, &set))?;
    Ok(Exit::Success)
}
