//! How a command ended: the shim's record, without a loss.

use ratchet_spawn::{
    End, ExitRecord, Fate, Leader, Lost, NotStarted, Output, Stray, Tie, TimeLimit, Usage,
};

use super::Malformed;
use crate::runtime::v1 as wire;
use crate::runtime::v1::{end, leader};

impl From<ExitRecord> for wire::ExitRecord {
    fn from(record: ExitRecord) -> Self {
        let ExitRecord {
            format,
            end,
            started_at,
            ended_at,
            awake_ms,
            usage,
            output,
            strays,
            leftover,
            notes,
        } = record;
        Self {
            format,
            end: Some(end.into()),
            started_at_ms: started_at,
            ended_at_ms: ended_at,
            awake_ms,
            usage: Some(usage.into()),
            output: Some(output.into()),
            strays: strays.into_iter().map(Into::into).collect(),
            leftover: leftover.into_iter().map(Into::into).collect(),
            notes,
        }
    }
}

impl TryFrom<wire::ExitRecord> for ExitRecord {
    type Error = Malformed;

    fn try_from(record: wire::ExitRecord) -> Result<Self, Malformed> {
        let strays = |strays: Vec<wire::Stray>| -> Result<Vec<Stray>, Malformed> {
            strays.into_iter().map(Stray::try_from).collect()
        };
        Ok(Self {
            format: record.format,
            end: record.end.ok_or_else(|| Malformed::missing("a record's end"))?.try_into()?,
            started_at: record.started_at_ms,
            ended_at: record.ended_at_ms,
            awake_ms: record.awake_ms,
            usage: record.usage.unwrap_or_default().into(),
            output: record.output.unwrap_or_default().into(),
            strays: strays(record.strays)?,
            leftover: strays(record.leftover)?,
            notes: record.notes,
        })
    }
}

impl From<End> for wire::End {
    fn from(end: End) -> Self {
        let end = match end {
            End::Exited { code } => end::End::Exited(wire::Exited { code }),
            End::Signaled { signal, core_dumped } => {
                end::End::Signaled(wire::Signaled { signal, core_dumped })
            }
            End::TimedOut { limit, after_ms, leader } => end::End::TimedOut(wire::TimedOut {
                limit: wire::TimeLimit::from(limit).into(),
                after_ms,
                leader: Some(leader.into()),
            }),
            End::Stopped { by, leader } => {
                end::End::Stopped(wire::Stopped { by, leader: Some(leader.into()) })
            }
            End::OutOfMemory => end::End::OutOfMemory(wire::OutOfMemory {}),
            End::OutputLimit { bytes, leader } => {
                end::End::OutputLimit(wire::OutputLimit { bytes, leader: Some(leader.into()) })
            }
            End::SpoolFailed { message, leader } => {
                end::End::SpoolFailed(wire::SpoolFailed { message, leader: Some(leader.into()) })
            }
            End::NotStarted { reason, message, code } => {
                let reason = wire::NotStartedReason::from(reason).into();
                end::End::NotStarted(wire::NotStarted { reason, message, code })
            }
        };
        Self { end: Some(end) }
    }
}

impl TryFrom<wire::End> for End {
    type Error = Malformed;

    fn try_from(end: wire::End) -> Result<Self, Malformed> {
        Ok(match end.end.ok_or_else(|| Malformed::missing("how it ended"))? {
            end::End::Exited(wire::Exited { code }) => Self::Exited { code },
            end::End::Signaled(wire::Signaled { signal, core_dumped }) => {
                Self::Signaled { signal, core_dumped }
            }
            end::End::TimedOut(timed_out) => Self::TimedOut {
                limit: timed_out.limit().try_into()?,
                after_ms: timed_out.after_ms,
                leader: heard(timed_out.leader)?,
            },
            end::End::Stopped(stopped) => {
                Self::Stopped { leader: heard(stopped.leader)?, by: stopped.by }
            }
            end::End::OutOfMemory(wire::OutOfMemory {}) => Self::OutOfMemory,
            end::End::OutputLimit(wire::OutputLimit { bytes, leader }) => {
                Self::OutputLimit { bytes, leader: heard(leader)? }
            }
            end::End::SpoolFailed(wire::SpoolFailed { message, leader }) => {
                Self::SpoolFailed { message, leader: heard(leader)? }
            }
            end::End::NotStarted(not) => Self::NotStarted {
                reason: not.reason().try_into()?,
                code: not.code,
                message: not.message,
            },
        })
    }
}

fn heard(leader: Option<wire::Leader>) -> Result<Leader, Malformed> {
    let how = leader.and_then(|leader| leader.leader);
    Ok(match how.ok_or_else(|| Malformed::missing("how the command itself went"))? {
        leader::Leader::NeverRan(wire::NeverRan {}) => Leader::NeverRan,
        leader::Leader::Exited(wire::Exited { code }) => Leader::Exited { code },
        leader::Leader::Signaled(wire::Signaled { signal, core_dumped }) => {
            Leader::Signaled { signal, core_dumped }
        }
        leader::Leader::StillRunning(wire::StillRunning {}) => Leader::StillRunning,
    })
}

impl From<Leader> for wire::Leader {
    fn from(leader: Leader) -> Self {
        let leader = match leader {
            Leader::NeverRan => leader::Leader::NeverRan(wire::NeverRan {}),
            Leader::Exited { code } => leader::Leader::Exited(wire::Exited { code }),
            Leader::Signaled { signal, core_dumped } => {
                leader::Leader::Signaled(wire::Signaled { signal, core_dumped })
            }
            Leader::StillRunning => leader::Leader::StillRunning(wire::StillRunning {}),
        };
        Self { leader: Some(leader) }
    }
}

/// Maps the words of two enums onto each other, in both directions, so that neither direction can forget one.
macro_rules! words {
    ($ours:ident, $theirs:ident, $what:literal, [$($word:ident),+]) => {
        impl From<$ours> for wire::$theirs {
            fn from(word: $ours) -> Self {
                match word {
                    $($ours::$word => Self::$word,)+
                }
            }
        }

        impl TryFrom<wire::$theirs> for $ours {
            type Error = Malformed;

            fn try_from(word: wire::$theirs) -> Result<Self, Malformed> {
                match word {
                    wire::$theirs::Unspecified => Err(Malformed::unknown($what)),
                    $(wire::$theirs::$word => Ok(Self::$word),)+
                }
            }
        }
    };
}

words!(TimeLimit, TimeLimit, "a limit on time", [Start, Idle, Wall]);
words!(
    NotStarted,
    NotStartedReason,
    "why it did not start",
    [CommandNotFound, NotExecutable, FolderMissing, BadRequest, Refused]
);
words!(Tie, Tie, "what ties a process to a command", [Descent, Cgroup, Session, Mark]);
words!(Fate, Fate, "how a process went", [Obeyed, Killed, Left]);
words!(Lost, Lost, "why nobody knows the end", [ShimDied, MachineRestarted, Damaged]);

impl From<Stray> for wire::Stray {
    fn from(stray: Stray) -> Self {
        let Stray { pid, comm, program, found_by, fate } = stray;
        let found_by = wire::Tie::from(found_by).into();
        Self { pid, comm, program, found_by, fate: wire::Fate::from(fate).into() }
    }
}

impl TryFrom<wire::Stray> for Stray {
    type Error = Malformed;

    fn try_from(stray: wire::Stray) -> Result<Self, Malformed> {
        let (found_by, fate) = (stray.found_by().try_into()?, stray.fate().try_into()?);
        Ok(Self { pid: stray.pid, comm: stray.comm, program: stray.program, found_by, fate })
    }
}

impl From<Usage> for wire::Usage {
    fn from(usage: Usage) -> Self {
        let Usage { cpu_user_us, cpu_system_us, max_rss_bytes, oom_kills } = usage;
        Self { cpu_user_us, cpu_system_us, max_rss_bytes, oom_kills }
    }
}

impl From<wire::Usage> for Usage {
    fn from(usage: wire::Usage) -> Self {
        let wire::Usage { cpu_user_us, cpu_system_us, max_rss_bytes, oom_kills } = usage;
        Self { cpu_user_us, cpu_system_us, max_rss_bytes, oom_kills }
    }
}

impl From<Output> for wire::Output {
    fn from(output: Output) -> Self {
        let Output { stdout_bytes, stderr_bytes, discarded_bytes, frames, spool_bytes } = output;
        Self { stdout_bytes, stderr_bytes, discarded_bytes, frames, spool_bytes }
    }
}

impl From<wire::Output> for Output {
    fn from(output: wire::Output) -> Self {
        let wire::Output { stdout_bytes, stderr_bytes, discarded_bytes, frames, spool_bytes } =
            output;
        Self { stdout_bytes, stderr_bytes, discarded_bytes, frames, spool_bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(end: End) -> ExitRecord {
        let stray = |found_by, fate| Stray {
            pid: 7,
            comm: "sl\u{fffd}ep".to_owned(),
            program: "/bin/sleep".to_owned(),
            found_by,
            fate,
        };
        ExitRecord {
            format: 1,
            end,
            started_at: 2,
            ended_at: 3,
            awake_ms: 4,
            usage: Usage { cpu_user_us: 5, cpu_system_us: 6, max_rss_bytes: 7, oom_kills: 8 },
            output: Output {
                stdout_bytes: 9,
                stderr_bytes: 10,
                discarded_bytes: 11,
                frames: 12,
                spool_bytes: 13,
            },
            strays: vec![stray(Tie::Descent, Fate::Obeyed), stray(Tie::Cgroup, Fate::Killed)],
            leftover: vec![stray(Tie::Session, Fate::Left), stray(Tie::Mark, Fate::Left)],
            notes: vec!["no cgroup".to_owned()],
        }
    }

    fn ends() -> Vec<End> {
        let leaders = [
            Leader::NeverRan,
            Leader::Exited { code: 255 },
            Leader::Signaled { signal: 9, core_dumped: true },
            Leader::StillRunning,
        ];
        let reasons = [
            NotStarted::CommandNotFound,
            NotStarted::NotExecutable,
            NotStarted::FolderMissing,
            NotStarted::BadRequest,
            NotStarted::Refused,
        ];
        let mut ends = vec![
            End::Exited { code: 0 },
            End::Exited { code: 255 },
            End::Signaled { signal: 11, core_dumped: false },
            End::OutOfMemory,
        ];
        for leader in leaders {
            for limit in [TimeLimit::Start, TimeLimit::Idle, TimeLimit::Wall] {
                ends.push(End::TimedOut { limit, after_ms: 600_000, leader });
            }
            ends.push(End::Stopped { by: "a person".to_owned(), leader });
            ends.push(End::OutputLimit { bytes: 1 << 40, leader });
            ends.push(End::SpoolFailed { message: "no space".to_owned(), leader });
        }
        let not = |reason| End::NotStarted { reason, message: "why".to_owned(), code: 127 };
        ends.extend(reasons.map(not));
        ends
    }

    #[test]
    fn every_record_crosses_the_wire_whole() {
        for end in ends() {
            let record = record(end);
            let bytes = prost::Message::encode_to_vec(&wire::ExitRecord::from(record.clone()));
            let arrived: wire::ExitRecord = prost::Message::decode(bytes.as_slice()).unwrap();
            assert_eq!(ExitRecord::try_from(arrived).unwrap(), record);
        }
        for lost in [Lost::ShimDied, Lost::MachineRestarted, Lost::Damaged] {
            assert_eq!(Lost::try_from(wire::Lost::from(lost)), Ok(lost));
        }
    }

    #[test]
    fn a_record_that_says_not_how_it_ended_is_no_record() {
        let whole = wire::ExitRecord::from(record(End::OutOfMemory));
        let endless = wire::ExitRecord { end: None, ..whole.clone() };
        let empty = wire::ExitRecord { end: Some(wire::End { end: None }), ..whole.clone() };
        let leaderless = end::End::Stopped(wire::Stopped { by: String::new(), leader: None });
        let leaderless =
            wire::ExitRecord { end: Some(wire::End { end: Some(leaderless) }), ..whole.clone() };
        let mut odd_tie = whole;
        odd_tie.strays[0].found_by = 99;
        for odd in [endless, empty, leaderless, odd_tie] {
            assert!(ExitRecord::try_from(odd.clone()).is_err(), "{odd:?}");
        }
    }
}
