//! The live dashboard, without its terminal: what was found on disk and what is printed goes in, keys go in, a picture and
//! wishes come out. All of it is plain values, so that every picture can be tested as text.
//!
//! Nothing is read, sent or decided here: `commands/watch` gathers, listens, and carries the wishes out by the code of the
//! commands of the same names.

pub(crate) mod board;
mod detail;
mod entry;
pub(crate) mod frame;
mod keys;
pub(crate) mod look;
pub(crate) mod output;
pub(crate) mod pager;
mod rows;
pub(crate) mod scroll;

#[cfg(test)]
mod tests;
