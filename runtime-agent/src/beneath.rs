//! A workspace's folder, entered name by name and never through a link: whatever a command puts into it, nothing outside of
//! it is read or written by the worker.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, mkdirat, openat, renameat, unlinkat};
use rustix::io::Errno;

use crate::name::InnerPath;

const ENTER: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// The folder, open.
#[derive(Debug)]
pub(crate) struct Beneath(OwnedFd);

/// What becomes of a folder that is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Missing {
    IsAnError,
    IsMade,
}

impl Beneath {
    /// Opens it. The path itself is the worker's own.
    pub(crate) fn open(root: &Path) -> io::Result<Self> {
        Ok(Self(openat(CWD, root, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?))
    }

    /// Writes a file, mode 0600, in the place of whatever file or link is there; missing folders are made.
    pub(crate) fn write(&self, path: &InnerPath, content: &[u8]) -> io::Result<()> {
        let (folder, name) = path.parted();
        let folder = self.enter(folder, Missing::IsMade)?;
        // Beside its place, so that a link there is replaced and not followed, and nobody reads half of it.
        let beside = format!(".ratchet-{}.new", std::process::id());
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        let open = || openat(&folder, &*beside, flags | OFlags::CLOEXEC, Mode::RUSR | Mode::WUSR);
        let opened = match open() {
            Err(Errno::EXIST) => {
                unlinkat(&folder, &*beside, AtFlags::empty())?;
                open()
            }
            other => other,
        };
        let written = File::from(opened?).write_all(content);
        let placed = written.and_then(|()| Ok(renameat(&folder, &*beside, &folder, name)?));
        if placed.is_err() {
            let _nothing_stays = unlinkat(&folder, &*beside, AtFlags::empty());
        }
        placed
    }

    /// Opens a plain file for reading; `None` if there is none, or something else is in its place or on the way to it.
    pub(crate) fn read(&self, path: &InnerPath) -> io::Result<Option<File>> {
        let (folder, name) = path.parted();
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let opened = self
            .enter(folder, Missing::IsAnError)
            .and_then(|folder| openat(folder, name, flags, Mode::empty()));
        match opened {
            Ok(file) => {
                let file = File::from(file);
                Ok(file.metadata()?.is_file().then_some(file))
            }
            // A link, a file where a folder should be, a socket, a folder that was taken from us.
            Err(Errno::NOENT | Errno::LOOP | Errno::NOTDIR | Errno::NXIO | Errno::ACCESS) => {
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    fn enter(&self, folder: Option<&str>, missing: Missing) -> Result<OwnedFd, Errno> {
        let mut here = openat(&self.0, c".", ENTER, Mode::empty())?;
        for name in folder.into_iter().flat_map(|folder| folder.split('/')) {
            here = match (openat(&here, name, ENTER, Mode::empty()), missing) {
                (Err(Errno::NOENT), Missing::IsMade) => {
                    match mkdirat(&here, name, Mode::from_raw_mode(0o777)) {
                        Ok(()) | Err(Errno::EXIST) => {}
                        Err(error) => return Err(error),
                    }
                    openat(&here, name, ENTER, Mode::empty())?
                }
                (other, _) => other?,
            };
        }
        Ok(here)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Read as _;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn path(text: &str) -> InnerPath {
        InnerPath::parse(text).unwrap()
    }

    #[test]
    fn a_file_is_written_anew_for_its_owner_alone_and_its_folders_are_made() {
        let root = tempfile::tempdir().unwrap();
        let beneath = Beneath::open(root.path()).unwrap();
        for content in ["one", "two"] {
            beneath.write(&path("a/b/c"), content.as_bytes()).unwrap();
            let mut text = String::new();
            beneath.read(&path("a/b/c")).unwrap().unwrap().read_to_string(&mut text).unwrap();
            assert_eq!(text, content);
        }
        let mode = fs::metadata(root.path().join("a/b/c")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(fs::read_dir(root.path().join("a/b")).unwrap().count(), 1);
    }

    #[test]
    fn no_link_leads_out_neither_on_the_way_nor_at_its_end() {
        let (root, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(outside.path().join("secret"), "s").unwrap();
        symlink(outside.path(), root.path().join("way")).unwrap();
        symlink(outside.path().join("secret"), root.path().join("end")).unwrap();
        let beneath = Beneath::open(root.path()).unwrap();
        assert!(beneath.write(&path("way/secret"), b"x").is_err());
        assert!(beneath.write(&path("way/new/file"), b"x").is_err());
        assert!(beneath.read(&path("way/secret")).unwrap().is_none());
        assert!(beneath.read(&path("end")).unwrap().is_none());
        beneath.write(&path("end"), b"ours").unwrap();
        assert_eq!(fs::read(outside.path().join("secret")).unwrap(), b"s");
        assert_eq!(fs::read(root.path().join("end")).unwrap(), b"ours");
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
    }
}
