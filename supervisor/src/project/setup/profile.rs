//! Which workflows a user wants, and in which form (spec `cli-core` 5.2).

use crate::agent::workflow::CommandId;
use crate::store::profile::ProfileFile;

/// Which workflows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// Those that every project gets.
    Core,
    /// Those that the user's configuration lists.
    Custom,
}

/// In which form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// Skills and commands.
    Both,
    /// Skills only.
    Skills,
    /// Commands only.
    Commands,
}

/// What is written for each tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    /// The workflows, in the order of the table.
    pub workflows: Vec<CommandId>,
    /// The form.
    pub delivery: Delivery,
    /// Words that were not understood; one line each.
    pub warnings: Vec<String>,
}

impl Profile {
    /// Reads the word of a flag or a file.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "core" => Some(Self::Core),
            "custom" => Some(Self::Custom),
            _ => None,
        }
    }
}

impl Selection {
    /// Works out what the user wants; a profile that was asked for goes before the file's.
    #[must_use]
    pub fn of(file: &ProfileFile, asked: Option<Profile>) -> Self {
        let mut warnings = file.warnings.clone();
        let mut not_understood = |key: &str, word: &str| {
            warnings
                .push(format!("{key} '{word}' in the user's configuration is not known; ignored"));
        };
        let word = file.profile.as_deref();
        let in_file = word.and_then(Profile::parse);
        if let (Some(word), None) = (word, in_file) {
            not_understood("profile", word);
        }
        let delivery = match file.delivery.as_deref() {
            None | Some("both") => Delivery::Both,
            Some("skills") => Delivery::Skills,
            Some("commands") => Delivery::Commands,
            Some(word) => {
                not_understood("delivery", word);
                Delivery::Both
            }
        };
        let workflows = match asked.or(in_file).unwrap_or(Profile::Core) {
            Profile::Core => CommandId::core(),
            Profile::Custom => {
                let mut wanted = Vec::new();
                for word in &file.workflows {
                    match CommandId::find(word) {
                        Some(id) => wanted.push(id),
                        None => not_understood("workflow", word),
                    }
                }
                CommandId::ALL.into_iter().filter(|id| wanted.contains(id)).collect()
            }
        };
        Self { workflows, delivery, warnings }
    }

    /// Tells whether a workflow is wanted as a skill.
    #[must_use]
    pub fn has_skill(&self, id: CommandId) -> bool {
        self.delivery != Delivery::Commands && self.workflows.contains(&id)
    }

    /// Tells whether a workflow is wanted as a command.
    #[must_use]
    pub fn has_command(&self, id: CommandId) -> bool {
        self.delivery != Delivery::Skills && self.workflows.contains(&id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(profile: &str, workflows: &[&str]) -> ProfileFile {
        ProfileFile {
            profile: Some(profile.to_owned()),
            workflows: workflows.iter().map(|word| (*word).to_owned()).collect(),
            ..ProfileFile::default()
        }
    }

    // C-M16
    #[test]
    fn every_project_gets_the_core_and_eval_has_to_be_asked_for() {
        let core = Selection::of(&ProfileFile::default(), None);
        assert_eq!(core.workflows.len(), 11);
        assert!(!core.workflows.contains(&CommandId::Eval));
        assert!(core.has_skill(CommandId::Propose) && core.has_command(CommandId::Propose));
        let custom =
            Selection::of(&file("custom", &["eval", "batch", "apply-batch", "eval"]), None);
        assert_eq!(custom.workflows, [CommandId::ApplyBatch, CommandId::Eval]);
        let asked = Selection::of(&file("custom", &["eval"]), Some(Profile::Core));
        assert_eq!(asked, core);
    }

    // C-M16 C-M17
    #[test]
    fn words_that_are_not_known_are_told_and_change_nothing() {
        let odd = Selection::of(&file("none", &["gone"]), None);
        assert_eq!((odd.workflows.len(), odd.warnings.len()), (11, 1));
        let odd = Selection::of(&file("custom", &["gone"]), None);
        assert_eq!((odd.workflows.len(), odd.warnings.len()), (0, 1));
        let delivery = Some("carrier pigeon".to_owned());
        let odd = Selection::of(&ProfileFile { delivery, ..ProfileFile::default() }, None);
        assert_eq!((odd.delivery, odd.warnings.len()), (Delivery::Both, 1));
    }
}
