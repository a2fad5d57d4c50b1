//! What is true of workers only: the line, the two copies of the project, and what is told when either is not as it should be.
//! That everything else is as at other places is in `runtime`.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use ratchet_tests::call::Running;
use ratchet_tests::{Worker, wait};
use rustix::process::Signal;

use crate::runtime::{HONEST, Place, World, blocker};

/// An agent that says that it is there and waits until it is told to go on, then reports.
fn waiting(first: &str, then: &str) -> String {
    format!("{first}; touch here; while [ ! -e go ]; do sleep 0.02; done; {then}; {HONEST}")
}

/// A step whose result is read as JSON.
fn begun(world: &World, script: &str) -> Running {
    world.apply(script).args(["--json"]).start()
}

fn go(world: &World) {
    std::fs::write(world.there("go"), "").expect("the agent is told to go on");
}

/// The mirrors of this world.
fn mirrors(world: &World) -> Vec<i32> {
    let all = world.env.processes().into_iter().map(|process| process.pid);
    all.filter(|pid| {
        ratchet_tests::process::command_line(*pid).get(1).is_some_and(|word| word == "mirror")
    })
    .collect()
}

#[test]
fn a_killed_mirror_is_brought_back_and_output_reports_and_result_are_whole() {
    let world = World::new(Place::Remote);
    let running = begun(&world, &reporting());
    wait::until_exists(&world.there("here"));
    for _ in 0..3 {
        wait::until("a mirror to be there", || mirrors(&world).len() == 1);
        let mirror = mirrors(&world)[0];
        ratchet_tests::process::signal(mirror, Signal::KILL);
        wait::until("another mirror to be there", || {
            mirrors(&world).iter().any(|pid| *pid != mirror)
        });
    }
    go(&world);
    ended_whole(&world, running);
}

#[test]
fn the_worker_the_mirror_and_the_supervisor_may_all_be_killed() {
    let mut world = World::new(Place::Remote);
    let script = waiting("echo ran >> runs; echo one", "echo two");
    let running = world.apply(&script).embedded().start();
    wait::until_exists(&world.there("here"));
    running.signal(Signal::KILL);
    running.wait();
    let worker = world.worker().take().expect("it has one");
    let address = worker.address().to_string();
    worker.kill();
    for mirror in mirrors(&world) {
        ratchet_tests::process::signal(mirror, Signal::KILL);
    }
    wait::until("the mirror to be gone", || mirrors(&world).is_empty());
    *world.worker() = Some(Worker::start(&world.env, "w", &address, &[]));
    let again = begun(&world, "echo started again");
    go(&world);
    let step = again.wait().json();
    assert_eq!(step["state"], "advanced", "{step:#}");
    assert_eq!(world.env.read("runs"), "ran\n");
    assert_eq!(world.outcomes().len(), 1, "{:#?}", world.outcomes());
    world.assert_clean();
}

/// Prints and reports, waits, and does both again.
fn reporting() -> String {
    let report = "ratchet batch report shop --change add-api --status";
    waiting(
        &format!("echo ran >> runs; echo one; {report} first > /dev/null"),
        &format!("echo two; {report} second > /dev/null"),
    )
}

#[test]
fn a_line_that_is_cut_costs_nothing() {
    let world = World::new(Place::Remote);
    let line = Line::to(&world);
    let running = begun(&world, &reporting());
    wait::until_exists(&world.there("here"));
    line.cut();
    go(&world);
    line.heal();
    ended_whole(&world, running);
}

#[test]
fn a_line_that_is_dead_without_anybody_being_told_is_noticed() {
    let world = World::new(Place::Remote);
    let line = Line::to(&world);
    let running = begun(&world, &reporting());
    wait::until_exists(&world.there("here"));
    // What is there stays there and says nothing any more; a new connection goes through.
    line.deafen();
    go(&world);
    ended_whole(&world, running);
}

/// One start, the whole output, the reports once and in order.
#[track_caller]
fn ended_whole(world: &World, running: Running) {
    let step = running.wait().json();
    assert_eq!(step["state"], "advanced", "{step:#}");
    let output = String::from_utf8(world.output()).expect("it is text");
    assert!(output.starts_with("one\ntwo\n"), "{output}");
    assert_eq!(world.env.read("runs"), "ran\n");
    let reports = world.env.journaled("shop", "add-api", "progress");
    let said: Vec<_> = reports.iter().map(|entry| entry["message"].clone()).collect();
    assert_eq!(said, ["first", "second"]);
    world.assert_clean();
}

/// The line between this world's supervisor and its worker.
struct Line {
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    /// Connections that were made before this many were deafened.
    deaf_before: AtomicUsize,
    made: AtomicUsize,
    is_cut: AtomicBool,
    open: Mutex<Vec<TcpStream>>,
}

impl Line {
    /// Puts itself between: the settings name it instead of the worker.
    fn to(world: &World) -> Self {
        let worker = world.worker.as_ref().expect("it has one").address();
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let port = listener.local_addr().expect("it has an address").port();
        let config = world.env.read(".ratchet/config.yaml");
        let named = format!("port: {}", worker.port());
        assert!(config.contains(&named), "{config}");
        world.env.write(".ratchet/config.yaml", config.replace(&named, &format!("port: {port}")));
        let state = Arc::new(State::default());
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for near in listener.incoming().flatten() {
                if shared.is_cut.load(Ordering::SeqCst) {
                    continue;
                }
                let Ok(far) = TcpStream::connect(worker) else { continue };
                let number = shared.made.fetch_add(1, Ordering::SeqCst);
                for (from, to) in [(&near, &far), (&far, &near)] {
                    let (from, to) =
                        (from.try_clone().expect("cloned"), to.try_clone().expect("cloned"));
                    let shared = Arc::clone(&shared);
                    std::thread::spawn(move || shared.carry(number, from, to));
                }
                shared.open.lock().expect("nobody panicked").extend([near, far]);
            }
        });
        Self { state }
    }

    /// Ends every connection, and takes no new one.
    fn cut(&self) {
        self.state.is_cut.store(true, Ordering::SeqCst);
        for stream in self.state.open.lock().expect("nobody panicked").drain(..) {
            let _gone_is_fine = stream.shutdown(Shutdown::Both);
        }
    }

    fn heal(&self) {
        self.state.is_cut.store(false, Ordering::SeqCst);
    }

    /// Carries nothing any more on the connections that there are, and leaves them open.
    fn deafen(&self) {
        self.state.deaf_before.store(self.state.made.load(Ordering::SeqCst), Ordering::SeqCst);
    }
}

impl State {
    fn carry(&self, number: usize, mut from: TcpStream, mut to: TcpStream) {
        let mut buffer = [0; 16 * 1024];
        while let Ok(read @ 1..) = from.read(&mut buffer) {
            let is_deaf = number < self.deaf_before.load(Ordering::SeqCst);
            if !is_deaf && to.write_all(&buffer[..read]).is_err() {
                break;
            }
        }
        let _gone_is_fine = to.shutdown(Shutdown::Both);
    }
}

#[test]
fn a_file_that_both_sides_changed_blocks_the_step_and_nothing_is_written_over() {
    let world = World::new(Place::Remote);
    world.env.write("shared", "base\n");
    let running = begun(&world, &waiting("true", "echo theirs > shared; echo theirs > other"));
    wait::until_exists(&world.there("here"));
    world.env.write("shared", "mine\n");
    go(&world);
    let step = running.wait().json();
    let why = blocker(&step);
    assert!(
        why.contains("changed here too") && why.contains("shared") && why.contains("--diff"),
        "{why}"
    );
    assert_eq!(world.env.read("shared"), "mine\n");
    assert!(!world.env.path("other").exists());
    let spawn =
        world.outcomes()[0]["spawn"].as_str().expect("an outcome names its spawn").to_owned();
    world
        .env
        .ratchet(["batch", "log", "--diff", "--spawn", &spawn])
        .ok()
        .says("+theirs")
        .says("other");
    world.assert_clean();
}

#[test]
fn a_worker_that_stays_away_is_waited_for_and_then_the_step_is_given_up() {
    let mut world = World::with(Place::Remote, &["workerLostMs: 1500"]);
    let running = begun(&world, &waiting("true", "true"));
    wait::until_exists(&world.there("here"));
    world.worker().take().expect("it has one").kill();
    let step = running.wait().json();
    let why = blocker(&step);
    assert!(why.contains("127.0.0.1") && why.contains("waited for 1 s"), "{why}");
    go(&world);
}

#[test]
fn a_person_works_on_while_a_step_is_elsewhere_and_both_are_there_in_the_end() {
    let world = World::new(Place::Remote);
    world.env.git(&["init", "-q"]);
    world.env.write("a", "base\n");
    world.env.git(&["add", "."]);
    let running = begun(&world, &waiting("true", "echo theirs > b; rm a"));
    wait::until_exists(&world.there("here"));
    world.env.write("mine", "mine\n");
    world.env.git(&["add", "mine"]);
    let index = std::fs::read(world.env.path(".git/index")).expect("there is an index");
    go(&world);
    assert_eq!(running.wait().json()["state"], "advanced");
    assert_eq!(
        (world.env.read("b"), world.env.read("mine")),
        ("theirs\n".to_owned(), "mine\n".to_owned())
    );
    assert!(!world.env.path("a").exists());
    assert_eq!(std::fs::read(world.env.path(".git/index")).expect("there is an index"), index);
    world.assert_clean();
}

#[test]
fn no_token_and_no_key_is_on_any_disk_or_in_any_argument() {
    let world = World::new(Place::Remote);
    let running = world
        .apply(&waiting("true", "true"))
        .var("ANTHROPIC_API_KEY", "key-of-the-agent-0123")
        .start();
    wait::until_exists(&world.there("here"));
    for mirror in mirrors(&world) {
        let line = ratchet_tests::process::command_line(mirror).join(" ");
        assert!(!line.contains(ratchet_tests::worker::TOKEN), "{line}");
    }
    go(&world);
    running.wait().assert_code(0);
    let spawns = walk(&world.env.base().join("state"));
    let worker = walk(&world.env.base().join("workers/w/state"));
    for (path, bytes) in spawns.into_iter().chain(worker) {
        let text = String::from_utf8_lossy(&bytes);
        for secret in [ratchet_tests::worker::TOKEN, "key-of-the-agent-0123"] {
            assert!(!text.contains(secret), "{} holds a secret", path.display());
        }
    }
}

fn walk(root: &std::path::Path) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let mut all = Vec::new();
    let mut waiting = vec![root.to_owned()];
    while let Some(folder) = waiting.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => waiting.push(entry.path()),
                Ok(kind) if kind.is_file() => {
                    all.push((entry.path(), std::fs::read(entry.path()).unwrap_or_default()))
                }
                _ => {}
            }
        }
    }
    all
}

#[test]
fn what_stands_in_the_way_is_told_and_nothing_was_started() {
    let world = World::new(Place::Remote);
    let config = world.env.read(".ratchet/config.yaml");
    let refused = |from: &str, to: &str| {
        assert!(config.contains(from), "{config}");
        world.env.write(".ratchet/config.yaml", config.replace(from, to));
        world.apply("touch ran").refused()
    };
    let port = world.worker.as_ref().expect("it has one").address().port().to_string();
    let nobody = refused(&format!("port: {port}"), "port: 1");
    assert!(nobody.contains("unreachable") && nobody.contains("127.0.0.1:1"), "{nobody}");
    let file = world.worker.as_ref().expect("it has one").token_file().display().to_string();
    let wrong = refused(&format!("authTokenFile: {file}"), "authToken: quite-another-token-0123");
    assert!(
        wrong.contains("401") && wrong.contains("authToken") && !wrong.contains("another"),
        "{wrong}"
    );
    let plain =
        world.env.read(".ratchet/config.yaml").replace("host: 127.0.0.1", "host: http://192.0.2.1");
    world.env.write(".ratchet/config.yaml", plain);
    let plain = blocker(&world.step("touch ran"));
    assert!(plain.contains("plaintext") && !plain.contains("quite-another"), "{plain}");
    assert!(!world.env.path("ran").exists());
}
