//! The only writer to standard output and standard error, live output ([`crate::live`]) and the dashboard
//! (`commands/watch/terminal.rs`) apart.
//!
//! Data goes to standard output, all else to standard error. A reader that has gone away is no error: what it did not
//! want to read is not written. A full disk is.

use std::io::{self, ErrorKind, Write as _};
use std::sync::Mutex;

use anstream::{AutoStream, ColorChoice};
use serde::Serialize;
use thiserror::Error;
use tokio::sync::mpsc::{self, Receiver, Sender};

use crate::args::Format;
use crate::render::page::{Ink, Page};

/// An answer could not be written.
#[derive(Debug, Error)]
#[error("could not write to standard output")]
pub(crate) struct NotWritten(#[source] io::Error);

impl NotWritten {
    /// Says why an answer that was written elsewhere is not complete.
    pub(crate) fn because(error: io::Error) -> Self {
        Self(error)
    }
}

/// What is told at once while somebody listens.
const TOLD_AT_ONCE: usize = 8;

/// Whoever has the whole screen, and shows what is told itself.
static EAR: Mutex<Option<Sender<String>>> = Mutex::new(None);

/// Hears everything that is told, instead of standard error, until it is dropped.
#[derive(Debug)]
pub(crate) struct Ear {
    told: Receiver<String>,
}

impl Ear {
    /// Listens from now on.
    pub(crate) fn new() -> Self {
        let (ear, told) = mpsc::channel(TOLD_AT_ONCE);
        if let Ok(mut slot) = EAR.lock() {
            *slot = Some(ear);
        }
        Self { told }
    }

    /// Waits for what is told next.
    pub(crate) async fn hear(&mut self) -> String {
        match self.told.recv().await {
            Some(text) => text,
            None => std::future::pending().await,
        }
    }
}

impl Drop for Ear {
    fn drop(&mut self) {
        if let Ok(mut slot) = EAR.lock() {
            *slot = None;
        }
    }
}

/// The two streams and how to write to them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ui {
    out: Ink,
    err: Ink,
}

impl Ui {
    /// Looks once at the streams and at NO_COLOR, CLICOLOR, CLICOLOR_FORCE and TERM.
    pub(crate) fn detect() -> Self {
        Self {
            out: ink(AutoStream::choice(&io::stdout())),
            err: ink(AutoStream::choice(&io::stderr())),
        }
    }

    /// Writes without colours, whatever the streams are.
    pub(crate) fn plain() -> Self {
        Self { out: Ink::Plain, err: Ink::Plain }
    }

    /// Returns whether standard output takes colours.
    pub(crate) fn out(self) -> Ink {
        self.out
    }

    /// Returns whether standard error takes colours.
    pub(crate) fn err(self) -> Ink {
        self.err
    }

    /// Answers in the way that was asked for: the document as JSON, or the page that `draw` fills.
    pub(crate) fn answer(
        self,
        format: Format,
        document: &impl Serialize,
        draw: impl FnOnce(&mut Page),
    ) -> Result<(), NotWritten> {
        match format {
            Format::Json => self.json(document),
            Format::Text => self.text(draw),
        }
    }

    /// Prints one JSON document, two spaces deep.
    pub(crate) fn json(self, document: &impl Serialize) -> Result<(), NotWritten> {
        let mut text = serde_json::to_string_pretty(document)
            .map_err(|error| NotWritten(io::Error::other(error)))?;
        text.push('\n');
        print(text.as_bytes())
    }

    /// Prints the page that `draw` fills.
    pub(crate) fn text(self, draw: impl FnOnce(&mut Page)) -> Result<(), NotWritten> {
        let mut page = Page::new(self.out);
        draw(&mut page);
        print(page.finish().as_bytes())
    }

    /// Prints bytes as they are.
    pub(crate) fn bytes(self, bytes: &[u8]) -> Result<(), NotWritten> {
        print(bytes)
    }

    /// Tells the person something that is not the answer. Nobody can be told if this fails.
    pub(crate) fn tell(self, draw: impl FnOnce(&mut Page)) {
        let mut page = Page::new(self.err);
        draw(&mut page);
        if let Ok(ear) = EAR.lock()
            && let Some(ear) = &*ear
        {
            // What is said faster than it can be shown is not missed among so much.
            let _shown_or_too_much = ear.try_send(page.finish().to_owned());
            return;
        }
        let mut stream = io::stderr().lock();
        if stream.write_all(page.finish().as_bytes()).is_ok() {
            drop(stream.flush());
        }
    }
}

fn ink(choice: ColorChoice) -> Ink {
    match choice {
        ColorChoice::Never => Ink::Plain,
        ColorChoice::Auto | ColorChoice::AlwaysAnsi | ColorChoice::Always => Ink::Colour,
    }
}

fn print(bytes: &[u8]) -> Result<(), NotWritten> {
    let mut stream = io::stdout().lock();
    match stream.write_all(bytes).and_then(|()| stream.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(NotWritten(error)),
        Ok(()) | Err(_) => Ok(()),
    }
}
