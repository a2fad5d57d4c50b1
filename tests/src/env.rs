//! A sealed world for one test: its own home, its own project (a git repository), its own `PATH`, and nothing of the
//! machine's settings. Dropping it ends every process that was started in it.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::call::Call;
use crate::process::{self, Process};
use crate::project::Manifest;
use crate::script::{RUNS, Script};
use crate::supervisor::Supervisor;
use crate::wait;

/// The programs that Cargo built for the tests; only a test or bench target can name them.
#[derive(Debug, Clone, Copy)]
pub struct Programs {
    /// The copy of `ratchet` that is tested.
    pub ratchet: &'static str,
    /// The copy of `runtime-agent` that is tested.
    pub runtime_agent: &'static str,
    /// The agent that obeys a script.
    pub fake_agent: &'static str,
    /// The agent of the sample project.
    pub sample_agent: &'static str,
}

/// One sealed world.
#[derive(Debug)]
pub struct TestEnv {
    base: tempfile::TempDir,
    programs: Programs,
    mark: String,
    supervisor: Option<Supervisor>,
}

/// The variable by which processes of one world are found; its prefix takes it through to the agents.
const MARK_VAR: &str = "RATCHET_TEST_WORLD";

impl TestEnv {
    /// A world with an empty project.
    ///
    /// # Panics
    /// When the machine can't give a temporary directory or has no git.
    pub fn new(programs: Programs) -> Self {
        Self::new_in(&std::env::temp_dir(), programs)
    }

    /// A world with an empty project, below a folder: how a bench chooses the disk.
    ///
    /// # Panics
    /// Like [`TestEnv::new`].
    pub fn new_in(folder: &Path, programs: Programs) -> Self {
        let base = tempfile::Builder::new()
            .prefix("ratchet-e2e-")
            .tempdir_in(folder)
            .expect("a temporary directory");
        let path = fs::canonicalize(base.path()).expect("a temporary directory has a real path");
        let mark = format!("{MARK_VAR}={}", path.display());
        let mut env = Self { base, programs, mark, supervisor: None };
        for folder in
            ["home", "config", "data", "state", "cache", "run", "tmp", "bin", "project", "scripts"]
        {
            fs::create_dir(env.base().join(folder)).expect("a fresh directory takes a folder");
        }
        env.install("ratchet", programs.ratchet);
        env.install("fake_agent", programs.fake_agent);
        env.install("sample_agent", programs.sample_agent);
        env.git(&["init", "--quiet", "--initial-branch=main"]);
        if Supervisor::is_asked_for() {
            env.supervisor = Some(env.start_supervisor());
        }
        env
    }

    /// Starts a supervisor where the commands of this world find it.
    ///
    /// # Panics
    /// When it can't be started.
    #[track_caller]
    pub fn start_supervisor(&self) -> Supervisor {
        Supervisor::start(self)
    }

    /// A call of `ratchet` that hosts the steps of this world's commands. It stands outside of the world and carries none of
    /// its marks: what a step leaves is told from what watches steps.
    pub(crate) fn host<I: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = I>) -> Call {
        let mut variables = self.variables();
        variables.remove(OsStr::new(MARK_VAR));
        Call::new(Path::new(self.programs.ratchet), Path::new("/"), variables).args(arguments)
    }

    /// A call of `runtime-agent`, as if it stood on another machine: with a home of its own, and none of this world's marks.
    pub(crate) fn runtime_agent<I: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = I>,
    ) -> Call {
        let mut variables = self.variables();
        variables.remove(OsStr::new(MARK_VAR));
        variables.remove(OsStr::new("XDG_STATE_HOME"));
        let ratchet = Path::new(self.programs.ratchet);
        Call::new(Path::new(self.programs.runtime_agent), Path::new("/"), variables)
            .args(arguments)
            .args([OsStr::new("--ratchet"), ratchet.as_os_str()])
    }

    /// Where the commands of this world look for a supervisor.
    pub fn socket(&self) -> PathBuf {
        self.base().join("run/ratchet/supervisor.sock")
    }

    /// A world whose project holds this batch.
    ///
    /// # Panics
    /// Like [`TestEnv::new`].
    pub fn with_batch(programs: Programs, manifest: &Manifest) -> Self {
        let env = Self::new(programs);
        env.add_batch(manifest);
        env
    }

    /// The folder that holds everything of this world.
    pub fn base(&self) -> PathBuf {
        fs::canonicalize(self.base.path()).expect("the world's folder is there")
    }

    /// Has the world's folder stay when the world ends, for whoever looks into what went wrong.
    pub fn keep(&mut self) {
        self.base.disable_cleanup(true);
    }

    /// The project's root.
    pub fn root(&self) -> PathBuf {
        self.base().join("project")
    }

    /// A path in the project.
    pub fn path(&self, relative: &str) -> PathBuf {
        self.root().join(relative)
    }

    /// A call of `ratchet` in the project's root, not started yet.
    pub fn ratchet<I: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = I>) -> Call {
        Call::new(&self.base().join("bin/ratchet"), &self.root(), self.variables()).args(arguments)
    }

    /// Puts a program on the world's `PATH` under a name: how the fake agent becomes `claude`.
    ///
    /// # Panics
    /// When the name is taken.
    pub fn install(&self, name: &str, program: &str) {
        symlink(program, self.base().join("bin").join(name))
            .expect("a free name in the world's bin folder");
    }

    /// Makes the fake agent stand in for a real one.
    pub fn install_agent(&self, name: &str) {
        self.install(name, self.programs.fake_agent);
    }

    /// Writes a script for the fake agent and gives its path.
    ///
    /// # Panics
    /// When the file can't be written.
    pub fn script(&self, script: &Script) -> PathBuf {
        let folder = self.base().join("scripts");
        let number = fs::read_dir(&folder).expect("the scripts folder is there").count();
        let path = folder.join(format!("{number}.json"));
        fs::write(&path, serde_json::to_vec_pretty(script).expect("a script is JSON"))
            .expect("a script is written");
        path
    }

    /// The value of `RATCHET_BATCH_AGENT_CMD` that makes the fake agent obey this script.
    pub fn agent(&self, script: &Script) -> String {
        format!("fake_agent '{}'", self.script(script).display())
    }

    /// Adds a batch.
    pub fn add_batch(&self, manifest: &Manifest) {
        self.write(&format!(".ratchet/batches/{}/batch.yaml", manifest.name()), manifest.to_yaml());
    }

    /// Adds a change with a plan of `total` tasks, the first `ticked` of them done.
    pub fn add_plan(&self, change: &str, total: usize, ticked: usize) {
        let boxes: String = (0..total)
            .map(|at| format!("- [{}] task {at}\n", if at < ticked { 'x' } else { ' ' }))
            .collect();
        self.write(
            &format!(".ratchet/changes/{change}/plan.md"),
            format!("# {change}\n\n## Tasks\n{boxes}"),
        );
    }

    /// Marks a change as done: all ticked, and verified in the batch's journal.
    pub fn add_done(&self, batch: &str, change: &str) {
        self.add_plan(change, 1, 1);
        let line = format!(
            "{{\"at\":\"2026-01-02T03:04:05.000Z\",\"change\":\"{change}\",\"kind\":\"completion\",\
             \"message\":\"Ready for archive.\",\"transition\":\"verify\"}}\n"
        );
        let path = journal_path(batch);
        let before = if self.path(&path).exists() { self.read(&path) } else { String::new() };
        self.write(&path, before + &line);
    }

    /// Writes a file of the project, its parents too.
    ///
    /// # Panics
    /// When it can't be written.
    #[track_caller]
    pub fn write(&self, relative: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path(relative);
        fs::create_dir_all(path.parent().expect("a file has a folder")).expect("a folder is made");
        fs::write(&path, bytes).unwrap_or_else(|error| panic!("cannot write {relative}: {error}"));
    }

    /// Reads a file of the project.
    ///
    /// # Panics
    /// When it can't be read or is no text.
    #[track_caller]
    pub fn read(&self, relative: &str) -> String {
        fs::read_to_string(self.path(relative))
            .unwrap_or_else(|error| panic!("cannot read {relative}: {error}"))
    }

    /// Reads a file of the project as it is.
    ///
    /// # Panics
    /// When it can't be read.
    #[track_caller]
    pub fn read_bytes(&self, relative: &str) -> Vec<u8> {
        fs::read(self.path(relative))
            .unwrap_or_else(|error| panic!("cannot read {relative}: {error}"))
    }

    /// The entries of a batch's journal that are JSON; none when there is no journal.
    pub fn journal(&self, batch: &str) -> Vec<Value> {
        entries(&self.path(&journal_path(batch)))
    }

    /// The entries of a batch's journal under one key and of one kind.
    pub fn journaled(&self, batch: &str, key: &str, kind: &str) -> Vec<Value> {
        self.journal(batch)
            .into_iter()
            .filter(|entry| entry["change"] == key && entry["kind"] == kind)
            .collect()
    }

    /// The entries of a standalone change's journal.
    pub fn change_journal(&self, change: &str) -> Vec<Value> {
        entries(&self.path(&format!(".ratchet/changes/{change}/.run/journal.jsonl")))
    }

    /// The park of a key, `null` when there is none.
    pub fn park(&self, batch: &str, key: &str) -> Value {
        let path = self.path(&format!(".ratchet/batches/{batch}/run/state.json"));
        let Ok(bytes) = fs::read(path) else { return Value::Null };
        let state: Value = serde_json::from_slice(&bytes).expect("state.json is JSON");
        state["parked"][key].clone()
    }

    /// How often the agent ran, by the lines of [`crate::script::Action::ran`].
    pub fn agent_runs(&self) -> usize {
        fs::read_to_string(self.path(RUNS)).map_or(0, |text| text.lines().count())
    }

    /// The directory of the only spawn that is kept.
    ///
    /// # Panics
    /// When there is none, or more than one.
    #[track_caller]
    pub fn only_spawn(&self) -> PathBuf {
        let folder = self.base().join("state/ratchet/spawns");
        let entries = fs::read_dir(&folder).expect("there are spawns").flatten();
        let named = |path: &PathBuf| {
            path.file_name().is_some_and(|name| !name.as_encoded_bytes().starts_with(b"."))
        };
        let spawns: Vec<_> = entries.map(|entry| entry.path()).filter(named).collect();
        match spawns.as_slice() {
            [spawn] => spawn.clone(),
            several => panic!("not one spawn: {several:?}"),
        }
    }

    /// The names of the second traces of steps in the user's folder; none when there is no folder.
    pub fn traces(&self) -> Vec<OsString> {
        let entries = fs::read_dir(self.base().join("state/ratchet/steps"));
        entries.into_iter().flatten().flatten().map(|entry| entry.file_name()).collect()
    }

    /// The processes of this world that still live.
    pub fn processes(&self) -> Vec<Process> {
        process::belonging_to(&self.mark, &self.base())
    }

    /// Waits until no process of this world is left.
    ///
    /// # Panics
    /// When one stays.
    #[track_caller]
    pub fn wait_until_empty(&self) {
        wait::until("every process of the test to end", || self.processes().is_empty());
    }

    /// Runs git in the project.
    ///
    /// # Panics
    /// When git fails.
    #[track_caller]
    pub fn git(&self, arguments: &[&str]) -> String {
        let mut command = Command::new("git");
        command.args(["-c", "user.name=t", "-c", "user.email=t@example.invalid"]).args(arguments);
        let output = command
            .current_dir(self.root())
            .env_clear()
            .envs(self.variables())
            .output()
            .expect("git is installed");
        assert!(
            output.status.success(),
            "git {arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    /// Everything that a program of this world finds in its environment.
    pub fn variables(&self) -> BTreeMap<OsString, OsString> {
        let base = self.base();
        let mut path = base.join("bin").into_os_string();
        path.push(":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
        let folder = |name: &str| base.join(name).into_os_string();
        let texts = [
            ("LANG", "C.UTF-8"),
            ("TZ", "UTC"),
            ("NO_COLOR", "1"),
            ("CI", "1"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
        ];
        texts
            .into_iter()
            .map(|(name, value)| (name.into(), value.into()))
            .chain([
                ("PATH".into(), path),
                ("HOME".into(), folder("home")),
                ("TMPDIR".into(), folder("tmp")),
                ("XDG_CONFIG_HOME".into(), folder("config")),
                ("XDG_DATA_HOME".into(), folder("data")),
                ("XDG_STATE_HOME".into(), folder("state")),
                ("XDG_CACHE_HOME".into(), folder("cache")),
                ("XDG_RUNTIME_DIR".into(), folder("run")),
                (MARK_VAR.into(), base.into_os_string()),
            ])
            .collect()
    }
}

impl Drop for TestEnv {
    fn drop(&mut self) {
        drop(self.supervisor.take());
        process::end_all(&self.mark, &self.base());
    }
}

fn journal_path(batch: &str) -> String {
    format!(".ratchet/batches/{batch}/run/journal.jsonl")
}

fn entries(path: &Path) -> Vec<Value> {
    let Ok(bytes) = fs::read(path) else { return Vec::new() };
    bytes
        .split(|byte| *byte == b'\n')
        .filter_map(|line| serde_json::from_slice(line).ok())
        .collect()
}
