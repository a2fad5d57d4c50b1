//! Settings whose values are words from a short list.

use super::{GateMode, Locus, PrGrouping, ProofPolicy, Scope, Strategy};

/// A value that is one of a few words, spelled the same in files, commands and JSON.
pub trait Word: Copy + PartialEq + 'static {
    /// Every value with its word, in the order in which people are told.
    const WORDS: &'static [(&'static str, Self)];

    /// Returns the value of a word.
    #[must_use]
    fn parse(text: &str) -> Option<Self> {
        Self::WORDS.iter().find(|(word, _)| *word == text).map(|(_, value)| *value)
    }

    /// Returns the word of a value.
    #[must_use]
    fn as_str(self) -> &'static str {
        Self::WORDS.iter().find(|(_, value)| *value == self).map_or("", |(word, _)| word)
    }

    /// Lists all words, for people.
    #[must_use]
    fn list() -> String {
        let words: Vec<&str> = Self::WORDS.iter().map(|(word, _)| *word).collect();
        words.join(", ")
    }
}

impl Word for GateMode {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("voluntary", Self::Voluntary),
        ("after-propose", Self::AfterPropose),
        ("every-phase", Self::EveryPhase),
        ("autonomous", Self::Autonomous),
    ];
}

impl Word for Strategy {
    const WORDS: &'static [(&'static str, Self)] =
        &[("vertical-slice", Self::VerticalSlice), ("feature", Self::Feature)];
}

impl Word for ProofPolicy {
    const WORDS: &'static [(&'static str, Self)] =
        &[("hard-gate", Self::HardGate), ("warn", Self::Warn)];
}

impl Word for Locus {
    const WORDS: &'static [(&'static str, Self)] =
        &[("local", Self::Local), ("docker", Self::Docker), ("remote", Self::Remote)];
}

impl Word for PrGrouping {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("off", Self::Off),
        ("whole-batch", Self::WholeBatch),
        ("per-phase", Self::PerPhase),
        ("per-change", Self::PerChange),
    ];
}

impl Word for Scope {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("default", Self::Default),
        ("user", Self::User),
        ("project", Self::Project),
        ("manifest", Self::Manifest),
    ];
}
