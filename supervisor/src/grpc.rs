//! The gRPC door: messages in and out of values ([`convert`]). Both sides of the wire share it.

pub(crate) mod convert;
