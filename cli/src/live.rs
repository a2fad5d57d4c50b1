//! Shows a step while it runs: the agent's output as readable text, notices, and how to stop and to follow.
//!
//! Runs on a thread of its own, so that a slow terminal never holds up signals. Output goes to standard output; under
//! `--json` it goes to standard error, because standard output is for the one document (OQ-12).

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard};

use ratchet_supervisor::event::{Notice, NoticeLevel, Origin, Running, Started, StepEvent};
use tokio::sync::mpsc::Receiver;

use crate::args::Format;
use crate::pen::Pen;
use crate::render::event::Transcript;
use crate::render::page::{Ink, Tone};
use crate::ui::Ui;

/// What Ctrl-C does to the step that is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CtrlC {
    /// It stops the step.
    Stops,
    /// It only ends the showing.
    Leaves,
}

/// The notices that a person has had already: what holds for a whole run is said once, not before every step.
pub(crate) type Told = Arc<Mutex<BTreeSet<String>>>;

/// Shows events until there are no more. Returns why output was lost, if it was.
pub(crate) fn show(
    mut events: Receiver<StepEvent>,
    ui: Ui,
    format: Format,
    ctrl_c: CtrlC,
    told: Told,
) -> Option<io::Error> {
    let mut screen = Screen::new(ui, format, ctrl_c, told);
    while let Some(event) = events.blocking_recv() {
        screen.show(event);
        while let Ok(event) = events.try_recv() {
            screen.show(event);
        }
        screen.pen.flush();
    }
    screen.end_transcript();
    screen.pen.finish()
}

struct Screen {
    pen: Pen<Box<dyn Write>>,
    transcript: Transcript,
    ink: Ink,
    ui: Ui,
    ctrl_c: CtrlC,
    told: Told,
}

impl Screen {
    fn new(ui: Ui, format: Format, ctrl_c: CtrlC, told: Told) -> Self {
        let (to, ink): (Box<dyn Write>, Ink) = match format {
            Format::Text => (Box::new(io::stdout()), ui.out()),
            Format::Json => (Box::new(io::stderr()), ui.err()),
        };
        Self { pen: Pen::new(to), transcript: Transcript::of(None, ink), ink, ui, ctrl_c, told }
    }

    fn show(&mut self, event: StepEvent) {
        match event {
            StepEvent::Output { stream, bytes, .. } => {
                let Self { pen, transcript, .. } = self;
                transcript.push(stream, &bytes, &mut |bytes| pen.put(bytes));
            }
            StepEvent::Started(started) => {
                self.end_transcript();
                self.announce(&started);
                let agent = match &started.what {
                    Running::Agent { agent, .. } => agent.as_ref(),
                    Running::Proof => None,
                };
                self.transcript = Transcript::of(agent, self.ink);
            }
            StepEvent::Notice(notice) => self.notice(&notice),
            StepEvent::Ended => self.end_transcript(),
        }
    }

    fn end_transcript(&mut self) {
        let Self { pen, transcript, .. } = self;
        transcript.finish(&mut |bytes| pen.put(bytes));
        pen.flush();
    }

    fn announce(&mut self, started: &Started) {
        let what = match &started.what {
            Running::Agent { kind, agent: Some(agent) } => {
                format!("{kind} of {}: agent {agent}", started.key)
            }
            Running::Agent { kind, agent: None } => {
                format!("{kind} of {}: RATCHET_BATCH_AGENT_CMD", started.key)
            }
            Running::Proof => started.key.to_string(),
        };
        let origin = match started.origin {
            Origin::Fresh => "",
            Origin::Reattached => "started earlier; ",
        };
        let ctrl_c = match self.ctrl_c {
            CtrlC::Stops => "Ctrl-C stops it",
            CtrlC::Leaves => "Ctrl-C leaves it running",
        };
        let spawn = &started.spawn;
        self.ui.tell(|page| {
            page.tone(Tone::Dim, format_args!("{what}, spawn {spawn} ({origin}{ctrl_c})")).end();
        });
    }

    /// The output so far comes first, so that the order on a terminal is the order of the events.
    fn notice(&mut self, notice: &Notice) {
        let is_new = |mut told: MutexGuard<'_, BTreeSet<String>>| told.insert(notice.text.clone());
        if !self.told.lock().map_or(true, is_new) {
            return;
        }
        self.pen.flush();
        let (tone, sign) = match notice.level {
            NoticeLevel::Info => (Tone::Dim, ""),
            NoticeLevel::Warning => (Tone::Warn, "⚠ "),
        };
        self.ui.tell(|page| {
            page.tone(tone, format_args!("{sign}{}", notice.text)).end();
        });
    }
}
