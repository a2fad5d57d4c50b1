//! Workspaces as git objects: what a folder holds, taken as it is ([`Workspace::snapshot`]), sent to the other side
//! ([`Store::pack`], [`Store::receive`]), laid out there ([`Workspace::checkout`]), and what came of it brought back
//! ([`Workspace::apply`]).
//!
//! The objects live in a bare repository of our own ([`Store`]). A repository of the user's is only read: its index, refs,
//! objects and locks are never touched, and a folder needs none. What travels is bytes as they lie on the disk: no filter,
//! no end of line, no hook.
//!
//! **Invariant:** nothing is read or written outside of a workspace's folder, whatever links are in it.
//! **Invariant:** a change of somebody else's is never overwritten: [`Workspace::apply`] brings in all of a result or nothing.
//!
//! Everything here waits for disks and for git in the calling thread. It knows nothing of batches, of a wire or of actors.

mod apply;
mod blobs;
mod cache;
mod changes;
mod checkout;
mod content;
mod diff;
mod entry;
mod error;
mod exchange;
mod excludes;
mod folder;
mod git;
mod import;
mod name;
mod rules;
mod snapshot;
mod stamp;
mod store;
mod survey;
#[cfg(test)]
mod testing;
pub mod warm;
mod workspace;

pub use apply::Outcome;
pub use changes::Change;
pub use checkout::Laid;
pub use diff::Diff;
pub use entry::{Entry, Oid, SnapshotId, SnapshotIdError};
pub use error::WorkspaceError;
pub use exchange::Pack;
pub use name::{NameError, TreePath};
pub use rules::Rules;
pub use snapshot::{Base, Snapshot};
pub use store::Store;
pub use survey::Notes;
pub use workspace::Workspace;
