//! What happens to a container from outside while its agent works: it is removed, its engine is out of reach for a while.

use std::io;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use ratchet_tests::{engine, wait};

use super::world;
use crate::runtime::HONEST;

/// A way to the real engine that can be cut and mended.
struct Line {
    open: Arc<AtomicBool>,
    streams: Arc<Mutex<Vec<UnixStream>>>,
}

impl Line {
    fn at(socket: &Path) -> Self {
        let listener = UnixListener::bind(socket).expect("a socket");
        let line = Self { open: Arc::new(AtomicBool::new(true)), streams: Arc::default() };
        let (open, streams) = (Arc::clone(&line.open), Arc::clone(&line.streams));
        std::thread::spawn(move || {
            for caller in listener.incoming().map_while(Result::ok) {
                if !open.load(Ordering::SeqCst) {
                    continue;
                }
                let real = UnixStream::connect("/var/run/docker.sock")
                    .expect("an engine; run tests/docker/prepare.sh");
                let copy = |stream: &UnixStream| stream.try_clone().expect("a descriptor");
                streams.lock().expect("no panic").extend([copy(&caller), copy(&real)]);
                for (mut from, mut to) in [(copy(&caller), copy(&real)), (real, caller)] {
                    std::thread::spawn(move || {
                        drop(io::copy(&mut from, &mut to));
                        drop(to.shutdown(std::net::Shutdown::Write));
                    });
                }
            }
        });
        line
    }

    fn cut(&self) {
        self.open.store(false, Ordering::SeqCst);
        for stream in self.streams.lock().expect("no panic").drain(..) {
            drop(stream.shutdown(std::net::Shutdown::Both));
        }
    }

    fn mend(&self) {
        self.open.store(true, Ordering::SeqCst);
    }
}

#[test]
fn an_engine_that_goes_away_and_comes_back_in_mid_step_is_not_noticed_by_the_step() {
    let world = world(&[]);
    let socket = world.env.base().join("engine.sock");
    let line = Line::at(&socket);
    let script = format!(
        "touch here; while [ ! -e go ]; do sleep 0.02; done; {HONEST} > /dev/null; echo whole"
    );
    let running =
        world.apply(&script).var("DOCKER_HOST", format!("unix://{}", socket.display())).start();
    wait::until_exists(&world.env.path("here"));
    line.cut();
    world.env.write("go", "");
    wait::until_exists(&world.env.path(".ratchet/changes/add-api/plan.md"));
    line.mend();
    running.wait().assert_code(0);
    assert_eq!(world.output(), b"whole\n");
    assert_eq!(world.outcomes()[0]["kind"], "completion", "{:#?}", world.outcomes());
    world.assert_clean();
}

#[test]
fn a_container_that_somebody_removes_is_told_as_that() {
    let world = world(&[]);
    let running = world.apply("touch here; sleep 1000").start();
    wait::until_exists(&world.env.path("here"));
    engine::remove_containers_of(&world.spawns());
    running.wait().assert_code(0);
    let entry = &world.outcomes()[0];
    assert!(entry["message"].to_string().contains("removed by somebody else"), "{entry:#}");
    world.assert_clean();
}

#[test]
fn a_container_that_somebody_stops_ends_as_stopped() {
    let world = world(&[]);
    let running = world.apply("touch here; sleep 1000").start();
    wait::until_exists(&world.env.path("here"));
    engine::docker(["stop", "--time", "20", &world.containers()[0]]);
    running.wait().assert_code(0);
    let entry = &world.outcomes()[0];
    assert!(entry["message"].to_string().contains("stopped"), "{entry:#}");
    world.assert_clean();
}
