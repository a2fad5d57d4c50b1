//! What a change that is to be proposed is called (spec `cli-core` 10).

use ratchet_engine::name::{ChangeName, NameError};
use thiserror::Error;

use super::Project;
use crate::error::Error;

/// Why a proposal has no name.
#[derive(Debug, Error)]
pub enum NamingError {
    /// No name was given, and nothing in the objective is fit for one.
    #[error("Could not derive a change name from the objective")]
    Underivable,
    /// The name that was given is none.
    #[error("{0}")]
    BadName(NameError),
}

impl Project {
    /// Names a change that is to be proposed: as asked, or after its objective.
    ///
    /// # Errors
    /// [`Error::Naming`].
    pub fn name_proposal(&self, objective: &str, name: Option<&str>) -> Result<ChangeName, Error> {
        let name = match name {
            Some(name) => ChangeName::parse_new(name).map_err(NamingError::BadName),
            None => ChangeName::parse(&slug(objective)).map_err(|_| NamingError::Underivable),
        };
        Ok(name?)
    }
}

/// Makes a name of a text: lower case, every run of other characters than `a-z0-9` a hyphen, none at the ends.
fn slug(text: &str) -> String {
    let lower = text.to_lowercase();
    let words = lower.split(|c: char| !c.is_ascii_lowercase() && !c.is_ascii_digit());
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    // B-X01
    #[test]
    fn a_name_is_made_of_the_objective() {
        assert_eq!(slug("  Weave: the Band (Ünder 3 h)! "), "weave-the-band-nder-3-h");
        assert_eq!(slug("--- !"), "");
        assert_eq!(slug("3 bands"), "3-bands");
    }
}
