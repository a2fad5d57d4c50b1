//! What agents report and what people decide: journal entries and parks, written as one piece.
//!
//! `batch report` runs inside agents: when it returns, the entry is on disk. Nothing here looks at the manifest, so that
//! phase names and `pr:` keys work as well as changes (spec `batch-status-and-selection` 7.6).

use ratchet_engine::approval::entries_on_approval;
use ratchet_engine::journal::{Awaits, Entry, EntryKind, Via, parse_line};
use ratchet_engine::name::{BatchName, ChangeName, PhaseName, StepKey};
use ratchet_engine::park::{Park, ParkKind};
use ratchet_engine::report::hint;
use ratchet_engine::transition::StepKind;
use serde::Serialize;

use super::Project;
use crate::error::{Error, channel};
use crate::store::approved::approval_hash;
use crate::store::inflight::{Inflight, Task};
use crate::store::journal::{self, Recorded, Writer};
use crate::store::layout::{RunDir, RunHome};
use crate::store::run_state::RunState;

/// What an agent reports, or a person decides, about a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Report {
    /// Work goes on.
    Status(String),
    /// The agent cannot go on.
    Blocker(String),
    /// The agent needs a decision.
    NeedsInput(String),
    /// The agent says that the step is complete.
    Complete(String),
    /// The same, and a person is to look at it first.
    CompleteAwaitingApproval(String),
    /// A person answers the question that a step is parked with.
    Answer(String),
    /// A person rejects the result that a step is parked with.
    Reject(String),
    /// A person approves it.
    Approve,
}

/// What was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Reported {
    /// The flag's name, such as `needs-input`.
    pub kind: &'static str,
    /// Whose step.
    pub change: StepKey,
    /// One sentence for a person.
    pub text: String,
}

/// Whether something may have been told before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Told {
    /// It cannot have been: what comes before it was new.
    ForTheFirstTime,
    /// Whoever told it last may have died before it was acknowledged.
    PerhapsBefore,
}

/// Whether a phase's proof was set aside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Invalidated {
    /// The batch.
    pub batch: BatchName,
    /// The phase.
    pub phase: PhaseName,
    /// A current record was there and no longer counts.
    pub invalidated: bool,
}

impl Project {
    /// Records a report or a decision about a step of a batch.
    ///
    /// # Errors
    /// [`Error::NoPark`] if a decision is about a step that is not parked; then nothing is written.
    pub fn report(
        &self,
        batch: &BatchName,
        key: &StepKey,
        report: &Report,
    ) -> Result<Reported, Error> {
        self.record(&RunHome::Batch(batch.clone()), key, report)
    }

    /// Records a report or a decision about a standalone step of a change (OQ-36, OQ-43).
    ///
    /// # Errors
    /// [`Error::ChangeNotFound`] if the change has no folder; else as [`Project::report`].
    pub fn report_change(&self, change: &ChangeName, report: &Report) -> Result<Reported, Error> {
        if !self.layout().change(change).dir().is_dir() {
            return Err(Error::ChangeNotFound { name: change.to_string() });
        }
        let home = RunHome::Change(change.clone());
        self.record(&home, &StepKey::of_change(change), report)
    }

    /// Sets a phase's proof aside, so that it runs again (spec `batch-status-and-selection` 7.7).
    ///
    /// # Errors
    /// [`Error::PhaseNotFound`] if the manifest has no such phase.
    pub fn invalidate_proof(&self, batch: &BatchName, phase: &str) -> Result<Invalidated, Error> {
        let manifest = self.manifest(batch)?;
        let phase = match manifest.phases.iter().find(|known| known.name.as_str() == phase) {
            Some(known) => known.name.clone(),
            None => {
                let known = manifest.phases.into_iter().map(|phase| phase.name).collect();
                let phase = phase.to_owned();
                return Err(Error::PhaseNotFound { phase, batch: batch.clone(), known });
            }
        };
        let run = self.layout().run(&RunHome::Batch(batch.clone()));
        let invalidated = journal::with_lock(&run, |writer| -> Result<bool, Error> {
            if !journal::read_view(&run)?.proofs.contains_key(phase.as_str()) {
                return Ok(false);
            }
            let message = format!("The proof-of-work of phase '{phase}' is to run again.");
            let kind = EntryKind::ProofOfWorkInvalidated;
            writer.append(&self.entry(&StepKey::of_proof(&phase), kind, &message))?;
            Ok(true)
        })?;
        Ok(Invalidated { batch: batch.clone(), phase, invalidated })
    }

    fn record(&self, home: &RunHome, key: &StepKey, report: &Report) -> Result<Reported, Error> {
        self.refuse_agents(report)?;
        let step = StepAt { home, run: self.layout().run(home), key };
        let text = match report {
            Report::Answer(text) => {
                self.decide(&step, EntryKind::Answer, text, RunState::answer)?.told(&step, report)
            }
            Report::Reject(text) => {
                self.decide(&step, EntryKind::Reject, text, RunState::reject)?.told(&step, report)
            }
            Report::Approve => {
                self.approve(&step)?;
                report.told(key)
            }
            Report::Status(_)
            | Report::Blocker(_)
            | Report::NeedsInput(_)
            | Report::Complete(_)
            | Report::CompleteAwaitingApproval(_) => {
                self.say(&step, report)?;
                report.told(key)
            }
        };
        Ok(Reported { kind: report.flag(), change: key.clone(), text })
    }

    /// Refuses a person's decision from inside an agent or a proof-of-work: whoever waits for a person shall get one.
    fn refuse_agents(&self, report: &Report) -> Result<(), Error> {
        let spawn = self.environment().var(ratchet_spawn::MARK_VARIABLE).unwrap_or_default();
        let is_decision = match report {
            Report::Answer(_) | Report::Reject(_) | Report::Approve => true,
            Report::Status(_)
            | Report::Blocker(_)
            | Report::NeedsInput(_)
            | Report::Complete(_)
            | Report::CompleteAwaitingApproval(_) => false,
        };
        if is_decision && !spawn.is_empty() {
            return Err(Error::PersonNeeded { what: report.flag(), spawn: spawn.to_owned() });
        }
        Ok(())
    }

    /// Journals what an agent says. In a batch a question parks the step at once; a standalone step is parked by its
    /// outcome (spec `cli-core` 10.1).
    fn say(&self, step: &StepAt<'_>, report: &Report) -> Result<(), Error> {
        let (kind, text) = report.entry();
        let via = self.environment().agent_command().map(|_| Via::EnvOverride);
        let awaits = match report {
            Report::CompleteAwaitingApproval(_) => Some(Awaits::Approval),
            _ => None,
        };
        let entry = Entry { via, awaits, ..self.entry(step.key, kind, text) };
        journal::with_lock(&step.run, |writer| {
            Self::write_said(step, writer, &entry, report.park_kind())
        })
    }

    /// Takes over what an agent said on a worker, where its journal was a copy: once, however often it is told.
    /// `relayed` names it; what cannot have been told before spares a look at the whole journal. What no agent may say, or what is no entry, is
    /// passed over.
    ///
    /// # Errors
    /// Fails if it cannot be written.
    pub(crate) fn relay(
        &self,
        home: &RunHome,
        line: &[u8],
        relayed: &str,
        told: Told,
    ) -> Result<Recorded, Error> {
        let Some((key, entry, park)) = self.said_elsewhere(line, relayed) else {
            tracing::warn!(relayed, "what a worker relays is no report of an agent");
            return Ok(Recorded::Before);
        };
        let step = StepAt { home, run: self.layout().run(home), key: &key };
        journal::with_lock(&step.run, |writer| {
            if told == Told::PerhapsBefore && journal::has_relayed(&step.run, relayed)? {
                return Ok(Recorded::Before);
            }
            Self::write_said(&step, writer, &entry, park)?;
            Ok(Recorded::Now)
        })
    }

    /// Records that what a step left on a worker is not here, whatever its agent said of it: once, however often it is told.
    ///
    /// # Errors
    /// As [`Project::relay`].
    pub(crate) fn block(
        &self,
        home: &RunHome,
        key: &StepKey,
        why: &str,
        relayed: &str,
    ) -> Result<(), Error> {
        let relayed = Some(relayed.to_owned());
        let entry = Entry { relayed, ..self.entry(key, EntryKind::Blocker, why) };
        let step = StepAt { home, run: self.layout().run(home), key };
        journal::with_lock(&step.run, |writer| {
            let name = entry.relayed.as_deref().unwrap_or_default();
            if journal::has_relayed(&step.run, name)? {
                return Ok(());
            }
            Self::write_said(&step, writer, &entry, Some(ParkKind::Blocked))
        })
    }

    /// Makes an entry of ours of one that was written on a worker: what concludes, decides or proves is not an agent's to say.
    fn said_elsewhere(
        &self,
        line: &[u8],
        relayed: &str,
    ) -> Option<(StepKey, Entry, Option<ParkKind>)> {
        let read = parse_line(line)?;
        let key = StepKey::from_text(&read.change);
        let kind = read.kind()?;
        let park = match (kind, read.awaits) {
            (EntryKind::Blocker | EntryKind::NeedsInput, _) => Some(ParkKind::Blocked),
            (EntryKind::Completion, Some(Awaits::Approval)) => Some(ParkKind::AwaitingApproval),
            (EntryKind::Completion | EntryKind::Progress, _) => None,
            (
                EntryKind::Answer
                | EntryKind::Reject
                | EntryKind::ProofOfWork
                | EntryKind::ProofOfWorkInvalidated,
                _,
            ) => return None,
        };
        let (via, awaits) = (read.via, read.awaits);
        let entry = Entry {
            via,
            awaits,
            relayed: Some(relayed.to_owned()),
            ..self.entry(&key, kind, &read.message)
        };
        Some((key, entry, park))
    }

    /// Writes what an agent said. In a batch a question parks the step at once.
    fn write_said(
        step: &StepAt<'_>,
        writer: &Writer<'_>,
        entry: &Entry,
        park: Option<ParkKind>,
    ) -> Result<(), Error> {
        writer.append(entry)?;
        let kind = match (step.home, park) {
            (RunHome::Batch(_), Some(kind)) => kind,
            (RunHome::Batch(_), None) | (RunHome::Change(_), _) => return Ok(()),
        };
        let mut state = RunState::read(&step.run)?;
        state.set(&Park {
            parked_at: entry.at.to_string(),
            key: step.key.clone(),
            kind,
            reason: entry.message.clone(),
            answer: None,
            feedback: None,
            approved: None,
            transition: running_kind(step),
            retry: false,
            cause: None,
            retry_at: None,
        });
        Ok(state.write(writer)?)
    }

    fn decide(
        &self,
        step: &StepAt<'_>,
        kind: EntryKind,
        text: &str,
        amend: fn(&mut RunState, &StepKey, &str) -> bool,
    ) -> Result<Decided, Error> {
        step.with_park(|writer, mut state, _| {
            if !amend(&mut state, step.key, text) {
                return Err(step.not_parked());
            }
            // The state first: if it cannot be written, nothing is; if the journal cannot, it is put back.
            let before = RunState::read(&step.run)?;
            state.write(writer)?;
            if let Err(error) = writer.append(&self.entry(step.key, kind, text)) {
                before.write(writer)?;
                return Err(error.into());
            }
            Ok(match state.park(step.key) {
                Some(park) if park.is_unresolved() => Decided::StillWaits(park.kind),
                Some(_) | None => Decided::Freed,
            })
        })
    }

    /// Approves a result: what was approved is hashed, journaled, and the park removed (OQ-2).
    fn approve(&self, step: &StepAt<'_>) -> Result<(), Error> {
        // Hashing a work tree takes time, so it is done before the lock is taken.
        let park = RunState::read(&step.run)?.park(step.key).ok_or_else(|| step.not_parked())?;
        let hash = ChangeName::parse(step.key.as_str())
            .ok()
            .map(|change| approval_hash(self.layout(), &change, park.transition));
        step.with_park(|writer, mut state, park| {
            let entries = entries_on_approval(&park, self.now(), hash)
                .map_err(|why| Error::NotAResult { of: step.home.clone(), why })?;
            for entry in entries {
                writer.append(&entry)?;
            }
            state.clear(step.key);
            Ok(state.write(writer)?)
        })
    }

    fn entry(&self, key: &StepKey, kind: EntryKind, message: &str) -> Entry {
        Entry::new(self.now(), key.clone(), kind, message.to_owned())
    }
}

/// What a person's decision did to a park. What does not fit its kind is kept and frees nothing
/// (spec `batch-status-and-selection` 7.6).
enum Decided {
    Freed,
    StillWaits(ParkKind),
}

impl Decided {
    fn told(&self, step: &StepAt<'_>, report: &Report) -> String {
        let key = step.key;
        match self {
            Self::Freed => report.told(key),
            Self::StillWaits(kind) => format!(
                "Kept this with {key}, which waits for {} all the same: {}",
                match kind {
                    ParkKind::Blocked => "an answer",
                    ParkKind::AwaitingApproval => "approval",
                },
                hint(*kind, key, channel(step.home))
            ),
        }
    }
}

/// Whose step, and where its run state is.
struct StepAt<'a> {
    home: &'a RunHome,
    run: RunDir,
    key: &'a StepKey,
}

impl StepAt<'_> {
    fn with_park<T>(
        &self,
        act: impl FnOnce(&Writer<'_>, RunState, Park) -> Result<T, Error>,
    ) -> Result<T, Error> {
        // Looked at before the lock too, so that a refused decision leaves no trace, not even a lock file.
        RunState::read(&self.run)?.park(self.key).ok_or_else(|| self.not_parked())?;
        journal::with_lock(&self.run, |writer| {
            let state = RunState::read(&self.run)?;
            let park = state.park(self.key).ok_or_else(|| self.not_parked())?;
            act(writer, state, park)
        })
    }

    fn not_parked(&self) -> Error {
        Error::NoPark { of: self.home.clone(), key: self.key.clone() }
    }
}

/// Returns the kind of the step that is running under this key, so that a rejected one can run again (OQ-5).
fn running_kind(step: &StepAt<'_>) -> Option<StepKind> {
    let inflight = Inflight::read(&step.run).ok()??;
    match inflight.task {
        Task::Step(task) if inflight.key == *step.key => Some(task.subject.kind),
        Task::Step(_) | Task::Proof(_) => None,
    }
}

impl Report {
    fn flag(&self) -> &'static str {
        match self {
            Self::Status(_) => "status",
            Self::Blocker(_) => "blocker",
            Self::NeedsInput(_) => "needs-input",
            Self::Complete(_) | Self::CompleteAwaitingApproval(_) => "complete",
            Self::Answer(_) => "answer",
            Self::Reject(_) => "reject",
            Self::Approve => "approve",
        }
    }

    fn entry(&self) -> (EntryKind, &str) {
        match self {
            Self::Status(text) => (EntryKind::Progress, text),
            Self::Blocker(text) => (EntryKind::Blocker, text),
            Self::NeedsInput(text) => (EntryKind::NeedsInput, text),
            Self::Complete(text) | Self::CompleteAwaitingApproval(text) => {
                (EntryKind::Completion, text)
            }
            Self::Answer(text) => (EntryKind::Answer, text),
            Self::Reject(text) => (EntryKind::Reject, text),
            Self::Approve => (EntryKind::Answer, ratchet_engine::approval::APPROVED),
        }
    }

    fn park_kind(&self) -> Option<ParkKind> {
        match self {
            Self::Blocker(_) | Self::NeedsInput(_) => Some(ParkKind::Blocked),
            Self::CompleteAwaitingApproval(_) => Some(ParkKind::AwaitingApproval),
            Self::Status(_)
            | Self::Complete(_)
            | Self::Answer(_)
            | Self::Reject(_)
            | Self::Approve => None,
        }
    }

    fn told(&self, key: &StepKey) -> String {
        match self {
            Self::Status(text) => format!("Noted for {key}: {text}"),
            Self::Blocker(text) => format!("Blocked {key}: {text}"),
            Self::NeedsInput(text) => format!("Parked {key} until it is answered: {text}"),
            Self::Complete(_) => format!("Noted that {key} is complete"),
            Self::CompleteAwaitingApproval(text) => {
                format!("Parked {key} until it is approved: {text}")
            }
            Self::Answer(_) => format!("Answered {key}; the next apply goes on with it"),
            Self::Reject(_) => format!("Rejected {key}; the next apply runs it again"),
            Self::Approve => format!("Approved {key}; the next apply goes on from there"),
        }
    }
}
