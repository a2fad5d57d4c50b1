//! What is in a tree, by the stamps that the kernel keeps: enough to notice every write, without reading a byte.

use std::fs::{self, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// A file's stamp. The time of the last change of the inode cannot be set by anybody, so a write cannot be hidden.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) kind: Kind,
    pub(super) mode: u32,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
    /// It has other names. Each new one changes the inode, so that time says nothing of it.
    shared: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Folder,
    Link,
    /// A pipe, a socket, a device.
    Other,
}

impl Stamp {
    pub(super) fn of(metadata: &Metadata) -> Self {
        let kind = metadata.file_type();
        let kind = if kind.is_dir() {
            Kind::Folder
        } else if kind.is_file() {
            Kind::File
        } else if kind.is_symlink() {
            Kind::Link
        } else {
            Kind::Other
        };
        if kind == Kind::Folder {
            // What is in it has stamps of its own.
            let nothing = (0, 0);
            return Self {
                kind,
                mode: metadata.mode(),
                inode: 0,
                size: 0,
                modified: nothing,
                changed: nothing,
                shared: false,
            };
        }
        let shared = metadata.nlink() > 1;
        Self {
            kind,
            mode: metadata.mode(),
            inode: metadata.ino(),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: if shared { (0, 0) } else { (metadata.ctime(), metadata.ctime_nsec()) },
            shared,
        }
    }

    pub(super) fn look(path: &Path) -> io::Result<Self> {
        fs::symlink_metadata(path).map(|metadata| Self::of(&metadata))
    }

    /// Whether it is still the file that it was, shared with other copies. The number of one that is gone may be given to
    /// another, which has one name.
    pub(super) fn is_still_shared(&self, now: &Self) -> bool {
        self.kind == Kind::File && self.inode == now.inode && self.shared && now.shared
    }

    /// Whether its content may differ, its other names aside: a second name changes the inode, not the file.
    pub(super) fn is_written(&self, other: &Self) -> bool {
        (self.size, self.modified) != (other.size, other.modified)
    }
}

/// Looks at everything in a tree, a folder before what is in it. Folders that may not be read are opened first: they are
/// ours.
pub(super) fn walk(top: &Path, mut each: impl FnMut(PathBuf, Stamp)) -> io::Result<()> {
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        for entry in read(&top.join(&folder))? {
            let entry = entry?;
            let path = folder.join(entry.file_name());
            let stamp = match entry.metadata() {
                Ok(metadata) => Stamp::of(&metadata),
                // Something is still at work in the tree; what is gone is gone.
                Err(gone) if gone.kind() == io::ErrorKind::NotFound => continue,
                Err(other) => return Err(other),
            };
            if stamp.kind == Kind::Folder {
                folders.push(path.clone());
            }
            each(path, stamp);
        }
    }
    Ok(())
}

fn read(folder: &Path) -> io::Result<fs::ReadDir> {
    match fs::read_dir(folder) {
        Err(denied) if denied.kind() == io::ErrorKind::PermissionDenied => {
            fs::set_permissions(folder, Permissions::from_mode(0o700))?;
            fs::read_dir(folder)
        }
        other => other,
    }
}
