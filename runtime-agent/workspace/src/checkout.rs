//! Lays a snapshot out in a folder. Only what differs is written, so that what a build left there goes on being of use;
//! what the snapshot does not have goes, unless it is ignored there.
//!
//! Killed at any moment it leaves a folder that the next one makes right. The targets of links are data: one may point
//! anywhere, and nothing here goes through it.

use std::collections::{BTreeMap, BTreeSet};

use rustix::fs::{AtFlags, FileType, mkdirat, statat};
use rustix::io::Errno;

use crate::blobs::Blobs;
use crate::cache::{Cache, Known};
use crate::content::{Spot, remove_empty};
use crate::entry::{Entry, Listing, SnapshotId};
use crate::error::WorkspaceError;
use crate::folder::{Folder, names, remove_all};
use crate::name::{TEMPORARY, TreePath};
use crate::rules::{Matcher, Place};
use crate::snapshot::View;
use crate::store::refused;
use crate::survey::{Survey, survey};
use crate::workspace::Workspace;

/// How often a folder is gone through: once, and again when the first time changed what is ignored in it.
const MOST_ROUNDS: usize = 3;

/// What was done to lay a snapshot out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Laid {
    /// Files, links and folders that were written.
    pub written: usize,
    /// Those that were removed.
    pub removed: usize,
}

impl Workspace {
    /// Lays a snapshot out in the folder, which must be there. Everything that is not ignored is afterwards as in the snapshot.
    ///
    /// # Errors
    /// If the snapshot is not here or is none of ours, or the disk or git refuses. Nothing is written of one that is refused.
    pub fn checkout(&self, id: SnapshotId) -> Result<Laid, WorkspaceError> {
        let _one_at_a_time = self.store().lock(self.name())?;
        let rules = self.store().rules(id)?;
        let matcher = Matcher::of(&rules);
        let listing = self.store().listing(id)?;
        let forbidden = listing.iter().find(|(path, entry)| {
            let place = if entry.is_folder() { Place::Folder } else { Place::Leaf };
            matcher.never_beneath(path.as_path(), place)
        });
        if let Some((path, _)) = forbidden {
            return Err(refused(format!("it holds {path}, which its own rules leave out")));
        }
        let mut laid = Laid { written: 0, removed: 0 };
        let view = View { rules, tracked: listing };
        for _ in 0..MOST_ROUNDS {
            let before = self.store().cache(self.name());
            let round = self.round(&view.tracked, &matcher, before.as_ref())?;
            laid = Laid {
                written: laid.written + round.written,
                removed: laid.removed + round.removed,
            };
            if round == (Laid { written: 0, removed: 0 })
                && before.is_some_and(|before| before.snapshot == id)
            {
                return Ok(laid);
            }
            // The next snapshot, or checkout, knows every stamp.
            if crate::snapshot::take(self, &view)?.snapshot.id == id {
                return Ok(laid);
            }
        }
        // What the old `.gitignore` hid the new one may show; a folder that goes on differing cannot hold the snapshot.
        Err(refused(format!("{} does not hold what was laid out in it", self.root().display())))
    }

    fn round(
        &self,
        listing: &Listing,
        matcher: &Matcher,
        cache: Option<&Cache>,
    ) -> Result<Laid, WorkspaceError> {
        let folder = Folder::open(self.root())?;
        // What was laid out before belongs to it, even if a `.gitignore` names it.
        let mut tracked = listing.clone();
        if let Some(cache) = cache {
            let leaves = cache.entries.iter().filter(|known| !known.entry.is_folder());
            tracked.extend(leaves.map(|known| (known.path.clone(), known.entry)));
        }
        let before = survey(&folder, matcher, &tracked)?;
        let mut laying = Laying {
            folder: &folder,
            listing,
            blobs: Blobs::start(self.store().git())?,
            same: BTreeMap::new(),
            laid: Laid { written: 0, removed: 0 },
        };
        laying.recall(&before, cache);
        laying.remove(&before)?;
        laying.write()?;
        Ok(laying.laid)
    }
}

struct Laying<'a> {
    folder: &'a Folder,
    listing: &'a Listing,
    blobs: Blobs,
    /// Paths that are known to hold what they should.
    same: BTreeMap<TreePath, Entry>,
    laid: Laid,
}

impl Laying<'_> {
    /// Finds what needs no look: its stamp is that of the last time.
    fn recall(&mut self, before: &Survey, cache: Option<&Cache>) {
        let Some(cache) = cache else { return };
        let known: BTreeMap<_, _> =
            cache.entries.iter().map(|known| (&known.path, known)).collect();
        for found in &before.found {
            let Some(Known { entry, stamp: Some(stamp), .. }) = known.get(&found.path) else {
                continue;
            };
            if found.stamp == Some(*stamp) && self.listing.get(&found.path) == Some(entry) {
                self.same.insert(found.path.clone(), *entry);
            }
        }
    }

    /// Removes what the snapshot does not have, and then the folders that this left empty.
    fn remove(&mut self, before: &Survey) -> Result<(), WorkspaceError> {
        let mut emptied = BTreeSet::new();
        for found in &before.found {
            if self.listing.contains_key(&found.path) {
                continue;
            }
            let (above, _) = found.path.split();
            if found.stamp.is_none() {
                // An empty folder: it goes unless something is to be in it, or is ignored in it.
                emptied.insert(found.path.as_bytes().to_vec());
                continue;
            }
            emptied.insert(above.to_vec());
            if let Ok(above) = self.folder.enter(above) {
                Spot { folder: self.folder, above, path: &found.path }.remove()?;
                self.laid.removed += 1;
            }
        }
        for path in emptied.iter().rev() {
            remove_empty(self.folder, path, |path| self.stays(path))?;
        }
        Ok(())
    }

    /// Tells whether the snapshot has this folder.
    fn stays(&self, folder: &[u8]) -> bool {
        let first = [folder, b"/"].concat();
        let bounds = (std::ops::Bound::Included(&first[..]), std::ops::Bound::Unbounded);
        self.listing.contains_key(folder)
            || self
                .listing
                .range::<[u8], _>(bounds)
                .next()
                .is_some_and(|(path, _)| path.as_bytes().starts_with(&first))
    }

    fn write(&mut self) -> Result<(), WorkspaceError> {
        let listing = self.listing;
        let mut swept: Option<&[u8]> = None;
        for (path, entry) in listing {
            if self.same.get(path) == Some(entry) {
                continue;
            }
            let (folder, _) = path.split();
            let spot = Spot { folder: self.folder, above: self.make_way(path)?, path };
            if swept != Some(folder) {
                // Left by one that was killed.
                sweep(&spot)?;
                swept = Some(folder);
            }
            if entry.is_folder() {
                self.folder_at(&spot)?;
                continue;
            }
            if spot.holds(spot.name(), Some(*entry), &mut self.blobs)? {
                continue;
            }
            let beside = spot.build(*entry, &mut self.blobs)?;
            spot.put(&beside)?;
            self.laid.written += 1;
        }
        Ok(())
    }

    fn folder_at(&mut self, spot: &Spot<'_>) -> Result<(), WorkspaceError> {
        let stat = statat(&spot.above, spot.name(), AtFlags::SYMLINK_NOFOLLOW);
        if stat.is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory) {
            return Ok(());
        }
        spot.remove()?;
        mkdirat(&spot.above, spot.name(), 0o777.into()).map_err(|error| spot.error(error))?;
        self.laid.written += 1;
        Ok(())
    }

    /// Opens the folder of a path. What is in its way is no folder and not of the snapshot: a link, a file; it goes.
    fn make_way(&self, path: &TreePath) -> Result<std::os::fd::OwnedFd, WorkspaceError> {
        let (above, _) = path.split();
        match self.folder.enter_made(above) {
            Err(Errno::NOTDIR | Errno::LOOP | Errno::XDEV) => {}
            other => return other.map_err(|error| self.folder.error(above, error)),
        }
        let mut ways: Vec<_> = path.folders().collect();
        ways.reverse();
        for way in ways {
            if self.folder.enter(way).is_ok() {
                continue;
            }
            let at = TreePath::new(way)?;
            let above = self
                .folder
                .enter_made(at.split().0)
                .map_err(|error| self.folder.error(way, error))?;
            Spot { folder: self.folder, above, path: &at }.remove()?;
            break;
        }
        self.folder.enter_made(above).map_err(|error| self.folder.error(above, error))
    }
}

/// Removes unfinished files of a folder.
fn sweep(spot: &Spot<'_>) -> Result<(), WorkspaceError> {
    for name in names(&spot.above).map_err(|error| spot.error(error))? {
        if name.starts_with(TEMPORARY) {
            remove_all(&spot.above, &name).map_err(|error| spot.error(error))?;
        }
    }
    Ok(())
}
