//! The head of a stream, kept for the `detail` of a result. Bytes stay bytes until the end.

use crate::agent::render::render;
use crate::agent::stream::AgentEvent;

/// More than the longest text that is shown (spec `step-and-outcome` 6: 2,000 characters after trimming).
const KEPT: usize = 64 * 1024;

/// The first bytes of a stream, leading blanks left out.
#[derive(Debug, Default)]
pub(super) struct Excerpt(Vec<u8>);

impl Excerpt {
    /// Takes what a person would read of an event.
    pub(super) fn take_event(&mut self, event: &AgentEvent<'_>) {
        if !self.is_full() {
            render(event, &mut |piece| self.take(&piece.text));
        }
    }

    /// Says that nothing more is kept.
    pub(super) fn is_full(&self) -> bool {
        self.0.len() == KEPT
    }

    pub(super) fn take(&mut self, bytes: &[u8]) {
        let bytes = if self.0.is_empty() { bytes.trim_ascii_start() } else { bytes };
        let room = KEPT - self.0.len();
        self.0.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    /// Decodes what was kept; what is no UTF-8 is replaced.
    pub(super) fn into_text(self) -> String {
        String::from_utf8_lossy(&self.0).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::stream::{AgentStream, StreamFormat};

    #[test]
    fn events_are_kept_as_they_read() {
        let mut stream = AgentStream::new(StreamFormat::Codex);
        let mut excerpt = Excerpt::default();
        let line = br#"{"type":"turn.failed","error":{"message":"no credit"}}"#;
        stream
            .push(b"{\"type\":\"turn.started\"}\nplain\n", &mut |event| excerpt.take_event(&event));
        stream.push(line, &mut |event| excerpt.take_event(&event));
        stream.finish(&mut |event| excerpt.take_event(&event));
        let text = excerpt.into_text();
        assert!(text.starts_with("plain\n") && text.ends_with("error: no credit\n"), "{text}");
    }

    #[test]
    fn an_excerpt_is_bounded_and_begins_with_the_first_word() {
        let mut excerpt = Excerpt::default();
        excerpt.take(b" \n ");
        excerpt.take(b"\n word");
        for _ in 0..100 {
            excerpt.take(&[b'x'; 4096]);
        }
        let text = excerpt.into_text();
        assert!(text.starts_with("wordx"));
        assert_eq!(text.len(), KEPT);
    }
}
