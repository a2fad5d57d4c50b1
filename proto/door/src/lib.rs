//! What every server of ratchet's has at its door, whatever it answers: connections with a bound and a trial, a token that is
//! compared in constant time, secrets that lie in files, the files that may be open, the signals that end it, and what systemd
//! wants to hear.
//!
//! It knows no service and no message. Who may ask what is decided by the servers.

pub mod connection;
pub mod descriptors;
pub mod secret;
pub mod signals;
pub mod systemd;
pub mod token;
