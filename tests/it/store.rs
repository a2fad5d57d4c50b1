//! `archive` of one change, the feature store and the links to standards; and `view`. Batches are in `archive.rs`.

use std::fs;

use ratchet_tests::TestEnv;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::crash::CRASH_VAR;
use crate::empty;

const FEATURE: &str = "Feature: cart\n  Scenario: shown\n    Given a cart\n    When it is opened\n    Then it is shown\n";

/// A finished change with one feature.
fn finished(env: &TestEnv, change: &str) {
    env.write(&format!(".ratchet/changes/{change}/features/cart/{change}.feature"), FEATURE);
    env.add_plan(change, 2, 2);
}

fn declare(env: &TestEnv, change: &str, tags: &str) {
    env.write(
        &format!(".ratchet/changes/{change}/.ratchet.yaml"),
        format!("schema: ratchet\nstandards: [{tags}]\n"),
    );
}

fn archived(env: &TestEnv) -> Vec<String> {
    let Ok(entries) = fs::read_dir(env.path(".ratchet/changes/archive")) else { return Vec::new() };
    entries
        .map(|entry| {
            entry
                .expect("a test's own world holds")
                .file_name()
                .into_string()
                .expect("a test's own world holds")
        })
        .collect()
}

/// Every file of the feature store with its text.
fn store(env: &TestEnv) -> Vec<(String, String)> {
    let root = env.path(".ratchet/features");
    let mut found = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path
                    .strip_prefix(&root)
                    .expect("a test's own world holds")
                    .display()
                    .to_string();
                found.push((name, fs::read_to_string(path).expect("a test's own world holds")));
            }
        }
    }
    found.sort();
    found
}

// C-L01 C-L02 C-L08
#[test]
fn a_finished_change_goes_to_the_archive_and_its_features_to_the_store() {
    let env = empty();
    finished(&env, "keep");
    env.write(".ratchet/changes/keep/features/shop/deep/b.feature", FEATURE);
    env.write(
        ".ratchet/changes/keep/features/.deleted",
        "# gone\n\n/old/gone.feature\nold/never.feature\n",
    );
    env.write(".ratchet/features/old/gone.feature", "x");
    env.write(".ratchet/features/shop/deep/b.feature", "before");
    env.write(".ratchet/features/shop/note.md", "mine");
    let text = env.ratchet(["archive", "keep", "-y"]).ok();
    for line in [
        "cart: +1 added, ~0 overwritten, -0 deleted, 0 unchanged",
        "shop: +0 added, ~1 overwritten, -0 deleted, 0 unchanged",
        "old: +0 added, ~0 overwritten, -1 deleted, 0 unchanged",
        "Change 'keep' archived to .ratchet/changes/archive/20",
    ] {
        assert!(text.stdout().contains(line), "{line}: {text}");
    }
    let names: Vec<String> = store(&env).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["cart/keep.feature", "shop/deep/b.feature", "shop/note.md"]);
    assert_eq!(env.read(".ratchet/features/cart/keep.feature"), FEATURE);
    assert!(
        !env.path(".ratchet/features/old").exists() && !env.path(".ratchet/changes/keep").exists()
    );
    let [name] = &archived(&env)[..] else { panic!() };
    assert!(name.len() == "2026-01-01-keep".len() && name.ends_with("-keep"), "{name}");
    finished(&env, "again");
    fs::rename(
        env.path(".ratchet/changes/again/features/cart/again.feature"),
        env.path(".ratchet/changes/again/features/cart/keep.feature"),
    )
    .unwrap();
    env.ratchet(["archive", "again"]).ok().says("No feature changes to apply.");
}

// C-L02
#[test]
fn the_store_is_left_alone_when_asked() {
    let env = empty();
    finished(&env, "keep");
    declare(&env, "keep", "names");
    env.write(".ratchet/standards/names.md", "# Names\n");
    let answer = env.ratchet(["archive", "keep", "--skip-features"]).json();
    assert_eq!(
        (&answer["featuresSkipped"], &answer["features"]["added"]),
        (&json!(true), &json!([]))
    );
    assert!(!env.path(".ratchet/features").exists());
    assert_eq!(env.read(".ratchet/standards/names.md"), "# Names\n");
}

// C-L03
#[test]
fn a_bad_feature_or_standard_keeps_everything_where_it_is() {
    let env = empty();
    finished(&env, "keep");
    declare(&env, "keep", "gone");
    env.write(".ratchet/changes/keep/features/cart/bad.feature", "Feature: bad\n");
    for arguments in [vec!["archive", "keep"], vec!["archive", "keep", "--yes", "--json"]] {
        let refused = env.ratchet(arguments).run().assert_code(1);
        let told = refused.stderr();
        assert!(told.contains("✗ features/cart/bad.feature: there is no scenario"), "{told}");
        assert!(told.contains("'gone'") && told.contains("Error: Change 'keep' was not archived"));
        assert_eq!(refused.stdout(), "");
    }
    assert!(!env.path(".ratchet/features").exists() && archived(&env).is_empty());
}

// C-L04
#[test]
fn what_cannot_be_archived_is_refused() {
    let env = empty();
    assert!(env.ratchet(["archive", "keep"]).refused().contains("Run 'ratchet init' first"));
    finished(&env, "keep");
    env.write(".ratchet/changes/file", "");
    for name in ["gone", "file", "archive", "../keep"] {
        let error = env.ratchet(["archive", name, "-y"]).refused();
        assert!(error.contains(&format!("Change '{name}' not found")), "{error}");
    }
    assert!(env.ratchet(["archive"]).refused().contains("--change") || archived(&env).is_empty());
    env.ratchet(["archive", "keep"]).ok();
    finished(&env, "keep");
    env.write(".ratchet/changes/keep/features/cart/keep.feature", FEATURE.replace("cart", "till"));
    let error = env.ratchet(["archive", "keep", "-y"]).refused();
    assert!(error.contains("-keep already exists"), "{error}");
    assert_eq!(env.read(".ratchet/features/cart/keep.feature"), FEATURE, "the store is as it was");
}

// C-L05
#[test]
fn doubts_about_a_plan_keep_nothing() {
    let env = empty();
    finished(&env, "keep");
    let told = env.ratchet(["archive", "keep"]).ok();
    assert!(told.stderr().contains("⚠ plan.md: these sections are missing"), "{told}");
    env.write(".ratchet/changes/bare/README.md", "# bare\n");
    env.ratchet(["archive", "bare"]).ok().says("No feature changes to apply.");
    assert_eq!(archived(&env).len(), 2);
}

// C-L06
#[test]
fn open_tasks_and_unchecked_work_need_a_yes() {
    let env = empty();
    finished(&env, "keep");
    env.add_plan("keep", 3, 1);
    let error = env.ratchet(["archive", "keep"]).run().assert_code(1).stderr();
    assert!(
        error.contains("⚠ 2 of 3 tasks are open") && error.contains("ratchet archive keep --yes")
    );
    assert!(archived(&env).is_empty() && !env.path(".ratchet/features").exists());
    let answer = env.ratchet(["archive", "keep", "--yes"]).json();
    assert_eq!((&answer["tasks"]["complete"], &answer["validated"]), (&json!(1), &json!(true)));
    finished(&env, "unchecked");
    env.write(".ratchet/changes/unchecked/features/cart/bad.feature", "nothing");
    env.ratchet(["archive", "unchecked", "--no-validate"]).run().assert_code(1);
    let told = env.ratchet(["archive", "unchecked", "--no-validate", "-y"]).ok();
    assert!(told.stderr().contains("archived without validation: unchecked"), "{told}");
    assert_eq!(env.read(".ratchet/features/cart/bad.feature"), "nothing");
}

#[test]
fn nothing_leaves_the_store_not_even_unchecked() {
    let env = empty();
    finished(&env, "keep");
    env.write(".ratchet/changes/keep/features/.deleted", "../../secret\n");
    env.write("secret", "mine");
    let error =
        env.ratchet(["archive", "keep", "-y", "--no-validate"]).run().assert_code(1).stderr();
    assert!(error.contains("leaves the feature store"), "{error}");
    assert!(env.path("secret").exists() && env.path(".ratchet/changes/keep").exists());
}

// C-L09 C-L10 C-L11 C-L12
#[test]
fn features_and_standards_are_linked_in_both_directions() {
    let env = empty();
    env.write(".ratchet/standards/names.md", "---\ntag: naming\n---\n# Names\n\n\n");
    env.write(".ratchet/standards/other.md", "# Other\n\n\n");
    fs::write(env.path(".ratchet/standards/odd.md"), b"\xff").unwrap();
    finished(&env, "plain");
    env.ratchet(["archive", "plain"]).ok();
    assert_eq!(env.read(".ratchet/standards/names.md"), "---\ntag: naming\n---\n# Names\n\n\n");
    assert!(!env.path(".ratchet/features/cart/.ratchet.yaml").exists(), "nothing was declared");

    finished(&env, "one");
    declare(&env, "one", "other, naming, naming");
    env.ratchet(["archive", "one"]).ok();
    let links = env.read(".ratchet/features/cart/.ratchet.yaml");
    assert_eq!(links, "features:\n  one.feature:\n    - naming\n    - other\n");
    let names = env.read(".ratchet/standards/names.md");
    assert!(names.starts_with(
        "---\ntag: naming\n---\n# Names\n\n## Implemented by\n\n<!-- ratchet:implemented-by — "
    ));
    assert!(names.ends_with("-->\n\n- cart/one.feature\n"), "{names}");

    finished(&env, "two");
    env.write(
        ".ratchet/changes/two/.ratchet.yaml",
        "schema: no-such-workflow\nstandards: [naming]\n",
    );
    env.write(".ratchet/changes/two/features/top.feature", FEATURE);
    env.ratchet(["archive", "two"]).ok();
    let names = env.read(".ratchet/standards/names.md");
    assert!(
        names.ends_with("\n- cart/one.feature\n- cart/two.feature\n- top.feature\n"),
        "{names}"
    );
    assert_eq!(names.matches("## Implemented by").count(), 1);
    assert!(env.read(".ratchet/standards/other.md").ends_with("\n- cart/one.feature\n"));
    assert!(env.read(".ratchet/features/.ratchet.yaml").contains("top.feature"));

    env.write(".ratchet/changes/three/features/.deleted", "cart/one.feature\n");
    env.ratchet(["archive", "three"]).ok();
    assert_eq!(env.read(".ratchet/standards/other.md"), "# Other\n", "its only follower is gone");
    assert!(!env.read(".ratchet/features/cart/.ratchet.yaml").contains("one.feature"));
    assert_eq!(fs::read(env.path(".ratchet/standards/odd.md")).unwrap(), b"\xff");
}

// C-L10
#[test]
fn a_batch_links_the_features_of_its_changes_too() {
    let env = crate::with(&ratchet_tests::Manifest::of_changes("shop", &["one"]));
    env.write(".ratchet/standards/names.md", "# Names\n");
    finished(&env, "one");
    declare(&env, "one", "names");
    env.add_done("shop", "one");
    env.ratchet(["batch", "archive", "shop"]).ok();
    assert!(env.read(".ratchet/standards/names.md").ends_with("\n- cart/one.feature\n"));
}

/// A project in which an archive adds, replaces, deletes and links.
fn busy() -> TestEnv {
    let env = empty();
    env.write(".ratchet/standards/names.md", "# Names\n");
    env.write(".ratchet/features/cart/old.feature", "old");
    env.write(".ratchet/features/cart/gone.feature", "gone");
    env.write(".ratchet/features/cart/same.feature", "same");
    finished(&env, "keep");
    declare(&env, "keep", "names");
    env.write(".ratchet/changes/keep/features/cart/old.feature", FEATURE);
    env.write(".ratchet/changes/keep/features/.deleted", "cart/gone.feature\n");
    env
}

// C-L01 C-L11
#[test]
fn death_at_any_instant_leaves_the_store_before_or_after_and_the_same_command_ends_it() {
    let whole = busy();
    whole.ratchet(["archive", "keep"]).ok();
    let (before, after) = (store(&busy()), store(&whole));
    let standard = whole.read(".ratchet/standards/names.md");
    for (point, is_after) in [("stage", false), ("exchange", true), ("link", true)] {
        let env = busy();
        let died = env.ratchet(["archive", "keep"]).var(CRASH_VAR, point).run();
        assert_eq!(died.signal, Some(Signal::KILL.as_raw()), "{point}: {died}");
        assert!(store(&env) == if is_after { after.clone() } else { before.clone() }, "{point}");
        assert!(env.path(".ratchet/changes/keep").is_dir() && archived(&env).is_empty());
        env.ratchet(["validate", "cart", "--type", "spec"]).run();
        env.ratchet(["archive", "keep"]).ok();
        assert!(store(&env) == after, "{point}");
        assert_eq!(env.read(".ratchet/standards/names.md"), standard, "{point}");
        assert_eq!(archived(&env).len(), 1);
        assert!(!env.path(".ratchet/.next").exists());
    }
}

#[test]
fn a_store_of_which_every_file_can_be_killed_at_any_moment_is_never_half_of_one() {
    let whole = busy();
    whole.ratchet(["archive", "keep"]).ok();
    let (before, after) = (store(&busy()), store(&whole));
    let mut seen = [0, 0];
    for kill_after in 0..40_u64 {
        let env = busy();
        let mut running = env.ratchet(["archive", "keep"]).start();
        let until = std::time::Instant::now() + std::time::Duration::from_micros(kill_after * 500);
        while std::time::Instant::now() < until && !running.has_ended() {}
        if !running.has_ended() {
            running.signal(Signal::KILL);
        }
        running.wait();
        let found = store(&env);
        assert!(found == before || found == after, "killed after {kill_after}/2 ms: {found:#?}");
        seen[usize::from(found == after)] += 1;
    }
    assert!(seen[0] > 0, "at least the first was killed before: {seen:?}");
}

// C-K17
#[test]
fn the_overview_has_drafts_work_and_capabilities() {
    let env = empty();
    let error = env.ratchet(["view"]).refused();
    assert!(error.contains("No Ratchet directory found"), "{error}");
    finished(&env, "done");
    env.add_plan("work", 4, 1);
    env.write(".ratchet/changes/draft/README.md", "");
    env.write(".ratchet/features/cart/x.feature", FEATURE);
    let text = env.ratchet(["view"]).ok().stdout();
    for words in [
        "1 in draft, 1 active, 1 completed",
        "○ draft",
        "work  █████░",
        " 25%",
        "✓ done",
        "▪ cart  1 feature",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let json: Value = env.ratchet(["view"]).json();
    assert_eq!(json["changes"].as_array().map(Vec::len), Some(3));
}
