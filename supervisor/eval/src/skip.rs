//! What is not judged: cases that say so themselves, and those that the project's configuration names (spec `eval` 6).

use serde::{Deserialize, Serialize};

use crate::case::{Case, SKIP};

/// Why a case was not to be judged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skip {
    /// Who says so.
    pub source: SkipSource,
    /// The file of the tag, or the pattern.
    pub detail: String,
}

/// Who says that a case is not to be judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SkipSource {
    /// Its own tag.
    Tag,
    /// The configuration.
    Config,
}

/// Which cases are in a run by whether they are held out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Holdout {
    /// All.
    #[default]
    Either,
    /// Those that are.
    Only,
    /// Those that are not.
    Without,
}

impl Holdout {
    /// Whether a case is in the run.
    #[must_use]
    pub fn admits(self, case: &Case) -> bool {
        match self {
            Self::Either => true,
            Self::Only => case.is_held_out(),
            Self::Without => !case.is_held_out(),
        }
    }
}

/// Says why a case is not to be judged; its tag comes first.
#[must_use]
pub fn of(case: &Case, patterns: &[String]) -> Option<Skip> {
    if case.has_tag(SKIP) {
        return Some(Skip { source: SkipSource::Tag, detail: case.source.clone() });
    }
    let pattern = patterns.iter().find(|pattern| matches(pattern, &case.id))?;
    Some(Skip { source: SkipSource::Config, detail: pattern.clone() })
}

impl Skip {
    /// Says it in a sentence.
    #[must_use]
    pub fn reason(&self) -> String {
        match self.source {
            SkipSource::Tag => format!("skipped by {SKIP} in {}", self.detail),
            SkipSource::Config => format!("skipped by the pattern '{}' of eval.skip", self.detail),
        }
    }
}

/// Whether a pattern matches a whole id; `*` stands for anything, slashes too.
fn matches(pattern: &str, id: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = id.strip_prefix(first) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(tags: &str) -> Case {
        let text = format!("Feature: F\n {tags}\n Scenario: s\n  Then x\n");
        crate::case::read("features/a/f.feature", &text).unwrap().remove(0)
    }

    // E-F14
    #[test]
    fn a_tag_comes_before_a_pattern_and_names_its_file() {
        let pattern = ["features/*".to_owned()];
        assert_eq!(of(&case("@other"), &[]), None);
        let tag = of(&case("@skip"), &pattern).unwrap();
        assert_eq!((tag.source, tag.detail.as_str()), (SkipSource::Tag, "features/a/f.feature"));
        let config = of(&case(""), &pattern).unwrap();
        assert_eq!((config.source, config.detail.as_str()), (SkipSource::Config, "features/*"));
        assert!(tag.reason().contains("@skip") && config.reason().contains("features/*"));
        assert_eq!(of(&case(""), &["other*".to_owned()]), None);
    }

    #[test]
    fn a_pattern_is_about_the_whole_id() {
        for (pattern, id, expected) in [
            ("a", "a", true),
            ("a", "ab", false),
            ("a*", "a/b#c", true),
            ("*c", "a/b#c", true),
            ("a*b*c", "a/x/b/y/c", true),
            ("a*b", "a/b/c", false),
            ("*", "", true),
            ("a.c", "abc", false),
            ("ab*ba", "aba", false),
        ] {
            assert_eq!(matches(pattern, id), expected, "{pattern} {id}");
        }
    }

    // E-F15
    #[test]
    fn holding_out_has_nothing_to_do_with_skipping() {
        let (held, plain) = (case("@holdout @skip"), case("@skip"));
        assert!(Holdout::Only.admits(&held) && !Holdout::Only.admits(&plain));
        assert!(!Holdout::Without.admits(&held) && Holdout::Without.admits(&plain));
        assert!(Holdout::Either.admits(&held) && Holdout::Either.admits(&plain));
    }
}
