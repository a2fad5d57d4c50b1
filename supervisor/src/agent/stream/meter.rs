//! Counts what an agent used, as far as its stream has told yet, so that a run that is killed is counted too.
//!
//! Agents tell it in three ways, and nothing is counted twice: messages whose count grows from line to line, steps that each
//! stand for themselves, and a total of the whole run. Classes are made disjoint by the parsers.

use ratchet_engine::usage::{Completeness, SpawnUsage, Usage};

/// How many messages can grow at a time; of an older one nothing is expected any more. Subagents speak in between.
const OPEN: usize = 64;

/// What is counted so far.
#[derive(Debug, Default)]
pub(super) struct Meter {
    told: Told,
    sum: Usage,
    open: Vec<Message>,
}

/// How much the stream has told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Told {
    #[default]
    Nothing,
    Parts,
    Everything,
}

/// A message whose count may still grow.
#[derive(Debug)]
struct Message {
    id: String,
    /// The call of a tool that the message works for, if it is a subagent's.
    parent: Option<String>,
    counted: Usage,
}

impl Meter {
    /// Takes the count of a message so far.
    pub(super) fn message(&mut self, id: &str, parent: Option<&str>, usage: Usage) {
        let at = self.open.iter().position(|message| message.id == id);
        let message = match at {
            Some(at) => self.open.remove(at),
            None => Message {
                id: id.to_owned(),
                parent: parent.map(str::to_owned),
                counted: Usage::default(),
            },
        };
        self.grow(message, usage);
    }

    /// Takes the count of the newest message of a speaker, which does not name it.
    pub(super) fn newest(&mut self, parent: Option<&str>, usage: Usage) {
        let at = self.open.iter().rposition(|message| message.parent.as_deref() == parent);
        if let Some(at) = at {
            let message = self.open.remove(at);
            self.grow(message, usage);
        }
    }

    /// Takes the count of one step of many.
    pub(super) fn step(&mut self, usage: Usage) {
        self.sum = self.sum.plus(usage);
        self.told = self.told.max_parts();
    }

    /// Takes the agent's own count of the whole run. What was seen of it is not less.
    pub(super) fn total(&mut self, usage: Usage) {
        self.sum = self.sum.or_more(usage);
        self.told = Told::Everything;
    }

    /// Notes that the run is over, and that its steps are all there is.
    pub(super) fn over(&mut self) {
        if self.told == Told::Parts {
            self.told = Told::Everything;
        }
    }

    /// Gives what is known by now.
    pub(super) fn reading(&self) -> SpawnUsage {
        let completeness = match self.told {
            Told::Nothing => Completeness::Unknown,
            Told::Parts => Completeness::Partial,
            Told::Everything => Completeness::Known,
        };
        SpawnUsage { usage: self.sum, completeness }
    }

    fn grow(&mut self, mut message: Message, usage: Usage) {
        let grown = message.counted.or_more(usage);
        self.sum = self.sum.plus(grown.minus(message.counted));
        message.counted = grown;
        if self.open.len() == OPEN {
            self.open.remove(0);
        }
        self.open.push(message);
        self.told = self.told.max_parts();
    }
}

impl Told {
    fn max_parts(self) -> Self {
        match self {
            Self::Nothing | Self::Parts => Self::Parts,
            Self::Everything => Self::Everything,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(input: u64, output: u64) -> Usage {
        Usage { input_tokens: input, output_tokens: output, ..Usage::default() }
    }

    fn read(meter: &Meter) -> (u64, u64, Completeness) {
        let SpawnUsage { usage, completeness } = meter.reading();
        (usage.input_tokens, usage.output_tokens, completeness)
    }

    #[test]
    fn a_message_told_in_many_lines_counts_once() {
        let mut meter = Meter::default();
        assert_eq!(read(&meter), (0, 0, Completeness::Unknown));
        meter.message("M1", None, tokens(10, 1));
        meter.message("M1", None, tokens(10, 1));
        meter.message("S1", Some("T1"), tokens(5, 1));
        meter.newest(None, tokens(0, 40));
        meter.newest(Some("T1"), tokens(0, 7));
        meter.newest(Some("T2"), tokens(0, 1000));
        meter.message("M2", None, tokens(20, 2));
        assert_eq!(read(&meter), (35, 49, Completeness::Partial));
    }

    #[test]
    fn a_total_replaces_its_parts_and_never_takes_away() {
        let mut meter = Meter::default();
        meter.message("M1", None, tokens(10, 1));
        meter.total(tokens(10, 45));
        assert_eq!(read(&meter), (10, 45, Completeness::Known));
        meter.total(tokens(0, 0));
        assert_eq!(read(&meter), (10, 45, Completeness::Known));
    }

    #[test]
    fn steps_add_up_and_are_all_once_the_run_is_over() {
        let mut meter = Meter::default();
        meter.over();
        assert_eq!(read(&meter).2, Completeness::Unknown);
        meter.step(tokens(1, 2));
        meter.step(tokens(3, 4));
        assert_eq!(read(&meter), (4, 6, Completeness::Partial));
        meter.over();
        assert_eq!(read(&meter), (4, 6, Completeness::Known));
    }

    #[test]
    fn memory_is_bounded_however_many_messages_come() {
        let mut meter = Meter::default();
        for number in 0..10_000 {
            meter.message(&number.to_string(), None, tokens(1, 0));
        }
        assert_eq!(meter.open.len(), OPEN);
        assert_eq!(read(&meter).0, 10_000);
    }
}
