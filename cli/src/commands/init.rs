//! `ratchet init`: a project is set up (spec `cli-core` 4).

use ratchet_supervisor::agent::tool::Tool;
use ratchet_supervisor::doctor::{Depth, Diagnosis};
use ratchet_supervisor::environment::Environment;
use ratchet_supervisor::error::Error;
use ratchet_supervisor::project::Project;
use ratchet_supervisor::project::setup::{
    ConfigFile, InitReport, InitRequest, Profile, SetupError, parse_tools,
};
use serde::Serialize;

use super::batch::first_run;
use super::{Ended, failed, warn};
use crate::args::Format;
use crate::args::setup::Init;
use crate::ask;
use crate::diagnostic::Failure;
use crate::exit::Exit;
use crate::render::setup;
use crate::ui::Ui;

/// What `init --json` prints.
#[derive(Debug, Serialize)]
struct Answer<'a> {
    #[serde(flatten)]
    report: &'a InitReport,
    #[serde(skip_serializing_if = "Option::is_none")]
    doctor: Option<&'a Diagnosis>,
}

/// Whether somebody answers questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Talk {
    Person,
    Nobody,
}

/// Whether the project has been set up before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Visit {
    First,
    Later,
}

/// Sets a project up.
pub(super) fn run(args: &Init, ui: Ui) -> Ended {
    let profile = args.profile.as_deref().map(read_profile).transpose()?;
    let tools = args.tools.as_deref().map(parse_tools).transpose().map_err(|e| failed(e.into()))?;
    let environment = Environment::from_process()
        .map_err(|source| failed(Error::NoWorkingDirectory { source }))?;
    let project = Project::prepare(&args.path, environment).map_err(failed)?;
    let format = args.output.format();
    let talk = talk(args, &project);
    let visit = if project.is_set_up() { Visit::Later } else { Visit::First };
    let tools = match tools {
        Some(tools) => tools,
        None => match choose(&project, talk, visit, ui)? {
            Some(tools) => tools,
            None => {
                ui.tell(|page| {
                    page.put("Cancelled: nothing was written.").end();
                });
                return Ok(Exit::Success);
            }
        },
    };
    warn(project.selection_warnings(), ui);
    let config = match (talk, args.force) {
        (Talk::Person, _) | (_, true) => ConfigFile::Written,
        (Talk::Nobody, false) => ConfigFile::LeftOut,
    };
    let report = project.init(&InitRequest { tools, profile, config }).map_err(failed)?;
    if talk == Talk::Person {
        first_run::ask_for_posture(&project, format, ui);
    }
    let doctor = (visit == Visit::First).then(|| project.diagnose(Depth::Quick));
    let answer = Answer { report: &report, doctor: doctor.as_ref() };
    ui.answer(format, &answer, |page| setup::init(page, &report, doctor.as_ref()))?;
    Ok(Exit::Success)
}

fn talk(args: &Init, project: &Project) -> Talk {
    let wanted = !args.yes && args.output.format() == Format::Text;
    if wanted && ask::is_somebody_there(project.environment()) {
        Talk::Person
    } else {
        Talk::Nobody
    }
}

fn read_profile(word: &str) -> Result<Profile, Failure> {
    let unknown = || failed(SetupError::BadProfile { word: word.to_owned() }.into());
    Profile::parse(word).ok_or_else(unknown)
}

/// A tool as a line of the menu.
struct Row(Tool);

impl std::fmt::Display for Row {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0.name())
    }
}

/// Asks which tools, or takes those that are used here; `None` if the person would rather not.
fn choose(
    project: &Project,
    talk: Talk,
    visit: Visit,
    ui: Ui,
) -> Result<Option<Vec<Tool>>, Failure> {
    let (in_use, set_up) = (project.tools_in_use(), project.tools_set_up());
    if talk == Talk::Nobody {
        if in_use.is_empty() && set_up.is_empty() {
            return Err(failed(SetupError::NothingInUse.into()));
        }
        let known = |tool: &Tool| in_use.contains(tool) || set_up.contains(tool);
        return Ok(Some(Tool::ALL.into_iter().filter(known).collect()));
    }
    let ticked =
        |tool: &Tool| set_up.contains(tool) || (visit == Visit::First && in_use.contains(tool));
    let ticked: Vec<usize> =
        (0..).zip(Tool::ALL).filter(|(_, tool)| ticked(tool)).map(|(at, _)| at).collect();
    let rows = Tool::ALL.map(Row).into();
    let chosen = ask::some_of(ui, "Which coding tools work on this project?", rows, &ticked)?;
    Ok(chosen.map(|rows| rows.into_iter().map(|Row(tool)| tool).collect()))
}
