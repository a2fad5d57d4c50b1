//! `ratchet batch log`: which steps ran, and what their agents printed. The output is stored byte for byte outside of the
//! project until it is swept away; here it is read again.

use std::io;

use ratchet_engine::name::{BatchName, StepKey};
use ratchet_supervisor::event::Stream;
use ratchet_supervisor::follow::stored;
use ratchet_supervisor::project::{LoggedStep, Project};
use serde::Serialize;

use crate::args::batch::Log;
use crate::commands::{Ended, failed, open};
use crate::diagnostic::Failure;
use crate::exit::Exit;
use crate::pen::Pen;
use crate::render::event::Transcript;
use crate::render::page::{Page, Tone};
use crate::ui::{NotWritten, Ui};

/// What `batch log --json` prints.
#[derive(Debug, Serialize)]
struct Logged<'a> {
    batch: &'a BatchName,
    steps: &'a [LoggedStep],
}

/// Lists the steps, or prints what one of them printed.
pub(super) fn run(args: &Log, ui: Ui) -> Ended {
    let project = open()?;
    let batch = project.resolve_batch(args.name.as_deref()).map_err(failed)?;
    if let Some(spawn) = &args.spawn {
        return output(&project, spawn, args, ui);
    }
    let key = args.change.as_deref().map(StepKey::from_text);
    let steps = project.logged(&batch, key.as_ref()).map_err(failed)?;
    if !args.last {
        ui.answer(args.output.format(), &Logged { batch: &batch, steps: &steps }, |page| {
            draw(page, &steps);
        })?;
        return Ok(Exit::Success);
    }
    match steps.last() {
        Some(step) => output(&project, &step.spawn, args, ui),
        None => Err(Failure::new(format!("No step of batch '{batch}' has been concluded"))
            .help("'ratchet batch attach' follows the one that runs.")),
    }
}

fn output(project: &Project, spawn: &str, args: &Log, ui: Ui) -> Ended {
    let dir = project.spawn_dir(spawn).map_err(failed)?;
    let mut frames = stored(&dir).map_err(failed)?.peekable();
    let mut out = Pen::new(io::stdout());
    let mut err = Pen::new(io::stderr());
    let mut transcript = match frames.peek() {
        Some(Ok(first)) => Transcript::sniffed(&first.bytes, ui.out()),
        Some(Err(_)) | None => Transcript::of(None, ui.out()),
    };
    for frame in frames {
        let frame = frame.map_err(failed)?;
        match (args.raw, frame.stream) {
            (true, Stream::Stdout) => out.put(&frame.bytes),
            (true, Stream::Stderr) => err.put(&frame.bytes),
            (false, stream) => transcript.push(stream, &frame.bytes, &mut |bytes| out.put(bytes)),
        }
    }
    transcript.finish(&mut |bytes| out.put(bytes));
    // Standard error has its own pen only for --raw; what is lost there has nobody to be told to.
    drop(err.finish());
    match out.finish() {
        None => Ok(Exit::Success),
        Some(error) => Err(NotWritten::because(error).into()),
    }
}

fn draw(page: &mut Page, steps: &[LoggedStep]) {
    if steps.is_empty() {
        page.put("No step has been concluded yet.").end();
    }
    for step in steps {
        let kind = step.transition.map_or("proof-of-work", |kind| kind.as_str());
        let tone = if step.kind == "blocker" { Tone::Warn } else { Tone::Good };
        page.tone(Tone::Dim, &step.at).put(format_args!("  {}  {kind}  ", step.change));
        page.tone(tone, &step.kind);
        page.put(format_args!("  {}", step.message.lines().next().unwrap_or_default())).end();
        page.tone(Tone::Dim, format_args!("    spawn {}", step.spawn));
        if !step.output {
            page.tone(Tone::Dim, "  (output no longer stored)");
        }
        page.end();
    }
}

#[cfg(test)]
mod tests {
    use ratchet_engine::transition::StepKind;

    use super::*;
    use crate::render::page::Ink;
    use crate::schemas::assert_fits;

    #[test]
    fn a_step_is_listed_with_its_outcome_and_its_spawn() {
        let step = |spawn: &str, kind: &str, output| LoggedStep {
            spawn: spawn.into(),
            change: "add-cart".into(),
            transition: Some(StepKind::Apply),
            at: "2026-07-02T09:05:01.000Z".into(),
            kind: kind.into(),
            message: "five tasks\ndone".into(),
            output,
        };
        let steps = [step("01", "completion", true), step("02", "blocker", false)];
        let mut page = Page::new(Ink::Plain);
        draw(&mut page, &steps);
        insta::assert_snapshot!(page.finish(), @r"
        2026-07-02T09:05:01.000Z  add-cart  apply  completion  five tasks
            spawn 01
        2026-07-02T09:05:01.000Z  add-cart  apply  blocker  five tasks
            spawn 02  (output no longer stored)
        ");
        let batch = BatchName::parse("shop").unwrap();
        assert_fits("log", &Logged { batch: &batch, steps: &steps });
    }
}
