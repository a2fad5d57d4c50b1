//! Who owns the steps of a round: each command its own, or a supervisor, which is killed and started again like everything
//! else. While none answers, commands run their steps themselves.

use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use anyhow::{Result, ensure};
use rustix::process::Signal;

use super::dice::Dice;
use crate::call::{Call, Running};
use crate::env::TestEnv;
use crate::wait;

/// Who owns the steps of a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Door {
    /// Each command its own.
    Embedded,
    /// A supervisor, as long as one answers.
    Supervisor,
}

/// The supervisor of a round, if it has one.
#[derive(Debug)]
pub(super) struct Host {
    pub(super) door: Door,
    /// How one is started, without what differs.
    call: Call,
    socket: PathBuf,
    living: Option<Living>,
    /// How many were started.
    pub(super) started: u64,
    /// What none may end with.
    pub(super) outrages: Vec<String>,
}

#[derive(Debug)]
struct Living {
    call: Running,
    halted: bool,
    /// It got a signal to end by.
    doomed: bool,
    /// A command was to ask it to end, and may have died before it did.
    asked: bool,
}

impl Host {
    pub(super) fn new(door: Door, env: &TestEnv) -> Self {
        Self {
            door,
            call: env.host(["supervisor", "run"]),
            socket: env.socket(),
            living: None,
            started: 0,
            outrages: Vec::new(),
        }
    }

    /// Starts one, if there is to be one and none lives. It may not listen yet. `flaw`, a variable and its value, is for what
    /// it goes on with, not for what callers ask it.
    pub(super) fn start(&mut self, dice: &mut Dice, flaw: Option<(&str, &str)>) {
        self.settle();
        if self.door == Door::Embedded || self.living.is_some() {
            return;
        }
        let capacity = dice.number(1..=4).to_string();
        let leave = dice.weighed(&[(3, "leave"), (1, "drain")]);
        let call = self.call.clone().args(["--capacity", &capacity, "--on-signal", leave]);
        let call = flaw.into_iter().fold(call, |call, (name, value)| call.var(name, value));
        self.started += 1;
        self.living =
            Some(Living { call: call.start(), halted: false, doomed: false, asked: false });
    }

    /// Sends it a signal; `false` if none lives.
    pub(super) fn signal(&mut self, signal: Signal) -> bool {
        self.settle();
        let Some(living) = &mut self.living else { return false };
        living.call.signal(signal);
        match signal {
            Signal::STOP => living.halted = true,
            _ => living.doomed = true,
        }
        true
    }

    /// Notes that it is asked to end by a command; `false` if none lives.
    pub(super) fn is_asked_to_end(&mut self) -> bool {
        self.settle();
        self.living.iter_mut().for_each(|living| living.asked = true);
        self.living.is_some()
    }

    /// Has it go on, if it is held.
    pub(super) fn wake(&mut self) {
        self.settle();
        if let Some(living) = self.living.as_mut().filter(|living| living.halted) {
            living.halted = false;
            living.call.signal(Signal::CONT);
        }
    }

    /// Hears it, if it has ended.
    pub(super) fn settle(&mut self) {
        if self.living.as_mut().is_some_and(|living| living.call.has_ended())
            && let Some(living) = self.living.take()
        {
            let Living { call, doomed, .. } = living;
            let finished = call.wait();
            let in_order =
                finished.code == Some(0) || finished.signal == Some(Signal::KILL.as_raw());
            // One that is asked to end before it listens to signals dies by them.
            let by_request = doomed && finished.signal == Some(Signal::TERM.as_raw());
            if !in_order && !by_request {
                self.outrages.push(format!("a supervisor ended in an unknown way:\n{finished}"));
            }
            if has_panicked(&finished.stderr()) {
                self.outrages.push(format!("a supervisor panicked:\n{}", finished.stderr()));
            }
        }
    }

    /// Leaves nobody in doubt whether it is to end.
    pub(super) fn make_sure(&mut self) {
        if self.living.as_ref().is_some_and(|living| living.asked && !living.doomed) {
            self.signal(Signal::TERM);
        }
    }

    /// Says whether one is on its way to its end.
    pub(super) fn is_ending(&mut self) -> bool {
        self.settle();
        self.living.as_ref().is_some_and(|living| living.doomed)
    }

    /// Waits until it listens, if one lives.
    pub(super) fn listens(&mut self) -> Result<()> {
        let listens = wait::within(wait::DEADLINE, || {
            self.settle();
            self.living.is_none() || UnixStream::connect(&self.socket).is_ok()
        });
        ensure!(listens, "the supervisor does not listen");
        Ok(())
    }

    /// Has it end in order.
    pub(super) fn end(&mut self) -> Result<()> {
        if !self.signal(Signal::TERM) {
            return Ok(());
        }
        let ended = wait::within(wait::DEADLINE, || {
            self.settle();
            self.living.is_none()
        });
        ensure!(ended, "the supervisor does not end");
        ensure!(!self.socket.exists(), "the supervisor has left its socket");
        Ok(())
    }
}

/// Says whether a program panicked without being asked to.
pub(super) fn has_panicked(told: &str) -> bool {
    let mut lines = told.lines();
    while let Some(line) = lines.next() {
        let asked = || lines.clone().next().is_some_and(|next| next.contains("a test asks"));
        if line.contains("panicked at") && !line.contains("a test asks") && !asked() {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_panic_that_nobody_asked_for_is_one() {
        assert!(has_panicked("fine\nthread 'x' panicked at a.rs:1:2:\nno way\n"));
        assert!(!has_panicked("thread 'x' panicked at a.rs:1:2:\na test asks for a panic\n"));
        assert!(!has_panicked("all is well\n"));
    }
}
