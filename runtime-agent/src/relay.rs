//! The relay of lines: what a command appends to the files that its request names is read as it comes, kept on disk under a
//! sequence number ([`log`]), and told to whoever is attached, until somebody else has it.
//!
//! A file is known by what it holds, not by its name: one that was removed and begun anew, or replaced by a copy of itself, is
//! read on from where its new lines begin. The log alone is what is believed after a crash; a line is told only once it is
//! there.

pub(crate) mod log;
mod tail;

pub(crate) use self::log::Entries;
pub(crate) use self::tail::Tails;
