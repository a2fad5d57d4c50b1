//! Bytes in, whole lines out. Splits before anything is decoded, and never holds more than one bounded line.

use memchr::memchr;

/// The longest line that is held back to be looked at as a whole, in bytes (spec `agents-and-runtimes` 7.1).
pub const MAX_LINE: usize = 1 << 20;

/// A line, or a part of one that is too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Line<'a> {
    /// The bytes, without the newline.
    pub(super) bytes: &'a [u8],
    /// What they are.
    pub(super) part: Part,
}

/// How much of a line it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// All of it.
    Whole,
    /// The first or a middle part of a line longer than [`MAX_LINE`].
    Piece,
    /// The end of such a line.
    Tail,
}

/// Cuts a stream of bytes into lines, wherever the chunks end.
#[derive(Debug, Default)]
pub(super) struct Lines {
    held: Vec<u8>,
    in_long_line: bool,
}

impl Lines {
    /// Takes the next bytes and hands on every line they finish. A line that came in one chunk is not copied.
    pub(super) fn push(&mut self, mut bytes: &[u8], each: &mut dyn FnMut(Line<'_>)) {
        while let Some(end) = memchr(b'\n', bytes) {
            let (line, rest) = (&bytes[..end], &bytes[end + 1..]);
            if self.held.is_empty() && !self.in_long_line && line.len() <= MAX_LINE {
                each(Line { bytes: line, part: Part::Whole });
            } else {
                self.hold(line, each);
                self.release(each);
            }
            bytes = rest;
        }
        self.hold(bytes, each);
    }

    /// Hands on what is left at the end of the stream.
    pub(super) fn finish(&mut self, each: &mut dyn FnMut(Line<'_>)) {
        if !self.held.is_empty() || self.in_long_line {
            self.release(each);
        }
    }

    fn hold(&mut self, mut bytes: &[u8], each: &mut dyn FnMut(Line<'_>)) {
        while self.held.len() + bytes.len() > MAX_LINE {
            let (now, later) = bytes.split_at(MAX_LINE - self.held.len());
            self.held.extend_from_slice(now);
            each(Line { bytes: &self.held, part: Part::Piece });
            self.held.clear();
            self.in_long_line = true;
            bytes = later;
        }
        self.held.extend_from_slice(bytes);
    }

    fn release(&mut self, each: &mut dyn FnMut(Line<'_>)) {
        let part = if self.in_long_line { Part::Tail } else { Part::Whole };
        each(Line { bytes: &self.held, part });
        self.held.clear();
        self.in_long_line = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(chunks: &[&[u8]]) -> Vec<(usize, Part)> {
        let mut lines = Lines::default();
        let mut seen = Vec::new();
        let mut each = |line: Line<'_>| {
            assert!(line.bytes.len() <= MAX_LINE);
            seen.push((line.bytes.len(), line.part));
        };
        for chunk in chunks {
            lines.push(chunk, &mut each);
            assert!(lines.held.len() <= MAX_LINE && lines.held.capacity() <= 2 * MAX_LINE);
        }
        lines.finish(&mut each);
        seen
    }

    #[test]
    fn lines_are_cut_wherever_the_chunks_end() {
        let whole = |len| (len, Part::Whole);
        assert_eq!(cut(&[b"ab\n\ncd"]), [whole(2), whole(0), whole(2)]);
        assert_eq!(cut(&[b"a", b"b", b"\n", b"\ncd\n"]), [whole(2), whole(0), whole(2)]);
        assert_eq!(cut(&[b""]), []);
    }

    #[test]
    fn a_line_of_five_megabytes_is_handed_on_in_bounded_pieces() {
        let mut text = vec![b'x'; 5_000_000];
        text.extend(b"\nnext\n");
        let pieces = 5_000_000 / MAX_LINE;
        let mut expected = vec![(MAX_LINE, Part::Piece); pieces];
        expected.push((5_000_000 - pieces * MAX_LINE, Part::Tail));
        expected.push((4, Part::Whole));
        assert_eq!(cut(&[&text]), expected);
        assert_eq!(cut(&text.chunks(70_001).collect::<Vec<_>>()), expected);
        let exact = [vec![b'x'; MAX_LINE], b"\n".to_vec()].concat();
        assert_eq!(cut(&[&exact]), [(MAX_LINE, Part::Whole)]);
    }
}
