//! A project on the supervisor's side: a folder, its snapshots, their way to the worker and back, and requests for commands.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use ratchet_proto::runtime::v1 as wire;
use ratchet_proto::runtime::v1::put_snapshot_request::Message;
use ratchet_workspace::{Base, Rules, SnapshotId, Store, Workspace};
use tonic::Status;

use crate::world::{Client, World, id};

pub(crate) const PROJECT: &str = "shop";

/// A project.
pub(crate) struct Project {
    pub(crate) store: Store,
    workspace: Workspace,
}

impl Project {
    pub(crate) fn new(world: &World) -> Self {
        #[expect(clippy::disallowed_methods, reason = "the tests find git where the shell does")]
        let path = std::env::var_os("PATH").unwrap();
        let store = Store::open(&world.path("store"), &path).unwrap();
        let root = world.path("project");
        fs::create_dir_all(&root).unwrap();
        let workspace = Workspace::new(&store, "mine", &root).unwrap();
        let project = Self { store, workspace };
        project.write("hello", "hello\n");
        project.write(".gitignore", "cache\n");
        project
    }

    pub(crate) fn root(&self) -> &Path {
        self.workspace.root()
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn snapshot(&self) -> SnapshotId {
        let rules = Rules {
            always: vec![".ratchet".to_owned()],
            never: vec!["/.ratchet/batches/*/run/".to_owned()],
            excludes: Vec::new(),
        };
        self.workspace.snapshot(Base::Project(&rules)).unwrap().id
    }

    /// The messages that bring a snapshot.
    pub(crate) fn messages(
        &self,
        id: SnapshotId,
        there: &[SnapshotId],
    ) -> Vec<wire::PutSnapshotRequest> {
        let mut pack = self.store.pack(id, there).unwrap();
        let mut bytes = Vec::new();
        pack.read_to_end(&mut bytes).unwrap();
        pack.finish().unwrap();
        let start = wire::PutSnapshotStart {
            project: PROJECT.to_owned(),
            snapshot: id.to_string(),
            pack_bytes: bytes.len() as u64,
        };
        let chunks = bytes.chunks(64 * 1024).map(|chunk| Message::Chunk(chunk.to_vec().into()));
        std::iter::once(Message::Start(start))
            .chain(chunks)
            .map(|message| wire::PutSnapshotRequest { message: Some(message) })
            .collect()
    }

    /// Has the worker know a snapshot.
    pub(crate) async fn put(&self, client: &mut Client, id: SnapshotId) -> Result<u64, Status> {
        let messages = self.messages(id, &[]);
        let answer = client.put_snapshot(tokio_stream::iter(messages)).await?;
        Ok(answer.into_inner().received_bytes)
    }

    /// Takes a snapshot of it and has the worker know it.
    pub(crate) async fn sent(&self, client: &mut Client) -> SnapshotId {
        let id = self.snapshot();
        self.put(client, id).await.unwrap();
        id
    }

    /// Takes what a command left into a folder.
    pub(crate) async fn fetched(
        &self,
        client: &mut Client,
        snapshot: &str,
        base: SnapshotId,
        to: PathBuf,
    ) -> PathBuf {
        let request = wire::GetSnapshotRequest {
            project: PROJECT.to_owned(),
            snapshot: snapshot.to_owned(),
            have: vec![base.to_string()],
        };
        let mut pieces = client.get_snapshot(request).await.unwrap().into_inner();
        let mut pack = Vec::new();
        while let Some(piece) = pieces.message().await.unwrap() {
            pack.extend_from_slice(&piece.chunk);
        }
        let id = snapshot.parse().unwrap();
        self.store.receive(&pack[..], id, "came", 1 << 30).unwrap();
        fs::create_dir_all(&to).unwrap();
        Workspace::new(&self.store, "came", &to).unwrap().checkout(id).unwrap();
        to
    }
}

/// A request for a shell command in a snapshot.
pub(crate) fn shell(name: &str, snapshot: SnapshotId, script: &str) -> wire::SpawnRequest {
    wire::SpawnRequest {
        id: id(name),
        project: PROJECT.to_owned(),
        snapshot: snapshot.to_string(),
        argv: vec!["sh".into(), "-c".into(), script.to_owned().into()],
        limits: Some(wire::Limits { grace_ms: Some(200), ..Default::default() }),
        environment: Vec::new(),
        ..Default::default()
    }
}

pub(crate) fn variable(name: &str, value: impl AsRef<Path>) -> wire::Variable {
    let value = value.as_ref().display().to_string();
    wire::Variable { name: name.to_owned().into(), value: value.into() }
}

pub(crate) fn relay(path: &str, initial: &str) -> wire::RelayedFile {
    wire::RelayedFile { path: path.to_owned(), initial: initial.to_owned().into() }
}

pub(crate) fn placeholder(word: &str, place: wire::Place) -> wire::Placeholder {
    wire::Placeholder { word: word.to_owned(), place: place.into() }
}
