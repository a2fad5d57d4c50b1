//! Progress as a bar and as a percentage.

use ratchet_engine::status::Progress;

/// The width of a batch's bar, in characters.
pub(crate) const WIDE: usize = 20;
/// The width of a change's bar, in characters.
pub(crate) const NARROW: usize = 12;

/// Draws a bar; dashes if there are no tasks.
pub(crate) fn bar(progress: Progress, width: usize) -> String {
    if progress.total == 0 {
        return "─".repeat(width);
    }
    let filled = share(progress, width as u64) as usize;
    "█".repeat(filled) + &"░".repeat(width - filled)
}

/// Gives the rounded percentage; 0 if there are no tasks.
pub(crate) fn percent(progress: Progress) -> u64 {
    share(progress, 100)
}

/// Gives completed of total, scaled to `whole` and rounded to the nearest.
fn share(progress: Progress, whole: u64) -> u64 {
    let Progress { total, completed } = progress;
    if total == 0 {
        return 0;
    }
    let scaled = (u128::from(completed.min(total)) * u128::from(whole) * 2 + u128::from(total))
        / (u128::from(total) * 2);
    u64::try_from(scaled).expect("a share is at most the whole, which is a u64")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_shows_the_share_and_dashes_stand_for_no_tasks() {
        assert_eq!(bar(Progress { total: 0, completed: 0 }, 4), "────");
        assert_eq!(bar(Progress { total: 3, completed: 0 }, 4), "░░░░");
        assert_eq!(bar(Progress { total: 2, completed: 1 }, 4), "██░░");
        assert_eq!(bar(Progress { total: 3, completed: 3 }, 4), "████");
    }

    #[test]
    fn a_percentage_is_rounded_and_zero_without_tasks() {
        assert_eq!(percent(Progress { total: 0, completed: 0 }), 0);
        assert_eq!(percent(Progress { total: 3, completed: 1 }), 33);
        assert_eq!(percent(Progress { total: 3, completed: 2 }), 67);
        assert_eq!(percent(Progress { total: u64::MAX, completed: u64::MAX }), 100);
    }
}
