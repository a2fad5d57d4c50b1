//! Bytes that a terminal would be sent, as lines of styled text that can be shown anywhere: colours are kept, whatever
//! else would drive a terminal is dropped.
//!
//! What is kept is bounded, however much comes: the oldest lines go first, and a line that never ends is broken.

use std::collections::VecDeque;

use anstyle_parse::{Params, Parser, Perform};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};

use crate::render::page::Ink;

/// The most characters of one line; a longer one goes on in the next.
const LONGEST_LINE: usize = 1000;

/// What a span costs beside its text, so that colours alone fill no memory.
const SPAN_COST: usize = 64;

/// How far a tab leads.
const TAB: usize = 8;

/// How much is kept.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limit {
    /// Finished lines.
    pub(crate) lines: usize,
    /// Bytes of their text, colours included.
    pub(crate) bytes: usize,
}

impl Limit {
    /// Of the output of one step.
    pub(crate) const OUTPUT: Self = Self { lines: 20_000, bytes: 8 * 1024 * 1024 };
}

/// Lines in the making.
#[derive(Debug)]
pub(crate) struct Scroll {
    parser: Parser,
    sheet: Sheet,
}

#[derive(Debug)]
struct Sheet {
    ink: Ink,
    limit: Limit,
    lines: VecDeque<Kept>,
    bytes: usize,
    /// Lines that had to go.
    gone: u64,
    spans: Vec<Span<'static>>,
    text: String,
    /// Characters of the line in the making.
    length: usize,
    style: Style,
    /// What is printed next begins the line anew: the way of progress bars.
    returned: bool,
}

#[derive(Debug)]
struct Kept {
    line: Line<'static>,
    bytes: usize,
}

impl Scroll {
    pub(crate) fn new(ink: Ink, limit: Limit) -> Self {
        let sheet = Sheet {
            ink,
            limit,
            lines: VecDeque::new(),
            bytes: 0,
            gone: 0,
            spans: Vec::new(),
            text: String::new(),
            length: 0,
            style: Style::new(),
            returned: false,
        };
        Self { parser: Parser::default(), sheet }
    }

    /// Takes bytes, cut anywhere.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.parser.advance(&mut self.sheet, *byte);
        }
    }

    /// Gives the number of the first line that is kept: how many had to go before it.
    pub(crate) fn first(&self) -> u64 {
        self.sheet.gone
    }

    /// Gives the number after that of the last line; a line that is still in the making counts.
    pub(crate) fn end(&self) -> u64 {
        self.sheet.gone + self.sheet.lines.len() as u64 + u64::from(self.sheet.length > 0)
    }

    /// Returns a line by its number, if it is kept.
    pub(crate) fn line(&self, number: u64) -> Option<Line<'static>> {
        let index = usize::try_from(number.checked_sub(self.sheet.gone)?).ok()?;
        match self.sheet.lines.get(index) {
            Some(kept) => Some(kept.line.clone()),
            None if index == self.sheet.lines.len() && self.sheet.length > 0 => {
                Some(self.sheet.unfinished())
            }
            None => None,
        }
    }

    /// Gives the last rows of a screen of this width, oldest first; fewer if there are no more.
    pub(crate) fn last_rows(&self, width: usize, height: usize) -> Vec<Line<'static>> {
        let mut rows = VecDeque::new();
        let mut number = self.end();
        while rows.len() < height && number > self.first() {
            number -= 1;
            let Some(line) = self.line(number) else { break };
            for row in wrapped(&line, width).into_iter().rev().take(height - rows.len()) {
                rows.push_front(row);
            }
        }
        rows.into()
    }
}

/// Turns a finished text, a page for instance, into lines.
pub(crate) fn lines(text: &str, ink: Ink) -> Vec<Line<'static>> {
    let mut scroll = Scroll::new(ink, Limit { lines: 200, bytes: 256 * 1024 });
    scroll.push(text.as_bytes());
    (scroll.first()..scroll.end()).filter_map(|number| scroll.line(number)).collect()
}

/// Breaks a line into rows of at most this width; a character that is wider than that has no row.
pub(crate) fn wrapped(line: &Line<'static>, width: usize) -> Vec<Line<'static>> {
    let mut rows = Vec::new();
    let mut spans: Vec<Span<'static>> = Vec::new();
    let mut used = 0;
    for span in &line.spans {
        let mut text = String::new();
        for grapheme in span.styled_graphemes(Style::new()) {
            let wide = columns(grapheme.symbol);
            if wide > width {
                continue;
            }
            if used + wide > width {
                if !text.is_empty() {
                    spans.push(Span::styled(std::mem::take(&mut text), span.style));
                }
                rows.push(Line::from(std::mem::take(&mut spans)));
                used = 0;
            }
            text.push_str(grapheme.symbol);
            used += wide;
        }
        if !text.is_empty() {
            spans.push(Span::styled(text, span.style));
        }
    }
    rows.push(Line::from(spans));
    rows
}

/// Cuts a line to a width, and shows by an ellipsis that it was longer.
pub(crate) fn fitted(line: Line<'static>, width: usize) -> Line<'static> {
    if line.width() <= width {
        return line;
    }
    let Some(rest) = width.checked_sub(1) else { return Line::default() };
    let mut rows = wrapped(&line, rest);
    let mut first = rows.swap_remove(0);
    first.push_span("…");
    first
}

/// Gives the columns that a text takes.
pub(crate) fn columns(text: &str) -> usize {
    Span::raw(text).width()
}

impl Sheet {
    fn unfinished(&self) -> Line<'static> {
        let mut line = Line::from(self.spans.clone());
        if !self.text.is_empty() {
            line.push_span(Span::styled(self.text.clone(), self.style));
        }
        line
    }

    fn end_span(&mut self) {
        if !self.text.is_empty() {
            self.spans.push(Span::styled(std::mem::take(&mut self.text), self.style));
        }
    }

    fn end_line(&mut self) {
        self.end_span();
        let line = Line::from(std::mem::take(&mut self.spans));
        let bytes = line.iter().map(|span| span.content.len() + SPAN_COST).sum();
        self.lines.push_back(Kept { line, bytes });
        self.bytes += bytes;
        self.length = 0;
        self.returned = false;
        while self.lines.len() > self.limit.lines || self.bytes > self.limit.bytes {
            let Some(oldest) = self.lines.pop_front() else { return };
            self.bytes -= oldest.bytes;
            self.gone += 1;
        }
    }

    fn put(&mut self, c: char) {
        if std::mem::take(&mut self.returned) {
            self.spans.clear();
            self.text.clear();
            self.length = 0;
        }
        if self.length == LONGEST_LINE {
            self.end_line();
        }
        self.text.push(c);
        self.length += 1;
    }
}

impl Perform for Sheet {
    fn print(&mut self, c: char) {
        self.put(if c.is_control() { char::REPLACEMENT_CHARACTER } else { c });
    }

    fn execute(&mut self, byte: u8) {
        match byte {
            b'\n' => self.end_line(),
            b'\r' => self.returned = true,
            b'\t' => {
                for _ in 0..TAB - self.length % TAB {
                    self.put(' ');
                }
            }
            _ => {}
        }
    }

    fn csi_dispatch(&mut self, params: &Params, intermediates: &[u8], _ignore: bool, action: u8) {
        if action != b'm' || !intermediates.is_empty() || self.ink == Ink::Plain {
            return;
        }
        let style = restyled(self.style, params);
        if style != self.style {
            self.end_span();
            self.style = style;
        }
    }
}

/// Follows the colours that a program asks for.
fn restyled(mut style: Style, params: &Params) -> Style {
    let mut codes = params.iter().flatten().copied();
    let mut first = true;
    loop {
        // No code at all stands for 0.
        let code = match (codes.next(), first) {
            (Some(code), _) => code,
            (None, true) => 0,
            (None, false) => return style,
        };
        first = false;
        style = match code {
            0 => Style::new(),
            1 => style.add_modifier(Modifier::BOLD),
            2 => style.add_modifier(Modifier::DIM),
            3 => style.add_modifier(Modifier::ITALIC),
            4 => style.add_modifier(Modifier::UNDERLINED),
            7 => style.add_modifier(Modifier::REVERSED),
            22 => style.remove_modifier(Modifier::BOLD | Modifier::DIM),
            23 => style.remove_modifier(Modifier::ITALIC),
            24 => style.remove_modifier(Modifier::UNDERLINED),
            27 => style.remove_modifier(Modifier::REVERSED),
            30..=37 => style.fg(sixteen(code - 30)),
            38 => wide(&mut codes).map_or(style, |colour| style.fg(colour)),
            39 => style.fg(Color::Reset),
            40..=47 => style.bg(sixteen(code - 40)),
            48 => wide(&mut codes).map_or(style, |colour| style.bg(colour)),
            49 => style.bg(Color::Reset),
            90..=97 => style.fg(sixteen(code - 90 + 8)),
            100..=107 => style.bg(sixteen(code - 100 + 8)),
            _ => style,
        };
    }
}

/// Names the colours that the terminal's owner has chosen.
fn sixteen(number: u16) -> Color {
    match number {
        0 => Color::Black,
        1 => Color::Red,
        2 => Color::Green,
        3 => Color::Yellow,
        4 => Color::Blue,
        5 => Color::Magenta,
        6 => Color::Cyan,
        7 => Color::Gray,
        8 => Color::DarkGray,
        9 => Color::LightRed,
        10 => Color::LightGreen,
        11 => Color::LightYellow,
        12 => Color::LightBlue,
        13 => Color::LightMagenta,
        14 => Color::LightCyan,
        _ => Color::White,
    }
}

/// Reads a colour of the larger palettes: `5;n` or `2;r;g;b`.
fn wide(codes: &mut impl Iterator<Item = u16>) -> Option<Color> {
    let mut byte = || codes.next().and_then(|code| u8::try_from(code).ok());
    match byte()? {
        5 => Some(Color::Indexed(byte()?)),
        2 => Some(Color::Rgb(byte()?, byte()?, byte()?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(bytes: &[u8], ink: Ink) -> Vec<Line<'static>> {
        let mut scroll = Scroll::new(ink, Limit::OUTPUT);
        scroll.push(bytes);
        (scroll.first()..scroll.end()).map(|number| scroll.line(number).unwrap()).collect()
    }

    fn texts(lines: &[Line<'_>]) -> Vec<String> {
        lines.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn colours_are_kept_and_everything_else_that_drives_a_terminal_is_dropped() {
        let bytes = b"\x1b[2J\x1b[31mred\x1b[0m \x1b]0;title\x07plain\x07\x1b[5;5Hx\xff\xc2\x9b2J";
        let lines = of(bytes, Ink::Colour);
        assert_eq!(texts(&lines), ["red plainx\u{fffd}2J"]);
        assert_eq!(lines[0].spans[0], Span::styled("red", Style::new().fg(Color::Red)));
        assert_eq!(of(bytes, Ink::Plain)[0].spans.len(), 1);
    }

    #[test]
    fn a_progress_bar_is_shown_as_it_was_last_and_windows_lines_end_once() {
        assert_eq!(texts(&of(b"10%\r20%\rdone\r\na\tb", Ink::Plain)), ["done", "a       b"]);
    }

    #[test]
    fn the_larger_palettes_are_understood_and_a_broken_one_changes_nothing() {
        let colour = |bytes: &[u8]| of(bytes, Ink::Colour)[0].spans[0].style.fg;
        assert_eq!(colour(b"\x1b[38;5;200mx"), Some(Color::Indexed(200)));
        assert_eq!(colour(b"\x1b[38;2;1;2;3mx"), Some(Color::Rgb(1, 2, 3)));
        assert_eq!(colour(b"\x1b[38;9mx"), None);
        assert_eq!(colour(b"\x1b[31m\x1b[mx"), None);
    }

    #[test]
    fn what_is_kept_is_bounded_and_says_how_much_went() {
        let mut scroll = Scroll::new(Ink::Plain, Limit { lines: 3, bytes: 1024 * 1024 });
        for number in 0..10 {
            scroll.push(format!("{number}\n").as_bytes());
        }
        assert_eq!((scroll.first(), scroll.end()), (7, 10));
        assert_eq!(texts(&scroll.last_rows(80, 2)), ["8", "9"]);
        let mut scroll = Scroll::new(Ink::Colour, Limit { lines: 1000, bytes: 8 * 1024 });
        scroll.push(&vec![b'x'; 100 * 1024]);
        scroll.push(b"\x1b]0;");
        scroll.push(&vec![b'y'; 1024 * 1024]);
        assert!(scroll.sheet.bytes <= 8 * 1024 && scroll.sheet.length <= LONGEST_LINE);
    }

    #[test]
    fn rows_break_between_characters_that_people_see() {
        let line = Line::from("ab\u{301}日本語");
        assert_eq!(texts(&wrapped(&line, 4)), ["ab\u{301}日", "本語"]);
        assert_eq!(texts(&wrapped(&line, 1)), ["a", "b\u{301}"]);
        assert_eq!(texts(&wrapped(&Line::default(), 5)), [""]);
        assert_eq!(fitted(line.clone(), 5).to_string(), "ab\u{301}日…");
        assert_eq!(fitted(line, 8).to_string(), "ab\u{301}日本語");
    }
}
