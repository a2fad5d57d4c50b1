//! What each key does.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratchet_engine::name::{BatchName, StepKey};
use ratchet_engine::status::PhaseStatus;
use ratchet_supervisor::project::Report;

use super::board::{Addressee, Board, Mode, Source, Wish, Word, reading_room};
use super::entry::{Entry, Typed};
use super::pager::{Pager, Read};
use super::rows::{Place, Row};
use crate::render::page::Tone;

/// The keys of the tree, as `?` lists them.
pub(super) const HELP: [(&str, &str); 15] = [
    ("↑ ↓  k j", "choose a row"),
    ("PgUp PgDn", "ten rows at once"),
    ("Home End  g G", "the first row, the last row"),
    ("← →", "close and open a batch or a phase"),
    ("Enter", "open or close"),
    ("Tab", "the next row that waits for you"),
    ("a", "approve"),
    ("i  A", "answer, in a line of your own"),
    ("r", "reject, with the reason"),
    ("c", "stop the step that runs; asks first"),
    ("l", "read the whole output of the step"),
    ("?", "this help"),
    ("q", "leave; what runs goes on"),
    ("Ctrl-C", "the same, at once"),
    ("Ctrl-L", "draw everything anew"),
];

/// How many rows a page key goes.
const PAGE: usize = 10;

impl Board {
    /// Takes a key, and returns what is to be done about it.
    pub(crate) fn press(&mut self, key: KeyEvent) -> Option<Wish> {
        if key.kind == KeyEventKind::Release {
            return None;
        }
        match (key.code, key.modifiers.contains(KeyModifiers::CONTROL)) {
            (KeyCode::Char('c'), true) => return Some(Wish::Interrupt),
            (KeyCode::Char('l'), true) => return Some(Wish::Refresh),
            _ => {}
        }
        self.said.clear();
        match std::mem::replace(&mut self.mode, Mode::Looking) {
            Mode::Looking => self.looking(key),
            Mode::Help => None,
            Mode::Typing { to, entry } => self.typing(to, entry, key),
            Mode::Sure { batch, .. } => {
                matches!(key.code, KeyCode::Char('y' | 'Y')).then_some(Wish::Cancel { batch })
            }
            Mode::Reading { source, pager } => {
                self.page_through(source, pager, key);
                None
            }
        }
    }

    /// Takes what was pasted; it only goes where a line is typed.
    pub(crate) fn paste(&mut self, text: &str) {
        if let Mode::Typing { entry, .. } = &mut self.mode {
            entry.paste(text);
        }
    }

    fn looking(&mut self, key: KeyEvent) -> Option<Wish> {
        let index = self.chosen.index;
        match key.code {
            KeyCode::Up | KeyCode::Char('k') => self.choose(index.saturating_sub(1)),
            KeyCode::Down | KeyCode::Char('j') => self.choose(index.saturating_add(1)),
            KeyCode::PageUp => self.choose(index.saturating_sub(PAGE)),
            KeyCode::PageDown => self.choose(index.saturating_add(PAGE)),
            KeyCode::Home | KeyCode::Char('g') => self.choose(0),
            KeyCode::End | KeyCode::Char('G') => self.choose(usize::MAX),
            KeyCode::Left => self.close(),
            KeyCode::Right => self.open(),
            KeyCode::Enter | KeyCode::Char(' ') => self.turn(),
            KeyCode::Tab => self.next_waiting(),
            KeyCode::Char('?') => self.mode = Mode::Help,
            KeyCode::Char('q') => return Some(Wish::Leave),
            KeyCode::Char('a') => return self.approve(),
            KeyCode::Char('i' | 'A') => self.ask_for(Word::Answer),
            KeyCode::Char('r') => self.ask_for(Word::Reject),
            KeyCode::Char('c') => self.ask_whether_to_stop(),
            KeyCode::Char('l') => return self.read_log(),
            _ => {}
        }
        None
    }

    fn typing(&mut self, to: Addressee, mut entry: Entry, key: KeyEvent) -> Option<Wish> {
        match entry.press(key) {
            Typed::Going => {
                self.mode = Mode::Typing { to, entry };
                None
            }
            Typed::Left => None,
            Typed::Sent => {
                let report = match to.word {
                    Word::Answer => Report::Answer(entry.text()),
                    Word::Reject => Report::Reject(entry.text()),
                };
                Some(Wish::Report { batch: to.batch, key: to.key, report })
            }
        }
    }

    fn page_through(&mut self, source: Source, mut pager: Pager, key: KeyEvent) {
        let Some(output) = self.output_of(&source) else { return };
        if pager.press(key, &output.scroll, reading_room(self.room)) == Read::On {
            self.mode = Mode::Reading { source, pager };
        }
    }

    fn close(&mut self) {
        match self.chosen.place.clone() {
            // What is closed already, or has nothing in it, leads to what it is in.
            Some(Place::Change(..) | Place::PullRequest(_)) => self.choose_parent(),
            Some(place) if self.shut.contains(&place) => self.choose_parent(),
            Some(place) => {
                self.shut.insert(place);
                self.settle();
            }
            None => {}
        }
    }

    fn choose_parent(&mut self) {
        let Some(row) = self.row() else { return };
        let batch = row.batch().name.clone();
        let parent = match row {
            Row::Change(_, found, change) => {
                let holds = |phase: &&PhaseStatus| {
                    phase.changes.iter().any(|other| other.name == change.name)
                };
                let phase = found.status.phases.iter().find(holds);
                phase.map(|phase| Place::Phase(batch, phase.name.clone()))
            }
            Row::Phase(..) | Row::PullRequest(..) => Some(Place::Batch(batch)),
            Row::Batch(_) => None,
        };
        if parent.is_some() {
            self.chosen.place = parent;
            self.settle();
        }
    }

    fn open(&mut self) {
        if let Some(place) = &self.chosen.place {
            self.shut.remove(place);
            self.settle();
        }
    }

    fn turn(&mut self) {
        match &self.chosen.place {
            Some(place) if self.shut.contains(place) => self.open(),
            Some(Place::Batch(_) | Place::Phase(..)) => self.close(),
            Some(Place::Change(..) | Place::PullRequest(_)) | None => {}
        }
    }

    fn next_waiting(&mut self) {
        let rows = self.rows();
        let after = self.chosen.index + 1;
        let order = (after..rows.len()).chain(0..after.min(rows.len()));
        match order.into_iter().find(|index| rows[*index].waits()) {
            Some(index) => self.choose(index),
            None => self.hint("Nothing waits for you."),
        }
    }

    fn approve(&mut self) -> Option<Wish> {
        let (batch, key) = self.addressed()?;
        Some(Wish::Report { batch, key, report: Report::Approve })
    }

    fn ask_for(&mut self, word: Word) {
        if let Some((batch, key)) = self.addressed() {
            let to = Addressee { batch, key, word };
            self.mode = Mode::Typing { to, entry: Entry::default() };
        }
    }

    /// Finds whose step a decision would be about; tells the person if it is nobody's.
    fn addressed(&mut self) -> Option<(BatchName, StepKey)> {
        let row = self.row();
        let found =
            row.and_then(|row| Some((row.batch().name.clone(), row.keys().into_iter().next()?)));
        if found.is_none() {
            self.hint("Choose what is meant first: Tab leads to what waits for you.");
        }
        found
    }

    fn ask_whether_to_stop(&mut self) {
        match self.wanted() {
            Some((batch, step)) => {
                self.mode = Mode::Sure { batch: batch.clone(), what: step.what() };
            }
            None => self.hint("No step of this batch is running."),
        }
    }

    fn read_log(&mut self) -> Option<Wish> {
        let row = self.row()?;
        let (batch, keys) = (row.batch().name.clone(), row.keys());
        let runs_there = self.wanted().is_some_and(|(_, step)| {
            self.follows(step) && (keys.is_empty() || keys.contains(&step.key))
        });
        if runs_there {
            self.mode = Mode::Reading { source: Source::Followed, pager: Pager::new() };
            return None;
        }
        Some(Wish::ReadLog { batch, keys })
    }

    fn hint(&mut self, text: &str) {
        self.say(|page| {
            page.tone(Tone::Dim, text).end();
        });
    }
}
