//! Evaluations of a project: who the agents are, where copies go, and what starts a shim. What an evaluation does is
//! [`ratchet_eval`]'s; here it meets the project's settings and the table of agents.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use ratchet_engine::name::{AgentName, BatchName, SpawnId};
use ratchet_engine::permission::Escalation;
use ratchet_engine::settings::Settings;
use ratchet_engine::transition::StepKind;
use ratchet_eval::call::{BATCH, Errand};
use ratchet_eval::ground::{Ground, Staff};
use ratchet_eval::run_id::RunId;
use ratchet_eval::scratch::ScratchError;
use ratchet_eval::shim::{Job, without_git};
use ratchet_spawn::Stdin;
use thiserror::Error;

use crate::agent::stream::{AgentEvent, AgentStream};
use crate::agent::{self, Agent, Asked, Invocation, environment};
use crate::error::Error;
use crate::perform::site;
use crate::project::Project;
use crate::request::OverrideConsent;

/// An evaluation that cannot begin.
#[derive(Debug, Error)]
pub enum EvaluationError {
    /// The project demands a flag before something stands in for the agent.
    #[error(
        "RATCHET_EVAL_AGENT_CMD stands in for the agent, and this project demands --allow-agent-override for that"
    )]
    OverrideNotAllowed,
    /// There is no home for copies.
    #[error("there is no folder for copies: neither HOME nor XDG_CACHE_HOME is set")]
    NoHome,
    /// There is no room for copies.
    #[error("there is no room for copies")]
    Room(#[source] ScratchError),
    /// A folder for the agent's files cannot be made.
    #[error("cannot make a folder for the agent's files")]
    Files(#[source] io::Error),
    /// The project cannot be read.
    #[error(transparent)]
    Project(#[from] Error),
}

impl EvaluationError {
    /// Returns a name that never changes: the page in `docs/errors/`.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::OverrideNotAllowed => "not-allowed",
            Self::NoHome => "no-home",
            Self::Room(_) | Self::Files(_) => "file-error",
            Self::Project(error) => error.code(),
        }
    }
}

/// The agents of an evaluation, as the project's settings have them.
#[derive(Debug)]
pub struct Evaluators {
    project: Project,
    settings: Settings,
    stand_in: Option<Invocation>,
    files: tempfile::TempDir,
}

impl Evaluators {
    /// Reads the settings.
    ///
    /// # Errors
    /// [`EvaluationError`].
    pub fn new(project: &Project, consent: OverrideConsent) -> Result<Self, EvaluationError> {
        let settings = project.settings(None, Escalation::Clamped)?;
        let stand_in = project.environment().eval_agent_command().and_then(agent::stand_in);
        let demanded = settings.require_override_flag && consent == OverrideConsent::NotGiven;
        if stand_in.is_some() && demanded {
            return Err(EvaluationError::OverrideNotAllowed);
        }
        let files = tempfile::tempdir().map_err(EvaluationError::Files)?;
        Ok(Self { project: project.clone(), settings, stand_in, files })
    }

    /// Makes the ground of a run. `shim` is the command that starts a shim.
    ///
    /// # Errors
    /// [`EvaluationError`].
    pub fn ground(&self, run: &RunId, shim: Vec<OsString>) -> Result<Ground<'_>, EvaluationError> {
        let environment = self.project.environment();
        let cache = environment.cache_home().ok_or(EvaluationError::NoHome)?;
        let scratch = cache.join("ratchet").join("copies");
        let variables = environment.vars().clone();
        Ground::new(self.project.root(), run, &scratch, shim, variables, self)
            .map_err(EvaluationError::Room)
    }

    /// Works out how the agent is called in a folder. Nobody watches it, and nothing of the user's is in that folder, so it
    /// may do what the project lets it.
    fn invocation(&self, cwd: &Path) -> Result<Invocation, String> {
        if let Some(stand_in) = &self.stand_in {
            return Ok(stand_in.clone());
        }
        let spec = agent::chosen(&self.settings, StepKind::Verify);
        let agent = Agent::find(&spec.agent).map_err(|error| error.to_string())?;
        let asked = Asked {
            model: spec.model.as_deref(),
            permissions: Some(&self.settings.permissions),
            overrides: self.settings.agents.get(&spec.agent),
        };
        let facts = site::here(self.project.environment(), agent, cwd);
        agent::invocation(agent, &asked, &facts).map_err(|error| error.to_string())
    }

    fn write_files(&self, invocation: &Invocation) -> io::Result<()> {
        for file in &invocation.files {
            let path = self.files.path().join(file.name);
            fs::write(&path, &file.bytes)?;
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600))?;
        }
        Ok(())
    }

    /// Names the agent that works, or that something stands in for it.
    #[must_use]
    pub fn agent(&self) -> AgentName {
        agent::chosen(&self.settings, StepKind::Verify).agent
    }
}

impl Staff for Evaluators {
    fn job(&self, errand: &Errand<'_>, spawn: &ratchet_spawn::SpawnId) -> Result<Job, String> {
        let invocation = self.invocation(errand.cwd)?;
        self.write_files(&invocation).map_err(|error| error.to_string())?;
        let batch = BatchName::parse(BATCH).map_err(|error| error.to_string())?;
        let spawn = SpawnId::parse(spawn.as_str()).map_err(|error| error.to_string())?;
        let marks = environment::Marks {
            batch: Some(&batch),
            spawn: &spawn,
            trace_parent: None,
            trace_state: None,
        };
        let host = without_git(self.project.environment().vars());
        let own: BTreeMap<String, String> = invocation.env.clone();
        Ok(Job {
            argv: invocation.argv(self.files.path()),
            cwd: errand.cwd.to_owned(),
            environment: environment::for_agent(&host, &own, &marks),
            stdin: Stdin::Prompt(errand.prompt.as_bytes().to_vec()),
            limits: errand.limits,
        })
    }

    /// The closing words, where the format has them; else all of its words; else what it printed.
    fn answer(&self, stdout: &[u8]) -> String {
        let spec = agent::chosen(&self.settings, StepKind::Verify);
        let format = match (&self.stand_in, Agent::find(&spec.agent)) {
            (None, Ok(agent)) => agent.format(),
            (Some(_), _) | (None, Err(_)) => return String::from_utf8_lossy(stdout).into_owned(),
        };
        let mut stream = AgentStream::new(format);
        let mut words = String::new();
        let mut hear = |event: AgentEvent<'_>| {
            if let AgentEvent::Text(text) = event {
                words.push_str(&text);
                words.push('\n');
            }
        };
        stream.push(stdout, &mut hear);
        stream.finish(&mut hear);
        let closing = stream.facts().last_word.as_ref().and_then(|word| word.text.clone());
        let closing = closing.filter(|text| text.contains('['));
        closing.unwrap_or(if words.is_empty() {
            String::from_utf8_lossy(stdout).into_owned()
        } else {
            words
        })
    }

    fn is_overridden(&self) -> bool {
        self.stand_in.is_some()
    }
}

/// Makes the id of a run that begins now.
#[must_use]
pub fn new_run(project: &Project) -> RunId {
    RunId::new(project.now())
}

#[cfg(test)]
mod tests {
    use ratchet_spawn::Limits;

    use super::*;
    use crate::environment::Environment;

    fn evaluators(agent: &str, variables: &[(&str, &str)]) -> (tempfile::TempDir, Evaluators) {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join(".ratchet")).unwrap();
        let config = format!("batch:\n  agent: {agent}\n");
        fs::write(folder.path().join(".ratchet/config.yaml"), config).unwrap();
        let home = folder.path().display().to_string();
        let all = [("HOME", home.as_str()), ("PATH", "/usr/bin:/bin"), ("SECRET", "s")];
        let all = all.iter().chain(variables).copied();
        let project = Project::at(folder.path(), Environment::new(folder.path(), all)).unwrap();
        let evaluators = Evaluators::new(&project, OverrideConsent::NotGiven).unwrap();
        (folder, evaluators)
    }

    fn job(evaluators: &Evaluators, cwd: &Path) -> Job {
        let errand =
            Errand { change: "no-bugs", prompt: "plant one", cwd, limits: Limits::default() };
        evaluators.job(&errand, &ratchet_spawn::SpawnId::parse("s1").unwrap()).unwrap()
    }

    // E-A07
    #[test]
    fn every_agent_is_called_as_its_own_adapter_says_in_the_copy() {
        for agent in Agent::ALL {
            let (folder, evaluators) = evaluators(agent.id(), &[]);
            let cwd = folder.path();
            let asked = Asked {
                model: None,
                permissions: Some(&evaluators.settings.permissions),
                overrides: None,
            };
            let facts = site::here(evaluators.project.environment(), agent, cwd);
            let own = agent::invocation(agent, &asked, &facts).unwrap();
            let job = job(&evaluators, cwd);
            assert_eq!(job.argv, own.argv(evaluators.files.path()), "{}", agent.id());
            assert_eq!(job.cwd, cwd);
            assert_eq!(job.stdin, Stdin::Prompt(b"plant one".to_vec()));
            assert_eq!(job.environment[std::ffi::OsStr::new("RATCHET_BATCH_NAME")], "eval");
            assert!(!job.environment.contains_key(std::ffi::OsStr::new("SECRET")));
        }
    }

    // E-I20
    #[test]
    fn a_stand_in_is_run_by_bash_and_a_blank_one_is_none() {
        let (folder, evaluators_) =
            evaluators("claude", &[("RATCHET_EVAL_AGENT_CMD", " sh seed ")]);
        assert!(evaluators_.is_overridden());
        assert_eq!(job(&evaluators_, folder.path()).argv, ["bash", "-c", "sh seed"]);
        assert_eq!(evaluators_.answer(b"[1]"), "[1]");
        let (_, blank) = evaluators("claude", &[("RATCHET_EVAL_AGENT_CMD", "  ")]);
        assert!(!blank.is_overridden());
    }

    #[test]
    fn the_answer_of_an_agent_that_prints_events_is_its_words() {
        let (_, evaluators) = evaluators("claude", &[]);
        let printed = br#"{"type":"assistant","message":{"content":[{"type":"text","text":"[1, 2]"}]}}
{"type":"result","subtype":"success","is_error":false,"result":"so: [{\"clause\":\"a\"}]","usage":{"tokens":[7]}}
"#;
        assert_eq!(evaluators.answer(printed), "so: [{\"clause\":\"a\"}]");
    }
}
