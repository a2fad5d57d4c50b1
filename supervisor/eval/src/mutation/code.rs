//! Source text without what the machine that runs it does not see: comments, and blanks that mean nothing. Two texts that
//! come out the same do the same; that two come out different proves nothing.
//!
//! It is a scanner, no parser, and errs on one side: what it is not sure of stays as it is, and then a change is a change.

/// How a language writes comments, and which blanks mean something in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Family {
    /// `//` and `/* */`; indentation means nothing.
    Braces,
    /// `#`; indentation means something.
    Python,
    /// `#`; blanks between words mean something too.
    Words,
    /// Nothing is known of it.
    Unknown,
}

/// Reduces a text to what is seen when it runs. `path` says what it is written in.
pub(super) fn essence(path: &str, text: &str) -> String {
    match family(path) {
        Family::Unknown => text.to_owned(),
        family => Scanner::new(family, text).run(),
    }
}

fn family(path: &str) -> Family {
    let name = path.rsplit('/').next().unwrap_or(path);
    match name.rsplit_once('.').map_or("", |(_, extension)| extension) {
        "rs" | "c" | "h" | "cc" | "cpp" | "cxx" | "hpp" | "cs" | "java" | "kt" | "kts" | "go"
        | "swift" | "scala" | "js" | "jsx" | "mjs" | "cjs" | "ts" | "tsx" | "mts" | "cts"
        | "dart" | "proto" => Family::Braces,
        "py" | "pyi" => Family::Python,
        "rb" | "sh" | "bash" | "pl" | "r" | "jl" | "ex" | "exs" | "nim" => Family::Words,
        _ => Family::Unknown,
    }
}

struct Scanner<'a> {
    family: Family,
    rest: &'a str,
    out: String,
    /// Blanks since the last thing that is kept, on its line.
    blank: bool,
    /// Nothing of the line was kept yet.
    line_begins: bool,
    indentation: String,
}

impl<'a> Scanner<'a> {
    fn new(family: Family, text: &'a str) -> Self {
        Self {
            family,
            rest: text,
            out: String::with_capacity(text.len()),
            blank: false,
            line_begins: true,
            indentation: String::new(),
        }
    }

    fn run(mut self) -> String {
        while let Some(next) = self.rest.chars().next() {
            if let Some(length) = self.comment() {
                self.rest = &self.rest[length..];
                self.blank = true;
            } else if let Some(length) = self.literal() {
                let (literal, rest) = self.rest.split_at(length);
                self.rest = rest;
                self.keep(literal);
            } else if next == '\n' {
                self.rest = &self.rest[1..];
                self.end_line();
            } else {
                let (one, rest) = self.rest.split_at(next.len_utf8());
                self.rest = rest;
                if next.is_whitespace() {
                    self.blank = true;
                    if self.line_begins {
                        self.indentation.push(next);
                    }
                } else {
                    self.keep(one);
                }
            }
        }
        self.end_line();
        self.out
    }

    fn end_line(&mut self) {
        // A line of nothing is no line.
        if !self.line_begins {
            self.out.push('\n');
        }
        self.line_begins = true;
        self.blank = false;
        self.indentation.clear();
    }

    fn keep(&mut self, piece: &str) {
        if self.line_begins {
            if self.family != Family::Braces {
                self.out.push_str(&self.indentation);
            }
        } else if self.blank && self.blank_matters(piece) {
            self.out.push(' ');
        }
        self.line_begins = false;
        self.blank = false;
        self.out.push_str(piece);
    }

    /// A blank matters between two words and between two signs; not between a word and a sign, unless words are what the
    /// language is made of.
    fn blank_matters(&self, after: &str) -> bool {
        let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '"' || c == '\'';
        let before = self.out.chars().next_back().is_some_and(is_word);
        let after = after.chars().next().is_some_and(is_word);
        self.family == Family::Words || before == after
    }

    /// Measures the comment that begins here.
    fn comment(&self) -> Option<usize> {
        let line = || self.rest.find('\n').unwrap_or(self.rest.len());
        match self.family {
            Family::Braces if self.rest.starts_with("//") => Some(line()),
            Family::Braces if self.rest.starts_with("/*") => {
                // One that never ends is none: what follows is kept.
                self.rest.find("*/").map(|at| at + 2)
            }
            Family::Python if self.rest.starts_with('#') => Some(line()),
            // `$#` and `a#b` are no comments, nor is the first line's `#!`.
            Family::Words if self.rest.starts_with('#') && (self.blank || self.line_begins) => {
                (!self.rest.starts_with("#!")).then(line)
            }
            Family::Braces | Family::Python | Family::Words | Family::Unknown => None,
        }
    }

    /// Measures the text between quotes that begins here. One that does not end is a sign like any other.
    fn literal(&self) -> Option<usize> {
        let quotes: &[&str] = match self.family {
            Family::Python => &["\"\"\"", "'''", "\"", "'"],
            Family::Braces => &["\"", "`", "'"],
            Family::Words | Family::Unknown => &["\"", "'", "`"],
        };
        let quote = quotes.iter().find(|quote| self.rest.starts_with(**quote))?;
        let one_line = quote.len() == 1 && *quote != "`" && self.family != Family::Words;
        let mut at = quote.len();
        while let Some(next) = self.rest[at..].chars().next() {
            if self.rest[at..].starts_with(quote) {
                return Some(at + quote.len());
            }
            match next {
                '\\' => {
                    at += 1 + self.rest[at + 1..].chars().next().map_or(0, char::len_utf8);
                }
                // `'a` in Rust is a lifetime; a text over several lines is Rust's, too, and stays unshortened below.
                '\n' if one_line => return None,
                other => at += other.len_utf8(),
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn same(path: &str, one: &str, other: &str) {
        assert_eq!(essence(path, one), essence(path, other));
    }

    #[track_caller]
    fn different(path: &str, one: &str, other: &str) {
        assert_ne!(essence(path, one), essence(path, other));
    }

    #[test]
    fn comments_are_not_seen() {
        same("a.rs", "let a = 1; // one\n", "let a = 1;\n");
        same("a.ts", "f(/* x */ 1)", "f(1)");
        same("a.py", "a = 1  # one\n# two\n", "a = 1\n");
        same("a.sh", "echo a # b\n", "echo a\n");
    }

    #[test]
    fn what_looks_like_a_comment_in_a_text_is_seen() {
        different("a.rs", "\"// a\"", "\"// b\"");
        different("a.py", "'# a'", "'# b'");
        different("a.js", "`/* a */`", "`/* b */`");
        different("a.sh", "echo $# a#b", "echo $# a#c");
        different("a.py", "a = \"\"\"\n# one\n\"\"\"", "a = \"\"\"\n# two\n\"\"\"");
    }

    #[test]
    fn blanks_count_where_the_language_sees_them() {
        same("a.rs", "if a<b {\n\n  f( 1 )\n}", "if a < b {\nf(1)\n}\n");
        different("a.rs", "a b", "ab");
        different("a.c", "a - -b", "a --b");
        different("a.py", "if a:\n  b\n  c\n", "if a:\n  b\nc\n");
        different("a.sh", "[ a = b ]", "[ a=b ]");
        different("a.rs", "\"a b\"", "\"a  b\"");
        different("a.js", "return\na", "return a");
    }

    #[test]
    fn of_an_unknown_language_every_byte_counts() {
        different("a.sql", "a -- b", "a");
        different("Makefile", "\ta", "a");
    }

    #[test]
    fn a_lifetime_is_no_text_and_an_open_comment_hides_nothing() {
        different("a.rs", "fn f<'a>(x: &'a u8) { 1 }", "fn f<'a>(x: &'a u8) { 2 }");
        different("a.c", "/* a", "/* b");
    }
}
