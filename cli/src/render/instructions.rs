//! What an agent is told, as text in blocks that it can tell apart (spec `cli-core` 7.2 and 7.3).

use ratchet_supervisor::project::guidance::work::Readiness;
use ratchet_supervisor::project::guidance::{Instructions, Work, WorkInstructions};

use super::page::Page;

/// Tells how an artifact is made.
pub(crate) fn artifact(page: &mut Page, told: &Instructions) {
    let (id, change, schema) = (&told.artifact_id, &told.change_name, &told.schema_name);
    page.put(format_args!("<artifact id=\"{id}\" change=\"{change}\" schema=\"{schema}\">")).end();
    page.gap();
    let open: Vec<&str> =
        told.dependencies.iter().filter(|need| !need.done).map(|need| need.id.as_str()).collect();
    if !open.is_empty() {
        let text = format!(
            "This artifact builds on others that are not there yet: {}. Make them first.",
            open.join(", ")
        );
        block(page, "warning", &text);
    }
    let task = format!("Make the artifact '{id}' of the change '{change}'.\n{}", told.description);
    block(page, "task", &task);
    if let Some(context) = &told.context {
        block(page, "project_context", context);
    }
    if !told.rules.is_empty() {
        let rules: Vec<String> = told.rules.iter().map(|rule| format!("- {rule}")).collect();
        block(page, "rules", &rules.join("\n"));
    }
    if !told.standards.is_empty() {
        let standards: Vec<String> = told
            .standards
            .iter()
            .map(|standard| {
                let (name, tag) = (&standard.file_name, &standard.tag);
                format!(
                    "<standard file=\"{name}\" tag=\"{tag}\">\n{}\n</standard>",
                    standard.content.trim()
                )
            })
            .collect();
        block(page, "standards", &standards.join("\n"));
    }
    if !told.dependencies.is_empty() {
        let needs: Vec<String> = told
            .dependencies
            .iter()
            .map(|need| {
                let state = if need.done { "done" } else { "missing" };
                format!("- {} ({state}): {} - {}", need.id, need.path, need.description)
            })
            .collect();
        let text = format!("Read these first:\n{}", needs.join("\n"));
        block(page, "dependencies", &text);
    }
    block(page, "output", &format!("Write to: {}", told.resolved_output_path.display()));
    if let Some(instruction) = &told.instruction {
        block(page, "instruction", instruction.trim_end());
    }
    block(page, "template", told.template.trim_end());
    block(
        page,
        "success_criteria",
        &format!(
            "The file is there, says what the instruction asks for, and 'ratchet validate {change} --type change' finds no error in it."
        ),
    );
    if !told.unlocks.is_empty() {
        block(page, "unlocks", &format!("Then these can be made: {}", told.unlocks.join(", ")));
    }
    page.put("</artifact>").end();
}

/// Tells how a plan is carried out or checked.
pub(crate) fn work(page: &mut Page, told: &WorkInstructions, work: Work) {
    let verb = match work {
        Work::Apply => "Apply",
        Work::Verify => "Verify",
    };
    page.put(format_args!("## {verb}: {}", told.change_name)).end();
    page.put(format_args!("Schema: {}", told.schema_name)).end();
    let state = match told.state {
        Readiness::Blocked => "blocked",
        Readiness::AllDone => "all done",
        Readiness::Ready => "ready",
    };
    page.put(format_args!("State: {state}")).end();
    page.put(format_args!("Progress: {}/{} tasks", told.progress.complete, told.progress.total));
    page.end();
    if !told.missing_artifacts.is_empty() {
        page.put(format_args!("Missing: {}", told.missing_artifacts.join(", "))).end();
    }
    if !told.context_files.is_empty() {
        page.gap().put("### Read these").end();
        for (id, files) in &told.context_files {
            for file in files {
                page.put(format_args!("- {id}: {}", file.display())).end();
            }
        }
    }
    if !told.tasks.is_empty() {
        page.gap().put("### Tasks").end();
        for task in &told.tasks {
            let mark = if task.done { 'x' } else { ' ' };
            page.put(format_args!("- [{mark}] {}", task.description)).end();
        }
    }
    page.gap().put("### How").end().put(&told.instruction).end();
}

fn block(page: &mut Page, name: &str, text: &str) {
    page.put(format_args!("<{name}>")).end().put(text).end();
    page.put(format_args!("</{name}>")).end().gap();
}
