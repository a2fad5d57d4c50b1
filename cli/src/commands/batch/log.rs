//! `ratchet batch log`: which steps ran, and what their agents printed. The output is stored byte for byte outside of the
//! project until it is swept away; here it is read again.

use std::io;

use ratchet_engine::name::{BatchName, StepKey};
use ratchet_supervisor::event::Stream;
use ratchet_supervisor::follow::stored;
use ratchet_supervisor::project::{LoggedStep, Project};
use serde::Serialize;

use super::running::Running;
use crate::args::batch::Log;
use crate::commands::{Ended, failed, open};
use crate::diagnostic::Failure;
use crate::exit::Exit;
use crate::pen::Pen;
use crate::render::event::Transcript;
use crate::render::page::{Page, Tone};
use crate::ui::{NotWritten, Ui};

/// How much of a diff is printed, in bytes.
const LARGEST_DIFF: usize = 4 << 20;

/// What `batch log --json` prints.
#[derive(Debug, Serialize)]
struct Logged<'a> {
    batch: &'a BatchName,
    steps: &'a [LoggedStep],
    /// Absent while nothing runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    running: Option<&'a Running>,
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
        let running = Running::find(&project, &batch, ui);
        let logged = Logged { batch: &batch, steps: &steps, running: running.as_ref() };
        ui.answer(args.output.format(), &logged, |page| {
            draw(page, &steps, key.as_ref());
            if let Some(running) = &running {
                running.draw(page, &batch);
            }
        })?;
        return Ok(Exit::Success);
    }
    match steps.last() {
        Some(step) => {
            ui.tell(|page| outcome(page, step));
            output(&project, &step.spawn, args, ui)
        }
        None => Err(Failure::new(format!("No step of batch '{batch}' has been concluded"))
            .help("'ratchet batch attach' follows the one that runs.")),
    }
}

fn output(project: &Project, spawn: &str, args: &Log, ui: Ui) -> Ended {
    if args.diff {
        return kept_result(project, spawn);
    }
    let dir = project.spawn_dir(spawn).map_err(failed)?;
    let mut frames = stored(&dir).map_err(failed)?.peekable();
    if frames.peek().is_none() {
        ui.tell(|page| {
            page.tone(Tone::Dim, format_args!("Spawn {spawn} printed nothing.")).end();
        });
    }
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

/// Prints what a step left on a worker and is kept because it could not be brought in.
fn kept_result(project: &Project, spawn: &str) -> Ended {
    let Some(diff) = project.kept_result(spawn, LARGEST_DIFF).map_err(failed)? else {
        return Err(Failure::new(
            "Nothing is kept of what this step changed: it is in the project, or was never elsewhere",
        ));
    };
    let mut out = Pen::new(io::stdout());
    out.put(&diff.bytes);
    if diff.cut {
        out.put(b"\n... (more is not shown)\n");
    }
    match out.finish() {
        None => Ok(Exit::Success),
        Some(error) => Err(NotWritten::because(error).into()),
    }
}

/// Says what came of a step whose output follows: an agent that failed early may have printed nothing.
fn outcome(page: &mut Page, step: &LoggedStep) {
    let kind = step.transition.map_or("proof-of-work", |kind| kind.as_str());
    page.tone(Tone::Dim, format_args!("{kind} of {}, spawn {}: ", step.change, step.spawn));
    page.tone(tone(step), &step.kind).put(format_args!(" — {}", step.message)).end();
}

fn tone(step: &LoggedStep) -> Tone {
    if step.kind == "blocker" { Tone::Warn } else { Tone::Good }
}

fn draw(page: &mut Page, steps: &[LoggedStep], key: Option<&StepKey>) {
    match (steps, key) {
        ([], Some(key)) => {
            page.put(format_args!("No step of '{key}' has been concluded.")).end();
        }
        ([], None) => {
            page.put("No step has been concluded yet.").end();
        }
        (_, _) => {}
    }
    for step in steps {
        let kind = step.transition.map_or("proof-of-work", |kind| kind.as_str());
        page.tone(Tone::Dim, &step.at).put(format_args!("  {}  {kind}  ", step.change));
        page.tone(tone(step), &step.kind);
        page.put(format_args!("  {}", step.message.lines().next().unwrap_or_default())).end();
        page.tone(Tone::Dim, format_args!("    spawn {}", step.spawn));
        if let Some(image) = &step.image {
            page.tone(Tone::Dim, format_args!("  in {image}"));
        }
        if !step.output {
            page.tone(Tone::Dim, "  (output no longer stored)");
        }
        page.end();
    }
}

#[cfg(test)]
mod tests {
    use ratchet_engine::name::SpawnId;
    use ratchet_engine::transition::StepKind;
    use ratchet_supervisor::project::StepState;

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
            image: output.then(|| "sha256:4f5e".into()),
        };
        let steps = [step("01", "completion", true), step("02", "blocker", false)];
        let mut page = Page::new(Ink::Plain);
        draw(&mut page, &steps, None);
        insta::assert_snapshot!(page.finish(), @r"
        2026-07-02T09:05:01.000Z  add-cart  apply  completion  five tasks
            spawn 01  in sha256:4f5e
        2026-07-02T09:05:01.000Z  add-cart  apply  blocker  five tasks
            spawn 02  (output no longer stored)
        ");
        let batch = BatchName::parse("shop").unwrap();
        assert_fits("log", &Logged { batch: &batch, steps: &steps, running: None });
        let running = Running {
            change: StepKey::from_text("proof-of-work:p1"),
            transition: None,
            spawn: SpawnId::parse("03").unwrap(),
            started_at: "2026-07-02T09:05:01.000Z".into(),
            state: StepState::Running,
        };
        assert_fits("log", &Logged { batch: &batch, steps: &[], running: Some(&running) });
    }

    #[test]
    fn a_key_without_steps_is_named() {
        let drawn = |key: Option<&str>| {
            let mut page = Page::new(Ink::Plain);
            draw(&mut page, &[], key.map(StepKey::from_text).as_ref());
            page.finish().to_owned()
        };
        assert_eq!(drawn(Some("nope")), "No step of 'nope' has been concluded.\n");
        assert_eq!(drawn(None), "No step has been concluded yet.\n");
    }
}
