//! Evaluations as text. The order of the parts is spec `eval` 11.

pub(crate) mod mutants;

use ratchet_eval::case::Scope;
use ratchet_eval::evaluate::Step;
use ratchet_eval::invariant::InvariantOutcome;
use ratchet_eval::jury::{Clause, Verdict};
use ratchet_eval::report::{CaseDetail, ContributorResult, Overall, Report, Scorecard};

use crate::commands::eval::{EvalRun, EvalSet, Promoted, Recorded};
use crate::render::page::{Page, Tone};

/// The line that says that no agent was at work.
pub(crate) const OVERRIDDEN: &str = "⚠ agent overridden by RATCHET_EVAL_AGENT_CMD";

/// The cases of a scope.
pub(crate) fn set(page: &mut Page, set: &EvalSet) {
    page.tone(
        Tone::Heading,
        format_args!("Eval set ({}): {} case(s)", words(&set.scope), set.count),
    );
    page.end();
    for case in &set.cases {
        let tone = if case.binding == "unbound" { Tone::Warn } else { Tone::Good };
        page.tone(tone, format_args!("  [{}] ", case.binding)).put(&case.id);
        if case.holdout {
            page.tone(Tone::Dim, " [holdout]");
        }
        page.end();
        page.tone(Tone::Dim, format_args!("      {} › {}", case.feature, case.scenario)).end();
    }
}

fn words(scope: &Scope) -> String {
    scope.words()
}

/// What is told while a run is under way.
pub(crate) fn step(page: &mut Page, step: &Step) {
    match step {
        Step::Case { id, verdict, done, all } => {
            page.tone(Tone::Dim, format_args!("[{done}/{all}] "));
            page.tone(tone(*verdict), verdict.word()).put(" ").put(id).end();
        }
        Step::Invariant { id } => {
            page.tone(Tone::Dim, format_args!("invariant {id} …")).end();
        }
        Step::Mutation(progress) => mutants::progress(page, progress),
    }
}

fn tone(verdict: Verdict) -> Tone {
    match verdict {
        Verdict::Pass => Tone::Good,
        Verdict::Fail => Tone::Bad,
        Verdict::Unjudged => Tone::Warn,
        Verdict::Skipped => Tone::Dim,
    }
}

fn mark(page: &mut Page, overall: Overall) {
    match overall {
        Overall::Pass => page.tone(Tone::Good, "[PASS]"),
        Overall::Fail => page.tone(Tone::Bad, "[FAIL]"),
    };
}

/// What a run came to, just made.
pub(crate) fn run(page: &mut Page, run: &EvalRun) {
    if run.agent_override.is_some() {
        page.tone(Tone::Warn, OVERRIDDEN).end();
    }
    page.tone(Tone::Heading, format_args!("Eval run {}  ", run.run_id));
    mark(page, run.overall);
    page.end();
    counts(page, &run.scorecard);
    violations(page, &run.invariants, run.invariant_load_error.as_deref());
    if !run.regressions.is_empty() {
        page.tone(Tone::Bad, format_args!("REGRESSIONS ({}):", run.regressions.len())).end();
        for id in &run.regressions {
            page.put("  - ").put(id).end();
        }
    }
    contributors(page, &run.contributors);
    incomplete(page, &run.scorecard);
    for warning in &run.warnings {
        page.tone(Tone::Warn, "warn: ").put(warning).end();
    }
}

fn counts(page: &mut Page, card: &Scorecard) {
    page.put(format_args!(
        "{} pass  {} fail  {} unjudged  {} skipped  (of {})",
        card.pass, card.fail, card.unjudged, card.skipped, card.total
    ));
    page.end();
}

fn violations(page: &mut Page, outcomes: &[InvariantOutcome], load_error: Option<&str>) {
    let violated: Vec<&InvariantOutcome> =
        outcomes.iter().filter(|outcome| outcome.is_violation()).collect();
    let count = violated.len() + usize::from(load_error.is_some());
    if count == 0 {
        return;
    }
    page.tone(Tone::Bad, format_args!("INVARIANT VIOLATIONS ({count}):")).end();
    if let Some(error) = load_error {
        page.put("  - ").put(error).end();
    }
    for outcome in violated {
        page.put(format_args!("  - {} ({}: {})", outcome.id, outcome.kind, outcome.status.word()));
        page.end();
        for line in outcome.evidence.lines() {
            page.put("    ").put(line).end();
        }
    }
}

fn contributors(page: &mut Page, all: &[ContributorResult]) {
    page.put("Contributors:").end();
    for one in all {
        page.put(format_args!("  {}: ", one.id.id()));
        match one.status {
            Overall::Pass => page.tone(Tone::Good, "pass"),
            Overall::Fail => page.tone(Tone::Bad, "fail"),
        };
        if !one.failing.is_empty() {
            page.put(format_args!(" ({})", one.failing.join(", ")));
        }
        page.end();
    }
}

fn incomplete(page: &mut Page, card: &Scorecard) {
    if !card.complete {
        page.tone(Tone::Warn, "Run is incomplete: some cases are unjudged.").end();
    }
}

/// What a run came to, read again.
pub(crate) fn report(page: &mut Page, report: &Report) {
    if report.agent_override.is_some() {
        page.tone(Tone::Warn, OVERRIDDEN).end();
    }
    page.tone(Tone::Heading, format_args!("Eval report {}  ", report.run_id));
    mark(page, report.overall);
    page.end();
    if !report.invariants_evaluated {
        page.tone(Tone::Dim, "Invariants: not evaluated").end();
    }
    violations(page, &report.invariants, report.load_error.as_deref());
    let regressions = &report.diff.regressions;
    if !regressions.is_empty() {
        page.tone(Tone::Bad, format_args!("REGRESSIONS ({}):", regressions.len())).end();
        failing(page, report, |id| regressions.iter().any(|one| one == id));
    }
    counts(page, &report.scorecard);
    incomplete(page, &report.scorecard);
    let others = |id: &str| !regressions.iter().any(|one| one == id);
    if report.failing.iter().any(|case| others(&case.id)) {
        page.tone(Tone::Bad, "Failing cases:").end();
        failing(page, report, others);
    }
    for (title, ids) in [("New:", &report.diff.new_cases), ("Retired:", &report.diff.retired_cases)]
    {
        if !ids.is_empty() {
            page.put(title).end();
            for id in ids {
                page.put("  ").put(id).end();
            }
        }
    }
}

fn failing(page: &mut Page, report: &Report, wanted: impl Fn(&str) -> bool) {
    for case in report.cases.iter().filter(|case| case.verdict == Verdict::Fail && wanted(&case.id))
    {
        page.put("  - ").put(&case.id).end();
        if case.clauses.is_empty() {
            let evidence = report.failing.iter().find(|one| one.id == case.id);
            if let Some(one) = evidence.filter(|one| !one.evidence.is_empty()) {
                page.put("    ").put(&one.evidence).end();
            }
        }
        clauses(page, &case.clauses);
        details(page, case);
    }
}

fn clauses(page: &mut Page, clauses: &[Clause]) {
    for clause in clauses {
        let (mark, tone) = if clause.pass { ("✓", Tone::Good) } else { ("✗", Tone::Bad) };
        page.put("    ")
            .tone(tone, mark)
            .put(format_args!(" {}: {}", clause.clause, clause.evidence));
        page.end();
    }
}

fn details(page: &mut Page, case: &CaseDetail) {
    if case.votes.len() > 1 {
        let passed = case.votes.iter().filter(|vote| vote.pass).count();
        page.put(format_args!("    Jury: {passed}/{} passed", case.votes.len())).end();
    }
    let Some(artifacts) = &case.artifacts else { return };
    for (title, path) in [("Trace", &artifacts.trace), ("Screenshot", &artifacts.screenshot)] {
        if let Some(path) = path {
            page.put(format_args!("    {title}: {path}")).end();
        }
    }
}

/// A verdict that was given by hand.
pub(crate) fn recorded(page: &mut Page, recorded: &Recorded) {
    page.put(format_args!(
        "Recorded {} for {} in run {}",
        recorded.verdict, recorded.case_id, recorded.run_id
    ));
    page.end();
}

/// The baseline that there is now.
pub(crate) fn promoted(page: &mut Page, promoted: &Promoted) {
    page.put(format_args!("Baseline: {}", promoted.baseline.run_id)).end();
}
