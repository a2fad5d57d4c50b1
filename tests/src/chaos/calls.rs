//! The commands that run in a round, all of them in the background: who runs which, whom a signal hits, and what each
//! has been told when it ended.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;

use rustix::process::Signal;
use serde_json::Value;

use super::host::has_panicked;
use crate::call::{Call, Finished, Running};

/// What a command is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Deed {
    /// Runs steps: `apply` or `run`.
    Step,
    /// Says something, in a word that is said once.
    Say(String),
    /// Approves.
    Approve,
    /// Sets a proof aside.
    Rerun,
    /// Changes nothing, or nothing that must be found again: looks, cancels.
    Look,
    /// Follows a step, and so ends with it.
    Follow,
}

/// A command that runs.
#[derive(Debug)]
struct Live {
    call: Running,
    batch: usize,
    deed: Deed,
    halted: bool,
}

/// All that run, and what those said that have ended.
#[derive(Debug)]
pub(super) struct Calls {
    live: Vec<Live>,
    /// One line for each that has ended, for whoever looks into a round that failed.
    log: File,
    pub(super) heard: Heard,
}

/// What commands have acknowledged.
#[derive(Debug, Default)]
pub(super) struct Heard {
    /// By the batch's number: answers of `apply` and `run`, a document each.
    pub(super) steps: Vec<(usize, Value)>,
    /// By the batch's number: the words that were taken.
    pub(super) words: Vec<(usize, String)>,
    /// The batches of which something was approved.
    pub(super) approvals: Vec<usize>,
    /// The batches of which a proof was set aside.
    pub(super) reruns: Vec<usize>,
    /// What no command may end with, whatever is done to others.
    pub(super) outrages: Vec<String>,
}

impl Calls {
    pub(super) fn new(log: &Path) -> Self {
        let log = File::create(log).expect("a world's folder takes a file");
        Self { live: Vec::new(), log, heard: Heard::default() }
    }

    pub(super) fn count(&self) -> usize {
        self.live.len()
    }

    /// How many there are that do not only follow.
    pub(super) fn doers(&self) -> usize {
        self.live.iter().filter(|live| live.deed != Deed::Follow).count()
    }

    /// Which run.
    pub(super) fn names(&self) -> String {
        format!("{:?}", self.live)
    }

    pub(super) fn start(&mut self, batch: usize, deed: Deed, call: Call) {
        self.live.push(Live { call: call.start(), batch, deed, halted: false });
    }

    /// Sends a signal to one of those that run; `false` if none does.
    pub(super) fn signal(&mut self, which: usize, signal: Signal) -> bool {
        self.settle();
        let Some(count) = self.live.len().checked_sub(1) else { return false };
        let hit = &mut self.live[which % (count + 1)];
        hit.call.signal(signal);
        hit.halted |= signal == Signal::STOP;
        true
    }

    /// Sends a signal to the one that was started last; `false` if it has ended.
    pub(super) fn signal_last(&mut self, signal: Signal) -> bool {
        let Some(last) = self.live.last_mut() else { return false };
        let lives = !last.call.has_ended();
        if lives {
            last.call.signal(signal);
        }
        lives
    }

    /// Has every halted one go on.
    pub(super) fn wake(&mut self) {
        for live in self.live.iter_mut().filter(|live| live.halted) {
            live.halted = false;
            if !live.call.has_ended() {
                live.call.signal(Signal::CONT);
            }
        }
    }

    /// Hears those that have ended.
    pub(super) fn settle(&mut self) {
        let ended: Vec<Live> = self.live.extract_if(.., |live| live.call.has_ended()).collect();
        for live in ended {
            self.hear(live.batch, &live.deed, &live.call.wait());
        }
    }

    /// Hears what one said at its end. A document that is whole counts, also of one that was killed thereafter.
    fn hear(&mut self, batch: usize, deed: &Deed, finished: &Finished) {
        let _only_for_readers = writeln!(
            self.log,
            "{} | {deed:?} | {:?} {:?} | {}",
            finished.arguments().join(" "),
            finished.code,
            finished.signal,
            finished.stderr().lines().last().unwrap_or_default()
        );
        if !matches!(finished.code, Some(0 | 1) | None) {
            self.heard.outrages.push(format!("a command ended in an unknown way:\n{finished}"));
        }
        if has_panicked(&finished.stderr()) {
            self.heard.outrages.push(format!("a command panicked:\n{finished}"));
        }
        let taken = finished.code == Some(0);
        match deed {
            Deed::Step => {
                if let Ok(document) = serde_json::from_slice(&finished.stdout) {
                    self.heard.steps.push((batch, document));
                }
            }
            Deed::Say(word) if taken => self.heard.words.push((batch, word.clone())),
            Deed::Approve if taken => self.heard.approvals.push(batch),
            Deed::Rerun if taken => {
                let document: Value = serde_json::from_slice(&finished.stdout).unwrap_or_default();
                if document["invalidated"] == true {
                    self.heard.reruns.push(batch);
                }
            }
            Deed::Say(_) | Deed::Approve | Deed::Rerun | Deed::Look | Deed::Follow => {}
        }
    }
}
