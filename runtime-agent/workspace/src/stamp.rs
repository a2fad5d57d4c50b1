//! By what a file is known to be unchanged without reading it.

use rustix::fs::Stat;
use rustix::time::{ClockId, clock_gettime};

/// How coarse the kernel's stamps may be, in nanoseconds: the tick of its clock.
const TICK: i64 = 20_000_000;

/// How coarse those of a file system are that keeps whole seconds, two of them on FAT.
const COARSE: i64 = 2_000_000_000;

/// Size, times, number: a file whose stamp is the same holds the same bytes, if the stamp was old enough when it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) size: u64,
    /// Nanoseconds since 1970.
    pub(crate) modified: i64,
    /// Nanoseconds since 1970.
    pub(crate) changed: i64,
    pub(crate) inode: u64,
}

impl Stamp {
    pub(crate) fn of(stat: &Stat) -> Self {
        let nanoseconds =
            |seconds: i64, rest: i64| seconds.saturating_mul(1_000_000_000).saturating_add(rest);
        #[expect(clippy::useless_conversion, reason = "the widths differ between machines")]
        Self {
            size: u64::try_from(stat.st_size).unwrap_or(0),
            modified: nanoseconds(
                stat.st_mtime.into(),
                i64::try_from(stat.st_mtime_nsec).unwrap_or(0),
            ),
            changed: nanoseconds(
                stat.st_ctime.into(),
                i64::try_from(stat.st_ctime_nsec).unwrap_or(0),
            ),
            inode: stat.st_ino.into(),
        }
    }

    /// Tells whether it can be relied on if the file was read at `moment` or later: a second write within one tick of the
    /// first leaves the same stamp.
    pub(crate) fn settled(&self, moment: Moment) -> bool {
        let latest = self.changed.max(self.modified);
        let margin = if latest % 1_000_000_000 == 0 { COARSE } else { TICK };
        latest.saturating_add(margin) < moment.0
    }
}

/// A time by the kernel's clock, that of the stamps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Moment(i64);

impl Moment {
    pub(crate) fn now() -> Self {
        let time = clock_gettime(ClockId::Realtime);
        Self(time.tv_sec.saturating_mul(1_000_000_000).saturating_add(time.tv_nsec))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_of_the_same_tick_is_not_relied_on() {
        let stamp = Stamp { size: 1, modified: 5, changed: 1_000_000_007, inode: 9 };
        assert!(!stamp.settled(Moment(1_000_000_007)));
        assert!(!stamp.settled(Moment(1_000_000_007 + TICK)));
        assert!(stamp.settled(Moment(1_000_000_008 + TICK)));
        let coarse = Stamp { changed: 2_000_000_000, ..stamp };
        assert!(!coarse.settled(Moment(4_000_000_000)));
    }
}
