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
    });
    let Some(posture) = chosen(ui, "Choose [1]: ", posture_of) else { return };
    let place = "Keep it for this project, or for you (user) in every project? [project] ";
    let Some(home) = chosen(ui, place, home_of) else { return };
    if project.save_posture(home, posture).is_ok() {
        let posture = posture.as_str();
        ui.tell(|page| {
            page.tone(Tone::Good, "✓ ").put(format_args!("Set permissions.posture = {posture}"));
            page.end();
        });
    }
}

/// Asks until an answer is understood; `None` if the person left.
fn chosen<T>(ui: Ui, question: &str, of: fn(&str) -> Option<T>) -> Option<T> {
    loop {
        ui.tell(|page| {
            page.put(question);
        });
        let mut answer = String::new();
        match io::stdin().lock().read_line(&mut answer) {
            Ok(0) | Err(_) => return None,
            Ok(_) => {}
        }
        if let Some(choice) = of(&answer.trim().to_ascii_lowercase()) {
            return Some(choice);
        }
        ui.tell(|page| {
            page.tone(Tone::Warn, "That is none of the choices.").end();
        });
    }
}

fn posture_of(answer: &str) -> Option<Posture> {
    match answer {
        "" | "1" => Some(Posture::default()),
        "2" => Some(Posture::CuratedAllowlist),
        "3" => Some(Posture::FullAutonomy),
        word => Posture::parse(word),
    }
}

fn home_of(answer: &str) -> Option<PostureHome> {
    match answer {
        "" | "p" | "project" => Some(PostureHome::Project),
        "u" | "user" => Some(PostureHome::User),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_is_not_understood_is_no_choice() {
        assert_eq!(posture_of(""), Some(Posture::RepoSandboxedPermissive));
        assert_eq!(posture_of("2"), Some(Posture::CuratedAllowlist));
        assert_eq!(posture_of("full-autonomy"), Some(Posture::FullAutonomy));
        assert_eq!(posture_of("yes, all"), None);
        assert_eq!(home_of(""), Some(PostureHome::Project));
        assert_eq!(home_of("user"), Some(PostureHome::User));
        assert_eq!(home_of("everywhere"), None);
    }
}
