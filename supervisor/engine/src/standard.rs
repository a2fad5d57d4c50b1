//! Standards: guidelines of a project with a tag each, and the list of features that follow them, which `archive` keeps at
//! the end of each (spec `cli-core` 9.1 and 9.4). Which files there are is the store's.

use std::ops::Range;

use crate::markdown::sections;
use crate::yaml;

#[cfg(test)]
mod tests;

const HEADING: &str = "Implemented by";
const MARK: &str = "<!-- ratchet:implemented-by";
const MARK_LINE: &str =
    "<!-- ratchet:implemented-by — kept by `ratchet archive`; what is written here is replaced -->";

/// A guideline.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Standard {
    /// The file's name without `.md`.
    pub name: String,
    /// The file's name.
    pub file_name: String,
    /// What changes call it by: the tag in the front matter, else the name.
    pub tag: String,
    /// The text without the front matter.
    pub content: String,
}

/// Reads a standard. A front matter that is no YAML, or has no tag, gives it its name as the tag.
#[must_use]
pub fn read(name: &str, text: &str) -> Standard {
    let (tag, content) = match front_matter(text) {
        Some((matter, body)) => (tag_of(matter), body),
        None => (None, text),
    };
    Standard {
        name: name.to_owned(),
        file_name: format!("{name}.md"),
        tag: tag.unwrap_or_else(|| name.to_owned()),
        content: content.to_owned(),
    }
}

/// Names tags that more than one of these standards has, each once, sorted.
#[must_use]
pub fn shared_tags(standards: &[Standard]) -> Vec<&str> {
    let mut tags: Vec<&str> = standards.iter().map(|standard| standard.tag.as_str()).collect();
    tags.sort_unstable();
    let mut shared: Vec<&str> =
        tags.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0]).collect();
    shared.dedup();
    shared
}

/// Puts the list of features at the end of a standard's text in place of the one that is there. Doing it twice is doing
/// it once, byte for byte; a text that has no list and gets none stays as it is.
#[must_use]
pub fn with_features(text: &str, features: &[String]) -> String {
    let old = block(text);
    if old.is_none() && features.is_empty() {
        return text.to_owned();
    }
    let mut kept = text.to_owned();
    if let Some(old) = old {
        kept.replace_range(old, "");
    }
    let mut kept = kept.trim_end().to_owned();
    if !kept.is_empty() {
        kept.push('\n');
    }
    if features.is_empty() {
        return kept;
    }
    let gap = if kept.is_empty() { "" } else { "\n" };
    let items: String = features.iter().map(|feature| format!("- {feature}\n")).collect();
    format!("{kept}{gap}## {HEADING}\n\n{MARK_LINE}\n\n{items}")
}

/// Finds the list that `archive` has put there: its heading with our mark under it.
fn block(text: &str) -> Option<Range<usize>> {
    let is_ours = |body: &str| body.trim_start().starts_with(MARK);
    sections(text)
        .into_iter()
        .find(|section| section.level == 2 && section.title == HEADING && is_ours(section.body))
        .map(|section| section.span)
}

/// Cuts off what stands between two lines `---` at the start.
fn front_matter(text: &str) -> Option<(&str, &str)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let rest = text.strip_prefix("---\n").or_else(|| text.strip_prefix("---\r\n"))?;
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            return Some((&rest[..at], &rest[at + line.len()..]));
        }
        at += line.len();
    }
    None
}

fn tag_of(matter: &str) -> Option<String> {
    let root = yaml::parse(matter).ok()?;
    let tag = root.get("tag")?.as_text()?.trim();
    (!tag.is_empty()).then(|| tag.to_owned())
}
