//! What an attempt may do to its copy, and that nothing of it is left for the next one or reaches the user's tree.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use super::*;
use crate::harness::site::{Capture, Site as _};
use crate::testing::{Project, fingerprint, git_in, write};

/// A project, and a copy of it that something was done to.
struct Bench {
    project: Project,
    ignored: Ignored,
}

const FILES: [(&str, &str); 5] = [
    ("src/a.py", "def a(x):\n    return x < 1\n"),
    ("src/b.py", "b = 1\n"),
    ("run.sh", "exit 0\n"),
    (".gitignore", "build/\n*.pyc\n"),
    ("tests/test_a.py", "assert True\n"),
];

impl Bench {
    fn new() -> Self {
        let project = Project::new(&FILES);
        project.write("build/out.o", "built\n");
        project.write("build/deep/lib.o", "lib\n");
        Self { project, ignored: Ignored::Copy }
    }

    /// Does something to a copy, gives what is seen of it, and makes sure that all of it is undone, in the copy and in the
    /// user's tree.
    fn after(&self, meddle: impl FnOnce(&Path)) -> Capture {
        let before = fingerprint(&self.project.root());
        let git = self.project.asked();
        let repository = git.usable(&self.project.root()).unwrap();
        let scratch = Scratch::new(&self.project.scratch(), "run").unwrap();
        let origin = scratch.origin(&git, &repository, self.ignored).unwrap();
        let mut copy = scratch.job(&origin, 0).unwrap();
        let tree = copy.project().to_owned();
        let whole = contents(&tree);
        meddle(&tree);
        let capture = copy.capture().unwrap();
        copy.settle().unwrap();
        copy.reset().unwrap();
        assert_eq!(contents(&tree), whole, "the copy is as it was");
        assert_eq!(copy.capture().unwrap(), Capture::default(), "nothing is seen any more");
        assert_eq!(
            fingerprint(&self.project.root()),
            before,
            "the user's tree was never written to"
        );
        capture
    }
}

/// What is in a tree, times aside.
fn contents(root: &Path) -> Vec<(PathBuf, u32, Option<Vec<u8>>)> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let metadata = path.symlink_metadata().unwrap();
            if metadata.is_dir() {
                folders.push(path.clone());
            }
            let bytes = metadata.is_file().then(|| fs::read(&path).unwrap());
            found.push((path.strip_prefix(root).unwrap().to_owned(), metadata.mode(), bytes));
        }
    }
    found.sort();
    found
}

fn paths(capture: &Capture) -> Vec<&str> {
    capture.changes.iter().map(|change| change.path.as_str()).collect()
}

fn diff(capture: &Capture) -> String {
    String::from_utf8(capture.diff.clone()).unwrap()
}

#[test]
fn an_agent_that_edits_nothing_leaves_nothing_to_see() {
    assert_eq!(Bench::new().after(|_| {}), Capture::default());
}

#[test]
fn an_edit_is_seen_as_a_diff_that_git_can_apply() {
    let bench = Bench::new();
    let capture = bench.after(|tree| write(tree, "src/a.py", "def a(x):\n    return x <= 1\n"));
    assert_eq!((paths(&capture), capture.line), (vec!["src/a.py"], 2));
    let text = diff(&capture);
    assert!(text.starts_with("diff --git a/src/a.py b/src/a.py\n"), "{text}");
    assert!(text.contains("-    return x < 1\n+    return x <= 1\n"), "{text}");
    let patch = bench.project.scratch().join("p");
    fs::write(&patch, text).unwrap();
    bench.project.git(&["apply", "--check", patch.to_str().unwrap()]);
}

#[test]
fn new_removed_renamed_and_binary_files_are_seen_and_undone() {
    let capture = Bench::new().after(|tree| {
        write(tree, "src/deep/new.py", "n = 1\n");
        fs::rename(tree.join("src/b.py"), tree.join("src/c.py")).unwrap();
        fs::write(tree.join("run.sh"), [0, 159, 146, 150]).unwrap();
    });
    assert_eq!(paths(&capture), ["run.sh", "src/b.py", "src/c.py", "src/deep/new.py"]);
    let text = diff(&capture);
    for part in ["new file mode", "deleted file mode", "GIT binary patch"] {
        assert!(text.contains(part), "{part}:\n{text}");
    }
}

#[test]
fn a_change_of_mode_alone_is_a_change() {
    let capture = Bench::new().after(|tree| {
        fs::set_permissions(tree.join("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    });
    assert!(capture.changes[0].mode_only && diff(&capture).contains("new mode 100755"));
}

#[test]
fn hiding_a_file_by_a_new_rule_hides_nothing() {
    let capture = Bench::new().after(|tree| {
        write(tree, ".gitignore", "*\n");
        write(tree, "src/hidden.py", "h = 1\n");
    });
    assert_eq!(paths(&capture), [".gitignore", "src/hidden.py"]);
}

#[test]
fn changes_of_ignored_files_are_no_fault_and_are_undone() {
    let capture = Bench::new().after(|tree| {
        write(tree, "build/out.o", "stale\n");
        fs::remove_dir_all(tree.join("build/deep")).unwrap();
        write(tree, "src/__pycache__/a.pyc", "bytecode\n");
    });
    assert!(capture.changes.is_empty());
    assert_eq!(capture.ignored, ["build/deep/lib.o", "build/out.o", "src/__pycache__/a.pyc"]);
}

#[test]
fn what_the_user_ignores_in_this_repository_alone_is_ignored_in_a_copy() {
    let bench = Bench::new();
    bench.project.write(".git/info/exclude", ".idea/\n");
    let capture = bench.after(|tree| write(tree, ".idea/workspace.xml", "x"));
    assert_eq!(
        (capture.changes.len(), capture.ignored),
        (0, vec![".idea/workspace.xml".to_owned()])
    );
}

#[test]
fn a_write_that_is_made_to_look_old_is_seen() {
    let capture = Bench::new().after(|tree| {
        let file = tree.join("src/b.py");
        let time = fs::metadata(&file).unwrap().modified().unwrap();
        fs::write(&file, "b = 2\n").unwrap();
        fs::File::options().write(true).open(&file).unwrap().set_modified(time).unwrap();
    });
    assert_eq!(paths(&capture), ["src/b.py"]);
}

#[test]
fn an_agent_that_commits_or_switches_the_branch_is_found_out() {
    for command in
        [vec!["commit", "--all", "--quiet", "-m", "x"], vec!["checkout", "-q", "-b", "other"]]
    {
        let capture = Bench::new().after(|tree| {
            write(tree, "src/b.py", "b = 2\n");
            git_in(tree, &command);
        });
        assert!(capture.moved.as_deref().unwrap_or_default().contains("moved HEAD"), "{command:?}");
    }
}

#[test]
fn an_agent_that_stashes_its_change_or_removes_the_repository_is_found_out() {
    let stashed = Bench::new().after(|tree| {
        write(tree, "src/b.py", "b = 2\n");
        git_in(tree, &["stash", "--quiet"]);
    });
    assert_eq!(stashed.moved.as_deref(), Some("the agent stashed its change"));
    let removed = Bench::new().after(|tree| fs::remove_dir_all(tree.join(".git")).unwrap());
    assert_eq!(removed.moved.as_deref(), Some("the agent removed .git"));
}

#[test]
fn a_lock_hooks_and_settings_that_an_agent_leaves_change_nothing_that_is_seen() {
    let capture = Bench::new().after(|tree| {
        write(tree, ".git/index.lock", "");
        write(tree, ".git/hooks/pre-commit", "exit 1");
        write(tree, ".git/info/exclude", "*\n");
        git_in(tree, &["config", "diff.external", "true"]);
        write(tree, "src/b.py", "b = 2\n");
        write(tree, "src/new.py", "n = 2\n");
    });
    assert_eq!(paths(&capture), ["src/b.py", "src/new.py"]);
    assert_eq!(capture.moved, None);
}

#[test]
fn a_repository_inside_of_the_copy_pipes_and_links_are_removed() {
    let capture = Bench::new().after(|tree| {
        fs::create_dir_all(tree.join("nested/empty")).unwrap();
        git_in(&tree.join("nested"), &["init", "--quiet"]);
        fs::remove_file(tree.join("run.sh")).unwrap();
        symlink("/etc/passwd", tree.join("run.sh")).unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            tree.join("pipe"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR,
            0,
        )
        .unwrap();
    });
    assert!(paths(&capture).contains(&"run.sh"));
}

#[test]
fn folders_that_an_attempt_has_shut_are_opened_again() {
    Bench::new().after(|tree| {
        fs::set_permissions(tree.join("src"), fs::Permissions::from_mode(0o000)).unwrap();
        fs::create_dir(tree.join("shut")).unwrap();
        fs::create_dir(tree.join("shut/inner")).unwrap();
        fs::set_permissions(tree.join("shut"), fs::Permissions::from_mode(0o000)).unwrap();
    });
}

#[test]
fn what_a_green_baseline_builds_is_kept_and_restored_for_every_attempt() {
    let bench = Bench::new();
    let git = bench.project.asked();
    let repository = git.usable(&bench.project.root()).unwrap();
    let scratch = Scratch::new(&bench.project.scratch(), "run").unwrap();
    let origin = scratch.origin(&git, &repository, Ignored::Copy).unwrap();
    let mut copy = scratch.job(&origin, 0).unwrap();
    let tree = copy.project().to_owned();
    write(&tree, "build/fresh/new.o", "fresh\n");
    write(&tree, "build/out.o", "rebuilt\n");
    fs::remove_file(tree.join("build/deep/lib.o")).unwrap();
    write(&tree, "src/b.py", "written by the baseline\n");
    write(&tree, "report.txt", "left by the baseline\n");
    copy.adopt().unwrap();
    let read = |path: &str| fs::read_to_string(tree.join(path)).ok();
    assert_eq!(read("src/b.py").as_deref(), Some("b = 1\n"));
    assert_eq!(read("report.txt"), None);
    write(&tree, "build/fresh/new.o", "stale\n");
    fs::remove_file(tree.join("build/out.o")).unwrap();
    write(&tree, "build/deep/lib.o", "back\n");
    copy.reset().unwrap();
    assert_eq!(read("build/fresh/new.o").as_deref(), Some("fresh\n"));
    assert_eq!(read("build/out.o").as_deref(), Some("rebuilt\n"));
    assert_eq!(read("build/deep/lib.o"), None);
}

#[test]
fn a_fault_gets_a_time_that_no_build_has_seen() {
    let bench = Bench::new();
    let git = bench.project.asked();
    let repository = git.usable(&bench.project.root()).unwrap();
    let scratch = Scratch::new(&bench.project.scratch(), "run").unwrap();
    let origin = scratch.origin(&git, &repository, Ignored::Copy).unwrap();
    let mut copy = scratch.job(&origin, 0).unwrap();
    let file = copy.project().join("src/b.py");
    let seconds = |file: &Path| fs::metadata(file).unwrap().mtime();
    let user = seconds(&bench.project.root().join("src/b.py"));
    assert_eq!(seconds(&file), user, "what nobody has changed is as old as the user's");
    let mut times = vec![user];
    for text in ["b = 2\n", "b = 3\n"] {
        fs::write(&file, text).unwrap();
        copy.capture().unwrap();
        copy.settle().unwrap();
        times.push(seconds(&file));
        copy.reset().unwrap();
    }
    assert!(times.is_sorted() && times[1] != times[2], "{times:?}");
}

#[test]
fn with_links_the_users_files_are_not_shared_and_a_write_into_a_shared_one_ends_it() {
    let mut bench = Bench::new();
    bench.ignored = Ignored::Link;
    // What replaces a file is fine.
    bench.after(|tree| {
        fs::remove_file(tree.join("build/out.o")).unwrap();
        write(tree, "build/out.o", "new\n");
    });
    let before = fingerprint(&bench.project.root());
    let git = bench.project.asked();
    let repository = git.usable(&bench.project.root()).unwrap();
    let scratch = Scratch::new(&bench.project.scratch(), "other").unwrap();
    let origin = scratch.origin(&git, &repository, Ignored::Link).unwrap();
    let mut copy = scratch.job(&origin, 0).unwrap();
    fs::write(copy.project().join("build/out.o"), "written in place\n").unwrap();
    let error = copy.reset().unwrap_err();
    assert!(std::error::Error::source(&error).unwrap().to_string().contains("--ignored copy"));
    assert_eq!(fingerprint(&bench.project.root()), before);
}

#[test]
fn ignored_files_can_be_left_out() {
    let mut bench = Bench::new();
    bench.ignored = Ignored::None;
    bench.after(|tree| assert!(!tree.join("build").exists()));
}

#[test]
fn absolute_paths_in_ignored_files_are_noticed_and_named() {
    let bench = Bench::new();
    let home = bench.project.root().display().to_string();
    bench.project.write("build/venv/pyvenv.cfg", &format!("home = {home}/bin\n"));
    let git = bench.project.asked();
    let repository = git.usable(&bench.project.root()).unwrap();
    let scratch = Scratch::new(&bench.project.scratch(), "run").unwrap();
    let origin = scratch.origin(&git, &repository, Ignored::Copy).unwrap();
    assert_eq!(origin.warnings().len(), 1);
    assert!(origin.warnings()[0].contains("build/venv/pyvenv.cfg"), "{:?}", origin.warnings());
}

#[test]
fn a_project_below_the_top_of_its_repository_has_its_place_in_the_copy() {
    let project = Project::new(&[("api/src/a.py", "a = 1\n"), ("web/b.js", "b\n")]);
    let git = project.asked();
    let repository = git.usable(&project.root().join("api")).unwrap();
    assert_eq!(repository.prefix, "api/");
    let scratch = Scratch::new(&project.scratch(), "run").unwrap();
    let origin = scratch.origin(&git, &repository, Ignored::Copy).unwrap();
    let mut copy = scratch.job(&origin, 0).unwrap();
    assert!(copy.project().ends_with("api") && copy.project().join("../web/b.js").is_file());
    write(copy.project(), "src/a.py", "a = 2\n");
    assert_eq!(paths(&copy.capture().unwrap()), ["api/src/a.py"]);
}

#[test]
fn a_submodules_files_are_files_like_any_other() {
    let inner = Project::new(&[("lib.py", "l = 1\n")]);
    let project = Project::new(&[("a.py", "a = 1\n")]);
    let from = inner.root().display().to_string();
    project.git(&[
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        &from,
        "vendored",
    ]);
    project.commit();
    let git = project.asked();
    let repository = git.usable(&project.root()).unwrap();
    let scratch = Scratch::new(&project.scratch(), "run").unwrap();
    let origin = scratch.origin(&git, &repository, Ignored::Copy).unwrap();
    let mut copy = scratch.job(&origin, 0).unwrap();
    write(copy.project(), "vendored/lib.py", "l = 2\n");
    assert_eq!(paths(&copy.capture().unwrap()), ["vendored/lib.py"]);
}

#[test]
fn files_that_git_rewrites_on_their_way_are_taken_as_they_lie() {
    let bench = Bench::new();
    bench.project.git(&["config", "filter.shout.clean", "tr a-z A-Z"]);
    bench.project.git(&["config", "filter.shout.smudge", "tr A-Z a-z"]);
    bench.project.write(".gitattributes", "src/b.py filter=shout\nsrc/a.py text eol=crlf\n");
    bench.project.write("src/a.py", "a = 1\r\n");
    bench.project.commit();
    let capture = bench.after(|tree| {
        assert_eq!(fs::read_to_string(tree.join("src/b.py")).unwrap(), "b = 1\n");
        write(tree, "src/a.py", "a = 2\r\n");
    });
    assert_eq!(paths(&capture), ["src/a.py"]);
    assert!(diff(&capture).contains("-a = 1\r\n+a = 2\r\n"));
}

#[test]
fn an_agent_in_a_copy_finds_the_history_and_may_commit() {
    let bench = Bench::new();
    bench.after(|tree| {
        assert_eq!(git_in(tree, &["log", "--format=%s"]), "x\n");
        assert_eq!(git_in(tree, &["status", "--porcelain"]), "");
        assert_eq!(git_in(tree, &["branch", "--show-current"]), "main\n");
    });
}

#[test]
fn the_room_of_a_process_that_is_gone_is_swept_and_a_living_ones_is_not() {
    let bench = Bench::new();
    let root = bench.project.scratch();
    let living = Scratch::new(&root, "living").unwrap();
    let dead = root.join("dead.1");
    fs::create_dir(&dead).unwrap();
    fs::write(dead.join("lock"), "").unwrap();
    write(&dead, "job-0/tree/a", "x");
    drop(Scratch::new(&root, "next").unwrap());
    assert!(!dead.exists() && living.spawns().parent().unwrap().is_dir());
}
