//! Redaction of bytes that come in pieces: what could still become a secret waits for the next piece.

use std::sync::Arc;

use super::shape::Shape;
use super::{MARK, Place, Redactor};

/// Whether more may come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum More {
    May,
    No,
}

/// Hides the secrets of one stream.
#[derive(Debug)]
pub struct Stream {
    redactor: Arc<Redactor>,
    state: State,
}

/// Where clean bytes go.
type Put<'a> = &'a mut dyn FnMut(&[u8]);

impl Stream {
    pub(super) fn new(redactor: Arc<Redactor>) -> Self {
        Self { redactor, state: State::default() }
    }

    /// Takes the next bytes, cut anywhere.
    pub fn push(&mut self, bytes: &[u8], put: Put<'_>) {
        self.state.take(&self.redactor, bytes, More::May, put);
    }

    /// Takes the end: what was held back comes out.
    pub fn finish(&mut self, put: Put<'_>) {
        self.state.take(&self.redactor, &[], More::No, put);
    }
}

/// What is remembered between two pieces.
#[derive(Debug, Default)]
pub(super) struct State {
    /// What waits.
    held: Vec<u8>,
    /// What stands before it.
    before: Tail,
    /// The token that was hidden last may go on.
    run: Option<&'static Shape>,
}

impl State {
    pub(super) fn take(&mut self, redactor: &Redactor, bytes: &[u8], more: More, put: Put<'_>) {
        if self.held.is_empty() {
            let kept = self.pass(redactor, bytes, more, put);
            self.held.extend_from_slice(&bytes[kept..]);
        } else {
            let mut all = std::mem::take(&mut self.held);
            all.extend_from_slice(bytes);
            let kept = self.pass(redactor, &all, more, put);
            all.drain(..kept);
            self.held = all;
        }
    }

    /// Lets through what is clear. Returns where that ends.
    fn pass(&mut self, redactor: &Redactor, text: &[u8], more: More, put: Put<'_>) -> usize {
        let mut shown = self.rest_of_run(text);
        let mut at = shown;
        while let Some(place) = redactor.candidate(text, at) {
            let before = self.before.followed_by(&text[shown..place]);
            match redactor.judge(before.bytes(), text, place, more) {
                Place::Plain => at = place + 1,
                Place::Open => return self.stop(text, shown, place, put),
                Place::Secret { from, to, run } => {
                    let whole = Self::whole(redactor, text, (place, to), run, more);
                    let Some(to) = whole else {
                        return self.stop(text, shown, place, put);
                    };
                    self.show(&text[shown..from], put);
                    put(MARK.as_bytes());
                    self.before = self.before.followed_by(&text[from..to]);
                    // Something longer may have grown over the end of the token.
                    self.run = run.filter(|_| to == text.len());
                    (shown, at) = (to, to);
                }
            }
        }
        let half = match more {
            More::May => redactor.half_a_head(text, shown),
            More::No => None,
        };
        self.stop(text, shown, half.unwrap_or(text.len()), put)
    }

    /// Finds where a secret ends if others begin within it; `None` if that cannot be told yet. A token that goes on is hidden
    /// to its end anyway, so that it need not wait.
    fn whole(
        redactor: &Redactor,
        text: &[u8],
        (from, mut to): (usize, usize),
        run: Option<&'static Shape>,
        more: More,
    ) -> Option<usize> {
        let (goes_on, mut at) = (run.is_some(), from + 1);
        while let Some(place) = redactor.candidate(text, at).filter(|place| *place < to) {
            match redactor.judge(&text[place.saturating_sub(2)..place], text, place, more) {
                Place::Secret { to: end, .. } => to = to.max(end),
                Place::Open if !goes_on && to - from < super::LONGEST => return None,
                Place::Open | Place::Plain => {}
            }
            at = place + 1;
        }
        let is_cut = || redactor.half_a_head(text, from + 1).is_some_and(|half| half < to);
        let waits = more == More::May && !goes_on && to - from < super::LONGEST && is_cut();
        (!waits).then_some(to)
    }

    /// Passes over the bytes of a token that was hidden before. Returns where it ends.
    fn rest_of_run(&mut self, text: &[u8]) -> usize {
        let Some(shape) = self.run else { return 0 };
        let end = text.iter().position(|byte| !shape.goes_on(*byte)).unwrap_or(text.len());
        if end < text.len() {
            self.run = None;
        }
        end
    }

    /// Shows up to a place, and keeps what comes after.
    fn stop(&mut self, text: &[u8], shown: usize, until: usize, put: Put<'_>) -> usize {
        self.show(&text[shown..until], put);
        until
    }

    fn show(&mut self, bytes: &[u8], put: Put<'_>) {
        if bytes.is_empty() {
            return;
        }
        put(bytes);
        self.before = self.before.followed_by(bytes);
    }
}

/// The last two bytes of what has gone by, or fewer.
#[derive(Debug, Clone, Copy, Default)]
struct Tail {
    bytes: [u8; 2],
    len: usize,
}

impl Tail {
    fn followed_by(mut self, more: &[u8]) -> Self {
        for byte in &more[more.len().saturating_sub(2)..] {
            self.bytes = if self.len < 2 { self.bytes } else { [self.bytes[1], self.bytes[1]] };
            self.len = (self.len + 1).min(2);
            self.bytes[self.len - 1] = *byte;
        }
        self
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}
