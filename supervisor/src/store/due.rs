//! Chores that are due from time to time, whoever does them: a marker file's age says when the last time was.

use std::fs::File;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// Takes on the chore of a folder if it is due, by making its marker young. A marker that cannot be used means: not now.
#[must_use]
pub fn claim(folder: &Path, now: SystemTime, every: Duration) -> bool {
    let marker = folder.join(".swept");
    let last = marker.metadata().and_then(|meta| meta.modified()).ok();
    // A time that is yet to come is of a clock that was set back since.
    if last.is_some_and(|last| now.duration_since(last).is_ok_and(|since| since < every)) {
        return false;
    }
    let ours = File::options().create(true).truncate(true).write(true).mode(0o600).open(&marker);
    ours.and_then(|file| file.set_modified(now)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chore_is_due_once_in_its_time() {
        let folder = tempfile::tempdir().unwrap();
        let start = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
        let hour = Duration::from_secs(3600);
        assert!(claim(folder.path(), start, hour));
        assert!(!claim(folder.path(), start + hour / 2, hour));
        assert!(claim(folder.path(), start + hour, hour));
        assert!(!claim(&folder.path().join("missing"), start, hour));
        assert!(claim(folder.path(), start - 100 * hour, hour), "the clock was set back");
        assert!(!claim(folder.path(), start - 100 * hour, hour));
    }
}
