//! `ratchet eval run`: judges the cases, evaluates the invariants, keeps a record.

use ratchet_eval::contributor::GateFlags;
use ratchet_eval::evaluate::{self, Evaluated, Order, Skipped, Step};
use ratchet_eval::invariant::InvariantOutcome;
use ratchet_eval::report::{CaseDetail, ContributorResult, Overall, Scorecard};
use ratchet_eval::run_id::RunId;
use ratchet_supervisor::evaluation::{Evaluators, new_run};
use serde::Serialize;

use super::{Stopping, consent, exit, options, refusal, scope, shim};
use crate::args::eval::Run;
use crate::commands::{Ended, open_configured};
use crate::exit::Exit;
use crate::render::eval;
use crate::ui::Ui;

/// What `eval run --json` prints.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EvalRun {
    pub(crate) run_id: RunId,
    pub(crate) overall: Overall,
    pub(crate) scorecard: Scorecard,
    pub(crate) contributors: Vec<ContributorResult>,
    pub(crate) invariants: Vec<InvariantOutcome>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) invariant_load_error: Option<String>,
    pub(crate) regressions: Vec<String>,
    pub(crate) warnings: Vec<String>,
    pub(crate) cases: Vec<CaseDetail>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) agent_override: Option<bool>,
}

pub(super) fn run(args: &Run, ui: Ui) -> Ended {
    let (scope, holdout) = scope(&args.scope)?;
    let project = open_configured(ui)?;
    let staff = Evaluators::new(&project, consent(&args.evaluating))
        .map_err(|error| refusal::evaluation(&error))?;
    let run = new_run(&project);
    let ground = staff.ground(&run, shim()?).map_err(|error| refusal::evaluation(&error))?;
    let order = Order {
        scope,
        holdout,
        gate: GateFlags {
            gate: args.gate.clone(),
            only: args.only.clone(),
            judge: args.judge.clone(),
            no_llm_judge: args.no_llm_judge,
            no_invariants: args.no_invariants,
        },
        skipped: if args.include_skipped { Skipped::Judged } else { Skipped::Left },
        mutation: options(&args.planting),
    };
    let stopping = Stopping::watch(ground.spawner.clone(), ui)?;
    let tell = |step: &Step| ui.tell(|page| eval::step(page, step));
    let evaluated = evaluate::run(&ground, &run, project.now(), &order, &tell);
    drop(ground);
    match (evaluated, stopping.signal()) {
        (Err(error @ evaluate::EvaluateError::Stopped { .. }), Some(signal)) => {
            ui.tell(|page| refusal::evaluate(&error).draw(page));
            Ok(Exit::BySignal(signal))
        }
        (Err(error), _) => Err(refusal::evaluate(&error)),
        (Ok(evaluated), _) => answer(args, ui, evaluated),
    }
}

fn answer(args: &Run, ui: Ui, evaluated: Evaluated) -> Ended {
    let Evaluated { report, warnings } = evaluated;
    let document = EvalRun {
        run_id: report.run_id,
        overall: report.overall,
        scorecard: report.scorecard,
        contributors: report.contributors,
        invariants: report.invariants,
        invariant_load_error: report.load_error,
        regressions: report.diff.regressions,
        warnings,
        cases: report.cases,
        agent_override: report.agent_override,
    };
    ui.answer(args.output.format(), &document, |page| eval::run(page, &document))?;
    Ok(exit(&args.evaluating, document.overall))
}
