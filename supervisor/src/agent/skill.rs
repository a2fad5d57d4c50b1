//! The skill files: a workflow as a coding agent finds it by itself (spec `cli-core` 4.1). The text is that of the command
//! of the same workflow; a tool that calls commands by another sign gets its own sign in it.

use std::path::{Path, PathBuf};

use super::command::in_words_of;
use super::generated::{self, VERSION};
use super::tool::Tool;
use super::workflow::CommandId;

/// Gives the place of a workflow's skill for a tool.
#[must_use]
pub fn path(tool: Tool, id: CommandId, project: &Path) -> PathBuf {
    let skill = id.workflow().skill;
    project.join(format!("{}/skills/{skill}/SKILL.md", tool.folder()))
}

/// Renders a workflow's skill.
#[must_use]
pub fn render(tool: Tool, id: CommandId) -> String {
    let workflow = id.workflow();
    let (name, description) = (workflow.skill, workflow.description);
    let body = in_words_of(tool, workflow.body);
    generated::sealed(&format!(
        "---\nname: {name}\ndescription: {description}\nlicense: MIT\ncompatibility: Needs the ratchet command line.\n\
         metadata:\n  author: ratchet\n  version: \"1.0\"\n  generatedBy: \"{VERSION}\"\n---\n\n{body}"
    ))
}
