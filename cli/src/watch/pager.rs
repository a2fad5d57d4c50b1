//! Where a person reads in an output that may still grow.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::text::Line;

use super::scroll::{Scroll, wrapped};

/// A place in an output.
#[derive(Debug)]
pub(crate) struct Pager {
    at: At,
}

/// The row at the top of the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    /// As far down as there is anything, also when more comes.
    End,
    /// A row of a line, by the line's number.
    Row { line: u64, row: usize },
}

/// The room that there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Room {
    pub(crate) width: usize,
    pub(crate) height: usize,
}

/// What a key did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Read {
    On,
    Done,
}

impl Pager {
    /// Opens it at the end, which is what a person looks for.
    pub(crate) fn new() -> Self {
        Self { at: At::End }
    }

    /// Takes a key.
    pub(crate) fn press(&mut self, key: KeyEvent, scroll: &Scroll, room: Room) -> Read {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let page = room.height.saturating_sub(1).max(1);
        match (key.code, control) {
            (KeyCode::Esc | KeyCode::Char('q' | 'l'), false) => return Read::Done,
            (KeyCode::Up | KeyCode::Char('k'), false) => self.up(1, scroll, room),
            (KeyCode::Down | KeyCode::Char('j') | KeyCode::Enter, false) => {
                self.down(1, scroll, room);
            }
            (KeyCode::PageUp | KeyCode::Char('b'), _) => self.up(page, scroll, room),
            (KeyCode::PageDown | KeyCode::Char('f' | ' '), _) => self.down(page, scroll, room),
            (KeyCode::Home | KeyCode::Char('g'), false) => {
                self.at = At::Row { line: scroll.first(), row: 0 };
                self.down(0, scroll, room);
            }
            (KeyCode::End | KeyCode::Char('G'), _) => self.at = At::End,
            _ => {}
        }
        Read::On
    }

    /// Gives the rows on the screen.
    pub(crate) fn rows(&self, scroll: &Scroll, room: Room) -> Vec<Line<'static>> {
        match self.at {
            At::End => scroll.last_rows(room.width, room.height),
            At::Row { line, row } => {
                let first = line.max(scroll.first());
                let skip = if first == line { row } else { 0 };
                let lines = (first..scroll.end()).filter_map(|number| scroll.line(number));
                let rows = lines.flat_map(|line| wrapped(&line, room.width));
                rows.skip(skip).take(room.height).collect()
            }
        }
    }

    /// Says whether it shows the end and goes on with it.
    pub(crate) fn is_at_end(&self) -> bool {
        self.at == At::End
    }

    fn up(&mut self, by: usize, scroll: &Scroll, room: Room) {
        let (mut line, mut row) = self.top(scroll, room);
        for _ in 0..by {
            if row > 0 {
                row -= 1;
            } else if line > scroll.first() {
                line -= 1;
                row = height(scroll, line, room.width) - 1;
            }
        }
        self.at = At::Row { line, row };
    }

    fn down(&mut self, by: usize, scroll: &Scroll, room: Room) {
        let At::Row { .. } = self.at else { return };
        let (mut line, mut row) = self.top(scroll, room);
        for _ in 0..by {
            if row + 1 < height(scroll, line, room.width) {
                row += 1;
            } else if line + 1 < scroll.end() {
                line += 1;
                row = 0;
            }
        }
        let last = last_top(scroll, room);
        self.at = if (line, row) >= last { At::End } else { At::Row { line, row } };
    }

    /// Gives the row at the top, wherever the output has gone since.
    fn top(&self, scroll: &Scroll, room: Room) -> (u64, usize) {
        match self.at {
            At::End => last_top(scroll, room),
            At::Row { line, .. } if line < scroll.first() => (scroll.first(), 0),
            At::Row { line, row } => {
                (line, row.min(height(scroll, line, room.width).saturating_sub(1)))
            }
        }
    }
}

/// Gives the row at the top of the last screen.
fn last_top(scroll: &Scroll, room: Room) -> (u64, usize) {
    let mut left = room.height;
    let mut line = scroll.end();
    while line > scroll.first() {
        line -= 1;
        let rows = height(scroll, line, room.width);
        if rows >= left {
            return (line, rows - left);
        }
        left -= rows;
    }
    (scroll.first(), 0)
}

fn height(scroll: &Scroll, line: u64, width: usize) -> usize {
    scroll.line(line).map_or(1, |line| wrapped(&line, width).len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::page::Ink;
    use crate::watch::scroll::Limit;

    const ROOM: Room = Room { width: 4, height: 3 };

    fn scroll(lines: impl IntoIterator<Item = &'static str>) -> Scroll {
        let mut scroll = Scroll::new(Ink::Plain, Limit { lines: 6, bytes: 1024 * 1024 });
        lines.into_iter().for_each(|line| scroll.push(format!("{line}\n").as_bytes()));
        scroll
    }

    fn seen(pager: &Pager, scroll: &Scroll) -> String {
        let rows = pager.rows(scroll, ROOM);
        rows.iter().map(ToString::to_string).collect::<Vec<_>>().join("|")
    }

    fn press(pager: &mut Pager, scroll: &Scroll, code: KeyCode) -> Read {
        pager.press(KeyEvent::new(code, KeyModifiers::NONE), scroll, ROOM)
    }

    #[test]
    fn one_reads_row_by_row_and_the_end_stays_in_sight_while_more_comes() {
        let mut scroll = scroll(["1", "22222222", "3", "4"]);
        let mut pager = Pager::new();
        assert_eq!(seen(&pager, &scroll), "2222|3|4");
        press(&mut pager, &scroll, KeyCode::Up);
        assert_eq!(seen(&pager, &scroll), "2222|2222|3");
        press(&mut pager, &scroll, KeyCode::PageUp);
        assert_eq!(seen(&pager, &scroll), "1|2222|2222");
        scroll.push(b"5\n");
        assert_eq!(seen(&pager, &scroll), "1|2222|2222", "what is read stays where it is");
        for _ in 0..3 {
            press(&mut pager, &scroll, KeyCode::Down);
        }
        assert_eq!((seen(&pager, &scroll).as_str(), pager.is_at_end()), ("3|4|5", true));
        scroll.push(b"6\n");
        assert_eq!(seen(&pager, &scroll), "4|5|6");
        press(&mut pager, &scroll, KeyCode::Home);
        assert_eq!(seen(&pager, &scroll), "1|2222|2222");
        assert_eq!(press(&mut pager, &scroll, KeyCode::Esc), Read::Done);
    }

    #[test]
    fn whoever_reads_what_goes_away_is_at_the_oldest_that_is_left() {
        let mut scroll = scroll(["1", "2", "3", "4", "5", "6"]);
        let mut pager = Pager::new();
        press(&mut pager, &scroll, KeyCode::Home);
        scroll.push(b"7\n8\n");
        assert_eq!(seen(&pager, &scroll), "3|4|5");
        press(&mut pager, &scroll, KeyCode::Down);
        assert_eq!(seen(&pager, &scroll), "4|5|6");
        let nothing = Scroll::new(Ink::Plain, Limit::OUTPUT);
        let mut pager = Pager::new();
        for code in [KeyCode::Up, KeyCode::Down, KeyCode::Home, KeyCode::PageDown] {
            assert_eq!(
                (press(&mut pager, &nothing, code), seen(&pager, &nothing)),
                (Read::On, String::new())
            );
        }
    }
}
