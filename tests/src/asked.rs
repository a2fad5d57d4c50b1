//! What a prompt asks of the agent: which step, under which key, and with which words to report.
//!
//! Reads only what every prompt must carry (the report command and the workflow's invocation), so that wording can
//! change freely. Used by both scripted agents.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The kind of step a prompt asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Write features and a plan.
    Propose,
    /// Do the plan's tasks.
    Apply,
    /// Check what was done.
    Verify,
    /// Write the phase's changes into the manifest.
    Decompose,
    /// Open a pull request.
    Pr,
}

impl Kind {
    const ALL: [Self; 5] = [Self::Propose, Self::Apply, Self::Verify, Self::Decompose, Self::Pr];

    /// The workflow command that the prompt delegates to.
    fn command(self) -> &'static str {
        match self {
            Self::Propose => "propose",
            Self::Apply => "apply",
            Self::Verify => "verify",
            Self::Decompose => "decompose-phase",
            Self::Pr => "open-pr",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.command())
    }
}

/// What a prompt asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// The step.
    pub kind: Kind,
    /// The key to report under: a change, a phase or a `pr:` key.
    pub key: String,
    /// The report command without its flag and text: `ratchet batch report shop --change add-api`.
    pub report: Vec<String>,
}

impl Asked {
    /// Reads a prompt; `None` when it holds no report command or no known step.
    pub fn read(prompt: &str) -> Option<Self> {
        let report = prompt.lines().find_map(report_command)?;
        let key = report.last()?.clone();
        Some(Self { kind: kind_of(prompt, &key)?, key, report })
    }
}

/// The words of a line up to its first flag after the key, if the line is a report command.
fn report_command(line: &str) -> Option<Vec<String>> {
    let (before, _) = line.split_once("--complete")?;
    let words = shell_words(before);
    let verb = words.iter().rposition(|word| word == "report")?;
    let batch = verb.checked_sub(1).is_some_and(|at| words[at] == "batch");
    let program = verb.checked_sub(if batch { 2 } else { 1 })?;
    let command = words[program..].to_vec();
    (command.len() > verb - program + 1).then_some(command)
}

fn kind_of(prompt: &str, key: &str) -> Option<Kind> {
    if key.starts_with("pr:") {
        return Some(Kind::Pr);
    }
    ["rct:", "rct-"]
        .iter()
        .flat_map(|prefix| {
            prompt.match_indices(prefix).map(|(at, found)| &prompt[at + found.len()..])
        })
        .find_map(|rest| {
            let end =
                rest.find(|c: char| !c.is_ascii_lowercase() && c != '-').unwrap_or(rest.len());
            Kind::ALL.into_iter().find(|kind| kind.command() == &rest[..end])
        })
}

/// Splits a line like a shell does: blanks separate, quotes and backslashes join. Backticks are dropped.
fn shell_words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some('\''), c) => word.get_or_insert_default().push(c),
            (_, '\\') => word.get_or_insert_default().extend(chars.next()),
            (Some(_), c) => word.get_or_insert_default().push(c),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, '`') => {}
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (None, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_prompt_gives_step_key_and_report_words() {
        let asked = Asked::read(
            "Advance the batch shop.\nRun /rct:apply add-api and let it do the work.\n\
             When done: ratchet batch report shop --change add-api --complete \"<summary>\"\n",
        )
        .unwrap();
        assert_eq!(asked.kind, Kind::Apply);
        assert_eq!(asked.key, "add-api");
        assert_eq!(asked.report, ["ratchet", "batch", "report", "shop", "--change", "add-api"]);
    }

    #[test]
    fn quoted_names_and_an_absolute_program_are_read() {
        let asked = Asked::read(
            "/rct-verify 'two words'\n  '/opt/my tools/ratchet' batch report 'the shop' --change 'two words' --complete \"x\"",
        )
        .unwrap();
        assert_eq!(asked.kind, Kind::Verify);
        assert_eq!(asked.report[0], "/opt/my tools/ratchet");
        assert_eq!(asked.key, "two words");
    }

    #[test]
    fn a_standalone_prompt_reports_to_the_change() {
        let asked =
            Asked::read("/rct:propose add-api\nratchet report add-api --complete \"…\"").unwrap();
        assert_eq!(asked.report, ["ratchet", "report", "add-api"]);
        assert_eq!(asked.key, "add-api");
    }

    #[test]
    fn decomposition_and_pull_requests_are_told_apart() {
        let read = |text| Asked::read(text).unwrap().kind;
        assert_eq!(
            read("/rct:decompose-phase p2\nratchet batch report b --change p2 --complete x"),
            Kind::Decompose
        );
        assert_eq!(
            read("/rct:open-pr\nratchet batch report b --change pr:b --complete x"),
            Kind::Pr
        );
    }

    #[test]
    fn a_text_without_a_report_command_asks_nothing() {
        assert_eq!(Asked::read("hello\n--complete"), None);
    }
}
