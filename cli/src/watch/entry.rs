//! One line that a person types.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::scroll::columns;

/// More than anybody types, and less than a slip of the clipboard holds.
const LONGEST: usize = 4000;

/// A line and where in it the person is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Entry {
    before: String,
    after: String,
}

/// What a key did to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Typed {
    /// The line goes on.
    Going,
    /// The person is done with it.
    Sent,
    /// The person would rather not.
    Left,
}

impl Entry {
    /// Takes a key.
    pub(crate) fn press(&mut self, key: KeyEvent) -> Typed {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match (key.code, control) {
            (KeyCode::Enter, _) => return Typed::Sent,
            (KeyCode::Esc, _) => return Typed::Left,
            (KeyCode::Char('a'), true) | (KeyCode::Home, _) => self.go_to_start(),
            (KeyCode::Char('e'), true) | (KeyCode::End, _) => {
                self.before.push_str(&std::mem::take(&mut self.after));
            }
            (KeyCode::Char('u'), true) => self.before.clear(),
            (KeyCode::Char('k'), true) => self.after.clear(),
            (KeyCode::Char('w'), true) => self.rub_out_word(),
            (KeyCode::Char('h'), true) | (KeyCode::Backspace, _) => drop(self.before.pop()),
            (KeyCode::Delete, _) => drop(self.take_after()),
            (KeyCode::Left, _) => {
                if let Some(c) = self.before.pop() {
                    self.after.insert(0, c);
                }
            }
            (KeyCode::Right, _) => {
                if let Some(c) = self.take_after() {
                    self.before.push(c);
                }
            }
            (KeyCode::Char(c), false) => self.put(c),
            _ => {}
        }
        Typed::Going
    }

    /// Takes what was pasted: line breaks become blanks, because the line is one.
    pub(crate) fn paste(&mut self, text: &str) {
        for c in text.trim_end().chars() {
            self.put(if c.is_control() { ' ' } else { c });
        }
    }

    /// Returns the line.
    pub(crate) fn text(&self) -> String {
        format!("{}{}", self.before, self.after)
    }

    /// Gives the part that fits beside the cursor, and the column of the cursor in it.
    pub(crate) fn window(&self, width: usize) -> (String, usize) {
        let mut shown = String::new();
        let room = width.saturating_sub(1);
        for (at, _) in self.before.char_indices().rev() {
            if columns(&self.before[at..]) > room {
                break;
            }
            shown = self.before[at..].to_owned();
        }
        let cursor = columns(&shown);
        for c in self.after.chars() {
            shown.push(c);
            if columns(&shown) > width {
                shown.pop();
                break;
            }
        }
        (shown, cursor)
    }

    fn put(&mut self, c: char) {
        if self.before.len() + self.after.len() < LONGEST && !c.is_control() {
            self.before.push(c);
        }
    }

    fn go_to_start(&mut self) {
        self.after.insert_str(0, &self.before);
        self.before.clear();
    }

    fn take_after(&mut self) -> Option<char> {
        let c = self.after.chars().next()?;
        self.after.drain(..c.len_utf8());
        Some(c)
    }

    fn rub_out_word(&mut self) {
        let word = self.before.trim_end();
        let start = word.rfind(char::is_whitespace).map_or(0, |at| at + 1);
        // A blank may be longer than a byte.
        let start = (start..=word.len()).find(|at| word.is_char_boundary(*at)).unwrap_or(0);
        self.before.truncate(start);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(keys: &[(KeyCode, KeyModifiers)]) -> Entry {
        let mut entry = Entry::default();
        for (code, modifiers) in keys {
            assert_eq!(entry.press(KeyEvent::new(*code, *modifiers)), Typed::Going);
        }
        entry
    }

    #[test]
    fn a_line_is_edited_where_the_cursor_is() {
        let none = KeyModifiers::NONE;
        let mut entry = typed(&[
            (KeyCode::Char('a'), none),
            (KeyCode::Char('c'), none),
            (KeyCode::Left, none),
            (KeyCode::Char('b'), none),
            (KeyCode::Home, none),
            (KeyCode::Delete, none),
            (KeyCode::End, none),
        ]);
        assert_eq!((entry.text(), entry.window(10)), ("bc".to_owned(), ("bc".to_owned(), 2)));
        entry.paste("d e\u{3000}日本\n");
        entry.press(KeyEvent::new(KeyCode::Char('w'), KeyModifiers::CONTROL));
        assert_eq!(entry.text(), "bcd e\u{3000}");
        assert_eq!(entry.press(KeyEvent::new(KeyCode::Enter, none)), Typed::Sent);
        assert_eq!(entry.press(KeyEvent::new(KeyCode::Esc, none)), Typed::Left);
    }

    #[test]
    fn a_long_line_is_shown_around_its_cursor_by_columns_and_not_by_bytes() {
        let mut entry = Entry::default();
        entry.paste("日本語 and more");
        assert_eq!(entry.window(6), (" more".to_owned(), 5));
        entry.press(KeyEvent::new(KeyCode::Home, KeyModifiers::NONE));
        assert_eq!(entry.window(5), ("日本".to_owned(), 0));
    }

    #[test]
    fn nothing_that_drives_a_terminal_gets_into_a_line_and_it_has_an_end() {
        let mut entry = Entry::default();
        entry.paste("a\x1b[2Jb\nc");
        assert_eq!(entry.text(), "a [2Jb c");
        entry.paste(&"x".repeat(10_000));
        assert!(entry.text().len() <= LONGEST);
    }
}
