//! The first question: which permissions agents get, asked once, where somebody is there to answer
//! (spec `batch-manifest-and-settings` 13). Whatever goes wrong here never keeps a step from running.

use std::io::{self, BufRead as _};

use ratchet_engine::permission::Posture;
use ratchet_engine::settings::Word as _;
use ratchet_supervisor::project::{PostureHome, Project};

use crate::args::Format;
use crate::ask;
use crate::render::page::Tone;
use crate::ui::Ui;

/// Asks for a posture and keeps it, unless one is known or nobody is there.
pub(in crate::commands) fn ask_for_posture(project: &Project, format: Format, ui: Ui) {
    let nobody = format == Format::Json || !ask::is_somebody_there(project.environment());
    if nobody || project.has_permissions().unwrap_or(true) {
        return;
    }
    ui.tell(|page| {
        page.tone(Tone::Heading, "What may agents do in this project without asking?").end();
        page.put("  1  edit and run commands in the repository (repo-sandboxed-permissive)").end();
        page.put("  2  only what the allow list names (curated-allowlist)").end();
        page.put("  3  everything (full-autonomy)").end();
        page.put("Choose [1]: ");
    });
    let Some(posture) = answer().map(|text| posture_of(&text)) else { return };
    ui.tell(|page| {
        page.put("Keep it for this project, or for you in every project? [project] ");
    });
    let Some(home) = answer().map(|text| home_of(&text)) else { return };
    if project.save_posture(home, posture).is_ok() {
        let posture = posture.as_str();
        ui.tell(|page| {
            page.tone(Tone::Good, "✓ ").put(format_args!("Set permissions.posture = {posture}"));
            page.end();
        });
    }
}

/// Reads one answer; `None` if the person left.
fn answer() -> Option<String> {
    let mut answer = String::new();
    match io::stdin().lock().read_line(&mut answer) {
        Ok(0) | Err(_) => None,
        Ok(_) => Some(answer.trim().to_ascii_lowercase()),
    }
}

/// What is not understood is the safe default, never more.
fn posture_of(answer: &str) -> Posture {
    match answer {
        "2" => Posture::CuratedAllowlist,
        "3" => Posture::FullAutonomy,
        word => Posture::parse(word).unwrap_or_default(),
    }
}

fn home_of(answer: &str) -> PostureHome {
    if answer.starts_with('u') { PostureHome::User } else { PostureHome::Project }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_is_not_understood_gives_the_default_and_never_more() {
        assert_eq!(posture_of(""), Posture::RepoSandboxedPermissive);
        assert_eq!(posture_of("yes, all"), Posture::RepoSandboxedPermissive);
        assert_eq!(posture_of("2"), Posture::CuratedAllowlist);
        assert_eq!(posture_of("full-autonomy"), Posture::FullAutonomy);
        assert_eq!(home_of("user"), PostureHome::User);
        assert_eq!(home_of(""), PostureHome::Project);
    }
}
