//! Which policy results from which layers, and what is shown of it.

use super::*;
use crate::yaml;

fn layer(text: &str) -> PermissionsLayer {
    let mut reader = Reader::default();
    let layer = PermissionsLayer::read(&mut reader, &Trail::Root, &yaml::parse(text).unwrap());
    assert_eq!(reader.issues, []);
    layer.unwrap()
}

fn posture(posture: Posture) -> PermissionsLayer {
    PermissionsLayer { posture: Some(posture), ..PermissionsLayer::default() }
}

const CURATED: Posture = Posture::CuratedAllowlist;
const SANDBOXED: Posture = Posture::RepoSandboxedPermissive;
const FULL: Posture = Posture::FullAutonomy;

/// Resolves postures of user, project and manifest; the third result is what was suppressed.
fn postures(
    user: Option<Posture>,
    project: Option<Posture>,
    manifest: Option<Posture>,
    escalation: Escalation,
) -> (Posture, Scope, Option<Posture>) {
    let layers = [user, project, manifest].map(|said| said.map(posture));
    let [user, project, manifest] = &layers;
    let resolved = resolve(user.as_ref(), project.as_ref(), manifest.as_ref(), escalation);
    (
        resolved.policy.posture,
        resolved.posture_scope,
        resolved.suppressed.map(|raise| raise.requested),
    )
}

// B-E01
#[test]
fn without_any_word_the_default_posture_holds() {
    assert_eq!(postures(None, None, None, Escalation::Clamped), (SANDBOXED, Scope::Default, None));
    assert_eq!(resolve(None, None, None, Escalation::Clamped).policy, Permissions::default());
}

// B-E02 B-E03 B-E04 B-E17
#[test]
fn the_nearest_posture_wins_and_people_may_raise() {
    let clamped = Escalation::Clamped;
    assert_eq!(postures(Some(FULL), None, None, clamped), (FULL, Scope::User, None));
    assert_eq!(postures(Some(CURATED), Some(FULL), None, clamped), (FULL, Scope::Project, None));
    assert_eq!(
        postures(Some(FULL), Some(FULL), Some(CURATED), clamped),
        (CURATED, Scope::Manifest, None)
    );
}

// B-E12 B-E13 B-E14 B-E15 B-E18
#[test]
fn a_manifest_may_lower_the_posture_but_raise_it_only_when_told() {
    let clamped = Escalation::Clamped;
    assert!(CURATED < SANDBOXED && SANDBOXED < FULL);
    assert_eq!(postures(None, None, Some(FULL), clamped), (SANDBOXED, Scope::Default, Some(FULL)));
    assert_eq!(
        postures(None, Some(CURATED), Some(SANDBOXED), clamped),
        (CURATED, Scope::Project, Some(SANDBOXED))
    );
    assert_eq!(
        postures(None, Some(SANDBOXED), Some(CURATED), clamped),
        (CURATED, Scope::Manifest, None)
    );
    assert_eq!(postures(None, Some(FULL), Some(FULL), clamped), (FULL, Scope::Manifest, None));
    assert_eq!(
        postures(None, None, Some(FULL), Escalation::Allowed),
        (FULL, Scope::Manifest, None)
    );
}

// B-E05 B-E06 B-E16
#[test]
fn denials_add_up_while_the_nearest_allow_and_raw_replace() {
    let user = layer("{allow: [a], deny: [x, y], raw: {claude: [--one], codex: [--two]}}");
    let project = layer("{allow: [], deny: [y, z]}");
    let manifest = layer("{posture: full-autonomy, deny: [w, x], raw: {claude: []}}");
    let resolved = resolve(Some(&user), Some(&project), Some(&manifest), Escalation::Clamped);
    assert_eq!(resolved.policy.deny, ["x", "y", "z", "w"]);
    assert!(resolved.policy.allow.is_empty());
    assert_eq!(resolved.policy.raw[&AgentName::new("claude")], [""; 0]);
    assert_eq!(resolved.policy.raw[&AgentName::new("codex")], ["--two"]);
    assert!(resolved.suppressed.is_some());
    assert_eq!(resolved.posture_scope, Scope::Default);
}

#[test]
fn a_malformed_policy_of_the_user_is_left_out() {
    let from = |text: &str| PermissionsLayer::from_user(&yaml::parse(text).unwrap());
    assert_eq!(
        from(r#"{"batch": {"permissions": {"posture": "full-autonomy"}}}"#),
        (Some(posture(FULL)), Vec::new())
    );
    for text in ["{}", r#"{"batch": null}"#, r#"{"batch": {"permissions": null}}"#] {
        assert_eq!(from(text), (None, Vec::new()), "{text}");
    }
    for text in [
        r#"{"batch": {"permissions": {"posture": "wild"}}}"#,
        r#"{"batch": {"permissions": {"posture": "full-autonomy", "more": 1}}}"#,
        r#"{"batch": {"permissions": {"raw": {"robot": []}}}}"#,
        r#"{"batch": {"permissions": {"deny": ["a", 7]}}}"#,
        r#"{"batch": []}"#,
        r#"{"batch": {"permissions": 7}}"#,
    ] {
        let (layer, issues) = from(text);
        assert_eq!(layer, None, "{text}");
        assert_eq!(issues.len(), 1, "{text}: {issues:?}");
        assert!(issues[0].path.starts_with("batch"), "{text}: {issues:?}");
    }
}

// B-E07 B-E08 B-E09
#[test]
fn tokens_that_may_be_secret_are_masked() {
    let masked = |tokens: &[&str]| {
        let tokens: Vec<String> = tokens.iter().map(|token| (*token).to_owned()).collect();
        redact_tokens(&tokens).join(" ")
    };
    assert_eq!(masked(&["--api-key", "abc", "--model", "opus"]), "--api-key *** --model opus");
    assert_eq!(masked(&["--Auth-Header=x", "--level=high"]), "--Auth-Header=*** --level=high");
    assert_eq!(masked(&["--extra=abcdefghijklmnopqrst"]), "--extra=***");
    assert_eq!(
        masked(&["abcdefghij/klmnop.qr=", "a plain text of many words"]),
        "*** a plain text of many words"
    );
    assert_eq!(
        masked(&["--token", "--verbose", "x", "name=value"]),
        "--token --verbose x name=value"
    );
    assert_eq!(masked(&["-c", "a=b"]), "-c a=b");
}
