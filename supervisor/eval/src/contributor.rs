//! What can fail a run: each contributor by itself, and the run passes when every enabled one does (spec `eval` 7).

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::binding::BindingKind;

/// Something that can fail a run. The order is the order of reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Contributor {
    /// Cases that a command or a browser judges.
    Deterministic,
    /// Cases that agents judge.
    LlmJudge,
    /// What must hold whatever changes.
    Invariants,
    /// What passed in the baseline.
    Regression,
}

impl Contributor {
    /// All of them.
    pub const ALL: [Self; 4] =
        [Self::Deterministic, Self::LlmJudge, Self::Invariants, Self::Regression];

    /// Returns the id.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            Self::Deterministic => "deterministic",
            Self::LlmJudge => "llm-judge",
            Self::Invariants => "invariants",
            Self::Regression => "regression",
        }
    }

    /// Finds one by its id.
    ///
    /// # Errors
    /// Names the ids that there are.
    pub fn find(id: &str) -> Result<Self, GateError> {
        Self::ALL
            .into_iter()
            .find(|one| one.id() == id)
            .ok_or_else(|| GateError::Unknown { id: id.to_owned() })
    }

    /// Says who a case's verdict counts for: the one place that knows.
    #[must_use]
    pub fn of(kind: BindingKind) -> Self {
        match kind {
            BindingKind::Deterministic | BindingKind::Web => Self::Deterministic,
            BindingKind::LlmJudge => Self::LlmJudge,
        }
    }
}

/// Which contributors count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Gate(BTreeSet<Contributor>);

/// A gate that cannot be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GateError {
    /// There is no such contributor.
    #[error(
        "unknown contributor '{id}'; there are: deterministic, llm-judge, invariants, regression"
    )]
    Unknown {
        /// What was written.
        id: String,
    },
    /// There is no such way to judge.
    #[error("unknown judge '{mode}'; there are: auto, deterministic, llm-judge")]
    UnknownJudge {
        /// What was written.
        mode: String,
    },
}

/// What was asked for on the command line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GateFlags {
    /// `--gate`: these and no others.
    pub gate: Option<String>,
    /// `--only`: of those that are on, these.
    pub only: Option<String>,
    /// `--judge`, the old way.
    pub judge: Option<String>,
    /// `--no-llm-judge`.
    pub no_llm_judge: bool,
    /// `--no-invariants`.
    pub no_invariants: bool,
}

impl Default for Gate {
    fn default() -> Self {
        Self(Contributor::ALL.into())
    }
}

impl Gate {
    /// Whether one counts.
    #[must_use]
    pub fn has(&self, contributor: Contributor) -> bool {
        self.0.contains(&contributor)
    }

    /// Lists them in the order of reports.
    pub fn iter(&self) -> impl Iterator<Item = Contributor> + '_ {
        self.0.iter().copied()
    }

    /// Works out which count: the configuration over "all", the command line over the configuration, later flags over
    /// earlier ones.
    ///
    /// # Errors
    /// [`GateError`].
    pub fn resolve(
        config: &[(Contributor, bool)],
        judge: Option<&str>,
        flags: &GateFlags,
    ) -> Result<Self, GateError> {
        let mut on: BTreeSet<Contributor> = Contributor::ALL.into();
        if let Some(mode) = judge {
            apply_judge(&mut on, mode)?;
        }
        for (contributor, enabled) in config {
            if *enabled {
                on.insert(*contributor)
            } else {
                on.remove(contributor)
            };
        }
        if let Some(list) = &flags.gate {
            on = parse(list)?;
        }
        if let Some(list) = &flags.only {
            let only = parse(list)?;
            on.retain(|one| only.contains(one));
        }
        if let Some(mode) = &flags.judge {
            apply_judge(&mut on, mode)?;
        }
        if flags.no_llm_judge {
            on.remove(&Contributor::LlmJudge);
        }
        if flags.no_invariants {
            on.remove(&Contributor::Invariants);
        }
        Ok(Self(on))
    }
}

fn apply_judge(on: &mut BTreeSet<Contributor>, mode: &str) -> Result<(), GateError> {
    match mode {
        "auto" => on.extend([Contributor::Deterministic, Contributor::LlmJudge]),
        "deterministic" => {
            on.remove(&Contributor::LlmJudge);
        }
        "llm-judge" => {
            on.remove(&Contributor::Deterministic);
        }
        other => return Err(GateError::UnknownJudge { mode: other.to_owned() }),
    }
    Ok(())
}

fn parse(list: &str) -> Result<BTreeSet<Contributor>, GateError> {
    list.split(',').map(str::trim).filter(|id| !id.is_empty()).map(Contributor::find).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(config: &[(Contributor, bool)], flags: &GateFlags) -> Vec<&'static str> {
        Gate::resolve(config, None, flags).unwrap().iter().map(Contributor::id).collect()
    }

    fn list(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    // E-H16
    #[test]
    fn the_command_line_wins_over_the_configuration_and_both_over_all() {
        let all = ["deterministic", "llm-judge", "invariants", "regression"];
        assert_eq!(resolved(&[], &GateFlags::default()), all);
        let off = [(Contributor::LlmJudge, false), (Contributor::Regression, true)];
        assert_eq!(
            resolved(&off, &GateFlags::default()),
            ["deterministic", "invariants", "regression"]
        );
        let gate = GateFlags { gate: list(" llm-judge, ,regression"), ..GateFlags::default() };
        assert_eq!(resolved(&off, &gate), ["llm-judge", "regression"]);
        let only = GateFlags { only: list("llm-judge,invariants"), ..GateFlags::default() };
        assert_eq!(resolved(&off, &only), ["invariants"]);
        let judge = GateFlags { judge: list("auto"), ..GateFlags::default() };
        assert_eq!(resolved(&off, &judge), all);
        let without = GateFlags { no_llm_judge: true, no_invariants: true, ..judge };
        assert_eq!(resolved(&[], &without), ["deterministic", "regression"]);
        let configured = Gate::resolve(&[], Some("llm-judge"), &GateFlags::default()).unwrap();
        assert!(!configured.has(Contributor::Deterministic));
    }

    #[test]
    fn an_unknown_id_is_refused_with_those_that_there_are() {
        let bad = GateFlags { gate: list("nope"), ..GateFlags::default() };
        let text = Gate::resolve(&[], None, &bad).unwrap_err().to_string();
        assert!(
            text.contains("'nope'")
                && text.contains("deterministic, llm-judge, invariants, regression")
        );
        let bad = GateFlags { judge: list("x"), ..GateFlags::default() };
        assert!(Gate::resolve(&[], None, &bad).is_err());
    }

    // E-H15
    #[test]
    fn a_browsers_verdict_counts_among_the_deterministic_ones() {
        assert_eq!(Contributor::of(BindingKind::Web), Contributor::Deterministic);
        assert_eq!(Contributor::ALL.len(), 4);
    }
}
