//! What `init` and `update` did, as text.

use std::path::{Path, PathBuf};

use ratchet_supervisor::doctor::{Diagnosis, Status};
use ratchet_supervisor::project::setup::{InitReport, Kept, ToolReport, UpdateReport};

use super::doctor;
use super::page::{Page, Tone};

/// Tells what `init` did.
pub(crate) fn init(page: &mut Page, report: &InitReport, doctor: Option<&Diagnosis>) {
    let verb = if report.extended { "Brought up to date" } else { "Set up" };
    page.tone(Tone::Good, "✓ ").put(format_args!("{verb}: {}", report.root.display())).end();
    for tool in &report.tools {
        self::tool(page, tool, &report.root);
    }
    if report.config == Kept::Created {
        page.put("  Wrote .ratchet/config.yaml").end();
    }
    if report.invariants == Kept::Created {
        page.put("  Wrote .ratchet/evals/invariants.yaml").end();
    }
    if !report.gitignore.is_empty() {
        page.put(format_args!("  Added {} lines to .gitignore", report.gitignore.len())).end();
    }
    if let Some(diagnosis) = doctor {
        let amiss: Vec<_> =
            diagnosis.checks.iter().filter(|check| check.status != Status::Pass).collect();
        if !amiss.is_empty() {
            page.gap().tone(Tone::Heading, "Worth a look (all of it: ratchet doctor):").end();
            for check in amiss {
                doctor::check(page, check);
            }
        }
    }
    page.gap().tone(Tone::Heading, "Next:").end();
    let tool = report.tools.first();
    let call = tool.map_or("ratchet propose", |tool| tool.invocation.as_str());
    page.put(format_args!("  {call} \"…\"            one change; in your coding tool")).end();
    page.put("  ratchet batch new <name>    several changes, in phases").end();
}

/// Tells what `update` did.
pub(crate) fn update(page: &mut Page, report: &UpdateReport) {
    if report.updated.is_empty() && report.up_to_date.is_empty() {
        page.tone(
            Tone::Warn,
            "No coding tool is set up here. Set one up: ratchet init --tools <tools>",
        );
        page.end();
    }
    for tool in &report.updated {
        self::tool(page, tool, Path::new(""));
    }
    if !report.up_to_date.is_empty() {
        let tools = report.up_to_date.join(", ");
        page.tone(Tone::Good, "✓ ");
        page.put(format_args!("Up to date (version {}): {tools}", report.version)).end();
    }
    if !report.new_tools.is_empty() {
        let tools = report.new_tools.join(",");
        page.tone(Tone::Dim, format_args!("  Used here, not set up: ratchet init --tools {tools}"));
        page.end();
    }
}

fn tool(page: &mut Page, tool: &ToolReport, root: &Path) {
    let (tone, sign) = if tool.error.is_some() { (Tone::Bad, "✗") } else { (Tone::Good, "✓") };
    let counts = [
        (tool.created.len(), "written"),
        (tool.updated.len(), "brought up to date"),
        (tool.unchanged, "as they were"),
        (tool.removed.len(), "removed"),
    ];
    let counts: Vec<String> = counts
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    page.put("  ").tone(tone, sign).put(format_args!(" {}: {}", tool.name, counts.join(", ")));
    page.end();
    if let Some(error) = &tool.error {
        page.tone(Tone::Bad, format_args!("      {error}")).end();
    }
    for copy in &tool.copies {
        let copy = copy.strip_prefix(root).unwrap_or(copy).display();
        page.tone(Tone::Warn, format_args!("      your version is kept: {copy}")).end();
    }
    for left in &tool.left_alone {
        let left = left.strip_prefix(root).unwrap_or(left).display();
        page.tone(Tone::Warn, format_args!("      no longer used, yours to remove: {left}")).end();
    }
    if let Some(outside) = outside(tool, root) {
        page.tone(Tone::Dim, format_args!("      outside of the project: {}", outside.display()));
        page.end();
    }
}

/// Finds the folder outside of the project that a tool's files went to, if any did.
fn outside<'a>(tool: &'a ToolReport, root: &Path) -> Option<&'a Path> {
    if root.as_os_str().is_empty() {
        return None;
    }
    let written = tool.created.iter().chain(&tool.updated);
    written.filter(|path: &&PathBuf| !path.starts_with(root)).find_map(|path| path.parent())
}
