//! What an agent prints, made readable: its event stream becomes text in our colours, all else goes through as it is.
//!
//! Works on bytes and adds no copy for plain output, so that a flood costs little. Secrets are hidden last, after decoding: each
//! stream by itself, because their pieces come in any order. How an agent's events read is
//! `ratchet_supervisor::agent::render`'s business; here they only get their colours.

use std::borrow::Cow;

use owo_colors::{OwoColorize as _, Style as Paint};
use ratchet_engine::name::AgentName;
use ratchet_supervisor::agent::Agent;
use ratchet_supervisor::agent::render::{Piece, Style, render};
use ratchet_supervisor::agent::stream::{AgentEvent, AgentStream, StreamFormat};
use ratchet_supervisor::event::Stream;
use ratchet_telemetry::redact;

use super::page::Ink;

/// Where readable bytes go.
pub(crate) type Put<'a> = &'a mut dyn FnMut(&[u8]);

/// Reads one spawn's output.
#[derive(Debug)]
pub(crate) struct Transcript {
    ink: Ink,
    events: Option<AgentStream>,
    /// The last byte that was shown, so that what follows can begin on a line of its own.
    last: u8,
    stdout: redact::Stream,
    stderr: redact::Stream,
}

impl Transcript {
    /// Makes a transcript of an agent's output; of plain output if there is no agent, or an unknown one.
    pub(crate) fn of(agent: Option<&AgentName>, ink: Ink) -> Self {
        let format = agent.and_then(|name| Agent::find(name).ok()).map(Agent::format);
        let events = match format {
            None | Some(StreamFormat::Raw) => None,
            Some(format) => Some(AgentStream::new(format)),
        };
        Self::new(ink, events)
    }

    fn new(ink: Ink, events: Option<AgentStream>) -> Self {
        let redactor = redact::current();
        let (stdout, stderr) = (redactor.stream(), redactor.stream());
        Self { ink, events, last: b'\n', stdout, stderr }
    }

    /// Makes a transcript of stored output: of the format in which the fewest of its first lines are strange.
    pub(crate) fn sniffed(first: &[u8], ink: Ink) -> Self {
        let formats = [
            StreamFormat::Claude,
            StreamFormat::Codex,
            StreamFormat::Gemini,
            StreamFormat::Cursor,
            StreamFormat::Opencode,
        ];
        let understood =
            formats.into_iter().filter_map(|format| Some((strange_lines(format, first)?, format)));
        let likeliest = understood.min_by_key(|(strange, _)| *strange);
        let events = likeliest.map(|(_, format)| AgentStream::new(format));
        Self::new(ink, events)
    }

    /// Takes output, cut anywhere.
    pub(crate) fn push(&mut self, stream: Stream, bytes: &[u8], put: Put<'_>) {
        let Self { ink, events, last, stdout, stderr } = self;
        let mut put = tracking(last, put);
        match (stream, events) {
            (Stream::Stdout, Some(events)) => {
                let mut clean = |bytes: &[u8]| stdout.push(bytes, &mut put);
                events.push(bytes, &mut |event| {
                    render(&event, &mut |piece| paint(*ink, piece, &mut clean))
                });
            }
            (Stream::Stdout, None) => stdout.push(bytes, &mut put),
            (Stream::Stderr, _) => stderr.push(bytes, &mut put),
        }
    }

    /// Takes the end of the output: what was held back comes out, and the last line ends.
    pub(crate) fn finish(&mut self, put: Put<'_>) {
        let Self { ink, events, last, stdout, stderr } = self;
        let mut tracked = tracking(last, &mut *put);
        if let Some(mut events) = events.take() {
            let mut clean = |bytes: &[u8]| stdout.push(bytes, &mut tracked);
            events.finish(&mut |event| render(&event, &mut |piece| paint(*ink, piece, &mut clean)));
        }
        stdout.finish(&mut tracked);
        stderr.finish(&mut tracked);
        drop(tracked);
        if *last != b'\n' {
            put(b"\n");
            *last = b'\n';
        }
    }
}

/// Counts the lines that are no events of a format; `None` if it understands none of them.
fn strange_lines(format: StreamFormat, first: &[u8]) -> Option<usize> {
    let mut strange = 0;
    let mut stream = AgentStream::new(format);
    stream
        .push(first, &mut |event| strange += usize::from(matches!(event, AgentEvent::Raw { .. })));
    stream.facts().saw_event.then_some(strange)
}

fn tracking<'a>(last: &'a mut u8, put: Put<'a>) -> impl FnMut(&[u8]) + 'a {
    move |bytes| {
        if let Some(byte) = bytes.last() {
            *last = *byte;
            put(bytes);
        }
    }
}

fn paint(ink: Ink, piece: Piece<'_>, put: &mut dyn FnMut(&[u8])) {
    let Some(paint) = tone(piece.style) else {
        put(&piece.text);
        return;
    };
    let text = String::from_utf8_lossy(&piece.text);
    let text = cleaned(&text);
    match ink {
        Ink::Plain => put(text.as_bytes()),
        Ink::Colour => put(text.style(paint).to_string().as_bytes()),
    }
}

/// Gives the colour of a style; `None` for bytes that go through untouched.
fn tone(style: Style) -> Option<Paint> {
    let paint = Paint::new();
    match style {
        Style::Plain => None,
        Style::Prose => Some(paint),
        Style::Tool => Some(paint.cyan()),
        Style::Faint => Some(paint.dimmed()),
        Style::Good => Some(paint.green()),
        Style::Bad => Some(paint.red()),
        Style::Warning => Some(paint.yellow()),
    }
}

/// Shows control characters that are left in decoded text as replacement characters: whatever an event's reader let
/// through must not drive the terminal.
fn cleaned(text: &str) -> Cow<'_, str> {
    let foreign = |c: char| c.is_control() && c != '\n' && c != '\t';
    if text.contains(foreign) {
        Cow::Owned(text.replace(foreign, "\u{fffd}"))
    } else {
        Cow::Borrowed(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(transcript: &mut Transcript, pieces: &[(Stream, &[u8])]) -> Vec<u8> {
        let mut all = Vec::new();
        for (stream, bytes) in pieces {
            transcript.push(*stream, bytes, &mut |bytes| all.extend_from_slice(bytes));
        }
        transcript.finish(&mut |bytes| all.extend_from_slice(bytes));
        all
    }

    #[test]
    fn plain_output_goes_through_byte_for_byte_and_its_last_line_ends() {
        let mut transcript = Transcript::of(None, Ink::Plain);
        let bytes = b"{\"type\":\"assistant\"}\n\xff\xfe \x1b[31mred";
        let expected = [bytes.as_slice(), b"\n"].concat();
        assert_eq!(shown(&mut transcript, &[(Stream::Stdout, bytes)]), expected);
        assert_eq!(shown(&mut Transcript::of(None, Ink::Plain), &[]), b"");
    }

    #[test]
    fn stored_output_is_read_in_the_format_that_fits_it_best() {
        let codex = b"{\"type\":\"thread.started\",\"thread_id\":\"t\"}\n";
        let mut shown = Vec::new();
        let mut transcript = Transcript::sniffed(codex, Ink::Plain);
        transcript.push(Stream::Stdout, codex, &mut |bytes| shown.extend_from_slice(bytes));
        assert_eq!(String::from_utf8(shown).unwrap(), "");
        assert!(Transcript::sniffed(b"building...\n{}\n", Ink::Plain).events.is_none());
    }

    #[test]
    fn an_agents_events_become_text_and_its_errors_stay_as_they_are() {
        let claude = AgentName::new("claude");
        let line = br#"{"type":"assistant","message":{"content":[{"type":"text","text":"hi \u001b[2Jthere"}]}}"#;
        let output = [line.as_slice(), b"\n"].concat();
        let pieces = [(Stream::Stdout, output.as_slice()), (Stream::Stderr, b"warn\n".as_slice())];
        assert_eq!(
            shown(&mut Transcript::of(Some(&claude), Ink::Plain), &pieces),
            b"hi [2Jthere\nwarn\n"
        );
    }
}
