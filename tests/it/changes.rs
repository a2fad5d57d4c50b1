//! `new change` and `list`: changes are made and counted, and none that is there is touched.

use ratchet_tests::TestEnv;
use serde_json::{Value, json};

use crate::empty;

fn names(listed: &Value) -> Vec<&str> {
    listed["changes"]
        .as_array()
        .expect("a test's own world holds")
        .iter()
        .map(|row| row["name"].as_str().expect("a test's own world holds"))
        .collect()
}

// C-K02 C-K10
#[test]
fn a_new_change_is_a_folder_with_its_metadata_and_a_readme_if_it_is_described() {
    let env = empty();
    let made =
        env.ratchet(["new", "change", "add-cart"]).ok().says("Created change 'add-cart' at ");
    assert!(made.stdout().contains(".ratchet/changes/add-cart/\nSchema: ratchet\n"), "{made}");
    let metadata = env.read(".ratchet/changes/add-cart/.ratchet.yaml");
    assert!(metadata.starts_with("schema: ratchet\ncreated: 20"), "{metadata}");
    assert!(!env.path(".ratchet/changes/add-cart/README.md").exists());
    let answer = env
        .ratchet(["new", "change", "add-till", "--description", "-- a till: \"fast\" --"])
        .json();
    let change = &answer["change"];
    assert_eq!((&change["id"], &change["schema"]), (&json!("add-till"), &json!("ratchet")));
    assert_eq!(change["path"], json!(env.path(".ratchet/changes/add-till")));
    assert_eq!(change["metadataPath"], json!(env.path(".ratchet/changes/add-till/.ratchet.yaml")));
    let readme = env.read(".ratchet/changes/add-till/README.md");
    assert_eq!(readme, "# add-till\n\n-- a till: \"fast\" --\n");
    assert_eq!(env.ratchet(["status"]).refused().matches("add-").count(), 3);
}

// C-K01 C-K10
#[test]
fn a_change_without_a_good_name_leaves_nothing_and_says_why_in_json_too() {
    let env = empty();
    let missing = env.ratchet(["new", "change", "--json"]).run().assert_code(1);
    let document = missing.json();
    assert_eq!(document["change"], Value::Null);
    assert_eq!(document["status"][0]["code"], "error");
    assert_eq!(document["status"][0]["message"], "Missing required argument <name>");
    assert!(missing.stderr().contains("Error: Missing required argument <name>"), "{missing}");
    let mistakes = [
        ("", "empty"),
        ("Add", "lowercase"),
        ("add cart", "spaces"),
        ("add_cart", "underscores"),
        ("-add", "start or end"),
        ("add--cart", "consecutive"),
        ("add.cart", "only contain"),
        ("../up", "only contain"),
        ("1st", "start with a letter"),
        ("archive", "choose another name"),
    ];
    for (name, why) in mistakes {
        let finished = env.ratchet(["new", "change", "--json", "--", name]).run().assert_code(1);
        let message = finished.json()["status"][0]["message"].to_string();
        assert!(message.contains(why), "{name}: {message}");
    }
    assert!(!env.path(".ratchet").exists());
}

// C-K02 C-K04 C-K10
#[test]
fn the_workflow_of_a_new_change_is_asked_for_or_configured_and_must_exist() {
    let env = empty();
    let refused = env.ratchet(["new", "change", "a", "--schema", "gone"]).refused();
    assert!(refused.contains("Schema 'gone' not found. Available schemas: ratchet"), "{refused}");
    let finished = env.ratchet(["new", "change", "a", "--schema", "gone", "--json"]).run();
    assert_eq!((finished.code, &finished.json()["change"]), (Some(1), &Value::Null));
    assert!(!env.path(".ratchet/changes").exists());
    own_workflow(&env, "quick");
    env.write(".ratchet/config.yaml", "schema: quick\n");
    assert_eq!(env.ratchet(["new", "change", "a"]).json()["change"]["schema"], "quick");
    let asked = env.ratchet(["new", "change", "b", "--schema", "ratchet"]).json();
    assert_eq!(asked["change"]["schema"], "ratchet");
    assert_eq!(env.ratchet(["status", "--change", "a"]).json()["schemaName"], "quick");
    let over = env.ratchet(["status", "--change", "a", "--schema", "ratchet"]).json();
    assert_eq!(over["schemaName"], "ratchet");
    std::fs::remove_file(env.path(".ratchet/changes/b/.ratchet.yaml")).unwrap();
    assert_eq!(env.ratchet(["status", "--change", "b"]).json()["schemaName"], "quick");
}

pub(crate) fn own_workflow(env: &TestEnv, name: &str) {
    env.write(
        &format!(".ratchet/schemas/{name}/schema.yaml"),
        format!(
            "name: {name}\nversion: 1\nartifacts:\n  - {{id: note, generates: note.md, description: A note, template: note.md}}\n"
        ),
    );
    env.write(&format!(".ratchet/schemas/{name}/templates/note.md"), "a note, no line end");
}

// C-K02
#[test]
fn a_change_that_is_there_is_never_touched() {
    let env = empty();
    env.write(".ratchet/changes/mine/plan.md", "mine");
    let error = env.ratchet(["new", "change", "mine", "--description", "x"]).refused();
    assert!(error.contains("Change 'mine' already exists"), "{error}");
    let left = std::fs::read_dir(env.path(".ratchet/changes/mine")).unwrap().count();
    assert_eq!((env.read(".ratchet/changes/mine/plan.md").as_str(), left), ("mine", 1));
}

// C-K16 C-K08
#[test]
fn changes_are_listed_by_age_or_by_name_with_their_tasks() {
    let env = empty();
    assert!(env.ratchet(["list"]).refused().contains("Run 'ratchet init' first."));
    env.write(".ratchet/changes/archive/2026-01-01-old/plan.md", "- [x] a\n");
    env.write(".ratchet/changes/.hidden/plan.md", "- [ ] a\n");
    env.write(".ratchet/changes/file", "no change");
    env.ratchet(["list"]).ok().says("No active changes found.");
    assert_eq!(env.ratchet(["list"]).json(), json!({"changes": []}));
    env.add_plan("b-work", 3, 1);
    env.add_plan("a-done", 2, 2);
    env.write(".ratchet/changes/c-draft/notes/x.md", "");
    let now = std::time::SystemTime::now();
    let files = ["b-work/plan.md", "a-done/plan.md", "c-draft/notes/x.md"];
    for (file, hours) in files.into_iter().zip([1, 2, 3]) {
        let file =
            std::fs::File::options().write(true).open(env.path(".ratchet/changes").join(file));
        file.unwrap().set_modified(now - std::time::Duration::from_secs(3600 * hours)).unwrap();
    }
    assert_eq!(names(&env.ratchet(["list"]).json()), ["b-work", "a-done", "c-draft"]);
    let by_name = env.ratchet(["list", "--sort", "name"]).json();
    assert_eq!(names(&by_name), ["a-done", "b-work", "c-draft"]);
    let work = &by_name["changes"][1];
    assert_eq!((&work["completedTasks"], &work["totalTasks"]), (&json!(1), &json!(3)));
    let states: Vec<&Value> =
        by_name["changes"].as_array().unwrap().iter().map(|row| &row["status"]).collect();
    assert_eq!(states, ["complete", "in-progress", "no-tasks"]);
    let text = env.ratchet(["list", "--changes"]).ok().stdout();
    for words in ["✓ Complete", "1/3 tasks", "No tasks", "1h ago", "3h ago"] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

// C-K16
#[test]
fn capabilities_are_listed_with_their_features() {
    let env = empty();
    env.ratchet(["list", "--specs"]).ok().says("No features found.");
    for path in ["shop/a.feature", "shop/deep/b.feature", "cart/c.feature", "shop/note.md"] {
        env.write(&format!(".ratchet/features/{path}"), "");
    }
    env.ratchet(["list", "--specs"]).ok().says("cart  1 feature").says("shop  2 features");
    let json = env.ratchet(["list", "--specs"]).json();
    assert_eq!(
        json["specs"],
        json!([{"id": "cart", "features": 1}, {"id": "shop", "features": 2}])
    );
}

// C-K21
#[test]
fn a_project_is_found_from_any_folder_below_it() {
    let env = empty();
    env.ratchet(["new", "change", "top"]).ok();
    env.write("src/deep/file", "");
    env.write("src/.ratchet", "a file is no project");
    let below = env.ratchet(["list"]).cwd(env.path("src/deep")).json();
    assert_eq!(names(&below), ["top"]);
}
