//! `ratchet eval replay`: the tests on a stored fault again, without an agent.

use ratchet_eval::harness::Patience;
use ratchet_eval::mutate::replay::{Replayed, replay};
use ratchet_eval::mutation::attempt::Verdict;
use ratchet_eval::run_id::RunId;
use ratchet_supervisor::evaluation::{Evaluators, new_run};
use ratchet_supervisor::request::OverrideConsent;
use serde::Serialize;

use super::{Stopping, ignored, parsed, refusal, shim};
use crate::args::eval::Replay;
use crate::commands::{Ended, open_configured};
use crate::exit::Exit;
use crate::render::eval::mutants;
use crate::ui::Ui;

/// What `eval replay --json` prints.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ReplayedMutant {
    pub(crate) run_id: RunId,
    pub(crate) invariant: String,
    pub(crate) index: u32,
    #[serde(flatten)]
    pub(crate) verdict: Verdict,
    /// The verdict of the run itself; `null` if it is not known any more.
    pub(crate) before: Option<&'static str>,
    pub(crate) diff: String,
    pub(crate) output: String,
}

pub(super) fn run(args: &Replay, ui: Ui) -> Ended {
    let run = parsed(&args.run)?;
    let project = open_configured(ui)?;
    // No agent is asked, so nobody has to agree to one's stand-in.
    let staff = Evaluators::new(&project, OverrideConsent::Given)
        .map_err(|error| refusal::evaluation(&error))?;
    let ground =
        staff.ground(&new_run(&project), shim()?).map_err(|error| refusal::evaluation(&error))?;
    let stopping = Stopping::watch(ground.spawner.clone(), ui)?;
    let patience = Patience { oracle_ms: args.test_timeout_ms, ..Patience::default() };
    let invariant = args.invariant.as_deref();
    let replayed = replay(&ground, &run, args.mutant, invariant, ignored(args.ignored), &patience);
    drop(ground);
    if let Some(signal) = stopping.signal() {
        return Ok(Exit::BySignal(signal));
    }
    let Replayed { invariant, index, verdict, before, diff, said } =
        replayed.map_err(|error| refusal::replay(&error))?;
    let document = ReplayedMutant {
        run_id: run,
        invariant,
        index,
        before: before.map(|verdict| verdict.word()),
        verdict,
        diff,
        output: said,
    };
    ui.answer(args.output.format(), &document, |page| mutants::replayed(page, &document))?;
    Ok(Exit::Success)
}
