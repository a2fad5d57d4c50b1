//! `ratchet propose`, `apply` and `verify`: one forced step of one change, without a batch
//! (spec `agents-and-runtimes` 9). Whether the change is ready for it is the supervisor's question.

use ratchet_engine::name::ChangeName;
use ratchet_engine::settings::StandaloneFlags;
use ratchet_engine::transition::Transition;
use ratchet_supervisor::project::Project;
use ratchet_supervisor::project::verb::Readiness;
use ratchet_supervisor::request::{ChangeStepRequest, Leave};
use ratchet_supervisor::store::layout::RunHome;

use super::batch::{consent, draw_park, limits};
use super::{Ended, failed, open_configured, parsed, stage};
use crate::args::change::{AgentRun, Move, Propose};
use crate::exit::{CodeStyle, Exit};
use crate::render::step::{self, Manner};
use crate::ui::Ui;

/// Has an agent propose a change.
pub(super) fn propose(args: &Propose, ui: Ui) -> Ended {
    let project = open_configured(ui)?;
    let change = project.name_proposal(&args.objective, args.name.as_deref()).map_err(failed)?;
    let request = ChangeStepRequest {
        objective: Some(args.objective.trim().to_owned()),
        ..request(change, Transition::Propose, Readiness::Required, &args.run)
    };
    run(project, request, &args.run, Manner::Propose, ui)
}

/// Has an agent carry out a change's plan.
pub(super) fn apply(args: &Move, ui: Ui) -> Ended {
    moved(args, Transition::Apply, Manner::Apply, ui)
}

/// Has an agent check a change.
pub(super) fn verify(args: &Move, ui: Ui) -> Ended {
    moved(args, Transition::Verify, Manner::Verify, ui)
}

fn moved(args: &Move, transition: Transition, manner: Manner, ui: Ui) -> Ended {
    let change = parsed(&args.change)?;
    let readiness = if args.force { Readiness::Waived } else { Readiness::Required };
    run(
        open_configured(ui)?,
        request(change, transition, readiness, &args.run),
        &args.run,
        manner,
        ui,
    )
}

fn request(
    change: ChangeName,
    transition: Transition,
    readiness: Readiness,
    run: &AgentRun,
) -> ChangeStepRequest {
    ChangeStepRequest {
        change,
        transition,
        objective: None,
        guidance: guidance(&run.messages),
        flags: StandaloneFlags {
            agent: run.agent.clone(),
            locus: run.locus.clone(),
            image: run.image.clone(),
        },
        readiness,
        agent_override: consent(run.stepping),
        leave: Leave::GoesOn,
        limits: limits(run.stepping),
    }
}

fn run(
    project: Project,
    request: ChangeStepRequest,
    args: &AgentRun,
    manner: Manner,
    ui: Ui,
) -> Ended {
    let format = args.output.format();
    let home = RunHome::Change(request.change.clone());
    let looking = project.clone();
    let (result, signal) =
        stage::play(project, ui, format, async |stage| stage.change(request).await)?;
    ui.answer(format, &result, |page| {
        step::result(page, &result, manner);
        draw_park(page, &result, &looking, &home);
    })?;
    Ok(match signal {
        Some(signal) => Exit::BySignal(signal),
        None => CodeStyle::of(args.stepping).exit(Exit::of_step(result.state)),
    })
}

/// Joins the texts of several `-m` by an empty line; blank ones do not count.
fn guidance(messages: &[String]) -> Option<String> {
    let said: Vec<&str> =
        messages.iter().map(|text| text.trim()).filter(|text| !text.is_empty()).collect();
    (!said.is_empty()).then(|| said.join("\n\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guidance_is_trimmed_and_blank_texts_do_not_count() {
        let said = [" no new dependencies ".to_owned(), "  ".to_owned(), "small\nsteps".to_owned()];
        assert_eq!(guidance(&said).as_deref(), Some("no new dependencies\n\nsmall\nsteps"));
        assert_eq!(guidance(&[" ".to_owned()]), None);
    }
}
