//! `ratchet doctor --locus docker` and `--reap`: tries what steps in containers need, and clears away what they left.

use ratchet_engine::permission::Escalation;
use ratchet_engine::settings::StandaloneFlags;
use ratchet_supervisor::agent::Agent;
use ratchet_supervisor::containers::{
    self, Examination, Fate, Found, GRACE, Kind, ProgramState, Sweep,
};
use serde::Serialize;

use crate::args::doctor::Doctor;
use crate::commands::stage::hosting;
use crate::commands::watching::on_this_thread;
use crate::commands::{Ended, failed, open, open_configured};
use crate::exit::Exit;
use crate::render::page::{Page, Tone};
use crate::render::settings::named_agents;
use crate::ui::Ui;

/// One line of `doctor --reap --json`.
#[derive(Debug, Serialize)]
struct Reaped<'a> {
    kind: Kind,
    name: &'a str,
    fate: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'a str>,
}

/// What `doctor --reap --json` prints.
#[derive(Debug, Serialize)]
struct Reaping<'a> {
    found: Vec<Reaped<'a>>,
}

/// Clears away.
pub(super) fn reap(args: &Doctor, ui: Ui) -> Ended {
    let project = open()?;
    let sweep = if args.dry_run { Sweep::Look } else { Sweep::Remove };
    let grace = args.grace.unwrap_or(GRACE);
    let reaping = containers::reap(project.environment(), grace, sweep, project.now());
    let found = on_this_thread(reaping)?.map_err(failed)?;
    let told = Reaping { found: found.iter().map(reaped).collect() };
    ui.answer(args.output.format(), &told, |page| draw_reaped(page, &told))?;
    let stuck = found.iter().any(|found| matches!(found.fate, Fate::Stuck(_)));
    Ok(if stuck { Exit::Failure } else { Exit::Success })
}

fn reaped(found: &Found) -> Reaped<'_> {
    let (fate, why) = match &found.fate {
        Fate::Removed => ("removed", None),
        Fate::Removable => ("removable", None),
        Fate::Kept => ("kept", None),
        Fate::NotOurs => ("not-ours", None),
        Fate::Stuck(why) => ("stuck", Some(why.as_str())),
    };
    Reaped { kind: found.kind, name: &found.name, fate, why }
}

fn draw_reaped(page: &mut Page, told: &Reaping<'_>) {
    if told.found.is_empty() {
        page.put("The engine holds nothing of ratchet's.").end();
    }
    for Reaped { kind, name, fate, why } in &told.found {
        let tone = if why.is_some() { Tone::Bad } else { Tone::Dim };
        let kind = match kind {
            Kind::Container => "container",
            Kind::Network => "network",
            Kind::Volume => "volume",
        };
        page.put(format_args!("{kind} {name}: ")).tone(tone, fate);
        if let Some(why) = why {
            page.put(format_args!(": {why}"));
        }
        page.end();
    }
}

/// Looks.
pub(super) fn examine(args: &Doctor, ui: Ui) -> Ended {
    let project = open_configured(ui)?;
    let flags = StandaloneFlags { image: args.image.clone(), ..StandaloneFlags::default() };
    let settings = project.settings(None, Escalation::Clamped).map_err(failed)?;
    let settings = settings.with_flags(&flags).map_err(|error| failed(error.into()))?;
    let programs = programs(&settings);
    let ratchet = hosting(std::num::NonZeroUsize::MIN)?.ratchet;
    let examining = containers::examine(&project, &settings, &ratchet, &programs);
    let found = on_this_thread(examining)?.map_err(failed)?;
    ui.answer(args.output.format(), &found, |page| draw_examined(page, &found))?;
    let fit = found.programs.iter().all(|program| program.state == ProgramState::Starts);
    Ok(if fit { Exit::Success } else { Exit::Failure })
}

/// The programs of the agents that the settings name, and git.
fn programs(settings: &ratchet_engine::settings::Settings) -> Vec<String> {
    let named = named_agents(settings);
    let agents = named.iter().filter_map(|name| Some((name, Agent::find(name).ok()?)));
    let mut programs: Vec<String> = agents
        .map(|(name, agent)| {
            let own = settings.agents.get(name).and_then(|own| own.command.clone());
            own.unwrap_or_else(|| agent.binaries()[0].to_owned())
        })
        .collect();
    if programs.is_empty() {
        programs.push(Agent::Claude.binaries()[0].to_owned());
    }
    programs.push("git".to_owned());
    programs
}

fn draw_examined(page: &mut Page, found: &Examination) {
    let rootless = if found.rootless { ", rootless" } else { "" };
    page.tone(Tone::Good, "✓ ").put(format_args!("{} at {}", found.engine, found.endpoint));
    page.tone(Tone::Dim, format_args!(" (API {}{rootless})", found.api)).end();
    page.tone(Tone::Good, "✓ ").put(format_args!("image {}", found.image));
    page.tone(Tone::Dim, format_args!(" ({})", found.digest)).end();
    for program in &found.programs {
        match program.state {
            ProgramState::Starts => page.tone(Tone::Good, "✓ "),
            ProgramState::Missing | ProgramState::Broken => page.tone(Tone::Bad, "✗ "),
        };
        page.put(format_args!("{}: {}", program.name, program.said)).end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schemas::assert_fits;

    #[test]
    fn both_answers_fit_their_schema() {
        let found =
            [Fate::Removed, Fate::Removable, Fate::Kept, Fate::NotOurs, Fate::Stuck("busy".into())]
                .map(|fate| Found { kind: Kind::Container, name: "ratchet-1".into(), fate });
        assert_fits("reap", &Reaping { found: found.iter().map(reaped).collect() });
        let program =
            |state| containers::Program { name: "git".into(), state, said: "git version 2".into() };
        let examination = Examination {
            engine: "Docker 28.0".into(),
            endpoint: "/var/run/docker.sock".into(),
            api: "1.41".into(),
            rootless: false,
            image: "agent:1".into(),
            digest: "sha256:1".into(),
            programs: [ProgramState::Starts, ProgramState::Missing, ProgramState::Broken]
                .map(program)
                .to_vec(),
        };
        assert_fits("examine", &examination);
    }
}
