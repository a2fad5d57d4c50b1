//! Intent, outcome and everything else a step writes. Each function can be repeated after a crash at any point of it, and
//! then writes only what is missing.

mod told;

use std::time::Duration;

use ratchet_engine::change::ChangeFacts;
use ratchet_engine::journal::{Entry, EntryKind};
use ratchet_engine::name::StepKey;
use ratchet_engine::outcome::{
    self, BlockedBy, Cause, Report as SessionReport, Session, SessionEnd, StepResult, Verdict,
};
use ratchet_engine::park::{ParkChange, outlives, park_after, park_after_alone};
use ratchet_engine::proof::{Matcher, ProofRecord};
use ratchet_engine::report::ApplyReport;
use ratchet_engine::transition::StepKind;
use ratchet_telemetry::redact;

use crate::actor::message::Report;
use crate::agent::Agent;
use crate::agent::failure::{EarlyEnd, Failure, argument_mismatch};
use crate::error::{Error, with_causes};
use crate::fault::{self, Point};
use crate::house::House;
use crate::observe;
use crate::store::change;
use crate::store::inflight::{Inflight, ProofTask, StepTask, Task};
use crate::store::journal::{self, Writer};
use crate::store::layout::{RunDir, RunHome};
use crate::store::run_state::RunState;
use crate::store::usage::{self, UsageLine};
use crate::watch::Seen;

/// The workflow schema that a change follows unless its own file says otherwise.
const SCHEMA: &str = "ratchet";

/// Puts the intent on disk, synced.
pub(crate) fn intend(house: &House, home: &RunHome, inflight: &Inflight) -> Result<(), Error> {
    journal::with_lock(&run(house, home), |writer| Ok(inflight.write(writer)?))
}

/// Takes an intent back that came to nothing.
pub(crate) fn forget(house: &House, home: &RunHome, inflight: &Inflight) -> Result<(), Error> {
    journal::with_lock(&run(house, home), |writer| Ok(Inflight::clear(writer, &inflight.spawn)?))
}

/// Parks a step of a batch that was refused before anything was spawned. Nothing is journaled. A step on its own is simply
/// run again, and so is one whose agent is out of use for a while: nobody has to answer for that.
pub(crate) fn refused(house: &House, home: &RunHome, result: &StepResult) -> Result<(), Error> {
    if result.cause == Some(Cause::Quota) {
        return Ok(());
    }
    match home {
        RunHome::Batch(_) => journal::with_lock(&run(house, home), |writer| {
            let change = park_after(result, BlockedBy::Person);
            park(house, home, writer, &result.change, change, &house.project.now().to_string())
        }),
        RunHome::Change(_) => Ok(()),
    }
}

/// Judges a spawn that is over, and records what it amounts to.
pub(crate) fn conclude(
    house: &House,
    home: &RunHome,
    inflight: &Inflight,
    seen: Seen,
) -> Result<Report, Error> {
    match &inflight.task {
        Task::Step(task) => Ok(reported(home, conclude_step(house, home, inflight, task, seen)?)),
        Task::Proof(task) => {
            let record = conclude_proof(house, home, inflight, task, seen)?;
            Ok(Report::Applied(ApplyReport::proof(&task.proving, &record)))
        }
    }
}

/// Records what a spawn was judged to be by an earlier call, which was cut off while it recorded.
pub(crate) fn finish(
    house: &House,
    home: &RunHome,
    inflight: &Inflight,
    verdict: Verdict,
) -> Result<Report, Error> {
    Ok(reported(home, record_verdict(house, home, inflight, verdict, None)?))
}

fn reported(home: &RunHome, result: StepResult) -> Report {
    match home {
        RunHome::Batch(_) => Report::Applied(ApplyReport::Step(result)),
        RunHome::Change(_) => Report::Stepped(result),
    }
}

fn conclude_step(
    house: &House,
    home: &RunHome,
    inflight: &Inflight,
    task: &StepTask,
    seen: Seen,
) -> Result<StepResult, Error> {
    let (after, unstamped) = after(house, task)?;
    let now = house.project.now();
    let hint = argument_hint(task, &seen);
    let told = told::told(task, &seen, now);
    let usage_line = told::usage_line(inflight, task, &seen, now);
    let forgotten = told::remember_limit(house, task, told.as_ref(), &seen.facts);
    let account = account(task, &seen);
    let session = Session {
        spawn: inflight.spawn.clone(),
        agent: task.agent.clone(),
        end: seen.end,
        reports: reports(&run(house, home), &inflight.key, inflight.journal_count)?,
        before: task.before,
        after,
        account,
        stdout: seen.stdout,
        stderr: seen.stderr,
        told,
        via: task.via,
        model: task.model.clone(),
    };
    let mut verdict = outcome::judge(&task.subject, &session);
    observe::outcome::judged(&house.trace, &session, &verdict);
    let notes = inflight
        .notes
        .iter()
        .cloned()
        .chain(seen.notes)
        .chain(seen.unread)
        .chain(hint)
        .chain(unstamped)
        .chain(forgotten);
    verdict.result.notes.extend(notes);
    hide_secrets(&mut verdict);
    fault::at(Point::Judged, house.project.environment());
    record_verdict(house, home, inflight, verdict, usage_line.as_ref())
}

/// Hides secrets in what a verdict says: it goes into the journal, into `state.json` and onto screens. What is judged is
/// judged before.
fn hide_secrets(verdict: &mut Verdict) {
    let redactor = redact::current();
    let Verdict { result, entry_message, .. } = verdict;
    let texts = [
        &mut result.blocker,
        &mut result.approval_request,
        &mut result.detail,
        &mut result.message,
    ];
    for text in texts.into_iter().flatten().chain(&mut result.notes) {
        redactor.clean(text);
    }
    redactor.clean(entry_message);
}

/// Looks at the change after its step, and gives it its `.ratchet.yaml` if a propose left it without (spec
/// `step-and-outcome` 3). A change that will not take one is judged all the same.
fn after(house: &House, task: &StepTask) -> Result<(Option<ChangeFacts>, Option<String>), Error> {
    let Some(change) = &task.change else { return Ok((None, None)) };
    let layout = house.project.layout();
    let facts = change::facts_of(layout, change)?;
    if task.subject.kind != StepKind::Propose || !facts.exists {
        return Ok((Some(facts), None));
    }
    let stamped = change::stamp(layout, change, SCHEMA, &house.project.now().date());
    Ok((Some(facts), stamped.err().map(|error| with_causes(&error))))
}

/// Writes a verdict down: first beside the intent, so that no other is ever reached, then where it belongs.
fn record_verdict(
    house: &House,
    home: &RunHome,
    inflight: &Inflight,
    verdict: Verdict,
    used: Option<&UsageLine>,
) -> Result<StepResult, Error> {
    let Inflight { spawn, started_at, .. } = inflight;
    let change = match home {
        RunHome::Batch(_) => park_after(&verdict.result, verdict.blocked_by),
        RunHome::Change(_) => park_after_alone(&verdict),
    };
    observe::outcome::parked(&house.trace, &change);
    let write = |writer: &Writer<'_>| {
        // Once the verdict is there nobody reads the agent's stream again.
        if let Some(line) = used {
            usage::record(writer, line)?;
        }
        Inflight { verdict: Some(verdict.clone()), ..inflight.clone() }.write(writer)?;
        let entry = Entry { image: inflight.image.clone(), ..verdict.entry(house.project.now()) };
        writer.conclude(spawn, &entry)?;
        fault::at(Point::Recorded, house.project.environment());
        park(house, home, writer, &verdict.result.change, change, started_at)?;
        Ok::<_, Error>(Inflight::clear(writer, spawn)?)
    };
    observe::outcome::recorded(&house.trace, || journal::with_lock(&run(house, home), write))?;
    Ok(verdict.result)
}

fn conclude_proof(
    house: &House,
    home: &RunHome,
    inflight: &Inflight,
    task: &ProofTask,
    seen: Seen,
) -> Result<ProofRecord, Error> {
    let finding = match seen.finding {
        Some(finding) => finding,
        None => Matcher::new(&task.proving.proof.pass).finish(&seen.end),
    };
    let mut record = finding.record(&task.proving.phase, task.policy);
    if let Some(unread) = &seen.unread {
        record.detail = format!("{} ({unread})", record.detail);
    }
    let redactor = redact::current();
    redactor.clean(&mut record.detail);
    record.matched_excerpt = record.matched_excerpt.map(|excerpt| redactor.cleaned(excerpt));
    if is_cut_short(&seen.end) {
        // Somebody stopped it, or nobody knows how it ended: that is no verdict, so it runs again.
        observe::outcome::unproved(&seen.trace);
        forget(house, home, inflight)?;
        return Ok(ProofRecord { gate_passed: false, ..record });
    }
    observe::outcome::proved(&seen.trace, &record);
    fault::at(Point::Judged, house.project.environment());
    let (now, detail) = (house.project.now(), record.detail.clone());
    let entry = Entry {
        proof: Some(record.clone()),
        spawn: Some(inflight.spawn.clone()),
        ..Entry::new(now, inflight.key.clone(), EntryKind::ProofOfWork, detail)
    };
    let write = |writer: &Writer<'_>| {
        if !journal::is_concluded(writer.run(), &inflight.spawn)? {
            writer.record_proof(&entry)?;
        }
        fault::at(Point::Recorded, house.project.environment());
        Ok::<_, Error>(Inflight::clear(writer, &inflight.spawn)?)
    };
    observe::outcome::recorded(&house.trace, || journal::with_lock(&run(house, home), write))?;
    Ok(record)
}

/// Says whether a command was ended before it could show anything, by a person or by bad luck.
fn is_cut_short(end: &SessionEnd) -> bool {
    match end {
        SessionEnd::Stopped { .. } | SessionEnd::Lost { .. } => true,
        SessionEnd::Exited(_)
        | SessionEnd::Signaled(_)
        | SessionEnd::TimedOut { .. }
        | SessionEnd::Lingered
        | SessionEnd::OutOfMemory
        | SessionEnd::OutputLimit { .. }
        | SessionEnd::NotStarted { .. } => false,
    }
}

/// Reads what was reported under this key since the spawn began. Indices count the entries of the key. An outcome that an
/// earlier, cut off attempt to record has left is no report.
fn reports(run: &RunDir, key: &StepKey, since: usize) -> Result<Vec<SessionReport>, Error> {
    let entries = journal::entries_of(run, key)?;
    // A journal that has become shorter was cleaned away meanwhile: what is in it came after.
    let since = if entries.len() < since { 0 } else { since };
    let session = entries.iter().enumerate().skip(since);
    Ok(session
        .filter(|(_, entry)| entry.spawn.is_none())
        .filter_map(|(index, entry)| {
            let message = entry.message.to_string();
            Some(SessionReport { index, kind: entry.kind()?, message })
        })
        .collect())
}

/// Gives what the agent said of its own failure, or what its exit code is known to mean.
fn account(task: &StepTask, seen: &Seen) -> Option<String> {
    let agent = Agent::find(&task.agent).ok().filter(|_| task.via.is_none())?;
    let by_code = match seen.end {
        SessionEnd::Exited(code) => Failure::from_exit(agent, code),
        SessionEnd::Signaled(_)
        | SessionEnd::TimedOut { .. }
        | SessionEnd::Stopped { .. }
        | SessionEnd::Lingered
        | SessionEnd::OutOfMemory
        | SessionEnd::OutputLimit { .. }
        | SessionEnd::NotStarted { .. }
        | SessionEnd::Lost { .. } => None,
    };
    seen.facts.account(by_code)
}

/// Says whether the agent's arguments may not fit its installed version.
fn argument_hint(task: &StepTask, seen: &Seen) -> Option<String> {
    let SessionEnd::Exited(exit_code) = seen.end else { return None };
    let agent = Agent::find(&task.agent).ok().filter(|_| task.via.is_none())?;
    argument_mismatch(
        agent,
        &EarlyEnd {
            exit_code,
            ran: Duration::from_millis(seen.awake_ms?),
            saw_event: seen.facts.saw_event,
            stderr: &seen.stderr,
        },
    )
}

/// Parks the step or removes its park. A batch's `state.json` is there after every step; that of a change on its own only
/// if something was ever parked.
fn park(
    house: &House,
    home: &RunHome,
    writer: &Writer<'_>,
    key: &StepKey,
    change: ParkChange,
    since: &str,
) -> Result<(), Error> {
    let mut state = RunState::read(writer.run())?;
    if state.park(key).is_some_and(|old| outlives(&old, &change, since)) {
        return Ok(());
    }
    match change {
        ParkChange::Set(new) => state.set(&new.at(house.project.now())),
        ParkChange::Clear => {
            let had_one = state.clear(key);
            if !had_one && matches!(home, RunHome::Change(_)) {
                return Ok(());
            }
        }
        ParkChange::Keep => return Ok(()),
    }
    Ok(state.write(writer)?)
}

fn run(house: &House, home: &RunHome) -> RunDir {
    house.project.layout().run(home)
}
