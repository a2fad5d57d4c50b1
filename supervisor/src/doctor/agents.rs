//! Is there an agent, does it start, and is everyone there whom the settings name?

use std::path::PathBuf;

use ratchet_engine::name::AgentName;
use ratchet_engine::settings::Settings;
use ratchet_engine::transition::StepKind;

use super::probe::{Answer, Question, ask};
use super::{Check, Depth};
use crate::agent::Agent;
use crate::environment::Environment;
use crate::project::Project;

/// An agent whose program is there.
struct Found {
    name: String,
    program: PathBuf,
}

pub(super) fn check(project: &Project, settings: Option<&Settings>, depth: Depth) -> Check {
    let check = Check::required("agent", "Coding agent");
    let environment = project.environment();
    if environment.agent_command().is_some() {
        return check.passed("RATCHET_BATCH_AGENT_CMD stands in for every agent");
    }
    let wanted = settings.map(wanted).unwrap_or_default();
    let missing: Vec<&str> = wanted
        .iter()
        .filter(|agent| program(environment, settings, agent).is_none())
        .map(AgentName::as_str)
        .collect();
    if !missing.is_empty() {
        let detail = format!("the settings name an agent that is not here: {}", missing.join(", "));
        let remedy = format!(
            "install it, or take another one: ratchet batch config --set agent={}",
            Agent::ALL[0].id()
        );
        return check.failed(detail, remedy);
    }
    let everyone = Agent::ALL.map(|agent| AgentName::new(agent.id()));
    let found: Vec<Found> = everyone
        .iter()
        .chain(wanted.iter().filter(|agent| !everyone.contains(agent)))
        .filter_map(|agent| {
            let program = program(environment, settings, agent)?;
            Some(Found { name: agent.to_string(), program })
        })
        .collect();
    if found.is_empty() {
        let supported: Vec<&str> = Agent::ALL.into_iter().map(Agent::id).collect();
        let detail = format!("none was found on PATH; supported are {}", supported.join(", "));
        return check.failed(detail, "install one of them, for example Claude Code or Codex");
    }
    match depth {
        Depth::Quick => {
            let names: Vec<&str> = found.iter().map(|found| found.name.as_str()).collect();
            check.passed(names.join(", "))
        }
        Depth::Full => started(check, project, &found),
    }
}

/// Asks each for its version. One that does not answer may still work; if none does, something is wrong.
fn started(check: Check, project: &Project, found: &[Found]) -> Check {
    let questions: Vec<Question<'_>> = found
        .iter()
        .map(|found| Question { program: &found.program, arguments: &["--version"] })
        .collect();
    let answers = ask(&questions, project.environment(), project.root());
    let told: Vec<String> = found
        .iter()
        .zip(&answers)
        .map(|(found, answer)| {
            let version = answer.as_ref().ok().and_then(version);
            format!("{} ({})", found.name, version.as_deref().unwrap_or("version unknown"))
        })
        .collect();
    if answers.iter().all(Result::is_err) {
        let detail = format!("found, but none starts: {}", told.join(", "));
        return check.failed(detail, format!("see what it says: {} --version", found[0].name));
    }
    check.passed(told.join(", "))
}

fn version(answer: &Answer) -> Option<String> {
    let line = answer.text.lines().map(str::trim).find(|line| !line.is_empty())?;
    (answer.code == Some(0)).then(|| line.chars().take(60).collect())
}

/// Lists the agents that the settings name, each once.
fn wanted(settings: &Settings) -> Vec<AgentName> {
    let mut agents: Vec<AgentName> = Vec::new();
    let specs = StepKind::ALL.into_iter().filter_map(|stage| settings.agent.as_ref()?.of(stage));
    for spec in specs {
        if !agents.contains(&spec.agent) {
            agents.push(spec.agent.clone());
        }
    }
    agents
}

/// Finds the program of an agent: the one the user set, else one of the table's.
fn program(
    environment: &Environment,
    settings: Option<&Settings>,
    agent: &AgentName,
) -> Option<PathBuf> {
    let own = settings.and_then(|settings| settings.agents.get(agent)?.command.as_deref());
    let names: Vec<&str> = match own {
        Some(own) => vec![own],
        None => Agent::find(agent).ok()?.binaries().to_vec(),
    };
    // Joined to a folder, a path that is absolute stays what it is.
    names.into_iter().find_map(|name| environment.find_program(name))
}
