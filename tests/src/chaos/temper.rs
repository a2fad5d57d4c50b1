//! Random coding agents: what one does when it is asked for a step, and what it must have printed once it has done it.
//!
//! Each says when it begins, when it has come to its end, and which of its reports were taken.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::dice::Dice;
use super::scenery::Batch;
use crate::asked::Kind;
use crate::script::{Action, Script};

/// Where agents leave word of themselves.
#[derive(Debug, Clone)]
pub(super) struct Diary {
    folder: PathBuf,
}

impl Diary {
    pub(super) fn in_folder(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    /// `<spawn> <note> <whether it was intended>`, for each start of an agent.
    pub(super) fn starts(&self) -> PathBuf {
        self.folder.join("starts")
    }

    /// The same of proofs.
    pub(super) fn proofs(&self) -> PathBuf {
        self.folder.join("proofs")
    }

    /// `<spawn>`, for each agent that has done all it wanted.
    pub(super) fn ends(&self) -> PathBuf {
        self.folder.join("ends")
    }

    /// `<word>`, for each report that was taken.
    pub(super) fn taken(&self) -> PathBuf {
        self.folder.join("taken")
    }
}

/// A made-up agent.
#[derive(Debug)]
pub(super) struct Agent {
    pub(super) script: Script,
    /// What it prints in all, by the note it leaves at its start.
    pub(super) prints: BTreeMap<String, Vec<u8>>,
}

/// What an agent is like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Temper {
    /// Does what is asked and reports it.
    Honest,
    /// The same, slowly.
    Slow,
    /// The same, and prints very much.
    Loud,
    /// The same, and leaves something running.
    Messy,
    /// Reports what stands in its way.
    Blocked,
    /// Asks.
    Asking,
    /// Dies before it has done anything.
    DiesEarly,
    /// Dies when all is reported.
    DiesLate,
    /// Exits with an error after half of its work.
    Fails,
    /// Says nothing at all.
    Silent,
    /// Says it is complete and has done nothing.
    Boasting,
    /// Never ends.
    Hangs,
}

impl Temper {
    /// As they come in a storm.
    pub(super) fn random(dice: &mut Dice) -> Self {
        dice.weighed(&[
            (34, Self::Honest),
            (14, Self::Slow),
            (7, Self::Loud),
            (7, Self::Messy),
            (6, Self::Blocked),
            (6, Self::Asking),
            (5, Self::DiesEarly),
            (5, Self::DiesLate),
            (5, Self::Fails),
            (4, Self::Silent),
            (4, Self::Boasting),
            (3, Self::Hangs),
        ])
    }
}

/// Makes agents for one round; each word that one says is said once.
#[derive(Debug)]
pub(super) struct Casting {
    diary: Diary,
    agents: u32,
    words: u32,
}

impl Casting {
    pub(super) fn new(diary: Diary) -> Self {
        Self { diary, agents: 0, words: 0 }
    }

    /// A word that is in no other text of the round.
    pub(super) fn word(&mut self) -> String {
        self.words += 1;
        format!("w{:06}", self.words)
    }

    /// An agent for a batch; each kind of step may find it in another temper.
    pub(super) fn agent(
        &mut self,
        batch: &Batch,
        dice: &mut Dice,
        mut temper: impl FnMut(&mut Dice) -> Temper,
    ) -> Agent {
        self.agents += 1;
        let mut agent = Agent { script: Script::default(), prints: BTreeMap::new() };
        for kind in [Kind::Propose, Kind::Apply, Kind::Verify, Kind::Decompose, Kind::Pr] {
            let note = format!("{}-{kind}", self.agents);
            let actions = self.actions(kind, &note, batch, temper(dice), dice);
            agent.prints.insert(note, printed(&actions));
            agent.script = agent.script.on(kind, actions);
        }
        agent
    }

    fn actions(
        &mut self,
        kind: Kind,
        note: &str,
        batch: &Batch,
        temper: Temper,
        dice: &mut Dice,
    ) -> Vec<Action> {
        let mut actions = vec![Action::Start {
            log: text(&self.diary.starts()),
            intent: text(&batch.path("run/inflight.json")),
            note: note.to_owned(),
        }];
        self.chatter(&mut actions, dice);
        match temper {
            Temper::Honest => self.honest(&mut actions, kind, batch, dice),
            Temper::Slow => {
                actions.push(pause(dice.number(20..=300)));
                self.honest(&mut actions, kind, batch, dice);
                actions.push(pause(dice.number(1..=100)));
            }
            Temper::Loud => {
                let line = format!("{note} has very much to say {}\n", "x".repeat(80));
                actions.push(Action::Print { text: line.repeat(dice.number(100..=3000) as usize) });
                self.honest(&mut actions, kind, batch, dice);
            }
            Temper::Messy => {
                let stray = vec![Action::NewSession, Action::Hang];
                actions.push(Action::Background { actions: stray });
                self.honest(&mut actions, kind, batch, dice);
            }
            Temper::Blocked => self.report(&mut actions, "--blocker", "no way through"),
            Temper::Asking => self.report(&mut actions, "--needs-input", "which way?"),
            Temper::DiesEarly => actions.push(die(dice)),
            Temper::DiesLate => {
                self.honest(&mut actions, kind, batch, dice);
                actions.push(die(dice));
            }
            Temper::Fails => {
                actions.push(Action::Exit { code: u8::from(dice.chance(50)) + 1 });
            }
            Temper::Silent => {}
            Temper::Boasting => self.complete(&mut actions, kind),
            Temper::Hangs => actions.push(Action::Hang),
        }
        self.chatter(&mut actions, dice);
        actions.push(Action::append(&text(&self.diary.ends()), "{spawn}\n"));
        actions
    }

    fn honest(&mut self, actions: &mut Vec<Action>, kind: Kind, batch: &Batch, dice: &mut Dice) {
        match kind {
            Kind::Propose => {
                actions.push(Action::Plan { change: None, tasks: dice.number(1..=2) });
            }
            Kind::Apply => actions.push(Action::Tick { change: None, tasks: None }),
            Kind::Decompose => actions.push(Action::run(&format!(
                "cp {from} {to}.new && mv -f {to}.new {to}",
                from = decomposed_file(batch).display(),
                to = batch.path("batch.yaml").display(),
            ))),
            Kind::Verify | Kind::Pr => {}
        }
        self.chatter(actions, dice);
        self.complete(actions, kind);
    }

    fn complete(&mut self, actions: &mut Vec<Action>, kind: Kind) {
        let what = match kind {
            Kind::Verify => "All scenarios hold. Ready for archive.",
            Kind::Propose | Kind::Apply | Kind::Decompose | Kind::Pr => "did what was asked",
        };
        self.report(actions, "--complete", what);
    }

    /// Says a few things, takes its time, reports how it goes.
    fn chatter(&mut self, actions: &mut Vec<Action>, dice: &mut Dice) {
        for _ in 0..dice.number(0..=2) {
            match dice.number(0..=3) {
                0 => self.report(actions, "--status", "goes well"),
                1 => actions.push(pause(dice.number(0..=20))),
                _ => actions.push(Action::say(&format!("here is {}", self.word()))),
            }
        }
    }

    /// Reports, and notes that it was taken; the fake agent goes no further if it was not.
    fn report(&mut self, actions: &mut Vec<Action>, flag: &str, what: &str) {
        // An agent may run more than once, a spawn may not.
        let word = self.word() + "-{spawn}";
        actions.push(Action::report(flag, &format!("{what} {word}")));
        actions.push(Action::append(&text(&self.diary.taken()), &format!("{word}\n")));
    }
}

/// Where the decomposed manifest lies ready.
pub(super) fn decomposed_file(batch: &Batch) -> PathBuf {
    batch.path("decomposed.yaml")
}

/// What a list of actions prints to standard output, if it is done to its end.
fn printed(actions: &[Action]) -> Vec<u8> {
    let texts = actions.iter().filter_map(|action| match action {
        Action::Print { text } => Some(text.as_bytes()),
        _ => None,
    });
    texts.flatten().copied().collect()
}

fn pause(ms: u32) -> Action {
    Action::Pause { us: u64::from(ms) * 1000 }
}

fn die(dice: &mut Dice) -> Action {
    Action::DieBy { signal: dice.weighed(&[(1, "KILL"), (1, "SEGV")]).to_owned() }
}

fn text(path: &Path) -> String {
    path.display().to_string()
}
