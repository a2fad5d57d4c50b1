//! The state of the dashboard: what was found, what is chosen, what is open, and what is said. News and keys change it.

use std::collections::BTreeSet;

use ratatui::text::Line;
use ratchet_engine::name::{BatchName, StepKey};
use ratchet_engine::time::Timestamp;
use ratchet_supervisor::event::{NoticeLevel, StepEvent};
use ratchet_supervisor::project::Report;

use super::entry::Entry;
use super::look::{Look, Step};
use super::output::Output;
use super::pager::{Pager, Room};
use super::rows::{Place, Row, rows};
use super::scroll::lines;
use crate::render::page::{Ink, Page};

/// The dashboard.
#[derive(Debug)]
pub(crate) struct Board {
    pub(super) ink: Ink,
    /// Whose batches these are.
    pub(super) title: String,
    pub(super) now: Timestamp,
    pub(super) room: Room,
    /// `None` before the first look.
    pub(super) look: Option<Look>,
    pub(super) shut: BTreeSet<Place>,
    pub(super) chosen: Chosen,
    pub(super) mode: Mode,
    /// What the person is told until the next key.
    pub(super) said: Vec<Line<'static>>,
    /// What is being done for the person.
    pub(super) doing: Option<String>,
    pub(super) output: Option<Followed>,
}

/// The row that is chosen, and where it was last: its neighbour is chosen when it goes.
#[derive(Debug, Default)]
pub(super) struct Chosen {
    pub(super) place: Option<Place>,
    pub(super) index: usize,
}

/// The output that is followed.
#[derive(Debug)]
pub(super) struct Followed {
    pub(super) batch: BatchName,
    pub(super) output: Output,
    pub(super) over: bool,
}

/// What keys mean.
#[derive(Debug)]
pub(super) enum Mode {
    Looking,
    Help,
    /// A line is typed that will be sent.
    Typing {
        to: Addressee,
        entry: Entry,
    },
    /// A step is to be stopped, if the person says yes.
    Sure {
        batch: BatchName,
        what: String,
    },
    /// A whole output is read.
    Reading {
        source: Source,
        pager: Pager,
    },
}

/// Whose output is read.
#[derive(Debug)]
pub(super) enum Source {
    /// That of the step that is followed anyway.
    Followed,
    /// That of a step that is over.
    Stored(Box<Output>),
}

/// What a typed line is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Addressee {
    pub(super) batch: BatchName,
    pub(super) key: StepKey,
    pub(super) word: Word,
}

/// The kinds of report that need words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Word {
    Answer,
    Reject,
}

/// What the person wants done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Wish {
    /// The end.
    Leave,
    /// The end, as Ctrl-C means it.
    Interrupt,
    /// A fresh picture of a fresh look.
    Refresh,
    /// A decision on a step.
    Report { batch: BatchName, key: StepKey, report: Report },
    /// The end of the step that runs.
    Cancel { batch: BatchName },
    /// The stored output of the latest step with one of these keys; of any step, if none is given.
    ReadLog { batch: BatchName, keys: Vec<StepKey> },
}

impl Board {
    pub(crate) fn new(ink: Ink, title: String, now: Timestamp, room: Room) -> Self {
        Self {
            ink,
            title,
            now,
            room,
            look: None,
            shut: BTreeSet::new(),
            chosen: Chosen::default(),
            mode: Mode::Looking,
            said: Vec::new(),
            doing: None,
            output: None,
        }
    }

    /// Takes what a look found.
    pub(crate) fn found(&mut self, look: Look, now: Timestamp) {
        self.look = Some(look);
        self.now = now;
        self.settle();
    }

    /// Takes the time; needed while [`Board::ticks`].
    pub(crate) fn tick(&mut self, now: Timestamp) {
        self.now = now;
    }

    /// Takes the size of the screen.
    pub(crate) fn resize(&mut self, room: Room) {
        self.room = room;
    }

    /// Says whether something is shown that changes with the time alone.
    pub(crate) fn ticks(&self) -> bool {
        let look = self.look.iter().flat_map(|look| &look.batches);
        look.filter_map(|batch| batch.found.as_ref().ok()).any(|found| found.step.is_some())
    }

    /// Tells the person something.
    pub(crate) fn say(&mut self, draw: impl FnOnce(&mut Page)) {
        let mut page = Page::new(self.ink);
        draw(&mut page);
        self.said = lines(page.finish(), self.ink);
    }

    /// Shows that something is being done; nothing else is begun meanwhile.
    pub(crate) fn begin(&mut self, what: String) {
        self.doing = Some(what);
    }

    /// Takes the end of what was being done.
    pub(crate) fn done(&mut self) {
        self.doing = None;
    }

    /// Returns the step whose output should be followed: that of the batch that is chosen.
    pub(crate) fn wanted(&self) -> Option<(&BatchName, &Step)> {
        let batch = self.row()?.batch();
        Some((&batch.name, batch.found.as_ref().ok()?.step.as_ref()?))
    }

    /// Says whether a step's output is the one that is followed.
    pub(crate) fn follows(&self, step: &Step) -> bool {
        self.output.as_ref().is_some_and(|followed| followed.output.spawn == step.spawn)
    }

    /// Begins to show another output.
    pub(crate) fn follow(&mut self, batch: BatchName, step: &Step) {
        if self.reads_followed() {
            self.mode = Mode::Looking;
        }
        let output = Output::of(step.spawn.clone(), step.what(), step.agent.as_ref(), self.ink);
        self.output = Some(Followed { batch, output, over: false });
    }

    /// Forgets an output that is not of the batch that is chosen. Returns whether it did.
    pub(crate) fn drop_foreign_output(&mut self) -> bool {
        let Some(followed) = &self.output else { return false };
        let here = self.row().is_some_and(|row| row.batch().name == followed.batch);
        if here || self.reads_followed() {
            return false;
        }
        self.output = None;
        true
    }

    /// Takes what the followed step tells.
    pub(crate) fn hear(&mut self, event: StepEvent) {
        let Some(Followed { output, over, .. }) = &mut self.output else { return };
        match event {
            StepEvent::Output { stream, bytes, .. } => output.push(stream, &bytes),
            StepEvent::Notice(notice) => match notice.level {
                NoticeLevel::Info | NoticeLevel::Warning => output.remark(&notice.text),
            },
            StepEvent::Started(_) => {}
            StepEvent::Ended => {
                output.finish();
                *over = true;
            }
        }
    }

    /// Takes the end of the following, and why it ended if the step did not.
    pub(crate) fn hear_no_more(&mut self, why: Option<&str>) {
        let Some(Followed { output, over, .. }) = &mut self.output else { return };
        match why {
            Some(why) => output.remark(why),
            None => output.finish(),
        }
        *over = true;
    }

    /// Opens the output of a step that is over.
    pub(crate) fn read(&mut self, output: Output) {
        let source = Source::Stored(Box::new(output));
        self.mode = Mode::Reading { source, pager: Pager::new() };
    }

    /// Returns the stored output that is being read, so that more of it can be put in.
    pub(crate) fn reading(&mut self) -> Option<&mut Output> {
        match &mut self.mode {
            Mode::Reading { source: Source::Stored(output), .. } => Some(output),
            Mode::Reading { source: Source::Followed, .. }
            | Mode::Looking
            | Mode::Help
            | Mode::Typing { .. }
            | Mode::Sure { .. } => None,
        }
    }

    /// Returns how this dashboard colours.
    pub(crate) fn ink(&self) -> Ink {
        self.ink
    }

    pub(super) fn rows(&self) -> Vec<Row<'_>> {
        self.look.as_ref().map(|look| rows(look, &self.shut)).unwrap_or_default()
    }

    /// Returns the row that is chosen.
    pub(super) fn row(&self) -> Option<Row<'_>> {
        let place = self.chosen.place.as_ref()?;
        self.rows().into_iter().find(|row| row.place() == *place)
    }

    /// Chooses the row with this number, or the last one.
    pub(super) fn choose(&mut self, index: usize) {
        let rows = self.rows();
        let index = index.min(rows.len().saturating_sub(1));
        let place = rows.get(index).map(|row| row.place());
        self.chosen = Chosen { place, index };
    }

    /// Keeps a row chosen, whatever rows have come and gone.
    pub(super) fn settle(&mut self) {
        let place = self.chosen.place.as_ref();
        let found =
            place.and_then(|place| self.rows().iter().position(|row| row.place() == *place));
        self.choose(found.unwrap_or(self.chosen.index));
    }

    /// Returns what is read.
    pub(super) fn output_of<'a>(&'a self, source: &'a Source) -> Option<&'a Output> {
        match source {
            Source::Followed => self.output.as_ref().map(|followed| &followed.output),
            Source::Stored(output) => Some(output),
        }
    }

    fn reads_followed(&self) -> bool {
        matches!(self.mode, Mode::Reading { source: Source::Followed, .. })
    }
}

/// Gives the room for text when a pager has its heading and its footer.
pub(super) fn reading_room(room: Room) -> Room {
    Room { height: room.height.saturating_sub(2), ..room }
}
