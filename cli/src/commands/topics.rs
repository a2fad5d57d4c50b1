//! `ratchet topics`, also `ratchet help topics`: what belongs to no single command.

use super::Ended;
use crate::args;
use crate::args::topics::{Topic, Topics};
use crate::exit::Exit;
use crate::ui::Ui;

/// Prints a topic: the same text as its help.
pub(super) fn run(args: &Topics, ui: Ui) -> Ended {
    let mut command = args::command();
    let topic = command
        .find_subcommand_mut("topics")
        .and_then(|topics| topics.find_subcommand_mut(name(args.topic)))
        .expect("every topic is a command");
    ui.bytes(topic.render_long_help().to_string().as_bytes())?;
    Ok(Exit::Success)
}

fn name(topic: Topic) -> &'static str {
    match topic {
        Topic::Start => "start",
        Topic::Changes => "changes",
        Topic::Batches => "batches",
        Topic::Gates => "gates",
        Topic::Agents => "agents",
        Topic::Holdouts => "holdouts",
        Topic::Files => "files",
        Topic::Environment => "environment",
    }
}
