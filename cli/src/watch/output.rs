//! What one step prints, kept readable in bounded memory.

use ratchet_engine::name::{AgentName, SpawnId};
use ratchet_supervisor::event::Stream;

use super::scroll::{Limit, Scroll};
use crate::render::event::Transcript;
use crate::render::page::{Ink, cleaned};

/// The output of one spawn, as `batch attach` shows it.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) spawn: SpawnId,
    /// What it is, for a heading.
    pub(crate) title: String,
    pub(crate) scroll: Scroll,
    transcript: Reading,
    ink: Ink,
}

/// How its bytes are read.
#[derive(Debug)]
enum Reading {
    /// By whom it was written is not known before its first bytes are there.
    Unknown,
    Known(Box<Transcript>),
}

impl Output {
    /// Of a step that runs: it is known whose output it is.
    pub(crate) fn of(spawn: SpawnId, title: String, agent: Option<&AgentName>, ink: Ink) -> Self {
        let transcript = Reading::Known(Box::new(Transcript::of(agent, ink)));
        Self { spawn, title, scroll: Scroll::new(ink, Limit::OUTPUT), transcript, ink }
    }

    /// Of a step that is over: the first bytes tell.
    pub(crate) fn stored(spawn: SpawnId, title: String, ink: Ink) -> Self {
        let scroll = Scroll::new(ink, Limit::OUTPUT);
        Self { spawn, title, scroll, transcript: Reading::Unknown, ink }
    }

    /// Takes what was printed, cut anywhere.
    pub(crate) fn push(&mut self, stream: Stream, bytes: &[u8]) {
        let Self { transcript, scroll, ink, .. } = self;
        if let Reading::Unknown = transcript {
            *transcript = Reading::Known(Box::new(Transcript::sniffed(bytes, *ink)));
        }
        if let Reading::Known(transcript) = transcript {
            transcript.push(stream, bytes, &mut |bytes| scroll.push(bytes));
        }
    }

    /// Takes a line about the output that is not part of it.
    pub(crate) fn remark(&mut self, text: &str) {
        self.finish();
        self.scroll.push(format!("⚠ {}\n", cleaned(text)).as_bytes());
    }

    /// Takes the end of the output.
    pub(crate) fn finish(&mut self) {
        let Self { transcript, scroll, .. } = self;
        if let Reading::Known(transcript) = transcript {
            transcript.finish(&mut |bytes| scroll.push(bytes));
        }
    }
}
