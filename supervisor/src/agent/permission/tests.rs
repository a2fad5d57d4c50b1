//! Every posture of every agent, as a table.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::*;
use crate::agent::tests::facts;

const POSTURES: [Posture; 3] =
    [Posture::RepoSandboxedPermissive, Posture::CuratedAllowlist, Posture::FullAutonomy];

fn policy(posture: Posture) -> Permissions {
    Permissions { posture, ..Permissions::default() }
}

fn with_lists(posture: Posture, allow: &[&str], deny: &[&str]) -> Permissions {
    let owned = |items: &[&str]| items.iter().map(|item| (*item).to_owned()).collect();
    Permissions { allow: owned(allow), deny: owned(deny), ..policy(posture) }
}

fn words(flags: &Flags) -> Vec<String> {
    flags
        .posture
        .iter()
        .map(|arg| match arg {
            Arg::Text(text) => text.to_str().unwrap().to_owned(),
            Arg::File(name) => format!("<{name}>"),
        })
        .chain(flags.raw.iter().cloned())
        .collect()
}

fn of(agent: &str, permissions: &Permissions) -> Vec<String> {
    words(&flags(&AgentName::new(agent), permissions, &facts()))
}

// B-E23 B-E34
#[test]
fn claude_sandboxed_edits_and_runs_the_shell_with_every_baseline_denial() {
    let flags = of("claude", &policy(Posture::RepoSandboxedPermissive));
    let mut expected: Vec<&str> =
        "--permission-mode acceptEdits --add-dir /repo --allowedTools Bash --disallowedTools"
            .split(' ')
            .collect();
    expected.extend(BASELINE_DENIALS);
    assert_eq!(flags, expected);
    for forbidden in ["rm -rf", "sudo", "> /", "curl * | sh", "wget * | bash"] {
        assert!(flags.iter().any(|flag| flag.contains(forbidden)), "{forbidden}");
    }
}

// B-E24 B-E27
#[test]
fn an_operators_lists_replace_the_shell_and_add_to_the_denials() {
    let lists = with_lists(
        Posture::RepoSandboxedPermissive,
        &["Read", "Bash(git *)"],
        &["Bash(sudo *)", "WebFetch"],
    );
    let flags = of("claude", &lists).join(" ");
    assert!(flags.contains("--allowedTools Read Bash(git *) --disallowedTools"), "{flags}");
    assert!(flags.ends_with("Bash(wget * | bash) WebFetch"), "{flags}");
    assert_eq!(flags.matches("Bash(sudo *)").count(), 1);
}

// B-E25
#[test]
fn claude_with_full_autonomy_gets_exactly_one_flag() {
    let lists = with_lists(Posture::FullAutonomy, &["Read"], &["Bash"]);
    assert_eq!(of("claude", &lists), ["--dangerously-skip-permissions"]);
}

// B-E26
#[test]
fn claude_curated_has_the_lists_as_given() {
    let bare = flags(&AgentName::new("claude"), &policy(Posture::CuratedAllowlist), &facts());
    assert_eq!(words(&bare), ["--permission-mode", "default"]);
    assert_eq!(bare.warnings, [Warning::ReportNotAllowed { agent: "claude" }]);
    let lists = with_lists(Posture::CuratedAllowlist, &["Bash(ratchet *)"], &["Bash(x)"]);
    let flags = flags(&AgentName::new("claude"), &lists, &facts());
    let expected = [
        "--permission-mode",
        "default",
        "--allowedTools",
        "Bash(ratchet *)",
        "--disallowedTools",
        "Bash(x)",
    ];
    assert_eq!(words(&flags), expected);
    assert!(flags.warnings.is_empty());
}

// B-E28
#[test]
fn gemini_has_a_mode_for_each_posture_and_a_policy_for_its_shell() {
    let sandboxed = flags(&AgentName::new("gemini"), &policy(POSTURES[0]), &facts());
    let expected = ["--approval-mode", "auto_edit", "--policy", "<gemini-policy.toml>"];
    assert_eq!(words(&sandboxed), expected);
    let file = String::from_utf8(sandboxed.files[0].bytes.clone()).unwrap();
    assert_eq!(file.matches("[[rule]]").count(), 1 + BASELINE_DENIALS.len());
    assert!(sandboxed.warnings.is_empty());
    assert_eq!(of("gemini", &policy(Posture::CuratedAllowlist)), ["--approval-mode", "default"]);
    assert_eq!(of("gemini", &policy(Posture::FullAutonomy)), ["--approval-mode", "yolo"]);
}

// B-E29
#[test]
fn codex_never_gets_an_option_that_today_refuses() {
    let sandbox = |approval: &str| {
        format!("--sandbox workspace-write -c approval_policy={approval} --add-dir /repo/.git")
    };
    assert_eq!(of("codex", &policy(POSTURES[0])).join(" "), sandbox("never"));
    assert_eq!(of("codex", &policy(POSTURES[1])).join(" "), sandbox("on-request"));
    assert_eq!(of("codex", &policy(POSTURES[2])), ["--dangerously-bypass-approvals-and-sandbox"]);
    for posture in POSTURES {
        let flags = of("codex", &policy(posture));
        assert!(!flags.iter().any(|flag| flag == "--ask-for-approval" || flag == "--full-auto"));
    }
}

#[test]
fn codex_may_commit_in_a_linked_worktree() {
    let linked = LocusFacts {
        git_dir: Some(PathBuf::from("/main/.git/worktrees/w")),
        git_common_dir: Some(PathBuf::from("/main/.git")),
        ..facts()
    };
    let flags = words(&flags(&AgentName::new("codex"), &policy(POSTURES[0]), &linked)).join(" ");
    assert!(flags.ends_with("--add-dir /main/.git/worktrees/w --add-dir /main/.git"), "{flags}");
}

// B-E30 B-E31
#[test]
fn cursor_and_opencode_know_full_autonomy_only() {
    for (agent, full) in [("cursor", "--force --sandbox disabled"), ("opencode", "--auto")] {
        assert_eq!(of(agent, &policy(Posture::FullAutonomy)).join(" "), full);
        for posture in [POSTURES[0], POSTURES[1]] {
            let flags = flags(&AgentName::new(agent), &policy(posture), &facts());
            assert!(flags.posture.is_empty());
            let warning = flags.warnings[0].to_string();
            assert!(warning.contains("cannot be enforced") && warning.contains(agent), "{warning}");
        }
    }
}

// B-E32 B-E33
#[test]
fn raw_flags_come_last_and_only_to_their_agent() {
    let raw = BTreeMap::from([
        (AgentName::new("claude"), vec!["--max-turns".to_owned(), "5".to_owned()]),
        (AgentName::new("nobody"), vec!["--x".to_owned()]),
    ]);
    let permissions = Permissions { raw, ..policy(Posture::FullAutonomy) };
    assert_eq!(of("claude", &permissions), ["--dangerously-skip-permissions", "--max-turns", "5"]);
    assert_eq!(of("nobody", &permissions), ["--x"]);
    assert_eq!(of("gemini", &permissions), ["--approval-mode", "yolo"]);
}

// B-E35 B-E36
#[test]
fn no_posture_of_any_agent_equals_its_full_autonomy() {
    for agent in Agent::ALL {
        let [sandboxed, curated, full] = POSTURES.map(|posture| of(agent.id(), &policy(posture)));
        assert_ne!(sandboxed, full, "{agent:?}");
        assert_ne!(curated, full, "{agent:?}");
    }
}

#[test]
fn enforcement_does_not_count_raw_flags() {
    let raw = BTreeMap::from([(AgentName::new("cursor"), vec!["--x".to_owned()])]);
    let permissions = Permissions { raw, ..Permissions::default() };
    let cursor = enforcement(&AgentName::new("cursor"), &permissions);
    assert_eq!((cursor.enforced, cursor.detail), (false, "NOT ENFORCED — agent defaults apply"));
    let claude = enforcement(&AgentName::new("claude"), &permissions);
    assert_eq!((claude.enforced, claude.detail), (true, "enforced via flags"));
}

#[test]
fn lists_that_codex_cannot_enforce_are_named() {
    let lists = with_lists(Posture::RepoSandboxedPermissive, &["Read"], &["Bash(x)"]);
    let flags = flags(&AgentName::new("codex"), &lists, &facts());
    let warning = flags.warnings[0].to_string();
    assert!(warning.contains("Read, Bash(x)"), "{warning}");
    assert!(flags.posture.contains(&Arg::text(Path::new("/repo/.git"))));
}
