//! `ratchet eval record`: another verdict for a case, by hand.

use ratchet_eval::load;
use ratchet_eval::run_id::RunId;
use serde::Serialize;

use super::{parsed, place, refusal};
use crate::args::eval::Record;
use crate::commands::{Ended, open};
use crate::diagnostic::Failure;
use crate::exit::Exit;
use crate::render::eval;
use crate::ui::Ui;

/// What `eval record --json` prints.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Recorded {
    pub(crate) run_id: RunId,
    pub(crate) case_id: String,
    pub(crate) verdict: &'static str,
    pub(crate) source: &'static str,
}

pub(super) fn run(args: &Record, ui: Ui) -> Ended {
    let run = parsed(needed(args.run.as_deref(), "--run <id>")?)?;
    let case = needed(args.case.as_deref(), "--case <id>")?;
    let word = needed(args.verdict.as_deref(), "--verdict <pass|fail|unjudged>")?;
    let project = open()?;
    let place = place(&project);
    let mut record = load::record(&place, &run).map_err(|error| refusal::load(&error))?;
    let verdict = record
        .overrule(case, word, args.evidence.as_deref())
        .map_err(|error| refusal::record(&error))?;
    load::keep_record(&place, &record).map_err(|error| refusal::load(&error))?;
    let recorded = Recorded {
        run_id: run,
        case_id: case.to_owned(),
        verdict: verdict.word(),
        source: "manual",
    };
    ui.answer(args.output.format(), &recorded, |page| eval::recorded(page, &recorded))?;
    Ok(Exit::Success)
}

fn needed<'a>(value: Option<&'a str>, flag: &str) -> Result<&'a str, Failure> {
    value.ok_or_else(|| {
        Failure::new(format!("Missing required {flag}"))
            .help("ratchet help eval record")
            .code("bad-verdict")
    })
}
