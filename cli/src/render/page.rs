//! Text in the making: words with a meaning, coloured or not.
//!
//! Text that comes from files, agents or people is cleaned on its way in, so that nothing in a journal can drive the
//! terminal. Where the text goes is [`crate::ui`]'s business.

use std::fmt;

use owo_colors::{OwoColorize as _, Style as Paint};

/// Whether colours are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ink {
    /// No escape codes.
    Plain,
    /// Escape codes for colours.
    Colour,
}

/// What a word means, which decides its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    /// A heading.
    Heading,
    /// Something went well.
    Good,
    /// Someone should look.
    Warn,
    /// Something went wrong.
    Bad,
    /// Less important than the rest.
    Dim,
    /// Something is going on.
    Busy,
}

/// Lines of text for a person.
#[derive(Debug)]
pub(crate) struct Page {
    ink: Ink,
    text: String,
}

impl Page {
    pub(crate) fn new(ink: Ink) -> Self {
        Self { ink, text: String::new() }
    }

    /// Adds text as it is, cleaned.
    pub(crate) fn put(&mut self, text: impl fmt::Display) -> &mut Self {
        clean(&mut self.text, &text.to_string());
        self
    }

    /// Adds text in the colour of its meaning, cleaned.
    pub(crate) fn tone(&mut self, tone: Tone, text: impl fmt::Display) -> &mut Self {
        let cleaned = cleaned(&text.to_string());
        match self.ink {
            Ink::Plain => self.text.push_str(&cleaned),
            Ink::Colour => self.text.push_str(&cleaned.style(paint(tone)).to_string()),
        }
        self
    }

    /// Ends the line.
    pub(crate) fn end(&mut self) -> &mut Self {
        self.text.push('\n');
        self
    }

    /// Adds an empty line.
    pub(crate) fn gap(&mut self) -> &mut Self {
        self.end()
    }

    /// Returns the finished text.
    pub(crate) fn finish(&self) -> &str {
        &self.text
    }
}

fn paint(tone: Tone) -> Paint {
    let paint = Paint::new();
    match tone {
        Tone::Heading => paint.bold(),
        Tone::Good => paint.green(),
        Tone::Warn => paint.yellow(),
        Tone::Bad => paint.red(),
        Tone::Dim => paint.dimmed(),
        Tone::Busy => paint.cyan(),
    }
}

/// Gives text that may be shown to a terminal.
pub(crate) fn cleaned(text: &str) -> String {
    let mut cleaned = String::with_capacity(text.len());
    clean(&mut cleaned, text);
    cleaned
}

/// Keeps line breaks and tabs and shows every other control character as a replacement character.
fn clean(into: &mut String, text: &str) {
    into.extend(text.chars().map(|c| match c {
        '\n' | '\t' => c,
        c if c.is_control() => char::REPLACEMENT_CHARACTER,
        c => c,
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_page_has_no_escape_codes_even_if_the_text_brings_some() {
        let mut page = Page::new(Ink::Plain);
        page.tone(Tone::Bad, "stop\x1b[2J").put("\x07 now").end();
        assert_eq!(page.finish(), "stop\u{fffd}[2J\u{fffd} now\n");
    }

    #[test]
    fn a_coloured_page_colours_meanings_and_nothing_else() {
        let mut page = Page::new(Ink::Colour);
        page.tone(Tone::Good, "yes").put(" plain\x1b[31m").end();
        assert_eq!(page.finish(), "\u{1b}[32myes\u{1b}[0m plain\u{fffd}[31m\n");
    }
}
