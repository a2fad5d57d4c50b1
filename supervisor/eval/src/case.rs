//! Cases: every scenario of a feature file is one, and has an id that stays the same as long as its file and its name do
//! (spec `eval` 2). Pure; which files there are is [`crate::load`]'s to find.

use std::collections::BTreeSet;

use ratchet_engine::feature;
use serde::{Deserialize, Serialize};

/// One scenario to be judged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Case {
    /// Its id: `features/auth/login#valid-credentials`.
    pub id: String,
    /// The feature's name.
    pub feature: String,
    /// The scenario's name.
    pub scenario: String,
    /// Its file, from `.ratchet/`.
    pub source: String,
    /// What happens in it.
    pub steps: Vec<Step>,
    /// Its tags, with their `@`. Not kept in records.
    #[serde(skip)]
    pub tags: Vec<String>,
}

/// One line of a scenario.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// `Given`, `When`, `Then`, `And` or `But`.
    pub keyword: String,
    /// What follows.
    pub text: String,
}

/// Which cases are meant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "target", rename_all = "kebab-case")]
pub enum Scope {
    /// The feature store.
    Store,
    /// The store, and every change that is not archived.
    Changes,
    /// One change.
    Change(String),
    /// A part of the store.
    Path(String),
}

/// The tag of a case that is not judged.
pub const SKIP: &str = "@skip";

impl Case {
    /// Whether it is hidden from whoever builds what it describes.
    #[must_use]
    pub fn is_held_out(&self) -> bool {
        self.has_tag(feature::HOLDOUT)
    }

    /// Whether it carries a tag.
    #[must_use]
    pub fn has_tag(&self, tag: &str) -> bool {
        self.tags.iter().any(|own| own == tag)
    }

    /// Gives what must hold in the end: each `Then` with the `And`s and `But`s that belong to it.
    #[must_use]
    pub fn expectations(&self) -> Vec<String> {
        let mut inside = false;
        let mut found = Vec::new();
        for step in &self.steps {
            inside = match step.keyword.as_str() {
                "Then" => true,
                "And" | "But" => inside,
                _ => false,
            };
            if inside {
                found.push(step.text.clone());
            }
        }
        found
    }
}

impl Scope {
    /// Says it in the words of `eval set`.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Self::Store => "store".to_owned(),
            Self::Changes => "changes".to_owned(),
            Self::Change(name) => format!("change {name}"),
            Self::Path(path) => format!("path {path}"),
        }
    }
}

/// Reads the cases of one file. `source` is its path from `.ratchet/`.
///
/// # Errors
/// A file in another language that cannot be read, with its place.
pub fn read(source: &str, text: &str) -> Result<Vec<Case>, String> {
    let feature = feature::read(text).map_err(|fault| format!("{source}: {fault}"))?;
    let stem = stem(source);
    let mut taken = BTreeSet::new();
    let cases = feature.scenarios.into_iter().map(|scenario| {
        let id = unused(&stem, &slug(&scenario.name), &mut taken);
        let steps = scenario
            .steps
            .into_iter()
            .map(|step| Step { keyword: step.keyword.as_str().to_owned(), text: step.text });
        Case {
            id,
            feature: feature.name.clone(),
            scenario: scenario.name,
            source: source.to_owned(),
            steps: steps.collect(),
            tags: scenario.tags,
        }
    });
    Ok(cases.collect())
}

/// Gives the part of an id before the `#`.
fn stem(source: &str) -> String {
    let path = source.replace('\\', "/");
    let path = path.strip_prefix("./").unwrap_or(&path);
    let cut = path.len().saturating_sub(".feature".len());
    match path.get(cut..) {
        Some(end) if end.eq_ignore_ascii_case(".feature") => path[..cut].to_owned(),
        _ => path.to_owned(),
    }
}

fn slug(name: &str) -> String {
    let mut slug = String::new();
    for c in name.trim().to_lowercase().chars() {
        if c.is_ascii_lowercase() || c.is_ascii_digit() {
            slug.push(c);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    let slug = slug.trim_end_matches('-');
    if slug.is_empty() { "scenario".to_owned() } else { slug.to_owned() }
}

/// Counts on until nobody has the id: a scenario may be called like another one with its number.
fn unused(stem: &str, slug: &str, taken: &mut BTreeSet<String>) -> String {
    let mut candidate = slug.to_owned();
    let mut number = 2_u32;
    while !taken.insert(candidate.clone()) {
        candidate = format!("{slug}-{number}");
        number += 1;
    }
    format!("{stem}#{candidate}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(source: &str, names: &[&str]) -> Vec<String> {
        let text: String =
            names.iter().map(|name| format!("  Scenario: {name}\n    Then it works\n")).collect();
        let cases = read(source, &format!("Feature: F\n{text}")).unwrap();
        cases.into_iter().map(|case| case.id).collect()
    }

    // E-E01
    #[test]
    fn an_id_is_made_of_the_file_and_the_name() {
        assert_eq!(
            ids("features/auth/login.feature", &["Valid  credentials!"]),
            ["features/auth/login#valid-credentials"]
        );
        assert_eq!(ids(".\\a\\b.FEATURE", &["Ünïcode 2"]), ["a/b#n-code-2"]);
        assert_eq!(ids("a.feature", &["***"]), ["a#scenario"]);
    }

    // E-E02
    #[test]
    fn scenarios_of_one_name_are_numbered_and_no_id_is_given_twice() {
        assert_eq!(
            ids("a.feature", &["foo", "foo", "foo 2", "foo"]),
            ["a#foo", "a#foo-2", "a#foo-2-2", "a#foo-3"]
        );
        assert_eq!(ids("a.feature", &["foo", "foo"]), ids("a.feature", &["foo", "foo"]));
    }

    // E-E03 E-F15
    #[test]
    fn a_case_has_its_steps_and_its_tags() {
        let text = "@x\nFeature: Login\n  @holdout @skip\n  Scenario: a\n    Given b\n    When c\n    Then d\n    And e\n";
        let case = read("features/l.feature", text).unwrap().remove(0);
        assert_eq!((case.feature.as_str(), case.scenario.as_str()), ("Login", "a"));
        assert_eq!(case.source, "features/l.feature");
        let steps: Vec<(&str, &str)> =
            case.steps.iter().map(|step| (step.keyword.as_str(), step.text.as_str())).collect();
        assert_eq!(steps, [("Given", "b"), ("When", "c"), ("Then", "d"), ("And", "e")]);
        assert!(case.is_held_out() && case.has_tag(SKIP) && !case.has_tag("@x"));
    }

    // E-F01
    #[test]
    fn expectations_are_what_belongs_to_a_then() {
        let text = "Feature: F\n Scenario: a\n  Given a\n  And b\n  When c\n  But d\n  Then e\n  And f\n  But g\n  When h\n  And i\n  Then j\n";
        let case = read("a.feature", text).unwrap().remove(0);
        assert_eq!(case.expectations(), ["e", "f", "g", "j"]);
        let none = read("a.feature", "Feature: F\n Scenario: a\n  Given a\n").unwrap().remove(0);
        assert_eq!(none.expectations(), Vec::<String>::new());
    }

    #[test]
    fn a_scope_is_written_with_its_target() {
        let json = |scope| serde_json::to_string(&scope).unwrap();
        assert_eq!(json(Scope::Store), "{\"kind\":\"store\"}");
        assert_eq!(json(Scope::Path("a".into())), "{\"kind\":\"path\",\"target\":\"a\"}");
    }
}
