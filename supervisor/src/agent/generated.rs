//! The mark at the end of what ratchet writes into a coding tool's folder. By it a file that nobody touched since is told
//! from one that a person has edited, so that only the first is ever replaced without a copy.

use sha2::{Digest as _, Sha256};

/// The version that writes.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

const MARK: &str = "<!-- ratchet ";

/// Puts the mark at the end of a text.
#[must_use]
pub fn sealed(text: &str) -> String {
    format!("{text}\n{MARK}{VERSION} {} -->\n", digest(text))
}

/// Tells whether a file is as some version of ratchet has written it.
#[must_use]
pub fn is_untouched(text: &str) -> bool {
    let Some((before, mark)) = text.rsplit_once(&format!("\n{MARK}")) else { return false };
    let mark = mark.strip_suffix(" -->\n").and_then(|mark| mark.split_once(' '));
    mark.is_some_and(|(_, found)| found == digest(before))
}

/// Half of the hash is enough to notice an edit.
fn digest(text: &str) -> String {
    hex::encode(&Sha256::digest(text.as_bytes())[..8])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edit_anywhere_is_noticed() {
        let text = sealed("# Title\n\nbody\n");
        assert!(is_untouched(&text), "{text}");
        assert!(is_untouched(&text.replace(VERSION, "0.0.9")), "of another version");
        for edited in [
            text.replace("body", "Body"),
            format!("{text}more\n"),
            format!("x{text}"),
            "# Title\n".to_owned(),
        ] {
            assert!(!is_untouched(&edited), "{edited}");
        }
    }
}
