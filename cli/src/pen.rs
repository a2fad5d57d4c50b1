//! The writer of live output: whole blocks, one system call for many lines, nothing held back when there is a pause.
//!
//! It never fails its caller. An agent must not be stopped because the reader of its output has gone away: what cannot
//! be written is dropped, and the first reason is kept for the end.

use std::io::{self, ErrorKind, Write};

/// Held back at most, and the size from which bytes go out without being copied: the size of an enlarged pipe's write.
const BLOCK: usize = 64 * 1024;

/// Writes bytes in blocks.
#[derive(Debug)]
pub(crate) struct Pen<W> {
    to: W,
    held: Vec<u8>,
    state: State,
}

#[derive(Debug)]
enum State {
    Writing,
    ReaderGone,
    Failed(io::Error),
}

impl<W: Write> Pen<W> {
    pub(crate) fn new(to: W) -> Self {
        Self { to, held: Vec::with_capacity(2 * BLOCK), state: State::Writing }
    }

    /// Takes bytes, and writes them if enough have come together.
    pub(crate) fn put(&mut self, bytes: &[u8]) {
        if self.held.is_empty() && bytes.len() >= BLOCK {
            self.send(bytes);
            return;
        }
        self.held.extend_from_slice(bytes);
        if self.held.len() >= BLOCK {
            self.write_held();
        }
    }

    /// Writes everything that was held back. To be called when nothing more is waiting.
    pub(crate) fn flush(&mut self) {
        self.write_held();
        if matches!(self.state, State::Writing)
            && let Err(error) = self.to.flush()
        {
            self.fail(error);
        }
    }

    /// Returns why output was lost, if it was and the reader did not just go away.
    pub(crate) fn finish(mut self) -> Option<io::Error> {
        self.flush();
        match self.state {
            State::Writing | State::ReaderGone => None,
            State::Failed(error) => Some(error),
        }
    }

    fn write_held(&mut self) {
        let held = std::mem::take(&mut self.held);
        self.send(&held);
        self.held = held;
        self.held.clear();
    }

    fn send(&mut self, bytes: &[u8]) {
        if matches!(self.state, State::Writing)
            && let Err(error) = self.to.write_all(bytes)
        {
            self.fail(error);
        }
    }

    fn fail(&mut self, error: io::Error) {
        self.state = match error.kind() {
            ErrorKind::BrokenPipe => State::ReaderGone,
            _ => State::Failed(error),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Remembers the writes, and refuses them from a given one on.
    struct Sink {
        writes: Vec<usize>,
        refuse: Option<ErrorKind>,
    }

    impl Write for &mut Sink {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.writes.push(bytes.len());
            self.refuse.map_or(Ok(bytes.len()), |kind| Err(kind.into()))
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn small_pieces_go_out_together_and_a_pause_sends_the_rest() {
        let mut sink = Sink { writes: Vec::new(), refuse: None };
        let mut pen = Pen::new(&mut sink);
        for _ in 0..70 {
            pen.put(&[b'x'; 1024]);
        }
        pen.flush();
        pen.put(&[b'y'; BLOCK]);
        assert!(pen.finish().is_none());
        assert_eq!(sink.writes, [BLOCK, 6 * 1024, BLOCK]);
    }

    #[test]
    fn a_reader_that_goes_away_is_no_failure_and_is_not_written_to_again() {
        let mut sink = Sink { writes: Vec::new(), refuse: Some(ErrorKind::BrokenPipe) };
        let mut pen = Pen::new(&mut sink);
        pen.put(&[b'x'; BLOCK]);
        pen.put(&[b'x'; BLOCK]);
        assert!(pen.finish().is_none());
        assert_eq!(sink.writes.len(), 1);
    }

    #[test]
    fn a_full_disk_is_told_at_the_end() {
        let mut sink = Sink { writes: Vec::new(), refuse: Some(ErrorKind::StorageFull) };
        let mut pen = Pen::new(&mut sink);
        pen.put(b"x");
        assert_eq!(pen.finish().map(|error| error.kind()), Some(ErrorKind::StorageFull));
    }
}
