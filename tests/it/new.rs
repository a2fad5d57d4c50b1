//! `batch new`: a manifest to fill in, and nothing that was there is touched.

use crate::empty;

// B-V29
#[test]
fn a_new_batch_is_valid_at_once_and_stamped_with_its_name() {
    let env = empty();
    let answer = env.ratchet(["batch", "new", "first-one"]).json();
    assert_eq!(answer["batch"]["name"], "first-one");
    let text = env.read(".ratchet/batches/first-one/batch.yaml");
    assert!(text.contains("name: first-one") && text.contains("created:"), "{text}");
    let checked = env.ratchet(["validate", "first-one"]).json();
    assert_eq!(checked["items"][0]["valid"], true);
}

#[test]
fn an_existing_batch_is_not_overwritten() {
    let env = empty();
    env.write(".ratchet/batches/mine/batch.yaml", "name: mine\n");
    let error = env.ratchet(["batch", "new", "mine"]).refused();
    assert!(error.contains("Batch 'mine' already exists at "), "{error}");
    assert_eq!(env.read(".ratchet/batches/mine/batch.yaml"), "name: mine\n");
}

#[test]
fn a_name_is_needed_and_must_be_kebab_case() {
    let env = empty();
    assert!(env.ratchet(["batch", "new"]).refused().contains("Missing required argument <name>"));
    for name in ["Shop", "two words", "-x", "a--b", "a_b", "../up", "archive/x", ""] {
        let finished = env.ratchet(["batch", "new", "--", name]).run();
        assert_eq!(finished.code, Some(1), "{finished}");
    }
    assert!(
        env.ratchet(["batch", "new", "Shop"]).refused().contains("(batch names use kebab-case)")
    );
    assert!(!env.path(".ratchet/batches").exists());
}
