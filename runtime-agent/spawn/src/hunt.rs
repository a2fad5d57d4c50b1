//! The stray hunt: asks everything that belongs to a spawn to go, kills what does not, and makes sure.
//! Used by the shim after every end, and by whoever finds a spawn lost.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::process::{self, Process};
use crate::quarry::Quarry;
use crate::record::{Fate, Stray, Tie};

/// How long killed processes are waited for. Only one that hangs in the kernel takes longer than a moment.
const KILL_WAIT: Duration = Duration::from_secs(2);

/// Waits until one of the processes ends or the time comes; what else has to go on meanwhile goes on in there.
pub(crate) type Wait<'a> = dyn FnMut(&[&OwnedFd], Instant) -> io::Result<()> + 'a;

/// Ends everything that belongs to the quarry. Until `patience` it is asked (TERM), from then on killed.
/// Gives all that was found, with its fate.
pub(crate) fn hunt(
    quarry: &Quarry<'_>,
    patience: Instant,
    wait: &mut Wait<'_>,
) -> io::Result<Vec<Stray>> {
    let give_up = patience.max(Instant::now()) + KILL_WAIT;
    let mut hunt = Hunt::default();
    loop {
        let found = quarry.find()?;
        let clear = found.is_empty() && !quarry.may_have_more()?;
        hunt.take_hold_of(found);
        let now = Instant::now();
        let (stage, until) =
            if now < patience { (Stage::Asked, patience) } else { (Stage::Killed, give_up) };
        hunt.push(stage);
        // Last, so that what was found is known to have been killed and not to have gone by itself.
        if let (Stage::Killed, Some(cgroup)) = (stage, quarry.cgroup) {
            cgroup.kill();
        }
        hunt.let_go_of_the_dead();
        if (clear && hunt.prey.is_empty()) || now >= give_up {
            return Ok(hunt.over());
        }
        if !hunt.prey.is_empty() {
            let alive: Vec<&OwnedFd> = hunt.prey.values().map(|prey| &prey.pidfd).collect();
            wait(&alive, until)?;
        }
    }
}

#[derive(Debug, Default)]
struct Hunt {
    /// By number and start: the same process is never taken twice, nor another for it.
    prey: BTreeMap<(i32, u64), Prey>,
    gone: Vec<Stray>,
}

impl Hunt {
    fn take_hold_of(&mut self, found: Vec<(Process, Tie)>) {
        for (process, tie) in found {
            let name = (process.pid, process.start_time);
            if !self.prey.contains_key(&name)
                && let Some(prey) = Prey::identify(process, tie)
            {
                self.prey.insert(name, prey);
            }
        }
    }

    fn push(&mut self, stage: Stage) {
        for prey in self.prey.values_mut() {
            prey.push(stage);
        }
    }

    fn let_go_of_the_dead(&mut self) {
        let dead = self.prey.extract_if(.., |_, prey| !prey.is_alive());
        self.gone.extend(dead.map(|(_, prey)| prey.into_gone()));
    }

    fn over(self) -> Vec<Stray> {
        let left = self.prey.into_values().map(|prey| prey.stray);
        self.gone.into_iter().chain(left).collect()
    }
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
    fn identify(process: Process, tie: Tie) -> Option<Self> {
        let Process { pid, start_time, comm, .. } = process;
        let pidfd = pidfd_open(Pid::from_raw(pid)?, PidfdFlags::empty()).ok()?;
        let program = process::program(pid);
        // The descriptor is of the process that was found only if that one is still there now.
        let same = process::look(pid)?.start_time == start_time;
        let stray = Stray { pid, comm, program, found_by: tie, fate: Fate::Left };
        same.then_some(Self { pidfd, stray, stage: Stage::Found })
    }

    /// Asks the kernel; a zombie is not alive.
    fn is_alive(&self) -> bool {
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        let ended = poll(&mut [PollFd::new(&self.pidfd, PollFlags::IN)], Some(&at_once));
        !matches!(ended, Ok(1..))
    }

    /// Sends the signals of a stage, once. A process that may not be signalled stays and is reported as left.
    fn push(&mut self, stage: Stage) {
        if self.stage >= stage || !self.is_alive() {
            return;
        }
        self.stage = stage;
        let _ = match stage {
            Stage::Found => Ok(()),
            // A process that was halted hears nothing until it goes on.
            Stage::Asked => pidfd_send_signal(&self.pidfd, Signal::TERM)
                .and_then(|()| pidfd_send_signal(&self.pidfd, Signal::CONT)),
            Stage::Killed => pidfd_send_signal(&self.pidfd, Signal::KILL),
        };
    }

    fn into_gone(self) -> Stray {
        let fate = match self.stage {
            Stage::Killed => Fate::Killed,
            Stage::Found | Stage::Asked => Fate::Obeyed,
        };
        Stray { fate, ..self.stray }
    }
}
