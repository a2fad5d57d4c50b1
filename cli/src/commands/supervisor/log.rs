//! The supervisor's log, as the environment and the terminal want it.

use ratchet_door::log::{JOURNAL, LEVEL, LogError, Look};
use ratchet_supervisor::environment::Environment;

use crate::diagnostic::Failure;
use crate::render::page::Ink;

/// Begins the log.
pub(super) fn begin(environment: &Environment, ink: Ink) -> Result<(), Failure> {
    let look = match ink {
        _ if environment.var_os(JOURNAL).is_some() => Look::Timeless,
        Ink::Plain => Look::Plain,
        Ink::Colour => Look::Coloured,
    };
    ratchet_door::log::begin(environment.var_os(LEVEL), look).map_err(|error| {
        let failure = Failure::from_error(&error);
        match error {
            LogError::NoLevel { .. } => {
                failure.help("use off, error, warn, info, debug or trace").code("bad-setting")
            }
            LogError::Begun(_) => failure,
        }
    })
}
