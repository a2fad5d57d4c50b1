//! One file from here to there, with its mode and its time, without moving its bytes where the filesystem can share them.

use std::fs::{self, File, FileTimes, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;
use std::time::{Duration, SystemTime};

/// How a file is put into another place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Means {
    /// With bytes of its own, shared until one of them is written to where the filesystem can do that.
    Copy,
    /// Under a second name. Writing to one writes to both.
    Link,
}

/// Puts what is at `from` to `to`, which must be free. A folder is made empty. Other things than files, folders and links
/// are left out: a pipe or a socket means nothing without who made it.
pub(super) fn put(from: &Path, to: &Path, means: Means) -> io::Result<()> {
    let metadata = fs::symlink_metadata(from)?;
    let kind = metadata.file_type();
    if kind.is_dir() {
        fs::create_dir(to)?;
        return fs::set_permissions(to, Permissions::from_mode(metadata.mode() | 0o700));
    }
    if kind.is_symlink() {
        return symlink(fs::read_link(from)?, to);
    }
    if !kind.is_file() {
        return Ok(());
    }
    if means == Means::Link && fs::hard_link(from, to).is_ok() {
        return Ok(());
    }
    copy_bytes(from, to, &metadata)
}

fn copy_bytes(from: &Path, to: &Path, metadata: &fs::Metadata) -> io::Result<()> {
    let source = File::open(from)?;
    let mut target = File::options().write(true).create_new(true).open(to)?;
    if rustix::fs::ioctl_ficlone(&target, &source).is_err() {
        io::copy(&mut &source, &mut target)?;
    }
    target.set_permissions(Permissions::from_mode(metadata.mode() & 0o7777))?;
    target.set_times(FileTimes::new().set_modified(time_of(metadata)))
}

/// When a file was written to last.
fn time_of(metadata: &fs::Metadata) -> SystemTime {
    let seconds = u64::try_from(metadata.mtime()).unwrap_or_default();
    let nanoseconds = u32::try_from(metadata.mtime_nsec()).unwrap_or_default();
    SystemTime::UNIX_EPOCH + Duration::new(seconds, nanoseconds)
}

/// Removes whatever is there, also what may not be read by its owner. Nothing there is fine.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    let metadata = match fs::symlink_metadata(path) {
        Err(gone) if gone.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other?,
    };
    if !metadata.is_dir() {
        return fs::remove_file(path);
    }
    match fs::remove_dir_all(path) {
        Err(denied) if denied.kind() == io::ErrorKind::PermissionDenied => {
            open_up(path)?;
            fs::remove_dir_all(path)
        }
        other => other,
    }
}

/// Gives the owner every right on a folder and those below it.
fn open_up(folder: &Path) -> io::Result<()> {
    fs::set_permissions(folder, Permissions::from_mode(0o700))?;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            open_up(&entry.path())?;
        }
    }
    Ok(())
}

/// Copies a folder with everything in it to a place that must be free. Links are copied as links, and one that leads out of
/// the folder is refused: what it leads to would not be a copy.
pub(crate) fn copy_tree(from: &Path, to: &Path) -> io::Result<()> {
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder)?;
    }
    copy_into(from, to, from)
}

fn copy_into(from: &Path, to: &Path, top: &Path) -> io::Result<()> {
    if fs::symlink_metadata(from)?.is_symlink() && leads_out(from, top)? {
        let text = format!("the link {} leads out of it", from.display());
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    }
    put(from, to, Means::Copy)?;
    if fs::symlink_metadata(from)?.is_dir() {
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            copy_into(&entry.path(), &to.join(entry.file_name()), top)?;
        }
    }
    Ok(())
}

/// Whether a link leads out of a folder, by its text: what it leads to need not be there.
fn leads_out(link: &Path, top: &Path) -> io::Result<bool> {
    use std::path::Component;
    let target = fs::read_link(link)?;
    if target.is_absolute() {
        return Ok(true);
    }
    let above = link.parent().and_then(|folder| folder.strip_prefix(top).ok());
    let mut depth = above.map_or(0, |folder| folder.components().count());
    for part in target.components() {
        match part {
            Component::ParentDir if depth == 0 => return Ok(true),
            Component::ParentDir => depth -= 1,
            Component::Normal(_) => depth += 1,
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    Ok(false)
}
