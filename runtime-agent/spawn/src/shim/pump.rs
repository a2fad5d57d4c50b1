//! Everything the shim waits for, in one poll: output, the end of children, the bell, signals.
//! It moves bytes and notes what happened; what follows from it is decided elsewhere.

use std::fs::File;
use std::io::{self, PipeReader, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use rustix::event::{PollFd, PollFlags};
use rustix::io::ioctl_fionbio;
use rustix::process::Signal;

use super::output::Spool;
use super::while_doing;
use crate::directory::{SpawnDir, private, read_json};
use crate::spool::{LONGEST_FRAME, Stream};
use crate::stop::StopRequest;
use crate::wait::poll_until;

/// Who asks for a stop by a signal to the shim.
const BY_SIGNAL: &str = "signal";

/// The reads of one stream in one turn, so that a flood on one keeps nothing else waiting.
const READS_A_TURN: usize = 16;

/// How much is read at once at first.
const FIRST_READ: usize = 4 * 1024;

/// The size of the pipes. More would count against the user's allowance of pipe memory (64 MiB for all).
const PIPE_BYTES: usize = 256 * 1024;

/// The shim's ears.
#[derive(Debug)]
pub(super) struct Pump {
    dir: SpawnDir,
    spool: Spool,
    sources: Vec<(Stream, PipeReader)>,
    /// Small until it was filled: there may be a thousand shims, and most agents say little at a time.
    buffer: Vec<u8>,
    bell: File,
    signals: UnixStream,
    told_to_stop: Arc<AtomicBool>,
    stop: Option<StopRequest>,
    signalled: bool,
    last_output: Option<Instant>,
}

impl Pump {
    /// Starts to listen. From here on signals are noted, not obeyed.
    pub(super) fn new(dir: &SpawnDir, spool: Spool) -> io::Result<Self> {
        let (signals, sender) = UnixStream::pair()?;
        signals.set_nonblocking(true)?;
        let told_to_stop = Arc::new(AtomicBool::new(false));
        for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
            signal_hook::flag::register(signal.as_raw(), Arc::clone(&told_to_stop))?;
        }
        for signal in [Signal::TERM, Signal::INT, Signal::HUP, Signal::CHILD] {
            signal_hook::low_level::pipe::register(signal.as_raw(), sender.try_clone()?)?;
        }
        // Opened for both, so that it neither blocks nor ever comes to an end.
        let bell = private()
            .read(true)
            .write(true)
            .open(dir.bell_file())
            .map_err(while_doing("cannot open the bell"))?;
        let mut pump = Self {
            dir: dir.clone(),
            spool,
            sources: Vec::new(),
            buffer: vec![0; FIRST_READ],
            bell,
            signals,
            told_to_stop,
            stop: None,
            signalled: false,
            last_output: None,
        };
        // A request that was made before the bell could be heard.
        pump.read_stop();
        Ok(pump)
    }

    /// Takes over the reading end of one of the agent's streams.
    pub(super) fn listen_to(&mut self, stream: Stream, pipe: PipeReader) -> io::Result<()> {
        ioctl_fionbio(&pipe, true)?;
        // A smaller pipe works too, it only makes the agent wait more often.
        let _ = rustix::pipe::fcntl_setpipe_size(&pipe, PIPE_BYTES);
        self.sources.push((stream, pipe));
        Ok(())
    }

    pub(super) fn last_output(&self) -> Option<Instant> {
        self.last_output
    }

    pub(super) fn spool(&self) -> &Spool {
        &self.spool
    }

    /// Gives a stop request that has come since the last call.
    pub(super) fn take_stop(&mut self) -> Option<StopRequest> {
        self.stop.take()
    }

    /// Tells whether a signal has come since the last call; it may mean that a child has ended.
    pub(super) fn take_signalled(&mut self) -> bool {
        std::mem::take(&mut self.signalled)
    }

    /// Waits until something happens, one of the processes ends or the moment comes; then takes in what there is.
    pub(super) fn turn(&mut self, ending: &[&OwnedFd], until: Option<Instant>) -> io::Result<()> {
        let mut fds: Vec<PollFd<'_>> = Vec::with_capacity(4 + ending.len());
        fds.push(PollFd::new(&self.signals, PollFlags::IN));
        fds.push(PollFd::new(&self.bell, PollFlags::IN));
        fds.extend(self.sources.iter().map(|(_, pipe)| PollFd::new(pipe, PollFlags::IN)));
        fds.extend(ending.iter().map(|pidfd| PollFd::new(*pidfd, PollFlags::IN)));
        poll_until(&mut fds, until)?;
        let ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
        drop(fds);
        if ready[0] {
            self.hear_signals();
        }
        if ready[1] {
            swallow(&mut self.bell);
            self.read_stop();
        }
        for index in (0..self.sources.len()).rev().filter(|index| ready[2 + index]) {
            self.read_source(index)?;
        }
        Ok(())
    }

    /// Takes in what is left in the pipes and closes them. Something that escaped the hunt may go on printing, so no
    /// more is taken than a pipe can hold.
    pub(super) fn drain(&mut self) -> io::Result<()> {
        for index in (0..self.sources.len()).rev() {
            let mut left = PIPE_BYTES.div_ceil(READS_A_TURN * LONGEST_FRAME) + 1;
            while left > 0 && self.read_source(index)? == Flow::MoreMayCome {
                left -= 1;
            }
        }
        self.sources.clear();
        Ok(())
    }

    /// Reads a stream for a while; removes it at its end.
    fn read_source(&mut self, index: usize) -> io::Result<Flow> {
        for _ in 0..READS_A_TURN {
            let (stream, pipe) = &mut self.sources[index];
            match pipe.read(&mut self.buffer) {
                Ok(0) => {
                    self.sources.remove(index);
                    return Ok(Flow::Ended);
                }
                Ok(count) => {
                    self.last_output = Some(Instant::now());
                    self.spool.keep(*stream, &self.buffer[..count]);
                    // A short read has emptied the pipe; asking again would only cost a call.
                    if count < self.buffer.len() {
                        return Ok(Flow::Emptied);
                    }
                    self.buffer.resize(LONGEST_FRAME, 0);
                }
                Err(empty) if empty.kind() == io::ErrorKind::WouldBlock => {
                    return Ok(Flow::Emptied);
                }
                Err(interrupted) if interrupted.kind() == io::ErrorKind::Interrupted => {}
                Err(other) => return Err(other),
            }
        }
        Ok(Flow::MoreMayCome)
    }

    fn hear_signals(&mut self) {
        swallow(&mut self.signals);
        self.signalled = true;
        if self.told_to_stop.swap(false, Ordering::Relaxed) {
            self.stop = Some(StopRequest { by: BY_SIGNAL.to_owned(), grace_ms: None });
        }
    }

    fn read_stop(&mut self) {
        match read_json(&self.dir.stop_file()) {
            Ok(Some(request)) => self.stop = Some(request),
            // The bell was rung for nothing.
            Ok(None) => {}
            // Whoever put the file there wants an end of it, whatever it says.
            Err(_) => self.stop = Some(StopRequest { by: "unknown".to_owned(), grace_ms: None }),
        }
    }
}

/// What became of a stream that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flow {
    Emptied,
    MoreMayCome,
    Ended,
}

/// Empties a descriptor whose bytes only say that there is something to look at.
fn swallow(from: &mut (impl Read + AsFd)) {
    let mut bytes = [0; 256];
    while matches!(from.read(&mut bytes), Ok(256)) {}
}
