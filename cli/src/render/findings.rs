//! What `validate` found, as text (spec `cli-core` 8). What is valid goes to standard output, the rest to standard error.

use ratchet_engine::level::Level;
use ratchet_supervisor::project::{Subject, Validated};

use super::page::{Page, Tone};
use crate::commands::validate::Totals;

/// Lists the valid items.
pub(crate) fn passed(page: &mut Page, items: &[Validated]) {
    for item in items.iter().filter(|item| item.valid) {
        page.tone(Tone::Good, "✓ ").put(format_args!("{}/{}", item.kind, item.id)).end();
    }
}

/// Lists the other ones with what is wrong.
pub(crate) fn failed(page: &mut Page, items: &[Validated]) {
    for item in items.iter().filter(|item| !item.valid) {
        page.tone(Tone::Bad, "✗ ").put(format_args!("{}/{}", item.kind, item.id)).end();
        issues(page, item);
    }
}

/// Counts.
pub(crate) fn totals(page: &mut Page, totals: Totals) {
    let Totals { items, passed, failed } = totals;
    let noun = if items == 1 { "item" } else { "items" };
    let tone = if failed == 0 { Tone::Good } else { Tone::Bad };
    page.tone(tone, format_args!("Totals: {passed} passed, {failed} failed ({items} {noun})"));
    page.end();
}

/// Says that one item is valid.
pub(crate) fn valid(page: &mut Page, item: &Validated) {
    page.tone(Tone::Good, format_args!("{} '{}' is valid", noun(item), item.id)).end();
}

/// Says that one item is not.
pub(crate) fn invalid(page: &mut Page, item: &Validated) {
    page.tone(Tone::Bad, format_args!("{} '{}' has issues", noun(item), item.id)).end();
}

/// Lists what was found, each with its place.
pub(crate) fn issues(page: &mut Page, item: &Validated) {
    for issue in &item.issues {
        let (tone, sign) = match issue.level {
            Level::Error => (Tone::Bad, "✗"),
            Level::Warning => (Tone::Warn, "⚠"),
            Level::Info => (Tone::Dim, "ℹ"),
        };
        page.tone(tone, format_args!("{sign} [{}] ", issue.level.as_str()));
        page.put(format_args!("{}: {}", issue.path, issue.message));
        match (issue.line, issue.column) {
            (Some(line), Some(column)) => {
                page.tone(Tone::Dim, format_args!(" (line {line}, column {column})"));
            }
            (Some(line), None) => {
                page.tone(Tone::Dim, format_args!(" (line {line})"));
            }
            (None, _) => {}
        }
        page.end();
    }
}

/// Says what to type next.
pub(crate) fn next_steps(page: &mut Page, subject: &Subject) {
    let steps: &[String] = match subject {
        Subject::Change(change) => &[
            format!("ratchet instructions features --change {change}"),
            format!("ratchet instructions plan --change {change}"),
        ],
        Subject::Spec(_) => &["ratchet template feature".to_owned()],
        Subject::Batch(_) => &["ratchet template batch".to_owned()],
    };
    page.tone(Tone::Dim, "How it should be:").end();
    for step in steps {
        page.tone(Tone::Dim, format_args!("  {step}")).end();
    }
}

fn noun(item: &Validated) -> &'static str {
    match item.kind {
        "change" => "Change",
        "spec" => "Spec",
        _ => "Batch",
    }
}

#[cfg(test)]
mod tests {
    use ratchet_supervisor::project::ValidationIssue;

    use super::*;
    use crate::render::page::Ink;

    #[test]
    fn every_finding_is_told_with_its_place() {
        let issue = |level, path: &str, line, column| ValidationIssue {
            level,
            path: path.into(),
            message: "must not be empty".into(),
            line,
            column,
        };
        let item = Validated {
            id: "shop".into(),
            kind: "batch",
            valid: false,
            issues: vec![
                issue(Level::Error, "phases.0.goal", Some(4), Some(7)),
                issue(Level::Warning, "phases.p1", Some(2), None),
                issue(Level::Info, "phases.p2", None, None),
            ],
            duration_ms: None,
        };
        let mut page = Page::new(Ink::Plain);
        invalid(&mut page, &item);
        issues(&mut page, &item);
        insta::assert_snapshot!(page.finish(), @r"
        Batch 'shop' has issues
        ✗ [ERROR] phases.0.goal: must not be empty (line 4, column 7)
        ⚠ [WARNING] phases.p1: must not be empty (line 2)
        ℹ [INFO] phases.p2: must not be empty
        ");
    }
}
