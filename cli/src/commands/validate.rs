//! `ratchet validate`: everything that is wrong with a batch's manifest (spec `batch-manifest-and-settings` 2.4).
//! Changes and specs cannot be checked yet.

use ratchet_supervisor::project::ValidatedBatch;
use serde::Serialize;

use super::{Ended, failed, open};
use crate::args::{Format, Validate};
use crate::diagnostic::Failure;
use crate::exit::Exit;
use crate::render::page::{Page, Tone};
use crate::ui::Ui;

/// What `validate --json` prints.
#[derive(Debug, Serialize)]
struct Validated {
    items: Vec<ValidatedBatch>,
    summary: Summary,
    version: &'static str,
}

#[derive(Debug, Serialize)]
struct Summary {
    totals: Totals,
}

#[derive(Debug, Serialize)]
struct Totals {
    items: usize,
    passed: usize,
    failed: usize,
}

/// Checks a batch.
pub(super) fn run(args: &Validate, ui: Ui) -> Ended {
    let kind = args.kind.as_deref().map(str::to_ascii_lowercase);
    if let Some(kind @ ("change" | "spec")) = kind.as_deref() {
        return Err(Failure::new(format!("Items of type {kind} cannot be validated yet"))
            .help("Batches can: ratchet validate <batch>"));
    }
    let project = open()?;
    let batch = project.resolve_batch(args.item.as_deref()).map_err(failed)?;
    let item = project.validate_batch(&batch).map_err(failed)?;
    let valid = item.valid;
    match args.output.format() {
        Format::Json => ui.json(&Validated::of(vec![item]))?,
        Format::Text if valid => ui.text(|page| {
            page.tone(Tone::Good, format_args!("Batch '{batch}' is valid")).end();
        })?,
        Format::Text => ui.tell(|page| draw_issues(page, &item)),
    }
    Ok(if valid { Exit::Success } else { Exit::Failure })
}

fn draw_issues(page: &mut Page, item: &ValidatedBatch) {
    page.tone(Tone::Bad, format_args!("Batch '{}' has issues", item.id)).end();
    for issue in &item.issues {
        page.tone(Tone::Bad, format_args!("✗ [{}] ", issue.level));
        page.put(format_args!("{}: {}", issue.path, issue.message));
        if let (Some(line), Some(column)) = (issue.line, issue.column) {
            page.tone(Tone::Dim, format_args!(" (line {line}, column {column})"));
        }
        page.end();
    }
}

impl Validated {
    fn of(items: Vec<ValidatedBatch>) -> Self {
        let passed = items.iter().filter(|item| item.valid).count();
        let totals = Totals { items: items.len(), passed, failed: items.len() - passed };
        Self { items, summary: Summary { totals }, version: "1.0" }
    }
}

#[cfg(test)]
mod tests {
    use ratchet_engine::name::BatchName;
    use ratchet_supervisor::project::ValidationIssue;

    use super::*;
    use crate::render::page::Ink;
    use crate::schemas::assert_fits;

    #[test]
    fn every_issue_is_told_with_its_place() {
        let issue = |path: &str, line| ValidationIssue {
            level: "ERROR",
            path: path.into(),
            message: "must not be empty".into(),
            line,
            column: line.map(|_| 7),
        };
        let item = ValidatedBatch {
            id: BatchName::parse("shop").unwrap(),
            kind: "batch",
            valid: false,
            issues: vec![issue("phases.0.goal", Some(4)), issue("phases.p1", None)],
        };
        let mut page = Page::new(Ink::Plain);
        draw_issues(&mut page, &item);
        assert_eq!(
            page.finish(),
            "Batch 'shop' has issues\n✗ [ERROR] phases.0.goal: must not be empty (line 4, column 7)\n✗ [ERROR] phases.p1: must not be empty\n"
        );
        assert_fits("validate", &Validated::of(vec![item]));
    }
}
