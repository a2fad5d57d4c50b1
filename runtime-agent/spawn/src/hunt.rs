//! The stray hunt: finds every process that belongs to a spawn, asks it to go, kills it, and makes sure.
//! Used by the shim after every end, and by whoever finds a spawn lost.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::cgroup::Leaf;
use crate::id::SpawnId;
use crate::process::{self, Life, Process};
use crate::record::{Fate, Stray, Tie};
use crate::standing::ProcessName;

/// How long killed processes are waited for. Only one that hangs in the kernel takes longer than a moment.
const KILL_WAIT: Duration = Duration::from_secs(2);

/// What is hunted.
#[derive(Debug)]
pub(crate) struct Quarry<'a> {
    pub(crate) id: &'a SpawnId,
    /// The shim, whose descendants all belong to the spawn; `None` when it is dead and they are anybody's children.
    pub(crate) shim: Option<i32>,
    /// The agent, whose number is that of its session.
    pub(crate) agent: Option<ProcessName>,
    pub(crate) cgroup: Option<&'a Leaf>,
    /// Nothing of the spawn started before this, in clock ticks since boot.
    pub(crate) since: u64,
}

/// Waits until one of the processes ends or the time comes; what else has to go on meanwhile goes on in there.
pub(crate) type Wait<'a> = dyn FnMut(&[&OwnedFd], Instant) -> io::Result<()> + 'a;

/// Ends everything that belongs to the quarry. Until `patience` it is asked (TERM), from then on killed.
/// Gives all that was found, with its fate.
pub(crate) fn hunt(
    quarry: &Quarry<'_>,
    patience: Instant,
    wait: &mut Wait<'_>,
) -> io::Result<Vec<Stray>> {
    let mut prey: BTreeMap<(i32, u64), Prey> = BTreeMap::new();
    let give_up = patience.max(Instant::now()) + KILL_WAIT;
    loop {
        for (process, tie) in quarry.find()? {
            if let std::collections::btree_map::Entry::Vacant(place) =
                prey.entry((process.pid, process.start_time))
                && let Some(found) = Prey::identify(&process, tie)
            {
                place.insert(found);
            }
        }
        let now = Instant::now();
        let killing = now >= patience;
        let mut alive = Vec::new();
        for found in prey.values_mut().filter(|found| found.is_alive()) {
            found.push(if killing { Stage::Killed } else { Stage::Asked });
            alive.push(&found.pidfd);
        }
        // Last, so that what was found is known to have been killed and not to have gone by itself.
        if killing && let Some(cgroup) = quarry.cgroup {
            cgroup.kill();
        }
        if alive.is_empty() || now >= give_up {
            return Ok(prey.into_values().map(Prey::into_stray).collect());
        }
        wait(&alive, if killing { give_up } else { patience })?;
    }
}

impl Quarry<'_> {
    /// Finds the living processes of the spawn, apart from the shim and the caller.
    pub(crate) fn find(&self) -> io::Result<Vec<(Process, Tie)>> {
        let processes = process::all()?;
        let spared = spared(&processes, self.shim);
        let members: BTreeSet<i32> =
            self.cgroup.map(Leaf::members).unwrap_or_default().into_iter().collect();
        let session = self.session(&processes);
        let mut ties: BTreeMap<i32, Tie> = BTreeMap::new();
        for process in &processes {
            let tie = if members.contains(&process.pid) {
                Tie::Cgroup
            } else if Some(process.session) == session {
                Tie::Session
            } else if process.start_time >= self.since
                && process::carries_mark(process.pid, self.id)
            {
                Tie::Mark
            } else {
                continue;
            };
            ties.insert(process.pid, tie);
        }
        for descendant in descendants(&processes, self.shim.iter().chain(ties.keys()).copied()) {
            ties.insert(descendant, Tie::Descent);
        }
        let tied = |process: Process| Some((ties.get(&process.pid).copied()?, process));
        Ok(processes
            .into_iter()
            .filter(|process| process.life == Life::Alive && !spared.contains(&process.pid))
            .filter_map(tied)
            .map(|(tie, process)| (process, tie))
            .collect())
    }

    /// Gives the agent's session, unless its number has gone to somebody else.
    fn session(&self, processes: &[Process]) -> Option<i32> {
        let agent = self.agent?;
        let same =
            |process: &Process| process.pid != agent.pid || process.start_time == agent.start_time;
        processes.iter().all(same).then_some(agent.pid)
    }
}

/// Lists who is never hunted: the caller and, where the shim is not the caller, all that the caller runs under.
fn spared(processes: &[Process], shim: Option<i32>) -> BTreeSet<i32> {
    let parents: BTreeMap<i32, i32> =
        processes.iter().map(|process| (process.pid, process.parent)).collect();
    let mut spared = BTreeSet::from([1]);
    let mut next = i32::try_from(std::process::id()).ok();
    while let Some(pid) = next {
        next =
            if spared.insert(pid) && shim != Some(pid) { parents.get(&pid).copied() } else { None };
    }
    spared
}

/// Finds all that descends from some processes, without these.
fn descendants(processes: &[Process], from: impl Iterator<Item = i32>) -> Vec<i32> {
    let mut children: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
    for process in processes {
        children.entry(process.parent).or_default().push(process.pid);
    }
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    let mut open: Vec<i32> = from.collect();
    while let Some(parent) = open.pop() {
        for child in children.get(&parent).into_iter().flatten() {
            if seen.insert(*child) {
                found.push(*child);
                open.push(*child);
            }
        }
    }
    found
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Found,
    Asked,
    Killed,
}

/// A process that was found, held by a descriptor so that no other can be meant.
#[derive(Debug)]
struct Prey {
    pidfd: OwnedFd,
    stray: Stray,
    stage: Stage,
}

impl Prey {
    /// Takes hold of a process; `None` if it is gone already.
    fn identify(process: &Process, tie: Tie) -> Option<Self> {
        let pidfd = pidfd_open(Pid::from_raw(process.pid)?, PidfdFlags::empty()).ok()?;
        let program = process::program(process.pid);
        // The descriptor is of the process that was found only if that one is still there now.
        let same = process::look(process.pid)?.start_time == process.start_time;
        same.then(|| Self {
            pidfd,
            stray: Stray {
                pid: process.pid,
                comm: process.comm.clone(),
                program,
                found_by: tie,
                fate: Fate::Left,
            },
            stage: Stage::Found,
        })
    }

    /// Asks the kernel; a zombie is not alive.
    fn is_alive(&self) -> bool {
        let mut fds = [rustix::event::PollFd::new(&self.pidfd, rustix::event::PollFlags::IN)];
        let none = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
        !matches!(rustix::event::poll(&mut fds, Some(&none)), Ok(1..))
    }

    /// Sends the signals of a stage, once.
    fn push(&mut self, stage: Stage) {
        if self.stage >= stage {
            return;
        }
        self.stage = stage;
        // A process that may not be signalled stays alive and is reported as left.
        let _ = match stage {
            Stage::Found => Ok(()),
            // A process that was halted hears nothing until it goes on.
            Stage::Asked => pidfd_send_signal(&self.pidfd, Signal::TERM)
                .and_then(|()| pidfd_send_signal(&self.pidfd, Signal::CONT)),
            Stage::Killed => pidfd_send_signal(&self.pidfd, Signal::KILL),
        };
    }

    fn into_stray(self) -> Stray {
        let fate = match (self.is_alive(), self.stage) {
            (true, _) => Fate::Left,
            (false, Stage::Killed) => Fate::Killed,
            (false, Stage::Found | Stage::Asked) => Fate::Obeyed,
        };
        Stray { fate, ..self.stray }
    }
}
