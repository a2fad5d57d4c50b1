//! How messages show themselves that may hold secrets: by names and lengths, never by values.

use std::fmt;

use crate::{runtime, supervisor};

/// Shows the name only: the value may be secret.
impl fmt::Debug for supervisor::v1::Variable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Variable")
            .field("name", &String::from_utf8_lossy(&self.name))
            .finish_non_exhaustive()
    }
}

/// Shows the name only: the value may be secret.
impl fmt::Debug for runtime::v1::Variable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Variable")
            .field("name", &String::from_utf8_lossy(&self.name))
            .finish_non_exhaustive()
    }
}

/// Shows how long it is: what an agent reads may be what its author would not log.
impl fmt::Debug for runtime::v1::File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("File")
            .field("path", &self.path)
            .field("bytes", &self.content.len())
            .finish_non_exhaustive()
    }
}

/// Shows what is asked for, without what the command is told.
impl fmt::Debug for runtime::v1::SpawnRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpawnRequest")
            .field("id", &self.id)
            .field("project", &self.project)
            .field("snapshot", &self.snapshot)
            .field("program", &self.argv.first().map(|word| String::from_utf8_lossy(word)))
            .field("environment", &self.environment)
            .field("cwd", &self.cwd)
            .field("limits", &self.limits)
            .field("files", &self.files)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use crate::{runtime, supervisor};

    #[test]
    fn no_value_that_may_be_secret_is_in_the_debug_text() {
        let secret = b"hunter2-hunter2".to_vec();
        let ours = supervisor::v1::Environment {
            variables: vec![supervisor::v1::Variable {
                name: b"API_KEY".to_vec(),
                value: secret.clone(),
            }],
        };
        let spawn = runtime::v1::SpawnRequest {
            argv: vec!["sh".into(), secret.clone().into()],
            environment: vec![runtime::v1::Variable {
                name: "API_KEY".into(),
                value: secret.clone().into(),
            }],
            stdin: Some(secret.clone().into()),
            files: vec![runtime::v1::File {
                path: "policy".to_owned(),
                content: secret.clone().into(),
            }],
            ..Default::default()
        };
        for text in [format!("{ours:?}"), format!("{spawn:?}")] {
            assert!(text.contains("API_KEY"), "{text}");
            assert!(!text.contains("hunter2") && !text.contains(&format!("{secret:?}")), "{text}");
        }
    }
}
