//! The files of one coding tool: which it should have, whether it has them, and how they get there.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::{Selection, SetupError};
use crate::agent::command::{self, Roots};
use crate::agent::tool::Tool;
use crate::agent::workflow::CommandId;
use crate::agent::{generated, skill};
use crate::error::with_causes;
use crate::store::file::FileError;
use crate::store::generated_file::{self, Removed, Written};

/// What became of the files of one tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolReport {
    /// The tool.
    pub id: &'static str,
    /// The name that people know.
    pub name: &'static str,
    /// How a workflow is called in it, with `propose` for an example.
    pub invocation: String,
    /// Files that were made.
    #[serde(serialize_with = "crate::lossy::paths")]
    pub created: Vec<PathBuf>,
    /// Files that were of another version.
    #[serde(serialize_with = "crate::lossy::paths")]
    pub updated: Vec<PathBuf>,
    /// How many files were as they should be.
    pub unchanged: usize,
    /// Files that are no longer wanted.
    #[serde(serialize_with = "crate::lossy::paths")]
    pub removed: Vec<PathBuf>,
    /// Copies of files that a person had changed before they were replaced.
    #[serde(serialize_with = "crate::lossy::paths")]
    pub copies: Vec<PathBuf>,
    /// Files that are no longer wanted and stay, because a person has changed them.
    #[serde(serialize_with = "crate::lossy::paths")]
    pub left_alone: Vec<PathBuf>,
    /// Why not everything was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Reads `--tools`: `all`, `none`, or ids with commas between.
///
/// # Errors
/// [`SetupError`] lists what there is.
pub fn parse_tools(text: &str) -> Result<Vec<Tool>, SetupError> {
    let words: Vec<String> = text
        .split(',')
        .map(|word| word.trim().to_ascii_lowercase())
        .filter(|word| !word.is_empty())
        .collect();
    if words.is_empty() {
        return Err(SetupError::NoTools);
    }
    for (word, tools) in [("all", Tool::ALL.to_vec()), ("none", Vec::new())] {
        match words.iter().any(|given| given == word) {
            true if words.iter().all(|given| given == word) => return Ok(tools),
            true => return Err(SetupError::Mixed { word }),
            false => {}
        }
    }
    let unknown: Vec<String> =
        words.iter().filter(|word| Tool::find(word).is_none()).cloned().collect();
    if !unknown.is_empty() {
        return Err(SetupError::UnknownTools { unknown });
    }
    Ok(Tool::ALL.into_iter().filter(|tool| words.iter().any(|word| word == tool.id())).collect())
}

/// Lists the tools that leave a trace in a project.
pub(super) fn in_use(root: &Path) -> Vec<Tool> {
    let found = |tool: &Tool| {
        let traces = tool.detected_by();
        // A file that is called like a tool's folder says nothing; the others may be files or folders.
        traces.iter().any(|trace| match *trace == tool.folder() {
            true => root.join(trace).is_dir(),
            false => root.join(trace).exists(),
        })
    };
    Tool::ALL.into_iter().filter(found).collect()
}

/// Lists the tools that have files of ours. Prompts in the user's home belong to no project, so that they say nothing of
/// one that has no folder of the tool.
pub(super) fn set_up(roots: &Roots) -> Vec<Tool> {
    let has_files = |tool: &Tool| {
        roots.project.join(tool.folder()).is_dir()
            && CommandId::ALL.into_iter().any(|id| {
                skill::path(*tool, id, &roots.project).is_file()
                    || command::path(*tool, id, roots).is_some_and(|path| path.is_file())
            })
    };
    Tool::ALL.into_iter().filter(has_files).collect()
}

/// Tells whether a tool has just the files that it should have.
pub(super) fn is_current(tool: Tool, selection: &Selection, roots: &Roots) -> bool {
    let is_as_wanted = |file: &Wanted| match &file.text {
        Some(text) => std::fs::read(&file.path).is_ok_and(|found| found == text.as_bytes()),
        // What a person has made of it is the person's.
        None => std::fs::read_to_string(&file.path)
            .map_or(true, |found| !generated::is_untouched(&found)),
    };
    wanted(tool, selection, roots).iter().all(is_as_wanted)
}

/// Writes the files of a tool and removes those that are not wanted. It goes as far as it can.
pub(super) fn write(tool: Tool, selection: &Selection, roots: &Roots) -> ToolReport {
    let mut report = ToolReport {
        id: tool.id(),
        name: tool.name(),
        invocation: command::token_of(tool, CommandId::Propose),
        created: Vec::new(),
        updated: Vec::new(),
        unchanged: 0,
        removed: Vec::new(),
        copies: Vec::new(),
        left_alone: Vec::new(),
        error: None,
    };
    let homeless = command::path(tool, CommandId::Propose, roots).is_none();
    if homeless && CommandId::ALL.into_iter().any(|id| selection.has_command(id)) {
        report.error =
            Some("its commands have no place, because there is no home folder".to_owned());
    }
    for file in wanted(tool, selection, roots) {
        if let Err(error) = report.settle(file, &roots.project) {
            report.error = Some(with_causes(&error));
            break;
        }
    }
    report
}

/// A place where a file of ours is wanted, with its text, or is not.
struct Wanted {
    path: PathBuf,
    text: Option<String>,
}

/// Lists every place where a tool looks for a file of ours.
fn wanted(tool: Tool, selection: &Selection, roots: &Roots) -> Vec<Wanted> {
    let mut all = Vec::new();
    for id in CommandId::ALL {
        let text = selection.has_skill(id).then(|| skill::render(tool, id));
        all.push(Wanted { path: skill::path(tool, id, &roots.project), text });
    }
    for id in CommandId::ALL {
        let text = selection.has_command(id).then(|| command::render(tool, id));
        // Prompts outside of the project serve other projects, too: none is taken away from there.
        let is_shared = tool == Tool::Codex && text.is_none();
        let path = command::path(tool, id, roots).filter(|_| !is_shared);
        all.extend(path.map(|path| Wanted { path, text }));
    }
    all
}

impl ToolReport {
    fn settle(&mut self, file: Wanted, project: &Path) -> Result<(), FileError> {
        let Wanted { path, text } = file;
        match text {
            Some(text) => match generated_file::write(&path, &text, generated::is_untouched)? {
                Written::Created => self.created.push(path),
                Written::Updated => self.updated.push(path),
                Written::Unchanged => self.unchanged += 1,
                Written::Replaced { copy } => {
                    self.updated.push(path);
                    self.copies.push(copy);
                }
            },
            None => match generated_file::remove(&path, project, generated::is_untouched)? {
                Removed::Now => self.removed.push(path),
                Removed::LeftAlone => self.left_alone.push(path),
                Removed::Absent => {}
            },
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // C-M05
    #[test]
    fn tools_are_read_from_one_word() {
        assert_eq!(parse_tools(" Codex, claude ,codex,").unwrap(), [Tool::Claude, Tool::Codex]);
        assert_eq!(parse_tools("ALL").unwrap(), Tool::ALL);
        assert_eq!(parse_tools("none").unwrap(), []);
        for text in ["", " ", ",", " , ,"] {
            assert!(matches!(parse_tools(text), Err(SetupError::NoTools)), "{text:?}");
        }
        let mixed = parse_tools("all,claude").unwrap_err().to_string();
        assert!(mixed.starts_with("'all' cannot be combined"), "{mixed}");
        assert!(parse_tools("none,all").is_err());
        let unknown = parse_tools("claude,emacs,vi").unwrap_err().to_string();
        assert_eq!(
            unknown,
            "Unknown tools 'emacs', 'vi'. Available: all, none, claude, codex, cursor, gemini, github-copilot, opencode"
        );
    }

    // C-M15
    #[test]
    fn a_tool_is_in_use_where_it_leaves_its_trace() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        assert!(in_use(root).is_empty());
        std::fs::write(root.join(".claude"), "a file").unwrap();
        std::fs::create_dir_all(root.join(".github/workflows")).unwrap();
        assert!(
            in_use(root).is_empty(),
            "a file of a folder's name and a bare .github say nothing"
        );
        std::fs::create_dir(root.join(".codex")).unwrap();
        std::fs::write(root.join(".github/copilot-instructions.md"), "").unwrap();
        assert_eq!(in_use(root), [Tool::Codex, Tool::GithubCopilot]);
    }
}
