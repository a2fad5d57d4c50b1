//! Works out everything one spawn needs. It reads; it writes only the agent's command file, which has to be there before
//! any agent starts.

use std::path::{Path, PathBuf};

use ratchet_engine::decide::{Proving, Step, Work};
use ratchet_engine::instructions::{self, Wording};
use ratchet_engine::name::SpawnId;
use ratchet_engine::outcome::{ModelSource, Refusal, StepResult, Subject};
use ratchet_engine::settings::{AgentSpec, Locus, Settings, agent_timeout_ms};
use ratchet_engine::time::Timestamp;
use ratchet_engine::transition::StepKind;
use ratchet_spawn::{Limits, Request, Stdin};

use super::{approved, site};
use crate::agent::command::{self, CommandFile, Rendered, Roots};
use crate::agent::{self, Agent, Asked, ExtraFile, Invocation, environment};
use crate::error::{Error, with_causes};
use crate::event::{Notice, NoticeLevel};
use crate::git;
use crate::house::House;
use crate::order::Order;
use crate::request::{LimitPolicy, OverrideConsent};
use crate::runtime::docker::container;
use crate::runtime::{Command, Site, StartError, Variables, remote};
use crate::store::file::Created;
use crate::store::inflight::{Inflight, Place, ProofTask, StepTask, Task};
use crate::store::layout::RunHome;
use crate::store::{change, command_file, journal};

/// The wall limit of an agent where nothing is set, in milliseconds (spec `batch-manifest-and-settings` 8).
const DEFAULT_WALL_MS: u64 = 600_000;

/// The name of a command file that goes with the spawn.
const HANDED_COMMAND: &str = "command.md";

/// What a step's order depends on besides the step.
pub(super) struct Context<'a> {
    pub(super) settings: &'a Settings,
    pub(super) consent: OverrideConsent,
    pub(super) limits: LimitPolicy,
}

/// Works out the order of a step, or the result of refusing it.
pub(super) fn step(
    house: &House,
    home: &RunHome,
    mut step: Step,
    context: &Context<'_>,
) -> Result<Result<Order, StepResult>, Error> {
    if let Work::PullRequest { group, branches, .. } = &mut step.work {
        *branches = Some(git::branches(house.project.root(), group.as_ref()));
    }
    let spawn = house.new_spawn_id();
    let project = &house.project;
    let entries = journal::entries_of(&project.layout().run(home), &step.key)?;
    // Before anything of ours is written into the tree.
    let note = step.change().and_then(|change| approved::note(house, change, &entries));
    let call = match call(house, &step, context, &spawn) {
        Ok(call) => call,
        Err(refusal) => return Ok(Err(refusal.result(&step))),
    };
    if let Some(until) = limited_until(house, &call, context)? {
        let agent = call.spec.agent;
        return Ok(Err(Refusal::LimitReached { agent, until }.result(&step)));
    }
    let place = place(house, context.settings.locus)?;
    let task = step_task(house, &step, &call, context)?;
    let notices = warnings(&call.invocation);
    let errand = site::Errand::of(&step, &call.invocation, call.reads.clone());
    let site = site::of(house, home, context.settings.locus, context.settings, errand);
    let site = site.map_err(StartError::Remote)?;
    let destination = Destination { site, spawns: &place.spawns, spawn: &spawn };
    let command = step_command(house, home, &step, call, context, destination);
    let inflight = Inflight {
        journal_count: entries.len(),
        notes: Vec::from_iter(note),
        ..Inflight::new(spawn, step.key, Task::Step(task), place, project.now())
    };
    Ok(Ok(Order { inflight, command, notices }))
}

/// Keeps what judging the step will need, as it is before the spawn.
fn step_task(
    house: &House,
    step: &Step,
    call: &Call,
    context: &Context<'_>,
) -> Result<StepTask, Error> {
    let layout = house.project.layout();
    Ok(StepTask {
        subject: Subject::of(step, context.settings.gate),
        change: step.change().cloned(),
        before: step.change().map(|change| change::facts_of(layout, change)).transpose()?,
        agent: call.spec.agent.clone(),
        via: call.invocation.via,
        model: model_source(&call.spec, step.kind(), context, &call.invocation),
    })
}

/// Where a step's command goes.
struct Destination<'a> {
    site: Site,
    spawns: &'a Path,
    spawn: &'a SpawnId,
}

/// Works out what is run for a step: the agent with its prompt, its environment and its limits.
fn step_command(
    house: &House,
    home: &RunHome,
    step: &Step,
    call: Call,
    context: &Context<'_>,
    destination: Destination<'_>,
) -> Command {
    let Destination { site, spawns, spawn } = destination;
    let project = &house.project;
    let ratchet = match site::word_for_ratchet(context.settings) {
        Some(word) => word.to_owned(),
        None => house.word_for_ratchet(&call.invocation),
    };
    let wording = Wording {
        token: &call.token,
        file: call.file.as_deref(),
        ratchet: &ratchet,
        strategy: context.settings.strategy,
    };
    let trace = house.trace.parent();
    let (parent, state) = environment::trace_marks(trace.as_ref());
    let marks = environment::Marks {
        batch: step.batch.as_ref(),
        spawn,
        trace_parent: parent.as_deref(),
        trace_state: state.as_deref(),
    };
    let host = site::host_variables(house, context.settings);
    let mut variables = environment::for_agent(&host, &call.invocation.env, &marks);
    for (name, value) in site::own_variables(house, context.settings) {
        variables.entry(name.into()).or_insert_with(|| value.into());
    }
    let request = Request {
        id: ratchet_spawn::SpawnId::parse(spawn.as_str()).expect("our ids are folder names"),
        argv: call.invocation.argv(&site.spawn_dir(spawns, spawn.as_str())),
        cwd: site.seen(project.root(), project.root()),
        stdin: Stdin::Prompt(instructions::render(step, &wording).into_bytes()),
        limits: agent_limits(house, context.settings),
        needed_by: Some(project.layout().run(home).inflight()),
    };
    Command {
        site,
        request,
        variables: Variables(variables),
        files: call.invocation.files.into_iter().map(|file| (file.name, file.bytes)).collect(),
    }
}

/// Works out the order of a proof-of-work: the command as it is, with the whole environment.
pub(super) fn proof(
    house: &House,
    home: &RunHome,
    proving: Proving,
    settings: &Settings,
) -> Result<Order, Error> {
    let project = &house.project;
    let spawn = house.new_spawn_id();
    let key = ratchet_engine::name::StepKey::of_proof(&proving.phase);
    let run = project.layout().run(home);
    let locus = settings.proof_locus;
    let errand = site::Errand {
        batch: match home {
            RunHome::Batch(batch) => Some(batch),
            RunHome::Change(_) => None,
        },
        key: None,
        what: format!("proof {}", proving.phase),
        trial: ["bash", "-c", ":"].map(str::to_owned).to_vec(),
        reads: None,
    };
    let site = site::of(house, home, locus, settings, errand).map_err(StartError::Remote)?;
    let mut variables = site::proof_variables(house, locus);
    environment::mark_trace(&mut variables, house.trace.parent().as_ref());
    let request = Request {
        id: ratchet_spawn::SpawnId::parse(spawn.as_str()).expect("our ids are folder names"),
        argv: ["bash", "-c", &proving.proof.run].map(Into::into).to_vec(),
        cwd: site.seen(project.root(), project.root()),
        stdin: Stdin::Null,
        limits: Limits { wall_ms: settings.proof_timeout_ms, ..Limits::default() },
        needed_by: Some(run.inflight()),
    };
    let task = Task::Proof(ProofTask { proving, policy: settings.proof_policy });
    let inflight = Inflight {
        journal_count: journal::count_of(&run, &key)?,
        ..Inflight::new(spawn, key, task, place(house, site.locus())?, project.now())
    };
    let command = Command { site, request, variables: Variables(variables), files: Vec::new() };
    Ok(Order { inflight, command, notices: Vec::new() })
}

fn place(house: &House, locus: Locus) -> Result<Place, Error> {
    Ok(Place { locus, spawns: house.places()?.spawns })
}

/// How the agent is called, and how the prompt calls its command.
struct Call {
    spec: AgentSpec,
    token: String,
    file: Option<String>,
    invocation: Invocation,
    /// The command file, if it is one of the project's.
    reads: Option<PathBuf>,
}

/// Works out the call, and makes sure of the command file; the order of the checks is spec `step-and-outcome` 3.
fn call(
    house: &House,
    step: &Step,
    context: &Context<'_>,
    spawn: &SpawnId,
) -> Result<Call, Refusal> {
    let settings = context.settings;
    let project = &house.project;
    let stand_in = project.environment().agent_command();
    if stand_in.is_some()
        && settings.require_override_flag
        && context.consent == OverrideConsent::NotGiven
    {
        return Err(Refusal::OverrideNotAllowed);
    }
    let spec = agent::chosen(settings, step.kind());
    let own = settings.agents.get(&spec.agent);
    let token = command::token(&spec.agent, step.kind());
    if settings.locus == Locus::Remote
        && let Err(error) = settings.remote_workers()
    {
        return Err(Refusal::NoWorker { token, why: error.to_string() });
    }
    let roots = Roots::of(project.root(), project.environment(), own);
    let command = CommandFile::of(&spec.agent, step.kind(), &roots);
    let (mut handed, mut reads) = (None, None);
    let mut file = None;
    if let Some(command) = command {
        let rendered = command.rendered()?;
        file = command.as_seen(&roots);
        let folder = match settings.locus {
            Locus::Local => None,
            Locus::Docker => Some(Path::new(container::SPAWNS).join(spawn.as_str())),
            Locus::Remote => Some(PathBuf::from(remote::FILES)),
        };
        if let Some(folder) = folder.filter(|_| !rendered.path().starts_with(project.root())) {
            // A home of this machine is not seen elsewhere: the file goes with the spawn.
            file = Some(folder.join(HANDED_COMMAND).display().to_string());
            handed = Some(ExtraFile { name: HANDED_COMMAND, bytes: rendered.text().into() });
        } else {
            guarantee(&rendered)?;
            reads = Some(rendered.path().to_owned());
        }
    }
    let mut invocation = match stand_in {
        Some(text) => agent::stand_in(text).expect("the environment gives no blank command"),
        None => adapter_call(house, &spec, settings)?,
    };
    invocation.files.extend(handed);
    Ok(Call { spec, token, file, invocation, reads })
}

/// Says until when the agent is out of use, unless the caller wants to know nothing of it.
fn limited_until(
    house: &House,
    call: &Call,
    context: &Context<'_>,
) -> Result<Option<Timestamp>, Error> {
    match context.limits {
        LimitPolicy::Heeded if call.invocation.via.is_none() => {
            house.project.limited_until(&call.spec.agent)
        }
        LimitPolicy::Heeded | LimitPolicy::Ignored => Ok(None),
    }
}

/// Puts a missing command file where the agent will look for it.
fn guarantee(file: &Rendered) -> Result<(), Refusal> {
    match command_file::write_missing(file.path(), file.text()) {
        Ok(Created::Now | Created::Before) => Ok(()),
        Err(error) => Err(file.unwritable(with_causes(&error))),
    }
}

fn adapter_call(
    house: &House,
    spec: &AgentSpec,
    settings: &Settings,
) -> Result<Invocation, Refusal> {
    let refused = |error: agent::AgentError| Refusal::Runtime { why: error.to_string() };
    let agent = Agent::find(&spec.agent).map_err(|_| Refusal::UnknownAgent {
        agent: spec.agent.clone(),
        available: Agent::ALL.map(|agent| agent.id().to_owned()).to_vec(),
    })?;
    let permissions = site::permissions(settings);
    let asked = Asked {
        model: spec.model.as_deref(),
        permissions: Some(&permissions),
        overrides: settings.agents.get(&spec.agent),
    };
    agent::invocation(agent, &asked, &site::facts(house, agent, settings)).map_err(refused)
}

/// A model counts for the failure hint only if somebody named it, for this stage, and the agent really got it.
fn model_source(
    spec: &AgentSpec,
    stage: StepKind,
    context: &Context<'_>,
    invocation: &Invocation,
) -> Option<ModelSource> {
    let model = spec.model.clone().filter(|_| invocation.via.is_none())?;
    let scope = *context.settings.agent_stage_scopes.get(&stage)?;
    Some(ModelSource { agent: spec.agent.to_string(), model, scope })
}

fn agent_limits(house: &House, settings: &Settings) -> Limits {
    let from_environment = house.project.environment().var("RATCHET_AGENT_TIMEOUT_MS");
    let wall = agent_timeout_ms(from_environment, settings.agent_timeout_ms);
    Limits {
        start_ms: settings.agent_start_timeout_ms,
        idle_ms: settings.agent_idle_timeout_ms,
        wall_ms: Some(wall.unwrap_or(DEFAULT_WALL_MS)),
        output_bytes: settings.agent_output_limit_bytes,
        ..Limits::default()
    }
}

fn warnings(invocation: &Invocation) -> Vec<Notice> {
    let warn = |text: String| Notice { level: NoticeLevel::Warning, text };
    invocation.warnings.iter().map(|warning| warn(warning.to_string())).collect()
}

impl House {
    /// Makes an id for a spawn; ids sort by time.
    fn new_spawn_id(&self) -> SpawnId {
        SpawnId::parse(&uuid::Uuid::now_v7().to_string()).expect("a uuid is a folder name")
    }

    /// Says how an agent calls this program: `ratchet` where its `PATH` has this very binary, else by its path. Another
    /// program of the name, or another version, would not know what is to be reported.
    fn word_for_ratchet(&self, invocation: &Invocation) -> String {
        let own = &self.options.ratchet;
        let found = match invocation.env.get("PATH") {
            Some(_) => None,
            None => self.project.environment().find_program("ratchet"),
        };
        let is_own = |found: &Path| same_file(found, own);
        if found.as_deref().is_some_and(is_own) {
            "ratchet".to_owned()
        } else {
            own.display().to_string()
        }
    }
}

fn same_file(one: &Path, other: &Path) -> bool {
    let canonical = |path: &Path| path.canonicalize().ok();
    canonical(one).is_some_and(|one| canonical(other) == Some(one))
}
