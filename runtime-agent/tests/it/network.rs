//! A real network between two namespaces, cut and healed: packets are dropped one way, the other way, or both. Root is needed.

use std::time::Duration;

use ratchet_proto::runtime::v1 as wire;

use crate::project::{Project, relay, shell, variable};
use crate::told::Told;
use crate::world::{TOKEN, World, channel, client, id, run, start_of};

/// How soon a line that is cut without a word is noticed.
const NOTICED: Duration = Duration::from_secs(15);

/// Another network namespace and the two ends of the line to it. This process keeps its own; the worker is in the other.
struct Net {
    name: String,
    ours: String,
    subnet: String,
}

/// Which way packets are dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cut {
    ToWorker,
    FromWorker,
    Both,
}

impl Net {
    fn new() -> Self {
        let number = fastrand::u16(..);
        let net = Self {
            name: format!("rw{number:04x}"),
            ours: format!("rwa{number:04x}"),
            subnet: format!("10.{}.{}", 64 + (number >> 8) % 64, number & 255),
        };
        let theirs = format!("rwb{number:04x}");
        let (here, there) = (format!("{}.1/24", net.subnet), format!("{}.2/24", net.subnet));
        run(&["ip", "netns", "add", &net.name]);
        run(&["ip", "link", "add", &net.ours, "type", "veth", "peer", "name", &theirs]);
        run(&["ip", "link", "set", &theirs, "netns", &net.name]);
        run(&["ip", "addr", "add", &here, "dev", &net.ours]);
        run(&["ip", "link", "set", &net.ours, "up"]);
        net.inside(&["ip", "addr", "add", &there, "dev", &theirs]);
        net.inside(&["ip", "link", "set", &theirs, "up"]);
        net.inside(&["ip", "link", "set", "lo", "up"]);
        net
    }

    fn words(&self) -> [&str; 4] {
        ["ip", "netns", "exec", &self.name]
    }

    fn inside(&self, words: &[&str]) {
        run(&[&self.words()[..], words].concat());
    }

    /// Drops every packet, silently: nobody hears of it but by waiting. The sender's end of the line is taken from its routes.
    fn cut(&self, cut: Cut) {
        let (here, there) = (format!("{}.1/32", self.subnet), format!("{}.2/32", self.subnet));
        if cut != Cut::FromWorker {
            run(&["ip", "route", "add", "blackhole", &there]);
        }
        if cut != Cut::ToWorker {
            self.inside(&["ip", "route", "add", "blackhole", &here]);
        }
    }

    fn heal(&self, cut: Cut) {
        let (here, there) = (format!("{}.1/32", self.subnet), format!("{}.2/32", self.subnet));
        if cut != Cut::FromWorker {
            run(&["ip", "route", "del", "blackhole", &there]);
        }
        if cut != Cut::ToWorker {
            self.inside(&["ip", "route", "del", "blackhole", &here]);
        }
    }
}

impl Drop for Net {
    fn drop(&mut self) {
        // The other end goes with its namespace.
        let _gone = start_of("ip").args(["netns", "del", &self.name]).output();
        let _gone = start_of("ip").args(["link", "del", &self.ours]).output();
        let there = format!("{}.2/32", self.subnet);
        let _gone = start_of("ip").args(["route", "del", "blackhole", &there]).output();
    }
}

async fn a_cut_costs_nothing(cut: Cut) {
    let (world, net) = (World::new(), Net::new());
    let listen = format!("{}.2:7431", net.subnet);
    let worker = world.start_behind(&net.words(), &listen, &["--insecure"]);
    let place = format!("http://{listen}");
    let connect = async || Ok::<_, tonic::transport::Error>(client(channel(&place).await?, TOKEN));
    let mut near = connect().await.unwrap();
    let project = Project::new(&world);
    let snapshot = project.sent(&mut near).await;
    let script = "echo started >> $LOG; i=0; while [ $i -lt 200 ]; do i=$((i+1)); echo line $i; \
                  echo entry $i >> j; [ $i = 50 ] && while ! [ -e $GO ]; do sleep 0.01; done; done; echo end";
    let mut request = shell("s", snapshot, script);
    request.relays = vec![relay("j", "")];
    request.environment =
        vec![variable("LOG", world.path("starts")), variable("GO", world.path("go"))];
    near.spawn(request.clone()).await.unwrap();
    let mut told = Told::default();
    let halfway = |told: &Told| {
        let both = told.entries.len() == 50 && told.text().ends_with("line 50\n");
        if both { crate::told::Listen::Enough } else { crate::told::Listen::On }
    };
    told.listen(&mut near, "s", halfway).await.unwrap();

    net.cut(cut);
    // What a caller of a line that is cut can know: nothing comes, not even that all is well.
    let noticed =
        tokio::time::timeout(NOTICED + Duration::from_secs(15), told.go_on(&mut near, "s"));
    let noticed = noticed.await.expect("a cut is noticed");
    assert!(noticed.is_err() && told.ended.is_none(), "{noticed:?}");
    // The command goes on without anybody.
    std::fs::write(world.path("go"), "").unwrap();
    net.heal(cut);

    let mut near = loop {
        match connect().await {
            Ok(near) => break near,
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    };
    assert!(near.spawn(request).await.unwrap().into_inner().found);
    told.go_on(&mut near, "s").await.unwrap();
    let lines: String = (1..=200).map(|number| format!("line {number}\n")).collect();
    assert_eq!(told.text(), lines + "end\n");
    let entries: Vec<String> = (1..=200).map(|number| format!("entry {number}")).collect();
    assert_eq!(told.entries, entries);
    told.assert_in_order();
    assert_eq!(world.lines("starts").len(), 1);
    assert_eq!(Told::whole(&mut near, "s").await.output, told.output);
    near.release(wire::ReleaseRequest { id: id("s") }).await.unwrap();
    drop(worker);
}

#[tokio::test]
async fn a_line_that_is_cut_both_ways_costs_nothing() {
    a_cut_costs_nothing(Cut::Both).await;
}

#[tokio::test]
async fn a_line_on_which_nothing_reaches_the_worker_costs_nothing() {
    a_cut_costs_nothing(Cut::ToWorker).await;
}

#[tokio::test]
async fn a_line_on_which_nothing_comes_from_the_worker_costs_nothing() {
    a_cut_costs_nothing(Cut::FromWorker).await;
}
