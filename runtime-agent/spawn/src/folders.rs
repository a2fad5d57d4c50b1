//! Hears that something in one of several folders changed; what, is not told. It shares the process's one inotify
//! descriptor and its thread with the watching of spawns, so that no second pair of them is needed.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use rustix::fs::inotify::WatchFlags;

use crate::watch::{Entries, News, Watch};

/// Whatever can change what a folder's files say. Reading is no news.
const CHANGES: WatchFlags = WatchFlags::CREATE
    .union(WatchFlags::MODIFY)
    .union(WatchFlags::MOVED_TO)
    .union(WatchFlags::MOVED_FROM)
    .union(WatchFlags::DELETE)
    .union(WatchFlags::ONLYDIR);

/// Ears for some folders.
#[derive(Debug)]
pub struct Folders {
    watch: Watch,
    /// By the kernel's numbers.
    known: BTreeMap<PathBuf, i32>,
}

impl Folders {
    /// Listens to nothing yet.
    ///
    /// # Errors
    /// Fails if the user may have no more inotify descriptors, or the process no more threads.
    pub fn new() -> io::Result<Self> {
        Ok(Self { watch: Watch::of_nothing()?, known: BTreeMap::new() })
    }

    /// Listens to these folders from now on, and to no others. One that is not there is left out: call this again after
    /// news, before the folders are looked at, so that nothing between two looks is missed.
    ///
    /// # Errors
    /// Fails if the user may watch no more folders, or if one may not be looked at.
    pub fn listen_to(&mut self, folders: Vec<PathBuf>) -> io::Result<()> {
        let mut now = BTreeMap::new();
        for folder in folders {
            match self.watch.listen(&folder, CHANGES, News::Anything, Entries::All) {
                Ok(number) => {
                    now.insert(folder, number);
                }
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                    ) => {}
                Err(error) => return Err(error),
            }
        }
        let before = std::mem::replace(&mut self.known, now);
        for number in before.into_values() {
            if !self.known.values().any(|known| *known == number) {
                self.watch.forget(number);
            }
        }
        Ok(())
    }

    /// Waits for news. Safe to drop: what was not heard is still there.
    pub async fn news(&self) {
        self.watch.news().await;
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn a_change_in_any_folder_is_heard_also_in_one_that_was_made_later() {
        let base = tempfile::tempdir().unwrap();
        let folders = || vec![base.path().to_owned(), base.path().join("later")];
        let mut ears = Folders::new().unwrap();
        ears.listen_to(folders()).unwrap();
        fs::create_dir(base.path().join("later")).unwrap();
        ears.news().await;
        ears.listen_to(folders()).unwrap();
        fs::write(base.path().join("later/file"), "x").unwrap();
        ears.news().await;
        ears.listen_to(vec![base.path().join("later")]).unwrap();
        // The kernel may tell of one write in two pieces.
        while heard(&ears).await {}
        fs::write(base.path().join("elsewhere"), "x").unwrap();
        assert!(!heard(&ears).await, "a folder that is listened to no more");
    }

    async fn heard(ears: &Folders) -> bool {
        tokio::time::timeout(Duration::from_millis(50), ears.news()).await.is_ok()
    }
}
