//! Every file under `.ratchet/`: read into the engine's values, written so that a cut never leaves half of one.
//!
//! Nothing is decided here. Reading order: [`layout`] (where), [`file`] (how), [`journal`] and [`run_state`] (what has
//! happened), [`lock`] (one step at a time), then the readers that [`snapshot`] calls once each.

pub mod file;
pub mod layout;
