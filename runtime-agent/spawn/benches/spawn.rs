//! What a spawn costs, printed beside what is promised: `cargo bench -p ratchet-spawn`.
//! A plain program, so that it measures whole processes; its figures are those of the machine it runs on.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a bench prints, and fails loudly")]

use std::ffi::OsString;
use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ratchet_spawn::{
    Attachment, Event, ExitRecord, Frame, Limits, Position, Request, SpawnDir, SpawnId, Stdin,
    StopRequest, launch, request_stop,
};

const SHIM: &str = env!("CARGO_BIN_EXE_ratchet-shim");

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let place = tempfile::tempdir_in(std::env::temp_dir()).unwrap();
    runtime.block_on(async {
        flood(place.path()).await;
        overhead(place.path()).await;
        first_byte(place.path()).await;
        latency(place.path()).await;
        stop(place.path()).await;
    });
}

async fn flood(root: &Path) {
    const BYTES: usize = 100_000_000;
    let mut best = 0.0_f64;
    let mut shim_peak = 0;
    for round in 0..5 {
        let began = Instant::now();
        let (dir, mut shim) = start(
            root,
            &format!("flood-{round}"),
            &["head", "-c", &BYTES.to_string(), "/dev/zero"],
        );
        let mut attachment = Attachment::open(&dir, Position::START).unwrap();
        let (mut bytes, mut frames) = (0, 0_u32);
        while let Event::Frame(frame) = attachment.next().await.unwrap() {
            bytes += frame.bytes.len();
            frames += 1;
            if frames % 100 == 0 {
                shim_peak = shim_peak.max(peak_kib(shim.id()));
            }
        }
        assert_eq!(bytes, BYTES);
        best = best.max(BYTES as f64 / began.elapsed().as_secs_f64() / 1e6);
        shim.wait().unwrap();
    }
    let own = peak_kib(std::process::id());
    println!("100 MB, spawn to end        {best:8.0} MB/s   (at least 300)");
    println!("peak memory, shim           {:8.1} MiB    (at most 20)", mib(shim_peak));
    println!("peak memory, watcher        {:8.1} MiB    (at most 20)", mib(own));
}

async fn overhead(root: &Path) {
    let mut bare = Vec::new();
    let mut through = Vec::new();
    for round in 0..200 {
        let began = Instant::now();
        Command::new("/bin/true").spawn().unwrap().wait().unwrap();
        bare.push(began.elapsed());
        let began = Instant::now();
        let (dir, mut shim) = start(root, &format!("true-{round}"), &["/bin/true"]);
        let mut attachment = Attachment::open(&dir, Position::START).unwrap();
        end(&mut attachment).await;
        through.push(began.elapsed());
        shim.wait().unwrap();
    }
    let (bare, through) = (Spread::of(bare), Spread::of(through));
    println!("/bin/true, bare             {bare}");
    println!("/bin/true, through the shim {through}");
    println!("  the difference of the p50 {:8.2} ms     (at most 6)", ms(through.p50 - bare.p50));
}

async fn first_byte(root: &Path) {
    let mut times = Vec::new();
    for round in 0..100 {
        let began = Instant::now();
        let (dir, mut shim) = start(root, &format!("first-{round}"), &["echo", "x"]);
        let mut attachment = Attachment::open(&dir, Position::START).unwrap();
        frame(&mut attachment).await;
        times.push(began.elapsed());
        end(&mut attachment).await;
        shim.wait().unwrap();
    }
    println!("spawn to first byte         {}", Spread::of(times));
}

/// The agent writes the time; the watcher compares it with its own.
async fn latency(root: &Path) {
    let script = "for i in $(seq 1 500); do date +%s%N; sleep 0.004; done";
    let (dir, mut shim) = start(root, "latency", &["/bin/sh", "-c", script]);
    let mut attachment = Attachment::open(&dir, Position::START).unwrap();
    let mut times = Vec::new();
    while let Event::Frame(frame) = attachment.next().await.unwrap() {
        let seen = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        for line in std::str::from_utf8(&frame.bytes).unwrap().lines() {
            times.push(seen - Duration::from_nanos(line.parse().unwrap()));
        }
    }
    shim.wait().unwrap();
    println!("line written to seen        {}   (p99 at most 5)", Spread::of(times));
}

async fn stop(root: &Path) {
    let obeying = "setsid sleep 1000 & echo ready; exec sleep 1000";
    let ignoring = "trap '' TERM; setsid sh -c 'trap \"\" TERM; while :; do sleep 1; done' & \
                    echo ready; while :; do sleep 1; done";
    for (name, script, grace_ms) in [("obeying", obeying, 2000), ("ignoring", ignoring, 200)] {
        let mut times = Vec::new();
        for round in 0..20 {
            let (dir, mut shim) =
                start(root, &format!("stop-{name}-{round}"), &["/bin/sh", "-c", script]);
            let mut attachment = Attachment::open(&dir, Position::START).unwrap();
            frame(&mut attachment).await;
            let began = Instant::now();
            let request = StopRequest { by: "bench".to_owned(), grace_ms: Some(grace_ms) };
            request_stop(&dir, &request).unwrap();
            let record = end(&mut attachment).await;
            times.push(began.elapsed());
            assert!(record.leftover.is_empty());
            shim.wait().unwrap();
        }
        println!("stop to empty, {name:9}    {}", Spread::of(times));
    }
    println!(
        "                            (obeying: at most 100; ignoring: the grace of 200 + at most 200)"
    );
}

fn start(root: &Path, id: &str, words: &[&str]) -> (SpawnDir, Child) {
    let request = Request {
        id: SpawnId::parse(id).unwrap(),
        argv: words.iter().map(OsString::from).collect(),
        cwd: "/".into(),
        stdin: Stdin::Null,
        limits: Limits::default(),
        needed_by: None,
    };
    let dir = SpawnDir::create(&root.join("spawns"), &request).unwrap();
    let environment = [("PATH".into(), "/usr/bin:/bin".into())];
    let shim = launch(&dir, &[SHIM.into()], environment).unwrap();
    (dir, shim)
}

async fn frame(attachment: &mut Attachment) -> Frame {
    match attachment.next().await.unwrap() {
        Event::Frame(frame) => frame,
        last => panic!("no output: {last:?}"),
    }
}

async fn end(attachment: &mut Attachment) -> ExitRecord {
    loop {
        match attachment.next().await.unwrap() {
            Event::Frame(_) => {}
            Event::Ended(record) => return *record,
            last => panic!("no end: {last:?}"),
        }
    }
}

struct Spread {
    p50: Duration,
    p99: Duration,
    most: Duration,
}

impl Spread {
    fn of(mut times: Vec<Duration>) -> Self {
        times.sort();
        let at = |percent: usize| times[(times.len() - 1) * percent / 100];
        Self { p50: at(50), p99: at(99), most: at(100) }
    }
}

impl std::fmt::Display for Spread {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (p50, p99, most) = (ms(self.p50), ms(self.p99), ms(self.most));
        write!(formatter, "{p50:8.2} ms p50 {p99:8.2} p99 {most:8.2} max")
    }
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn mib(kib: u64) -> f64 {
    kib as f64 / 1024.0
}

fn peak_kib(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}
