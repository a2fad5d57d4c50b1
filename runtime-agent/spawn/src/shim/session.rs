//! The life of a spawn, from top to bottom: start, watch, end, clear up, tell.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use super::agent::{self, Agent, Exit, Streams};
use super::limits::{Deadline, next_deadline};
use super::output::{Spool, Trouble};
use super::pump::Pump;
use super::while_doing;
use crate::cgroup::{Layout, Leaf, OomCounter};
use crate::directory::{FORMAT, SpawnDir, read_json, replace_json};
use crate::hunt::hunt;
use crate::lock::Held;
use crate::process::{boot_id, look, own_children, pid_namespace};
use crate::quarry::{Quarry, Seeker};
use crate::record::{End, ExitRecord, Fate, Leader, MOST_STRAYS, NotStarted, Output, Stray, Usage};
use crate::request::StoredRequest;
use crate::spool::Stream;
use crate::standing::{ProcessName, Started};

/// How long strays may take to go when asked.
const PATIENCE: Duration = Duration::from_millis(500);

/// How long at least, also when the grace of a stop is nearly over.
const LEAST_PATIENCE: Duration = Duration::from_millis(50);

/// A command that is over sooner gets no cgroup.
const ADOPT_AFTER: Duration = Duration::from_millis(25);

const SIGKILL: i32 = 9;

/// A spawn that was taken up.
#[derive(Debug)]
pub(super) struct Session<'a> {
    dir: &'a SpawnDir,
    lock: &'a Held,
    request: Option<StoredRequest>,
    pump: Pump,
    started: Started,
    began: Instant,
    cgroup: Option<Leaf>,
    adoption: Adoption,
    oom: Option<OomCounter>,
    strays: Vec<Stray>,
    notes: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Adoption {
    DueAt(Instant),
    Over,
}

/// Why the watch over the agent is over.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Cause {
    Ended(Exit),
    Stopped { by: String, grace_ms: Option<u64> },
    TimeIsUp(Deadline),
    Output(Trouble),
}

impl<'a> Session<'a> {
    /// Makes ready what must be there before the agent.
    pub(super) fn begin(dir: &'a SpawnDir, lock: &'a Held) -> io::Result<Self> {
        let began = Instant::now();
        let request = read_json::<StoredRequest>(&dir.request_file()).unwrap_or_default();
        let limit = request.as_ref().and_then(|request| request.limits.output_bytes);
        let spool = Spool::create(dir, limit).map_err(while_doing("cannot make the spool"))?;
        let pump = Pump::new(dir, spool)?;
        let started = just_started()?;
        Ok(Self {
            dir,
            lock,
            request,
            pump,
            started,
            began,
            cgroup: None,
            adoption: Adoption::DueAt(began + ADOPT_AFTER),
            oom: None,
            strays: Vec::new(),
            notes: Vec::new(),
        })
    }

    /// Runs the agent to its end and beyond: when this returns, nothing of it is left, or what is left is named.
    ///
    /// # Errors
    /// Only where the shim cannot go on; its own end then kills the agent.
    pub(super) fn live(&mut self) -> io::Result<ExitRecord> {
        let end = match self.start() {
            Ok(agent) => self.accompany(agent)?,
            Err(end) => end,
        };
        Ok(self.record(end))
    }

    pub(super) fn spool_file(&self) -> &File {
        self.pump.spool().file()
    }

    /// Clears up what nobody waits for.
    pub(super) fn tidy(&self) {
        if let Some(cgroup) = &self.cgroup {
            cgroup.remove();
        }
    }

    fn start(&mut self) -> Result<Agent, End> {
        let request = self
            .request
            .clone()
            .filter(|request| request.id == *self.dir.id() && request.format == FORMAT)
            .ok_or_else(|| refused(NotStarted::BadRequest, "the request cannot be read"))?;
        if let Some(stop) = self.pump.take_stop() {
            return Err(End::Stopped { by: stop.by, leader: Leader::NeverRan });
        }
        // From here on the spawn counts as started, whatever happens.
        replace_json(&self.dir.started_file(), &self.started)
            .and_then(|()| self.lock.note_start())
            .map_err(|error| {
                refused(NotStarted::Refused, &format!("cannot write that it starts: {error}"))
            })?;
        self.began = Instant::now();
        self.adoption = Adoption::DueAt(self.began + ADOPT_AFTER);
        let (agent, streams) = agent::start(self.dir, request)?;
        self.attend(&agent, streams);
        Ok(agent)
    }

    /// Does what the agent's start need not wait for.
    fn attend(&mut self, agent: &Agent, streams: Streams) {
        let listening = self
            .pump
            .listen_to(Stream::Stdout, streams.stdout)
            .and_then(|()| self.pump.listen_to(Stream::Stderr, streams.stderr));
        if let Err(error) = listening {
            self.notes.push(format!("its output cannot be read: {error}"));
        }
        let layout = Layout::read();
        self.oom = OomCounter::begin(&layout);
        self.cgroup = Leaf::planned(&layout, self.dir.id());
        self.started.agent = Some(agent.name());
        self.started.cgroup = self.cgroup.as_ref().map(|leaf| leaf.path().to_owned());
        if let Err(error) = replace_json(&self.dir.agent_file(), &self.started) {
            self.notes.push(format!("no file names the agent: {error}"));
        }
    }

    fn accompany(&mut self, agent: Agent) -> io::Result<End> {
        let cause = self.watch(&agent)?;
        let patience = match &cause {
            Cause::Ended(_) => Instant::now() + PATIENCE,
            Cause::Stopped { grace_ms, .. } => self.end_agent(&agent, *grace_ms)?,
            Cause::TimeIsUp(_) | Cause::Output(_) => self.end_agent(&agent, None)?,
        };
        self.end_strays(&agent, patience)?;
        self.pump.drain()?;
        self.reap_orphans(&agent)?;
        let leader = agent.reap()?.map_or(Leader::StillRunning, Leader::from);
        Ok(self.judge(cause, leader))
    }

    /// Waits for the first reason to end.
    fn watch(&mut self, agent: &Agent) -> io::Result<Cause> {
        let limits = self.request.as_ref().map(|request| request.limits).unwrap_or_default();
        let mut looked_again = false;
        loop {
            if let Some(exit) = agent.ended()? {
                return Ok(Cause::Ended(exit));
            }
            if let Some(stop) = self.pump.take_stop() {
                return Ok(Cause::Stopped { by: stop.by, grace_ms: stop.grace_ms });
            }
            if let Some(trouble) = self.pump.spool().trouble() {
                return Ok(Cause::Output(trouble.clone()));
            }
            let deadline = next_deadline(&limits, self.began, self.pump.last_output());
            let overdue = deadline.filter(|deadline| Instant::now() >= deadline.at);
            match overdue {
                Some(deadline) if looked_again => return Ok(Cause::TimeIsUp(deadline)),
                // Output or the end may have come while the shim itself was kept from running.
                Some(_) => self.turn(agent, &[], Some(Instant::now()))?,
                None => {
                    let adoption = self.adopt_when_due(agent)?;
                    let next = deadline.map(|deadline| deadline.at).into_iter().chain(adoption);
                    self.turn(agent, &[], next.min())?;
                }
            }
            looked_again = overdue.is_some();
        }
    }

    /// Asks the agent's group to end, and kills it when the grace is over. Gives how long the rest may be asked.
    fn end_agent(&mut self, agent: &Agent, grace_ms: Option<u64>) -> io::Result<Instant> {
        let limits = self.request.as_ref().map(|request| request.limits).unwrap_or_default();
        let grace = |ms: u64| Instant::now().checked_add(Duration::from_millis(ms));
        let far_away = Instant::now() + Duration::from_secs(3600);
        let mut until = grace(grace_ms.unwrap_or(limits.grace_ms)).unwrap_or(far_away);
        agent.ask_to_end();
        while agent.ended()?.is_none() && Instant::now() < until {
            self.turn(agent, &[], Some(until))?;
            // Whoever asks again may have less patience, never more.
            let shorter = self.pump.take_stop().and_then(|stop| stop.grace_ms).and_then(grace);
            until = shorter.map_or(until, |shorter| shorter.min(until));
        }
        let now = Instant::now();
        if now >= until {
            agent.kill();
            return Ok(now);
        }
        Ok(until.clamp(now + LEAST_PATIENCE, now + PATIENCE))
    }

    /// Ends whatever of the spawn is left, and the agent too if it is.
    fn end_strays(&mut self, agent: &Agent, patience: Instant) -> io::Result<()> {
        // The cgroup stands for itself while the hunt borrows the rest.
        let cgroup = self.cgroup.clone();
        let quarry = Quarry {
            id: self.dir.id(),
            seeker: Seeker::Shim,
            agent: Some(agent.name()),
            cgroup: cgroup.as_ref(),
            since: self.started.shim.start_time,
        };
        self.strays =
            hunt(&quarry, patience, &mut |ending, until| self.turn(agent, ending, Some(until)))?;
        Ok(())
    }

    fn turn(
        &mut self,
        agent: &Agent,
        ending: &[&OwnedFd],
        until: Option<Instant>,
    ) -> io::Result<()> {
        self.pump.turn(ending, until)?;
        if self.pump.take_signalled() { self.reap_orphans(agent) } else { Ok(()) }
    }

    /// Waits for the children the shim has inherited and that have ended, or they would stay as zombies.
    fn reap_orphans(&self, agent: &Agent) -> io::Result<()> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
        for pid in own_children()?.into_iter().filter(|pid| *pid != agent.name().pid) {
            // One that still runs stays; nobody else can have waited for it.
            let _ = Pid::from_raw(pid).map(|pid| waitid(WaitId::Pid(pid), options));
        }
        Ok(())
    }

    /// Moves what there is into the cgroup once it is worth it; gives when to come back.
    fn adopt_when_due(&mut self, agent: &Agent) -> io::Result<Option<Instant>> {
        let (Adoption::DueAt(due), Some(cgroup)) = (self.adoption, &self.cgroup) else {
            return Ok(None);
        };
        if Instant::now() < due {
            return Ok(Some(due));
        }
        self.adoption = Adoption::Over;
        let quarry = Quarry {
            id: self.dir.id(),
            seeker: Seeker::Shim,
            agent: Some(agent.name()),
            cgroup: None,
            since: self.started.shim.start_time,
        };
        cgroup.adopt(quarry.find()?.into_iter().map(|(process, _)| process.pid));
        Ok(None)
    }

    fn judge(&self, cause: Cause, leader: Leader) -> End {
        match cause {
            Cause::Ended(Exit::Signal { signal: SIGKILL, .. }) if self.oom_kills() > 0 => {
                End::OutOfMemory
            }
            Cause::Ended(Exit::Signal { signal, core_dumped }) => {
                End::Signaled { signal, core_dumped }
            }
            Cause::Ended(Exit::Code(code)) => End::Exited { code },
            Cause::Stopped { by, .. } => End::Stopped { by, leader },
            Cause::TimeIsUp(Deadline { limit, after_ms, .. }) => {
                End::TimedOut { limit, after_ms, leader }
            }
            Cause::Output(Trouble::Limit(bytes)) => End::OutputLimit { bytes, leader },
            Cause::Output(Trouble::Disk(message)) => End::SpoolFailed { message, leader },
        }
    }

    fn oom_kills(&self) -> u64 {
        self.oom.as_ref().map_or(0, OomCounter::count)
    }

    fn record(&mut self, end: End) -> ExitRecord {
        let agent = self.started.agent.map(|agent| agent.pid);
        let (leftover, mut strays): (Vec<_>, Vec<_>) = std::mem::take(&mut self.strays)
            .into_iter()
            .partition(|stray| stray.fate == Fate::Left);
        strays.retain(|stray| Some(stray.pid) != agent);
        if strays.len() > MOST_STRAYS {
            self.notes.push(format!("{} more strays were ended", strays.len() - MOST_STRAYS));
            strays.truncate(MOST_STRAYS);
        }
        ExitRecord {
            format: FORMAT,
            end,
            started_at: self.started.started_at,
            ended_at: now_ms(),
            awake_ms: u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX),
            usage: Usage { oom_kills: self.oom_kills(), ..usage_of_children() },
            output: self.pump.spool().output(),
            strays,
            leftover,
            notes: std::mem::take(&mut self.notes),
        }
    }
}

impl ExitRecord {
    /// Says of a spawn that the shim could not even begin with it.
    pub(super) fn of_no_start(why: &io::Error) -> Self {
        Self::of_no_run(refused(NotStarted::Refused, &why.to_string()), Vec::new())
    }

    /// Says how a spawn ended of which nothing else is known.
    pub(super) fn of_no_run(end: End, notes: Vec<String>) -> Self {
        let now = now_ms();
        Self {
            format: FORMAT,
            end,
            started_at: now,
            ended_at: now,
            awake_ms: 0,
            usage: Usage::default(),
            output: Output::default(),
            strays: Vec::new(),
            leftover: Vec::new(),
            notes,
        }
    }
}

/// Asks what all children took that were waited for, and theirs in turn.
fn usage_of_children() -> Usage {
    let Ok(usage) = getrusage(UsageWho::RUSAGE_CHILDREN) else { return Usage::default() };
    let us = |time: nix::sys::time::TimeVal| u64::try_from(time.num_microseconds()).unwrap_or(0);
    Usage {
        cpu_user_us: us(usage.user_time()),
        cpu_system_us: us(usage.system_time()),
        // The kernel counts in KiB.
        max_rss_bytes: u64::try_from(usage.max_rss()).unwrap_or(0) * 1024,
        oom_kills: 0,
    }
}

fn refused(reason: NotStarted, message: &str) -> End {
    End::NotStarted { reason, message: message.to_owned(), code: 1 }
}

/// Says that this shim has taken a spawn up.
pub(super) fn just_started() -> io::Result<Started> {
    Ok(Started {
        format: FORMAT,
        started_at: now_ms(),
        boot_id: boot_id()?,
        pid_namespace: pid_namespace()?,
        shim: own_name(),
        agent: None,
        cgroup: None,
    })
}

/// Names this process.
fn own_name() -> ProcessName {
    let pid = std::process::id().cast_signed();
    ProcessName { pid, start_time: look(pid).map_or(0, |process| process.start_time) }
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
