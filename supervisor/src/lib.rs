//! What ratchet does.
