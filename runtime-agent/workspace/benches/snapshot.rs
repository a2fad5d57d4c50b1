//! What a snapshot costs, beside `git status` of the same tree: `cargo bench -p ratchet-workspace`.
//! A plain program; its figures are those of the machine it runs on, and of the same run.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a bench prints, and fails loudly")]

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use ratchet_workspace::{Base, Rules, SnapshotId, Store, Workspace};

const ROUNDS: usize = 15;

fn main() {
    #[expect(clippy::disallowed_methods, reason = "the bench finds git where the shell does")]
    let search_path = std::env::var_os("PATH").unwrap();
    let place = tempfile::tempdir().unwrap();
    let (here, there) = (
        Store::open(&place.path().join("here"), &search_path).unwrap(),
        Store::open(&place.path().join("there"), &search_path).unwrap(),
    );
    for files in [10_000, 50_000] {
        let root = place.path().join(format!("tree-{files}"));
        fill(&root, files);
        git(&root, &["init", "-q"]);
        git(&root, &["add", "."]);
        let workspace = Workspace::new(&here, &format!("w{files}"), &root).unwrap();
        let rules = Rules { always: vec![".ratchet".to_owned()], ..Rules::default() };
        let take = || workspace.snapshot(Base::Project(&rules)).unwrap();
        let began = Instant::now();
        let first = take().id;
        println!("{files} files: first snapshot           {:9.1} ms", ms(began.elapsed()));
        here.keep(&format!("first{files}"), first).unwrap();
        let began = Instant::now();
        let bytes = send(&here, &there, first, &format!("first{files}"));
        println!(
            "{files} files: sent the first time      {:9.1} ms, {bytes} bytes",
            ms(began.elapsed())
        );
        let away = Workspace::new(
            &there,
            &format!("away{files}"),
            &place.path().join(format!("away-{files}")),
        )
        .unwrap();
        fs::create_dir(away.root()).unwrap();
        let began = Instant::now();
        away.checkout(first).unwrap();
        println!("{files} files: laid out in a new folder {:9.1} ms", ms(began.elapsed()));
        take();
        let status = median(|| git(&root, &["status", "--porcelain"]));
        let same = median(|| drop(take()));
        println!(
            "{files} files: unchanged                {:9.1} ms  (at most 150 for 10000); git status {:.1} ms",
            ms(same),
            ms(status)
        );
        println!(
            "{files} files: unchanged, on the wire   {:9} bytes (at most 10240)",
            send(&here, &there, first, "same")
        );
        let mut round = 0;
        let changed = median(|| {
            round += 1;
            fs::write(root.join("d3/e3/f7003.txt"), format!("round {round}")).unwrap();
            assert_ne!(take().id, first);
        });
        println!(
            "{files} files: one changed              {:9.1} ms  (at most 200 for 10000)",
            ms(changed)
        );
        let changed = take().id;
        println!(
            "{files} files: one changed, on the wire {:9} bytes",
            send(&here, &there, changed, "changed")
        );
        let began = Instant::now();
        away.checkout(changed).unwrap();
        println!("{files} files: laid out over the other  {:9.1} ms", ms(began.elapsed()));
    }
}

fn fill(root: &Path, files: usize) {
    for number in 0..files {
        let path = root.join(format!("d{}/e{}/f{number}.txt", number % 100, number % 10));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("file {number}\n").repeat(20)).unwrap();
    }
}

fn git(root: &Path, arguments: &[&str]) {
    let output = Command::new("git").arg("-C").arg(root).args(arguments).output().unwrap();
    assert!(output.status.success());
}

fn send(from: &Store, to: &Store, id: SnapshotId, name: &str) -> usize {
    let mut pack = from.pack(id, &to.snapshots().unwrap()).unwrap();
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut pack, &mut bytes).unwrap();
    pack.finish().unwrap();
    to.receive(&bytes[..], id, name, 1 << 30).unwrap();
    bytes.len()
}

fn median(mut what: impl FnMut()) -> Duration {
    let mut times: Vec<_> = (0..ROUNDS)
        .map(|_| {
            let began = Instant::now();
            what();
            began.elapsed()
        })
        .collect();
    times.sort();
    times[ROUNDS / 2]
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
