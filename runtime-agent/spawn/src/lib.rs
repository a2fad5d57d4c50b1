//! The spawn protocol: one command, run by a *shim* that outlives whoever asked for it.
//!
//! The asker makes a folder with the request ([`SpawnDir::create`]) and starts the shim ([`launch`], or in a container,
//! with what [`Handover`] lays out for it). From then on the
//! folder is all that is needed: to look ([`probe`]), to watch and to read again ([`Attachment`], [`Frames`]), to wait
//! when nothing can be read any more ([`await_shim_end`]), to stop ([`request_stop`]), to make sure that it never starts ([`abandon`]), to clear up after a killed shim
//! ([`end_strays`]), to sweep ([`retention::sweep`]). The same folder serves a shim in a container and on a worker.
//!
//! **Invariant:** a spawn starts at most once. **Invariant:** nothing here knows what the command is for.

mod attachment;
mod cgroup;
mod directory;
mod folders;
mod handover;
mod hunt;
mod id;
mod launch;
mod lock;
mod process;
mod quarry;
mod record;
mod request;
pub mod retention;
pub mod shim;
mod signal;
mod spool;
mod standing;
mod stop;
mod strays;
#[cfg(test)]
mod testing;
mod wait;
mod watch;

pub use attachment::{AttachError, Attachment, Event};
pub use directory::{DirectoryError, SpawnDir};
pub use folders::Folders;
pub use handover::Handover;
pub use id::{MARK_VARIABLE, SpawnId, SpawnIdError};
pub use launch::{launch, launch_mirror};
pub use record::{
    End, ExitRecord, Fate, Leader, MOST_STRAYS, NotStarted, Output, Stray, Tie, TimeLimit, Usage,
};
pub use request::{DEFAULT_GRACE_MS, Limits, Request, Stdin};
pub use signal::signal_name;
pub use spool::{Frame, Frames, LONGEST_FRAME, Position, SpoolError, Stream};
pub use standing::{Lost, ProcessName, Standing, Started, abandon, await_shim_end, probe};
pub use stop::{StopRequest, request_stop};
pub use strays::{end_marked, end_strays};
