//! `batch config --set key=value` and the flags of standalone verbs: one check for both
//! (spec `batch-manifest-and-settings` 4.2, 5.4 and 12). Writing the file is the store's.

use std::collections::BTreeMap;

use secrecy::SecretString;
use thiserror::Error;

use super::{
    AgentChoice, AgentSandbox, AgentSpec, GateMode, Key, Locus, PrGrouping, ProofPolicy,
    PullPolicy, Settings, Strategy, Word, docker,
};
use crate::transition::StepKind;
use crate::yaml;
use crate::yaml::reader::{Reader, Trail, whole_number};

/// A checked assignment: what to write at `batch.<key>`.
#[derive(Debug, Clone)]
pub struct Assignment {
    /// The setting.
    pub key: Key,
    /// The value, with the type it has in the file.
    pub value: Assigned,
    /// The value as it may be shown: as typed, or `***`.
    pub shown: String,
}

/// A value to write.
#[derive(Debug, Clone)]
pub enum Assigned {
    /// A text.
    Text(String),
    /// A text that must not be shown.
    Secret(SecretString),
    /// A number without a fraction.
    Integer(u64),
    /// A number.
    Number(f64),
    /// A boolean.
    Bool(bool),
    /// A map from stages to agent specs.
    Stages(BTreeMap<StepKind, AgentSpec>),
}

/// Says why an assignment is refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SetError {
    /// No `=`.
    #[error("Invalid --set '{text}'. Expected key=value.")]
    NoAssignment {
        /// What was given.
        text: String,
    },
    /// No setting of that name, or none that can be set.
    #[error("Unknown batch setting '{key}'. Allowed keys: {}", settable())]
    UnknownKey {
        /// What was given.
        key: String,
    },
    /// Not one of the words of the setting.
    #[error("Invalid value '{value}' for '{key}'. Allowed values: {allowed}")]
    NotAllowed {
        /// The setting.
        key: &'static str,
        /// What was given.
        value: String,
        /// The words, for people.
        allowed: String,
    },
    /// Any other value that does not do.
    #[error("Invalid value for '{key}': {why}")]
    Invalid {
        /// The setting.
        key: &'static str,
        /// What is wrong; it names the value, unless that is secret.
        why: String,
    },
}

/// The flags of a standalone verb that stand for settings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StandaloneFlags {
    /// `--agent`
    pub agent: Option<String>,
    /// `--locus`
    pub locus: Option<String>,
    /// `--image`
    pub image: Option<String>,
}

/// Checks the argument of `--set`: both sides of the first `=` are trimmed.
///
/// # Errors
/// As [`check_assignment`], and refuses a text without `=`.
pub fn parse_assignment(text: &str) -> Result<Assignment, SetError> {
    match text.split_once('=') {
        Some((key, value)) => check_assignment(key.trim(), value.trim()),
        None => {
            // Somebody may have put a blank where the `=` should be.
            let hides_secret = text.trim_start().starts_with(Key::AuthToken.as_str());
            let text = if hides_secret { "authToken…".to_owned() } else { text.to_owned() };
            Err(SetError::NoAssignment { text })
        }
    }
}

/// Checks one assignment.
///
/// # Errors
/// Refuses a key that cannot be set and a value that the key does not take.
pub fn check_assignment(key: &str, value: &str) -> Result<Assignment, SetError> {
    let value = value.trim();
    let Some(key) = Key::parse(key).filter(|key| key.is_settable()) else {
        return Err(SetError::UnknownKey { key: key.to_owned() });
    };
    let assigned = match key {
        Key::Gate => one_of::<GateMode>(key, value),
        Key::Strategy => one_of::<Strategy>(key, value),
        Key::ProofOfWork => one_of::<ProofPolicy>(key, value),
        Key::Locus => one_of::<Locus>(key, value),
        Key::PrGrouping => one_of::<PrGrouping>(key, value),
        Key::Agent => agent(value),
        Key::Image => filled(key, value, "the container image reference"),
        Key::DockerUser => formed(key, value, docker::parse_user, docker::USER_FORM),
        Key::DockerMemory => formed(key, value, docker::parse_memory, docker::MEMORY_FORM),
        Key::Network => filled(key, value, "it"),
        Key::DockerPull => one_of::<PullPolicy>(key, value),
        Key::DockerAgentSandbox => one_of::<AgentSandbox>(key, value),
        Key::Host => filled(key, value, "the remote host"),
        Key::AuthTokenFile => filled(key, value, "the path of the file"),
        Key::TlsCa => filled(key, value, "the path of the certificates"),
        Key::ProofLocus => one_of::<Locus>(key, value),
        Key::AuthToken => filled(key, value, "the token")
            .map(|_| Assigned::Secret(SecretString::from(value.to_owned()))),
        Key::DockerPidsLimit
        | Key::Port
        | Key::AgentTimeoutMs
        | Key::AgentStartTimeoutMs
        | Key::AgentIdleTimeoutMs
        | Key::AgentOutputLimitBytes
        | Key::ProofTimeoutMs
        | Key::WorkerLostMs
        | Key::BudgetTokens => integer(key, value),
        Key::DockerCpus | Key::BudgetUsd => number(key, value),
        Key::Insecure | Key::DockerReadOnly => boolean(key, value),
        // Not settable, see above.
        Key::Permissions | Key::Agents | Key::Workers | Key::RequireOverrideFlag => {
            Err(SetError::UnknownKey { key: key.as_str().to_owned() })
        }
    }?;
    let shown = if key == Key::AuthToken { "***" } else { value };
    Ok(Assignment { key, value: assigned, shown: shown.to_owned() })
}

impl Settings {
    /// Lays the flags of a standalone verb over the settings. Scopes are dropped: a hint about a model could not name a
    /// file to edit.
    ///
    /// # Errors
    /// As [`check_assignment`], for the first flag that is refused.
    pub fn with_flags(mut self, flags: &StandaloneFlags) -> Result<Self, SetError> {
        let given =
            [(Key::Agent, &flags.agent), (Key::Locus, &flags.locus), (Key::Image, &flags.image)];
        for (key, value) in given {
            let Some(value) = value else { continue };
            match (key, check_assignment(key.as_str(), value)?.value) {
                (Key::Agent, Assigned::Stages(stages)) => {
                    self.agent = Some(AgentChoice::ByStage(stages));
                }
                (Key::Agent, Assigned::Text(text)) => {
                    self.agent = AgentSpec::parse(&text).ok().map(AgentChoice::Every);
                }
                (Key::Locus, Assigned::Text(text)) => {
                    self.locus = Locus::parse(&text).unwrap_or_default();
                }
                (_, Assigned::Text(text)) => self.image = Some(text),
                (_, Assigned::Secret(_) | Assigned::Integer(_) | Assigned::Number(_))
                | (_, Assigned::Bool(_) | Assigned::Stages(_)) => {}
            }
        }
        self.agent_stage_scopes.clear();
        Ok(self)
    }
}

fn settable() -> String {
    let keys: Vec<&str> =
        Key::ALL.into_iter().filter(|key| key.is_settable()).map(Key::as_str).collect();
    keys.join(", ")
}

fn invalid(key: Key, why: impl Into<String>) -> SetError {
    SetError::Invalid { key: key.as_str(), why: why.into() }
}

fn one_of<T: Word>(key: Key, value: &str) -> Result<Assigned, SetError> {
    match T::parse(value) {
        Some(word) => Ok(Assigned::Text(word.as_str().to_owned())),
        None => Err(SetError::NotAllowed {
            key: key.as_str(),
            value: value.to_owned(),
            allowed: T::list(),
        }),
    }
}

fn filled(key: Key, value: &str, what: &str) -> Result<Assigned, SetError> {
    if value.is_empty() {
        return Err(invalid(key, format!("{what} must not be empty.")));
    }
    Ok(Assigned::Text(value.to_owned()))
}

fn formed<T>(
    key: Key,
    value: &str,
    parse: impl Fn(&str) -> Option<T>,
    form: &str,
) -> Result<Assigned, SetError> {
    let text = filled(key, value, "it")?;
    match parse(value) {
        Some(_) => Ok(text),
        None => Err(invalid(key, format!("{form} (got '{value}')."))),
    }
}

fn integer(key: Key, value: &str) -> Result<Assigned, SetError> {
    let digits = value.bytes().all(|byte| byte.is_ascii_digit());
    let integer = value.parse().ok().filter(|_| digits).and_then(whole_number);
    integer
        .map(Assigned::Integer)
        .ok_or_else(|| invalid(key, format!("it must be a positive integer (got '{value}').")))
}

fn number(key: Key, value: &str) -> Result<Assigned, SetError> {
    let plain = value.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let number: Option<f64> = value.parse().ok().filter(|number| plain && *number > 0.0);
    number
        .filter(|number| number.is_finite())
        .map(Assigned::Number)
        .ok_or_else(|| invalid(key, format!("it must be a positive number (got '{value}').")))
}

fn boolean(key: Key, value: &str) -> Result<Assigned, SetError> {
    match value {
        "true" => Ok(Assigned::Bool(true)),
        "false" => Ok(Assigned::Bool(false)),
        _ => Err(SetError::NotAllowed {
            key: key.as_str(),
            value: value.to_owned(),
            allowed: "true, false".to_owned(),
        }),
    }
}

fn agent(value: &str) -> Result<Assigned, SetError> {
    if !value.starts_with('{') {
        return match AgentSpec::parse(value) {
            Ok(spec) => Ok(Assigned::Text(spec.to_string())),
            Err(error) => Err(invalid(Key::Agent, format!("agent: {error}"))),
        };
    }
    let node = yaml::parse(value).map_err(|error| {
        invalid(Key::Agent, format!("agent: not a valid YAML flow map: {error}"))
    })?;
    let mut reader = Reader::default();
    match AgentChoice::read(&mut reader, &Trail::Key(&Trail::Root, "agent"), &node) {
        Some(AgentChoice::ByStage(stages)) if reader.issues.is_empty() => {
            Ok(Assigned::Stages(stages))
        }
        _ => {
            let reasons =
                reader.issues.iter().map(|issue| format!("{}: {}", issue.path, issue.message));
            let mut reasons: Vec<String> = reasons.collect();
            if reasons.is_empty() {
                reasons.push("agent: expected a map of stages".to_owned());
            }
            Err(invalid(Key::Agent, reasons.join("; ")))
        }
    }
}
