//! One suite for every place a command can run in: each row is run at each place, and must come out the same.
//!
//! The agents are scripts of the shell, because a shell is what every image of the tests has. An image and an engine are
//! made ready by `tests/docker/prepare.sh`; without them the rows of `docker` fail.

mod commands;
mod endings;
mod recovery;

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use ratchet_tests::{Call, Manifest, TestEnv, Worker, engine, wait};
use serde_json::Value;

/// A place where commands run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Local,
    Docker,
    /// A worker of this world.
    Remote,
}

/// Runs one row at each place.
macro_rules! at_each_place {
    ($($(#[$meta:meta])* $row:ident)*) => {
        mod local {
            $($(#[$meta])* #[test] fn $row() { super::$row(crate::runtime::Place::Local); })*
        }
        mod docker {
            $($(#[$meta])* #[test] fn $row() { super::$row(crate::runtime::Place::Docker); })*
        }
        mod remote {
            $($(#[$meta])* #[test] fn $row() { super::$row(crate::runtime::Place::Remote); })*
        }
    };
}
pub(crate) use at_each_place;

/// A world whose steps run at one place. Dropping it removes its containers.
pub(crate) struct World {
    pub(crate) env: TestEnv,
    place: Place,
    pub(crate) worker: Option<Worker>,
}

impl World {
    /// A batch `shop` with one change.
    pub(crate) fn new(place: Place) -> Self {
        Self::with(place, &[])
    }

    /// The same, with lines of settings.
    pub(crate) fn with(place: Place, settings: &[&str]) -> Self {
        let mut manifest = Manifest::of_changes("shop", &["add-api"]);
        if place == Place::Docker {
            manifest = manifest.setting("locus: docker");
            if !settings.iter().any(|line| line.starts_with("image:")) {
                manifest = manifest.setting("image: ratchet-test:busybox");
            }
        }
        let manifest = settings.iter().fold(manifest, |manifest, line| manifest.setting(line));
        let env = crate::with(&manifest);
        let worker = (place == Place::Remote).then(|| {
            let worker = Worker::start(&env, "w", "127.0.0.1:0", &[]);
            let config = format!(
                "schema: spec-driven\nbatch:\n  locus: remote\n  host: 127.0.0.1\n  port: {}\n  authTokenFile: {}\n",
                worker.address().port(),
                worker.token_file().display()
            );
            env.write(".ratchet/config.yaml", config);
            worker
        });
        Self { env, place, worker }
    }

    /// A file of the project where the agent sees it: while a step runs on a worker, that is only there.
    pub(crate) fn there(&self, path: &str) -> PathBuf {
        match self.place {
            Place::Local | Place::Docker => self.env.path(path),
            Place::Remote => self.seen_root().join(path),
        }
    }

    /// Its worker.
    pub(crate) fn worker(&mut self) -> &mut Option<Worker> {
        &mut self.worker
    }

    /// `batch apply` with an agent that is this script.
    pub(crate) fn apply(&self, script: &str) -> Call {
        self.env.ratchet(["batch", "apply"]).agent(script)
    }

    /// The result of one step of an agent that is this script.
    #[track_caller]
    pub(crate) fn step(&self, script: &str) -> Value {
        self.apply(script).json()
    }

    /// Every byte that the latest agent printed, both streams as they came.
    #[track_caller]
    pub(crate) fn output(&self) -> Vec<u8> {
        self.env.ratchet(["batch", "log", "--last", "--raw"]).ok().stdout
    }

    /// The project's folder as the agent sees it.
    pub(crate) fn seen_root(&self) -> PathBuf {
        match self.place {
            Place::Local => self.env.root(),
            Place::Docker => "/workspace".into(),
            Place::Remote => {
                let all = self.env.base().join("workers/w/state/workspaces");
                let mut root = None;
                wait::until("the worker to have a workspace", || {
                    let found = std::fs::read_dir(&all).into_iter().flatten().flatten();
                    root = found.map(|entry| entry.path()).find(|path| path.is_dir());
                    root.is_some()
                });
                root.expect("it was waited for")
            }
        }
    }

    /// The folder of this world's spawns.
    pub(crate) fn spawns(&self) -> String {
        self.env.base().join("state/ratchet/spawns").display().to_string()
    }

    /// Its containers, in whatever state they are.
    pub(crate) fn containers(&self) -> Vec<String> {
        engine::containers_of(&self.spawns())
    }

    /// Asserts that nothing of any step is left: no process, no container, no lock, no intent.
    #[track_caller]
    pub(crate) fn assert_clean(&self) {
        let worker = self.worker.as_ref().map(Worker::pid);
        wait::until("every process of the test to end", || {
            self.env.processes().iter().all(|process| Some(process.pid) == worker)
        });
        if self.place == Place::Docker {
            assert_eq!(self.containers(), Vec::<String>::new(), "a container is left");
        }
        for file in ["step.lock", "inflight.json"] {
            assert!(!self.env.path(".ratchet/batches/shop/run").join(file).exists(), "{file}");
        }
    }

    /// The outcome entries of the change.
    pub(crate) fn outcomes(&self) -> Vec<Value> {
        let all = self.env.journal("shop").into_iter();
        all.filter(|entry| entry.get("transition").is_some()).collect()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if self.place == Place::Docker {
            engine::remove_containers_of(&self.spawns());
        }
    }
}

/// A script that plans the change and reports it.
pub(crate) const HONEST: &str = "mkdir -p .ratchet/changes/add-api && \
    printf '# add-api\\n\\n## Tasks\\n- [ ] one\\n' > .ratchet/changes/add-api/plan.md && \
    ratchet batch report shop --change add-api --complete planned";

/// What a step that was blocked says.
#[track_caller]
pub(crate) fn blocker(step: &Value) -> String {
    assert_eq!(step["state"], "blocked", "{step:#}");
    step["blocker"].as_str().unwrap_or_default().to_owned()
}

/// The mode of a file, without its kind.
pub(crate) fn mode(path: &std::path::Path) -> u32 {
    path.metadata().expect("the file is there").permissions().mode() & 0o7777
}
