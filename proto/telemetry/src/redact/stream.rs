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
    /// The two bytes before it.
    before: Vec<u8>,
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
        while let Some((place, head)) = redactor.head(text, at) {
            let before = self.before(text, place, shown);
            match head.judge(&before, text, place, more) {
                Place::Plain => at = place + 1,
                Place::Open => return self.stop(text, shown, place, put),
                Place::Secret { from, to, run } => {
                    let Some(to) = self.whole(redactor, text, (place, to), more) else {
                        return self.stop(text, shown, place, put);
                    };
                    self.show(&text[shown..from], put);
                    put(MARK.as_bytes());
                    self.before = text[to.saturating_sub(2)..to].to_vec();
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

    /// Finds where a secret ends if others begin within it; `None` if that cannot be told yet.
    fn whole(
        &self,
        redactor: &Redactor,
        text: &[u8],
        (from, mut to): (usize, usize),
        more: More,
    ) -> Option<usize> {
        let mut at = from + 1;
        while let Some((place, head)) = redactor.head(text, at).filter(|(place, _)| *place < to) {
            match head.judge(&text[place.saturating_sub(2)..place], text, place, more) {
                Place::Secret { to: end, .. } => to = to.max(end),
                Place::Open if head.shape.is_none() => return None,
                Place::Open | Place::Plain => {}
            }
            at = place + 1;
        }
        let cut =
            more == More::May && redactor.half_a_head(text, from + 1).is_some_and(|at| at < to);
        // A token that goes on is hidden to its end anyway, so that it need not wait.
        let waits = cut && to - from < super::LONGEST && !self.is_in_a_token(redactor, text, from);
        (!waits).then_some(to)
    }

    fn is_in_a_token(&self, redactor: &Redactor, text: &[u8], from: usize) -> bool {
        redactor.head(text, from).is_some_and(|(_, head)| head.shape.is_some())
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
        if bytes.len() >= 2 {
            self.before.clear();
        }
        self.before.extend_from_slice(&bytes[bytes.len().saturating_sub(2)..]);
        let surplus = self.before.len().saturating_sub(2);
        self.before.drain(..surplus);
    }

    /// Gives up to two bytes that stand before a place, of this piece or an earlier one.
    fn before(&self, text: &[u8], place: usize, shown: usize) -> Vec<u8> {
        let here = &text[shown..place];
        let mut before = self.before.clone();
        before.extend_from_slice(&here[here.len().saturating_sub(2)..]);
        let surplus = before.len().saturating_sub(2);
        before.drain(..surplus);
        before
    }
}
