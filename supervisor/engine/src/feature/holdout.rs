//! A feature file without the scenarios that are held back from whoever implements it, so that there is something left to
//! check the work by (spec `cli-core` 7.3). Every other byte stays.

use super::{Fault, lines, numbered, read};

/// The tag of what is held back.
pub const HOLDOUT: &str = "@holdout";

/// Takes out every scenario, and every rule, that is tagged [`HOLDOUT`]: from its first line of tags up to whatever comes
/// next.
///
/// # Errors
/// A file that cannot be read as a feature: nobody can say what of it is held back.
pub fn without_holdouts(text: &str) -> Result<String, Fault> {
    let feature = read(text)?;
    let mut sections = feature.sections.iter().peekable();
    let mut held = false;
    let mut kept = String::with_capacity(text.len());
    for (number, line) in numbered(lines(text)) {
        if let Some(section) = sections.next_if(|section| section.first_line == number) {
            held = section.tags.iter().any(|tag| tag == HOLDOUT);
        }
        if !held {
            kept.push_str(line);
        }
    }
    Ok(kept)
}
