//! A full disk on the worker: told as such, and nothing that was done is lost. Root is needed to have a small disk.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::PathBuf;

use ratchet_proto::runtime::v1 as wire;

use crate::project::{PROJECT, Project, relay, shell, variable};
use crate::told::Told;
use crate::world::{World, id, refused, run, until_async};

/// A small disk of its own. Dropping it takes it away.
struct Disk(PathBuf);

impl Disk {
    fn new(world: &World, size: &str) -> Self {
        let path = world.path("disk");
        fs::create_dir(&path).unwrap();
        let options = format!("size={size}");
        run(&["mount", "-t", "tmpfs", "-o", &options, "tmpfs", path.to_str().unwrap()]);
        Self(path)
    }

    fn fill(&self) {
        let mut file = File::create(self.0.join("ballast")).unwrap();
        let mut size = 1024 * 1024;
        while size > 0 {
            if file.write(&vec![1; size]).is_err() {
                size /= 2;
            }
        }
    }

    fn make_room(&self) {
        fs::remove_file(self.0.join("ballast")).unwrap();
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // What still runs there is ended by the world, later.
        run(&["umount", "--lazy", self.0.to_str().unwrap()]);
    }
}

#[tokio::test]
async fn a_full_disk_is_told_and_once_there_is_room_everything_works() {
    let mut world = World::new();
    let disk = Disk::new(&world, "64M");
    world.state = disk.0.join("state");
    let worker = world.start(&[]);
    let mut client = worker.client().await;
    let project = Project::new(&world);
    let first = project.sent(&mut client).await;
    disk.fill();
    let noise: String = (0..200_000).map(|_| fastrand::alphanumeric()).collect();
    project.write("large", &noise);
    let second = project.snapshot();
    let said = refused(project.put(&mut client, second).await);
    assert_eq!(said.code, "disk-full", "{said:?}");
    let said = refused(client.spawn(shell("s", first, "true")).await);
    assert_eq!(said.code, "disk-full", "{said:?}");
    disk.make_room();
    project.put(&mut client, second).await.unwrap();
    client.spawn(shell("s", second, "wc -c < large")).await.unwrap();
    assert_eq!(Told::whole(&mut client, "s").await.text().trim(), "200000");
}

#[tokio::test]
async fn a_result_that_has_no_room_waits_for_it_and_no_report_is_lost() {
    let mut world = World::new();
    let disk = Disk::new(&world, "64M");
    world.state = disk.0.join("state");
    let worker = world.start(&[]);
    let mut client = worker.client().await;
    let project = Project::new(&world);
    let snapshot = project.sent(&mut client).await;
    // The journal is made large enough before the disk is full, as an agent's would be that could still report.
    let script = "head -c 400000 /dev/urandom > work; touch $READY; \
                  while ! [ -e $GO ]; do sleep 0.01; done; cat $LINES >> j && rm $LINES";
    let mut request = shell("s", snapshot, script);
    let lines = world.path("lines");
    fs::write(&lines, "report 1\nreport 2\n").unwrap();
    request.relays = vec![relay("j", "")];
    request.environment = vec![
        variable("READY", world.path("ready")),
        variable("GO", world.path("go")),
        variable("LINES", &lines),
    ];
    client.spawn(request).await.unwrap();
    until_async("the command to be ready", || world.path("ready").exists()).await;
    fs::write(world.path("go"), "").unwrap();
    until_async("the command to have reported", || !lines.exists()).await;
    disk.fill();
    let room = async {
        until_async("the result to wait", || {
            worker.log().contains("waits for room") || ended(&world)
        })
        .await;
        disk.make_room();
    };
    let mut told = Told::default();
    let (listened, ()) = tokio::join!(told.go_on(&mut client, "s"), room);
    listened.unwrap();
    assert_eq!(told.entries, ["report 1", "report 2"]);
    let came = project.fetched(&mut client, &told.snapshot(), snapshot, world.path("came")).await;
    assert_eq!(fs::metadata(came.join("work")).unwrap().len(), 400_000);
    let listed = client.list(wire::ListRequest {}).await.unwrap().into_inner().sessions;
    assert_eq!(listed[0].project, PROJECT);
}

/// The command may have been through before the disk was full.
fn ended(world: &World) -> bool {
    world.state.join("sessions").join(id("s")).join("result.json").exists()
}
