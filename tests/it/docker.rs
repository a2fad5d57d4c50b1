//! What is true of containers only: the walls, whose the files are, which images do, what is refused and how, and that
//! nothing stays behind.

mod files;
mod images;
mod left_behind;
mod outages;
mod refusals;
mod registry;
mod walls;

use serde_json::Value;

use crate::runtime::{Place, World};

/// A world whose steps run in containers.
fn world(settings: &[&str]) -> World {
    World::with(Place::Docker, settings)
}

/// What a container was asked to be, as the engine knows it, while its agent waits for a file `go`.
#[track_caller]
fn inspected(world: &World, call: ratchet_tests::Call) -> Value {
    let running = call.agent("touch here; while [ ! -e go ]; do sleep 0.02; done").start();
    ratchet_tests::wait::until_exists(&world.env.path("here"));
    let containers = world.containers();
    assert_eq!(containers.len(), 1, "{containers:?}");
    let text = ratchet_tests::engine::docker(["inspect", &containers[0]]);
    world.env.write("go", "");
    running.wait().assert_code(0);
    serde_json::from_str::<Value>(&text).expect("the engine prints JSON")[0].clone()
}
