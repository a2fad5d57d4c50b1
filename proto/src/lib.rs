//! What ratchet's processes say to each other. The messages and services are generated at build time from `proto/`; here is
//! how an error crosses the wire ([`status`]), and how the values of a spawn do ([`convert`]).
//!
//! This crate knows neither the engine nor the supervisor: their values become messages in the supervisor.

pub mod convert;
mod secret;
pub mod status;

/// `ratchet.error.v1`: an error, as every service tells it.
pub mod error {
    /// The first version, and the only one.
    pub mod v1 {
        tonic::include_proto!("ratchet.error.v1");
    }
}

/// `ratchet.runtime.v1`: the door of a worker.
pub mod runtime {
    /// The first version, and the only one.
    pub mod v1 {
        #![expect(
            clippy::allow_attributes,
            clippy::allow_attributes_without_reason,
            clippy::large_enum_variant,
            reason = "generated"
        )]
        tonic::include_proto!("ratchet.runtime.v1");
    }
}

/// `ratchet.supervisor.v1`: the door of the supervisor.
pub mod supervisor {
    /// The first version, and the only one.
    pub mod v1 {
        #![expect(
            clippy::allow_attributes,
            clippy::allow_attributes_without_reason,
            clippy::large_enum_variant,
            reason = "generated"
        )]
        tonic::include_proto!("ratchet.supervisor.v1");
    }
}

/// The number of the protocol that this version speaks.
pub const PROTOCOL: u32 = 1;

/// The metadata that carries it.
pub const PROTOCOL_HEADER: &str = "ratchet-protocol";

/// What a supervisor tells of its door, for reflection.
pub const SUPERVISOR_DESCRIPTORS: &[u8] =
    include_bytes!(concat!(env!("OUT_DIR"), "/supervisor_descriptor.bin"));

/// What a worker tells of its door, for reflection.
pub const RUNTIME_DESCRIPTORS: &[u8] =
    include_bytes!(concat!(env!("OUT_DIR"), "/runtime_descriptor.bin"));
