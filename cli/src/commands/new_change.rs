//! `ratchet new change`: a folder to plan in (spec `cli-core` 6).

use ratchet_supervisor::project::{CreatedChange, NewChange, Project};
use serde::Serialize;

use super::{Ended, failed, open};
use crate::args::Format;
use crate::args::planning::NewChange as Args;
use crate::diagnostic::Failure;
use crate::exit::Exit;
use crate::render::page::Tone;
use crate::ui::Ui;

/// What `new change --json` prints.
#[derive(Debug, Serialize)]
struct Answer<'a> {
    change: Option<&'a CreatedChange>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    status: Vec<Refused>,
}

/// Why there is no change.
#[derive(Debug, Serialize)]
struct Refused {
    code: &'static str,
    message: String,
}

/// Creates a change. With `--json` a refusal is a document, too.
pub(super) fn run(args: &Args, ui: Ui) -> Ended {
    let format = args.output.format();
    match create(args) {
        Ok((project, change)) => {
            let answer = Answer { change: Some(&change), status: Vec::new() };
            ui.answer(format, &answer, |page| {
                let path = change.path.strip_prefix(project.root()).unwrap_or(&change.path);
                let line = format!("Created change '{}' at {}/", change.id, path.display());
                page.tone(Tone::Good, "✓ ").put(line).end();
                page.put(format_args!("Schema: {}", change.schema)).end();
                let next = format!("  Go on with: ratchet status --change {}", change.id);
                page.tone(Tone::Dim, next).end();
            })?;
            Ok(Exit::Success)
        }
        Err(failure) => {
            if format == Format::Json {
                let message = failure.sentence();
                ui.json(&Answer {
                    change: None,
                    status: vec![Refused { code: "error", message }],
                })?;
            }
            Err(failure)
        }
    }
}

fn create(args: &Args) -> Result<(Project, CreatedChange), Failure> {
    let name = args.name.as_deref().ok_or_else(|| {
        Failure::new("Missing required argument <name>")
            .help("Name the change in kebab-case: ratchet new change add-search")
    })?;
    let project = open()?;
    let description = args.description.as_deref();
    let new = NewChange { name, description, schema: args.schema.as_deref() };
    let change = project.create_change(new).map_err(failed)?;
    Ok((project, change))
}
