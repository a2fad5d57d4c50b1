//! What ratchet's processes say to each other. The messages and services are generated at build time from `proto/`; here is
//! only how an error crosses the wire ([`status`]).
//!
//! This crate knows neither the engine nor the supervisor: values become messages in the supervisor.

pub mod status;

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

use std::fmt;

/// The number of the protocol that this version speaks.
pub const PROTOCOL: u32 = 1;

/// The metadata that carries it.
pub const PROTOCOL_HEADER: &str = "ratchet-protocol";

/// The descriptors of everything in `proto/`, for reflection.
pub const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/ratchet_descriptor.bin"));

/// Shows the name only: the value may be secret.
impl fmt::Debug for supervisor::v1::Variable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Variable")
            .field("name", &String::from_utf8_lossy(&self.name))
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::supervisor::v1::{Environment, Variable};

    #[test]
    fn the_value_of_a_variable_is_never_in_the_debug_text() {
        let variable = Variable { name: b"API_KEY".to_vec(), value: b"hunter2-hunter2".to_vec() };
        let text = format!("{:?}", Environment { variables: vec![variable] });
        assert!(text.contains("API_KEY") && !text.contains("hunter2"), "{text}");
    }
}
