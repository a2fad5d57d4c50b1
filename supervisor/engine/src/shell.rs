//! Quotes a word for a POSIX shell. Names of batches, phases and changes may hold blanks and quotes, and they stand in
//! commands that people and agents copy.

use std::borrow::Cow;

/// Quotes a word so that a shell reads it back as it is; a word without special characters stays bare.
#[must_use]
pub fn quoted(word: &str) -> Cow<'_, str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+=,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        Cow::Borrowed(word)
    } else {
        Cow::Owned(format!("'{}'", word.replace('\'', r"'\''")))
    }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn a_plain_word_stays_bare_and_the_rest_is_quoted() {
        assert_eq!(quoted("pr:shop:add-api"), "pr:shop:add-api");
        assert_eq!(quoted("my phase"), "'my phase'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted("$(x)"), "'$(x)'");
        assert_eq!(quoted("`x`"), "'`x`'");
        assert_eq!(quoted("Ü1"), "'Ü1'");
        assert_eq!(quoted(""), "''");
    }
}
