//! The permissions of a run, said before it (spec `batch-status-and-selection` 6.2).

use ratchet_engine::permission::Posture;
use ratchet_engine::settings::{Scope, Settings};

use super::page::{Page, Tone};

/// Draws the posture in force, and a warning if the manifest asked for more than it gets.
pub(crate) fn posture(page: &mut Page, settings: &Settings) {
    let posture = word(settings.permissions.posture);
    let source = scope(settings.sources.get("permissions").copied().unwrap_or(Scope::Default));
    page.tone(Tone::Dim, format_args!("permissions: {posture} ({source} scope)")).end();
    if let Some(suppressed) = &settings.suppressed_escalation {
        let requested = word(suppressed.requested);
        page.tone(Tone::Warn, format_args!("⚠ manifest requested posture '{requested}'"));
        page.put(format_args!(
            ", which is above the user/project config: '{posture}' stays in force. \
             To allow it for this run: --allow-manifest-escalation"
        ));
        page.end();
    }
}

/// Gives a posture's word.
pub(crate) fn word(posture: Posture) -> &'static str {
    match posture {
        Posture::CuratedAllowlist => "curated-allowlist",
        Posture::RepoSandboxedPermissive => "repo-sandboxed-permissive",
        Posture::FullAutonomy => "full-autonomy",
    }
}

/// Gives a scope's word.
pub(crate) fn scope(scope: Scope) -> &'static str {
    match scope {
        Scope::Default => "default",
        Scope::User => "user",
        Scope::Project => "project",
        Scope::Manifest => "manifest",
    }
}
