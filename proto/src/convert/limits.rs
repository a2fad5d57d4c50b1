//! When a command is ended.

use ratchet_spawn::{DEFAULT_GRACE_MS, Limits};

use crate::runtime::v1 as wire;

impl From<Limits> for wire::Limits {
    fn from(limits: Limits) -> Self {
        let Limits { start_ms, idle_ms, wall_ms, output_bytes, grace_ms, open_files, memory_bytes } =
            limits;
        Self {
            start_ms,
            idle_ms,
            wall_ms,
            output_bytes,
            grace_ms: Some(grace_ms),
            open_files,
            memory_bytes,
        }
    }
}

impl From<wire::Limits> for Limits {
    fn from(limits: wire::Limits) -> Self {
        let wire::Limits {
            start_ms,
            idle_ms,
            wall_ms,
            output_bytes,
            grace_ms,
            open_files,
            memory_bytes,
        } = limits;
        let grace_ms = grace_ms.unwrap_or(DEFAULT_GRACE_MS);
        Self { start_ms, idle_ms, wall_ms, output_bytes, grace_ms, open_files, memory_bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_cross_the_wire_whole_and_what_is_not_said_is_off() {
        let limits = Limits {
            start_ms: Some(1),
            idle_ms: Some(2),
            wall_ms: None,
            output_bytes: Some(4),
            grace_ms: 5,
            open_files: Some(6),
            memory_bytes: Some(7),
        };
        assert_eq!(Limits::from(wire::Limits::from(limits)), limits);
        assert_eq!(Limits::from(wire::Limits::default()), Limits::default());
    }
}
