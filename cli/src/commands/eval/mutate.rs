//! `ratchet eval mutate`: the mutation invariants alone.

use ratchet_eval::harness::Progress;
use ratchet_eval::invariant::{Check, InvariantOutcome, Status};
use ratchet_eval::load;
use ratchet_eval::mutate::{Mutated, Options, Shard, evaluate};
use ratchet_eval::mutation::Mutation;
use ratchet_eval::mutation::outcomes::Outcomes;
use ratchet_eval::place::Place;
use ratchet_eval::report::Overall;
use ratchet_eval::run_id::RunId;
use ratchet_supervisor::evaluation::{Evaluators, new_run};
use serde::Serialize;

use super::{Stopping, consent, exit, options, parsed, place, refusal, shim};
use crate::args::eval::Mutate;
use crate::commands::{Ended, open_configured, warn};
use crate::diagnostic::Failure;
use crate::exit::Exit;
use crate::render::eval::mutants;
use crate::ui::Ui;

/// What `eval mutate --json` prints.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MutationRun {
    pub(crate) run_id: RunId,
    pub(crate) overall: Overall,
    pub(crate) results: Vec<MutationResult>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) agent_override: Option<bool>,
}

/// One invariant.
#[derive(Debug, Serialize)]
pub(crate) struct MutationResult {
    pub(crate) outcome: InvariantOutcome,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) outcomes: Option<Outcomes>,
    pub(crate) evidence: String,
}

pub(super) fn run(args: &Mutate, ui: Ui) -> Ended {
    let project = open_configured(ui)?;
    let mutations = mutations(args, &place(&project))?;
    warn(mutations.iter().filter_map(Mutation::warning), ui);
    let staff = Evaluators::new(&project, consent(&args.evaluating))
        .map_err(|error| refusal::evaluation(&error))?;
    let run = match &args.resume {
        Some(run) => resumed(&place(&project), run)?,
        None => new_run(&project),
    };
    let options = Options {
        shard: shard(args)?,
        in_diff: args.in_diff.clone(),
        resume: args.resume.is_some(),
        ..options(&args.planting)
    };
    let ground = staff.ground(&run, shim()?).map_err(|error| refusal::evaluation(&error))?;
    let stopping = Stopping::watch(ground.spawner.clone(), ui)?;
    let tell = |progress: &Progress| ui.tell(|page| mutants::progress(page, progress));
    let mut results = Vec::new();
    for mutation in &mutations {
        ui.tell(|page| mutants::beginning(page, &run, mutation));
        let Mutated { outcome, outcomes, folder } =
            evaluate(&ground, &run, mutation, &options, &tell);
        results.push(MutationResult { outcome, outcomes, evidence: folder });
        if ground.spawner.is_stopped() {
            break;
        }
    }
    drop(ground);
    if let Some(signal) = stopping.signal() {
        ui.tell(|page| mutants::stopped(page, &run));
        return Ok(Exit::BySignal(signal));
    }
    let passes = results.iter().all(|result| result.outcome.status == Status::Pass);
    let document = MutationRun {
        run_id: run,
        overall: if passes { Overall::Pass } else { Overall::Fail },
        results,
        agent_override: project.environment().eval_agent_command().map(|_| true),
    };
    ui.answer(args.output.format(), &document, |page| mutants::run(page, &document))?;
    Ok(exit(&args.evaluating, document.overall))
}

fn mutations(args: &Mutate, place: &Place) -> Result<Vec<Mutation>, Failure> {
    let invariants = load::invariants(place).map_err(|error| refusal::manifest(&error))?;
    let wanted = |id: &str, active: bool| match &args.invariant {
        Some(wanted) => wanted == id,
        None => active,
    };
    let mutations: Vec<Mutation> = invariants
        .into_iter()
        .filter(|invariant| wanted(&invariant.id, invariant.active))
        .filter_map(|invariant| match invariant.check {
            Check::Mutation(mutation) => Some(mutation),
            Check::Deterministic { .. } | Check::Monotonic { .. } | Check::Snapshot { .. } => None,
        })
        .map(|mutation| Mutation { budget: args.budget.unwrap_or(mutation.budget), ..mutation })
        .collect();
    if !mutations.is_empty() {
        return Ok(mutations);
    }
    let what = match &args.invariant {
        Some(id) => format!("there is no invariant '{id}' of kind mutation"),
        None => "no active invariant is of kind mutation".to_owned(),
    };
    Err(Failure::new(what)
        .help(
            "write one into .ratchet/evals/invariants.yaml:\n\
             - id: mutants-are-killed\n  kind: mutation\n  active: true\n  test: <your test command>\n  budget: 5\n  threshold: 3",
        )
        .code("no-mutation-invariant"))
}

fn shard(args: &Mutate) -> Result<Option<Shard>, Failure> {
    let parse = |text: &String| {
        Shard::parse(text).map_err(|why| Failure::new(why).help("as --shard 1/4").code("bad-shard"))
    };
    args.shard.as_ref().map(parse).transpose()
}

fn resumed(place: &Place, run: &str) -> Result<RunId, Failure> {
    let run = parsed(run)?;
    if place.artifacts(&run).is_dir() {
        return Ok(run);
    }
    let text = format!("run {run} has left nothing to go on with under .ratchet/evals/runs");
    Err(Failure::new(text).help("leave --resume out to begin a new run").code("run-not-found"))
}
