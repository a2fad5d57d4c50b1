//! Questions to the person at the terminal. Nobody is asked where nobody is.

use std::io::{self, BufRead as _, IsTerminal as _};

use inquire::InquireError;
use inquire::ui::RenderConfig;
use ratchet_supervisor::environment::Environment;

use crate::diagnostic::Failure;
use crate::render::page::{Ink, Tone};
use crate::ui::Ui;

/// Tells whether there is somebody to ask (spec `cli-core` 1): a terminal, and neither CI nor a wish to be left alone.
pub(crate) fn is_somebody_there(environment: &Environment) -> bool {
    environment.var_os("CI").is_none()
        && environment.var("OPEN_SPEC_INTERACTIVE") != Some("0")
        && io::stdin().is_terminal()
}

/// Asks a question that is answered by no unless the person says yes.
pub(crate) fn yes(ui: Ui, question: &str) -> bool {
    answer(ui, question, "[y/N]").is_some_and(|answer| is_yes(&answer))
}

/// Asks a question that is answered by yes unless the person says something else; `None` if the person leaves.
pub(crate) fn unless_no(ui: Ui, question: &str) -> Option<Reply> {
    let answer = answer(ui, question, "[Y/n]")?;
    Some(if answer.trim().is_empty() || is_yes(&answer) { Reply::Yes } else { Reply::No })
}

/// What a person said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reply {
    Yes,
    No,
}

/// Reads one line; `None` if there is none.
fn answer(ui: Ui, question: &str, choice: &str) -> Option<String> {
    ui.tell(|page| {
        page.tone(Tone::Heading, question).put(format_args!(" {choice} "));
    });
    let mut answer = String::new();
    match io::stdin().lock().read_line(&mut answer) {
        Ok(0) | Err(_) => None,
        Ok(_) => Some(answer),
    }
}

/// Has the person choose one line of a menu; `None` if the person would rather not.
pub(crate) fn one_of<T: std::fmt::Display>(
    ui: Ui,
    question: &str,
    choices: Vec<T>,
) -> Result<Option<T>, Failure> {
    chosen(inquire::Select::new(question, choices).with_render_config(look(ui)).prompt())
}

/// Has the person tick lines of a menu, some of them ticked before; `None` if the person would rather not.
pub(crate) fn some_of<T: std::fmt::Display>(
    ui: Ui,
    question: &str,
    choices: Vec<T>,
    ticked: &[usize],
) -> Result<Option<Vec<T>>, Failure> {
    let menu = inquire::MultiSelect::new(question, choices).with_default(ticked);
    chosen(menu.with_render_config(look(ui)).prompt())
}

/// Draws a menu in colours only where they are wanted.
fn look(ui: Ui) -> RenderConfig<'static> {
    match ui.err() {
        Ink::Plain => RenderConfig::empty(),
        Ink::Colour => RenderConfig::default_colored(),
    }
}

/// Tells a person who leaves the question from a terminal that cannot be used.
fn chosen<T>(answer: Result<T, InquireError>) -> Result<Option<T>, Failure> {
    match answer {
        Ok(choice) => Ok(Some(choice)),
        Err(InquireError::OperationCanceled | InquireError::OperationInterrupted) => Ok(None),
        Err(error) => Err(Failure::from_error(&error)
            .help("say it by flags instead; every command shows them with --help")),
    }
}

fn is_yes(answer: &str) -> bool {
    matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_clear_yes_is_a_yes() {
        assert!(is_yes("y\n") && is_yes(" YES "));
        assert!(!is_yes("") && !is_yes("n\n") && !is_yes("yeah"));
    }

    #[test]
    fn a_build_server_is_never_asked() {
        let on_ci = Environment::new("/", [("CI", "")]);
        assert!(!is_somebody_there(&on_ci));
        let unwilling = Environment::new("/", [("OPEN_SPEC_INTERACTIVE", "0")]);
        assert!(!is_somebody_there(&unwilling));
    }
}
