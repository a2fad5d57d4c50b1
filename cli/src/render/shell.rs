//! Words for a shell: what a person can copy into a command line, whatever a name holds.

use std::borrow::Cow;

/// Quotes a word where a POSIX shell needs it.
pub(crate) fn word(text: &str) -> Cow<'_, str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(format!("'{}'", text.replace('\'', r"'\''")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_quoted_only_where_a_shell_would_take_it_apart() {
        assert_eq!(word("add-cart"), "add-cart");
        assert_eq!(word("pr:shop:p1"), "pr:shop:p1");
        assert_eq!(word("phase one"), "'phase one'");
        assert_eq!(word("it's"), r"'it'\''s'");
        assert_eq!(word(""), "''");
        assert_eq!(word("$(x)"), "'$(x)'");
    }
}
