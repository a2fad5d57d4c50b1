//! What the store's tests share: a project in a temporary folder, and tests that run in a process of their own.

use std::path::PathBuf;
use std::process::{Command, Output};

use ratchet_engine::journal::{Entry, EntryKind};
use ratchet_engine::name::{BatchName, StepKey};
use ratchet_engine::time::Timestamp;
use tempfile::TempDir;

use super::layout::{Layout, RunDir, RunHome};
use crate::environment::Environment;

/// Names the folder that a test in a process of its own works in.
const SCENE: &str = "RATCHET_TEST_SCENE";

/// A project with the batch `shop`.
pub(crate) struct Scene {
    _dir: TempDir,
    pub(crate) layout: Layout,
    pub(crate) home: RunHome,
}

impl Scene {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let layout = Layout::new(dir.path().canonicalize().unwrap());
        let batch = BatchName::parse("shop").unwrap();
        std::fs::create_dir_all(layout.batch(&batch)).unwrap();
        std::fs::write(layout.manifest(&batch), "").unwrap();
        Self { _dir: dir, layout, home: RunHome::Batch(batch) }
    }

    pub(crate) fn run(&self) -> RunDir {
        self.layout.run(&self.home)
    }

    /// Puts a journal there, byte for byte.
    pub(crate) fn with_journal(bytes: &[u8]) -> Self {
        let scene = Self::new();
        std::fs::create_dir(scene.run().dir()).unwrap();
        std::fs::write(scene.run().journal(), bytes).unwrap();
        scene
    }

    /// Runs one test of this binary by a shell line in which `"$@"` is its command.
    pub(crate) fn run_test(&self, line: &str, test: &str) -> Output {
        #[expect(
            clippy::disallowed_methods,
            reason = "a test's own process, not a child of the product"
        )]
        let mut shell = Command::new("sh");
        shell.args(["-c", line, "sh"]).arg(std::env::current_exe().unwrap());
        shell.args(["--exact", test, "--nocapture"]).env(SCENE, self.layout.root());
        shell.output().unwrap()
    }
}

/// Returns the scene's layout in a test that [`Scene::run_test`] started; `None` in an ordinary run.
pub(crate) fn scene_of_parent() -> Option<(Layout, RunHome)> {
    let environment = Environment::from_process().unwrap();
    let root = PathBuf::from(environment.var_os(SCENE)?);
    Some((Layout::new(root), RunHome::Batch(BatchName::parse("shop").unwrap())))
}

/// Makes an entry.
pub(crate) fn entry(key: &str, kind: EntryKind, message: &str) -> Entry {
    Entry::new(Timestamp::from_unix_ms(0), StepKey::from_text(key), kind, message.to_owned())
}
