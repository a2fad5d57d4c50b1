//! What evaluations refuse, with what to type next.

use ratchet_eval::contributor::GateError;
use ratchet_eval::evaluate::EvaluateError;
use ratchet_eval::invariant::ManifestError;
use ratchet_eval::load::LoadError;
use ratchet_eval::mutate::replay::ReplayError;
use ratchet_eval::record::RecordError;
use ratchet_eval::report::PromotionError;
use ratchet_eval::run_id::RunIdError;
use ratchet_supervisor::evaluation::EvaluationError;

use crate::diagnostic::Failure;

pub(super) fn bad_run_id(error: &RunIdError) -> Failure {
    Failure::from_error(error)
        .help("ls .ratchet/evals/runs shows the runs there are")
        .code("run-not-found")
}

pub(super) fn evaluation(error: &EvaluationError) -> Failure {
    let failure = Failure::from_error(error).code(error.code());
    match error {
        EvaluationError::OverrideNotAllowed => {
            failure.help("add --allow-agent-override, or unset RATCHET_EVAL_AGENT_CMD")
        }
        EvaluationError::NoHome => failure.help("set HOME or XDG_CACHE_HOME"),
        EvaluationError::Room(_) | EvaluationError::Files(_) => {
            failure.help("set XDG_CACHE_HOME and TMPDIR to folders with room")
        }
        EvaluationError::Project(error) => match error.help() {
            Some(help) => failure.help(help),
            None => failure,
        },
    }
}

pub(super) fn load(error: &LoadError) -> Failure {
    let failure = Failure::from_error(error);
    match error {
        LoadError::NoSuchScope { .. } | LoadError::BadScope { .. } => failure
            .help("ratchet eval set --changes lists every case there is")
            .code("bad-eval-scope"),
        LoadError::BadFeature { .. } => {
            failure.help("ratchet validate --specs checks every feature").code("bad-feature")
        }
        LoadError::NoSuchRun { .. } => failure
            .help("ls .ratchet/evals/runs shows the runs there are; records are not under version control")
            .code("run-not-found"),
        LoadError::Damaged { .. } => {
            failure.help("move the file away and run the evaluation again").code("file-error")
        }
        LoadError::Disk { .. } => failure.code("file-error"),
    }
}

pub(super) fn evaluate(error: &EvaluateError) -> Failure {
    match error {
        EvaluateError::Gate(error) => gate(error),
        EvaluateError::Load(error) => load(error),
        EvaluateError::Room(_) => Failure::from_error(error)
            .help("set XDG_CACHE_HOME to a folder with room")
            .code("file-error"),
        EvaluateError::Stopped { run } => Failure::from_error(error)
            .help(format!("ratchet eval report --run {run} shows what was judged"))
            .code("eval-stopped"),
    }
}

fn gate(error: &GateError) -> Failure {
    Failure::from_error(error).help("ratchet help eval run").code("unknown-contributor")
}

pub(super) fn manifest(error: &ManifestError) -> Failure {
    let failure = Failure::new(".ratchet/evals/invariants.yaml cannot be used");
    let failure = error.problems.iter().fold(failure, |failure, why| failure.because(why));
    failure.help("mend the file at the places named above").code("bad-invariants")
}

pub(super) fn record(error: &RecordError) -> Failure {
    Failure::from_error(error).help("ratchet help eval record").code("bad-verdict")
}

pub(super) fn promotion(error: &PromotionError) -> Failure {
    let help = match error {
        PromotionError::Incomplete { run, .. } => {
            format!("ratchet eval report --run {run} names the cases; bind, judge or skip them")
        }
        PromotionError::Empty { .. } => "write a scenario first".to_owned(),
        PromotionError::Overridden { .. } => {
            "run it again without RATCHET_EVAL_AGENT_CMD, or add --force".to_owned()
        }
    };
    Failure::from_error(error).help(help).code("run-incomplete")
}

pub(super) fn replay(error: &ReplayError) -> Failure {
    let failure = Failure::from_error(error);
    match error {
        ReplayError::NotFound { .. } => failure
            .help(
                "ls .ratchet/evals/runs/<run>/artifacts/invariants/*/ shows the mutants there are",
            )
            .code("mutant-not-found"),
        ReplayError::Ambiguous { .. } => {
            failure.help("add --invariant <id>").code("mutant-not-found")
        }
        ReplayError::Failed(_) => failure.code("mutant-not-replayable"),
    }
}
