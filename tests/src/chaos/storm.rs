//! The storm: a person with several terminals works on several batches, and somebody kills whatever runs.

use std::time::Duration;

use rustix::process::Signal;

use super::calls::{Calls, Deed};
use super::dice::Dice;
use super::figures::Figures;
use super::host::Host;
use super::temper::{Casting, Temper};
use super::world::World;
use crate::process;
use crate::wait;

/// How many commands run at once, at most.
const MOST_CALLS: usize = 6;

/// The longest pause between two moves, and the longest between a command's start and its end by a signal.
const LONGEST_PAUSE: Duration = Duration::from_millis(120);

/// Make who obeys them die, or panic, at a point.
const CRASH: &str = "RATCHET_TEST_CRASH_AT";
const PANIC: &str = "RATCHET_TEST_PANIC_AT";

/// The points at which a command can be made to die, and to panic.
const POINTS: [&str; 6] = ["gather", "decide", "intend", "act", "judge", "record"];

/// One move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Move {
    Apply,
    Run,
    ApplyAndDieAt,
    ApplyAndPanicAt,
    Answer,
    Approve,
    Reject,
    Note,
    Cancel,
    RerunProof,
    Look,
    Follow,
    /// Ends a command at once.
    Kill,
    /// Asks a command to end.
    Terminate,
    /// Holds a command where it is.
    Halt,
    /// Has all that were held go on.
    Wake,
    KillShim,
    HaltShim,
    KillWorker,
    /// Starts the supervisor that is not there.
    StartHost,
    KillHost,
    /// Asks the supervisor to end.
    EndHost,
    HaltHost,
}

/// What happens, and how often. What is about the supervisor comes to nothing where there is none.
const MOVES: [(u32, Move); 23] = [
    (18, Move::Apply),
    (8, Move::Run),
    (6, Move::ApplyAndDieAt),
    (2, Move::ApplyAndPanicAt),
    (8, Move::Answer),
    (6, Move::Approve),
    (3, Move::Reject),
    (4, Move::Note),
    (3, Move::Cancel),
    (2, Move::RerunProof),
    (4, Move::Look),
    (3, Move::Follow),
    (18, Move::Kill),
    (4, Move::Terminate),
    (4, Move::Halt),
    (6, Move::Wake),
    (4, Move::KillShim),
    (2, Move::HaltShim),
    (3, Move::KillWorker),
    (12, Move::StartHost),
    (7, Move::KillHost),
    (3, Move::EndHost),
    (2, Move::HaltHost),
];

/// A storm over a world.
pub(super) struct Storm<'a> {
    pub(super) world: &'a World,
    pub(super) host: &'a mut Host,
    pub(super) calls: &'a mut Calls,
    pub(super) casting: &'a mut Casting,
    pub(super) dice: &'a mut Dice,
    pub(super) figures: &'a mut Figures,
    /// Shims that are held.
    pub(super) held: Vec<i32>,
}

impl Storm<'_> {
    /// Rages for so many moves, and then has everything go on that was held.
    pub(super) fn rage(mut self, moves: u32) {
        self.host.start(self.dice, None);
        for _ in 0..moves {
            let one = self.dice.weighed(&MOVES);
            self.make(one);
            self.calls.settle();
            wait::moment(self.dice.moment(LONGEST_PAUSE));
        }
        self.wake();
    }

    fn make(&mut self, one: Move) {
        match one {
            Move::Apply => self.step("apply", &["--json"], None),
            Move::Run => {
                let most = self.dice.number(1..=6).to_string();
                self.step("run", &["--max-steps", &most, "--json"], None);
            }
            Move::ApplyAndDieAt => self.step("apply", &["--json"], Some(CRASH)),
            Move::ApplyAndPanicAt => self.step("apply", &["--json"], Some(PANIC)),
            Move::Answer => self.say("--answer"),
            Move::Reject => self.say("--reject"),
            Move::Note => self.say("--status"),
            Move::Approve => {
                let (batch, key) = self.somebody();
                self.order(batch, Deed::Approve, "approve", &["--change", &key]);
            }
            Move::Cancel => {
                let batch = self.batch();
                self.order(batch, Deed::Look, "cancel", &[]);
            }
            Move::RerunProof => {
                let batch = self.batch();
                let phases = &self.world.batches[batch].phases;
                let phase = self.dice.pick(phases).cloned().unwrap_or_default();
                self.order(batch, Deed::Rerun, "rerun-proof", &["--phase", &phase, "--json"]);
            }
            Move::Look => {
                let batch = self.batch();
                let verb = self.dice.weighed(&[(2, "status"), (1, "view"), (1, "log")]);
                self.order(batch, Deed::Look, verb, &[]);
            }
            Move::Follow => {
                let batch = self.batch();
                self.order(batch, Deed::Follow, "attach", &["--from", "0"]);
            }
            Move::Kill => self.hit(Signal::KILL),
            Move::Terminate => self.hit(Signal::TERM),
            Move::Halt => self.hit(Signal::STOP),
            Move::Wake => self.wake(),
            Move::KillShim => self.kill_shim(),
            Move::HaltShim => self.halt_shim(),
            Move::KillWorker => self.kill_worker(),
            Move::StartHost => self.start_host(),
            Move::KillHost => self.hit_host(Signal::KILL),
            Move::EndHost => self.end_host(),
            Move::HaltHost => self.hit_host(Signal::STOP),
        }
    }

    /// Begins to run steps of a batch, with an agent that nobody has met.
    fn step(&mut self, verb: &str, words: &[&str], dies_at: Option<&str>) {
        let number = self.batch();
        let batch = &self.world.batches[number];
        let agent = self.casting.agent(batch, self.dice, Temper::random);
        self.figures.prints.extend(agent.prints);
        let command = self.world.env.agent(&agent.script);
        let mut call = self.world.batch(batch, verb, words).agent(&command);
        if let Some(variable) = dies_at {
            let point = self.dice.pick(&POINTS).copied().unwrap_or_default();
            call = call.var(variable, point);
            self.figures.kills += 1;
        }
        if self.dice.chance(20) {
            call = call.var("RATCHET_SUPERVISOR", "embedded");
        }
        if self.calls.count() < MOST_CALLS {
            self.calls.start(number, Deed::Step, call);
            self.perhaps_kill();
        }
    }

    fn say(&mut self, flag: &str) {
        let (batch, key) = self.somebody();
        let word = self.casting.word();
        let text = format!("a person says {word}");
        self.order(batch, Deed::Say(word), "report", &["--change", &key, flag, &text]);
    }

    /// Starts a short command, which is sometimes killed before it is over.
    fn order(&mut self, batch: usize, deed: Deed, verb: &str, words: &[&str]) {
        if self.calls.count() < MOST_CALLS {
            let call = self.world.batch(&self.world.batches[batch], verb, words);
            self.calls.start(batch, deed, call);
            self.perhaps_kill();
        }
    }

    /// Kills what was just started, at a random instant of its short life.
    fn perhaps_kill(&mut self) {
        if self.dice.chance(25) {
            wait::moment(self.dice.moment(LONGEST_PAUSE));
            self.figures.kills += u64::from(self.calls.signal_last(Signal::KILL));
        }
    }

    fn hit(&mut self, signal: Signal) {
        let which = self.dice.number(0..=1000) as usize;
        if self.calls.signal(which, signal) {
            self.figures.kills += u64::from(signal != Signal::STOP);
        }
    }

    /// Starts the supervisor; sometimes it is killed before it is ready.
    fn start_host(&mut self) {
        let point = self.dice.pick(&POINTS).copied().unwrap_or_default();
        let flaw = self.dice.weighed(&[(8, None), (1, Some(CRASH)), (1, Some(PANIC))]);
        self.host.start(self.dice, flaw.map(|flaw| (flaw, point)));
        if self.dice.chance(20) {
            wait::moment(self.dice.moment(LONGEST_PAUSE));
            self.hit_host(Signal::KILL);
        }
    }

    /// Asks the supervisor to end; sometimes it is killed while it does.
    fn end_host(&mut self) {
        if self.dice.chance(50) {
            self.hit_host(Signal::TERM);
        } else if self.host.is_asked_to_end() && self.calls.count() < MOST_CALLS {
            let words: &[&str] = match self.dice.chance(50) {
                true => &["supervisor", "stop", "--drain", "--timeout", "1s"],
                false => &["supervisor", "stop"],
            };
            self.calls.start(0, Deed::Look, self.world.env.ratchet(words));
        }
        if self.dice.chance(30) {
            wait::moment(self.dice.moment(LONGEST_PAUSE));
            self.hit_host(Signal::KILL);
        }
    }

    fn hit_host(&mut self, signal: Signal) {
        if self.host.signal(signal) {
            self.figures.kills += u64::from(signal != Signal::STOP);
        }
    }

    fn wake(&mut self) {
        self.host.wake();
        self.calls.wake();
        for pid in self.held.drain(..) {
            process::signal(pid, Signal::CONT);
        }
    }

    fn kill_shim(&mut self) {
        let shims = self.world.shims();
        if let Some(shim) = self.dice.pick(&shims) {
            process::signal(shim.pid, Signal::KILL);
            self.figures.kills += 1;
            self.figures.shims_killed.insert(shim.spawn.clone());
        }
    }

    fn halt_shim(&mut self) {
        let shims = self.world.shims();
        if let Some(shim) = self.dice.pick(&shims) {
            process::signal(shim.pid, Signal::STOP);
            self.held.push(shim.pid);
        }
    }

    fn kill_worker(&mut self) {
        let workers = self.world.workers();
        if let Some(worker) = self.dice.pick(&workers) {
            process::signal(worker.pid, Signal::KILL);
            self.figures.kills += 1;
        }
    }

    fn batch(&mut self) -> usize {
        let last = u32::try_from(self.world.batches.len() - 1).expect("a round has few batches");
        self.dice.number(0..=last) as usize
    }

    /// A key of some batch: mostly one that waits for a person.
    fn somebody(&mut self) -> (usize, String) {
        let batch = self.batch();
        let parks = self.world.parks(&self.world.batches[batch]);
        let parked: Vec<String> = parks.into_iter().map(|(key, _)| key).collect();
        let keys = &self.world.batches[batch].keys;
        let from = if parked.is_empty() || self.dice.chance(20) { keys } else { &parked };
        (batch, self.dice.pick(from).cloned().unwrap_or_default())
    }
}
