//! The spawn protocol.
