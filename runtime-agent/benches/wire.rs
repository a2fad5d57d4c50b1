//! What the way over the wire costs, beside the same without it: `cargo bench -p ratchet-runtime-agent`. `-- --check` exits 1
//! when a bar is missed.

#![expect(clippy::unwrap_used, reason = "a bench that cannot measure has nothing to say")]

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use ratchet_proto::runtime::v1 as wire;
use ratchet_proto::runtime::v1::attach_response::Event;
use ratchet_proto::runtime::v1::put_snapshot_request::Message;
use ratchet_proto::runtime::v1::runtime_service_client::RuntimeServiceClient;
use ratchet_spawn::{Attachment, Limits, Position, Request, SpawnDir, SpawnId, Stdin, launch};
use ratchet_workspace::{Base, Rules, Store, Workspace};
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Channel, Endpoint};

const TOKEN: &str = "a-token-of-the-bench-0123456789";
const WORKER: &str = env!("CARGO_BIN_EXE_runtime-agent");

/// How much is printed, in bytes.
const FLOOD: u64 = 1 << 30;

/// How often a short thing is measured.
const ROUNDS: usize = 41;

/// How many sessions are idle at a time.
const IDLE: usize = 40;

type Client = RuntimeServiceClient<InterceptedService<Channel, Bearer>>;

#[derive(Clone)]
struct Bearer;

impl Interceptor for Bearer {
    fn call(
        &mut self,
        mut request: tonic::Request<()>,
    ) -> Result<tonic::Request<()>, tonic::Status> {
        let value = format!("Bearer {TOKEN}").parse().unwrap();
        request.metadata_mut().insert("authorization", value);
        Ok(request)
    }
}

/// A worker and a project that it knows.
struct Bench {
    base: tempfile::TempDir,
    worker: Child,
    client: Client,
    snapshot: String,
    missed: usize,
}

#[tokio::main]
async fn main() -> ExitCode {
    let mut bench = Bench::start().await;
    bench.memory().await;
    bench.first_byte().await;
    bench.throughput().await;
    let check = std::env::args().any(|word| word == "--check");
    if check && bench.missed > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

impl Bench {
    async fn start() -> Self {
        let base = tempfile::tempdir().unwrap();
        let at = |name: &str| base.path().join(name);
        fs::write(at("token"), TOKEN).unwrap();
        fs::set_permissions(at("token"), fs::Permissions::from_mode(0o600)).unwrap();
        let worker = start_of(WORKER)
            .args(["serve", "--listen", "127.0.0.1:0", "--max-sessions", "100", "--token-file"])
            .arg(at("token"))
            .arg("--state-dir")
            .arg(at("state"))
            .stderr(fs::File::create(at("log")).unwrap())
            .spawn()
            .unwrap();
        let place = loop {
            let log = fs::read_to_string(at("log")).unwrap();
            let line = log.lines().find_map(|line| line.split_once("listening at "));
            match line {
                Some((_, place)) => break place.split_whitespace().next().unwrap().to_owned(),
                None => std::thread::yield_now(),
            }
        };
        let channel = Endpoint::from_shared(place)
            .unwrap()
            .initial_stream_window_size(4 << 20)
            .initial_connection_window_size(8 << 20)
            .connect()
            .await
            .unwrap();
        let mut client = RuntimeServiceClient::with_interceptor(channel, Bearer);
        let snapshot = send_project(base.path(), &mut client).await;
        Self { base, worker, client, snapshot, missed: 0 }
    }

    async fn memory(&mut self) {
        let idle = resident(self.worker.id());
        self.say(&Row {
            what: "idle worker, KiB",
            ours: idle.to_string(),
            baseline: String::new(),
            bar: "20480",
            holds: idle <= 20 * 1024,
        });
        for number in 0..IDLE {
            let request = self.request(&format!("idle-{number}"), "exec sleep 1000");
            self.client.spawn(request).await.unwrap();
        }
        let each = resident(self.worker.id()).saturating_sub(idle) / IDLE as u64;
        self.say(&Row {
            what: "one idle session more, KiB",
            ours: each.to_string(),
            baseline: String::new(),
            bar: "1024",
            holds: each <= 1024,
        });
        for number in 0..IDLE {
            let id = format!("idle-{number}");
            let stop =
                wire::StopRequest { id: id.clone(), by: "the bench".to_owned(), grace_ms: Some(0) };
            self.client.stop(stop).await.unwrap();
            self.hear(&id, u64::MAX).await;
        }
    }

    /// From the request to the first byte, in a workspace that is warm.
    async fn first_byte(&mut self) {
        let (mut remote, mut local) = (Vec::new(), Vec::new());
        for round in 0..ROUNDS {
            let id = format!("short-{round}");
            let begun = Instant::now();
            let request = self.request(&id, "echo x");
            self.client.spawn(request).await.unwrap();
            self.hear(&id, 1).await;
            remote.push(begun.elapsed());
            self.hear(&id, u64::MAX).await;
            local.push(self.first_byte_here(&format!("local-{round}")).await);
        }
        let (remote, local) = (median(remote), median(local));
        let more = remote.saturating_sub(local);
        let shown = |time: Duration| format!("{:.1}", time.as_secs_f64() * 1000.0);
        let holds = more <= Duration::from_millis(15);
        self.say(&Row {
            what: "spawn to first byte, ms",
            ours: shown(remote),
            baseline: shown(local),
            bar: "+15",
            holds,
        });
    }

    async fn first_byte_here(&self, id: &str) -> Duration {
        let begun = Instant::now();
        let request = Request {
            id: SpawnId::parse(id).unwrap(),
            argv: ["sh", "-c", "echo x"].map(Into::into).to_vec(),
            cwd: self.base.path().to_owned(),
            stdin: Stdin::Null,
            limits: Limits::default(),
            needed_by: None,
        };
        let dir = SpawnDir::create(&self.base.path().join("local"), &request).unwrap();
        let mut attachment = Attachment::open(&dir, Position::START).unwrap();
        let mut shim = launch(&dir, &[WORKER.into(), "shim".into()], std::env::vars_os()).unwrap();
        attachment.next().await.unwrap();
        let took = begun.elapsed();
        shim.wait().unwrap();
        took
    }

    async fn throughput(&mut self) {
        let script = format!("head -c {FLOOD} /dev/zero");
        let begun = Instant::now();
        let mut pipe = start_of("sh").args(["-c", &script]).stdout(Stdio::piped()).spawn().unwrap();
        let mut buffer = vec![0; 64 * 1024];
        let mut output = pipe.stdout.take().unwrap();
        while output.read(&mut buffer).unwrap() > 0 {}
        pipe.wait().unwrap();
        let baseline = rate(begun.elapsed());
        let request = self.request("flood", &script);
        let begun = Instant::now();
        self.client.spawn(request).await.unwrap();
        let heard = self.hear("flood", u64::MAX).await;
        let live = rate(begun.elapsed());
        assert_eq!(heard, FLOOD, "every byte comes");
        self.say(&Row {
            what: "output while it is printed, MB/s",
            ours: live.to_string(),
            baseline: baseline.to_string(),
            bar: "150",
            holds: live >= 150,
        });
        let begun = Instant::now();
        self.hear("flood", u64::MAX).await;
        let again = rate(begun.elapsed());
        self.say(&Row {
            what: "output from the spool, MB/s",
            ours: again.to_string(),
            baseline: String::new(),
            bar: "150",
            holds: again >= 150,
        });
    }

    fn request(&self, id: &str, script: &str) -> wire::SpawnRequest {
        wire::SpawnRequest {
            id: id.to_owned(),
            project: "bench".to_owned(),
            snapshot: self.snapshot.clone(),
            argv: vec!["sh".into(), "-c".into(), script.to_owned().into()],
            ..Default::default()
        }
    }

    /// Listens until so many bytes, or all, have come; how many.
    async fn hear(&mut self, id: &str, most: u64) -> u64 {
        let request = wire::AttachRequest { id: id.to_owned(), offset: 0, sequence: 0 };
        let mut events = self.client.attach(request).await.unwrap().into_inner();
        let mut bytes = 0;
        while let Some(response) = events.message().await.unwrap() {
            if let Some(Event::Frame(frame)) = response.event {
                bytes += frame.data.len() as u64;
                if bytes >= most {
                    break;
                }
            }
        }
        bytes
    }

    fn say(&mut self, row: &Row<'_>) {
        let Row { what, ours, baseline, bar, holds } = row;
        self.missed += usize::from(!holds);
        let sign = if *holds { "holds" } else { "MISSED" };
        let line = format!("{what:<40} {ours:>10} {baseline:>10}   bar {bar}: {sign}");
        let _reader_may_be_gone = writeln!(std::io::stdout(), "{line}");
    }
}

/// One line of what was measured.
struct Row<'a> {
    what: &'a str,
    ours: String,
    baseline: String,
    bar: &'a str,
    holds: bool,
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _may_be_gone = self.worker.kill();
        let _reaped = self.worker.wait();
    }
}

/// Has the worker know a small project.
async fn send_project(base: &Path, client: &mut Client) -> String {
    #[expect(clippy::disallowed_methods, reason = "git is found where the shell finds it")]
    let path = std::env::var_os("PATH").unwrap();
    let store = Store::open(&base.join("store"), &path).unwrap();
    let root = base.join("project");
    fs::create_dir(&root).unwrap();
    for number in 0..200 {
        fs::write(root.join(format!("file-{number}")), format!("{number}\n")).unwrap();
    }
    let workspace = Workspace::new(&store, "mine", &root).unwrap();
    let id = workspace.snapshot(Base::Project(&Rules::default())).unwrap().id;
    let mut pack = store.pack(id, &[]).unwrap();
    let mut bytes = Vec::new();
    pack.read_to_end(&mut bytes).unwrap();
    pack.finish().unwrap();
    let (project, snapshot) = ("bench".to_owned(), id.to_string());
    let start = wire::PutSnapshotStart { project, snapshot, pack_bytes: 0 };
    let chunks = bytes.chunks(64 * 1024).map(|chunk| Message::Chunk(chunk.to_vec().into()));
    let messages: Vec<_> = std::iter::once(Message::Start(start))
        .chain(chunks)
        .map(|message| wire::PutSnapshotRequest { message: Some(message) })
        .collect();
    client.put_snapshot(tokio_stream::iter(messages)).await.unwrap();
    id.to_string()
}

/// Gives what a process has in memory, in KiB.
fn resident(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

fn rate(took: Duration) -> u64 {
    u64::try_from(u128::from(FLOOD) / took.as_micros().max(1)).unwrap()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

#[expect(clippy::disallowed_methods, reason = "the one place where this bench starts programs")]
fn start_of(program: &str) -> Command {
    Command::new(program)
}
