//! What a remote runtime needs before anything is asked of the network (spec `batch-manifest-and-settings` 7).

use secrecy::ExposeSecret;
use thiserror::Error;

use super::{Key, Locus, Settings};
use crate::yaml::reader::whole_number;

/// The locus is remote, but something is missing to reach the worker.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "the remote locus needs {}: set them with `ratchet batch config --set <key>=<value>`, or in the manifest's settings",
    .missing.join(", ")
)]
pub struct RemoteIncomplete {
    /// The settings that are missing, in the order host, port, authToken.
    pub missing: Vec<&'static str>,
}

impl Settings {
    /// Checks that a remote locus has what it needs.
    ///
    /// # Errors
    /// Names all that is missing at once; the token is never shown.
    pub fn check_remote(&self) -> Result<(), RemoteIncomplete> {
        if self.locus != Locus::Remote {
            return Ok(());
        }
        let has_host = self.host.as_deref().is_some_and(|host| !host.trim().is_empty());
        let has_port = self.port.and_then(whole_number).is_some();
        let has_token =
            self.auth_token.as_ref().is_some_and(|token| !token.expose_secret().trim().is_empty());
        let needed = [(Key::Host, has_host), (Key::Port, has_port), (Key::AuthToken, has_token)];
        let missing = needed.into_iter().filter(|(_, has)| !has).map(|(key, _)| key.as_str());
        let missing: Vec<&'static str> = missing.collect();
        if missing.is_empty() { Ok(()) } else { Err(RemoteIncomplete { missing }) }
    }
}
