//! Workers: what the settings say of them, and what a remote locus needs before anything is asked of the network
//! (spec `batch-manifest-and-settings` 7; the rules of the scheme are spec `agents-and-runtimes` 7.3).

use std::collections::BTreeMap;
use std::fmt;
// An address is a value; nothing is asked of a network.
use core::net::IpAddr;

use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value, json};
use thiserror::Error;

use super::{Key, Locus, Settings};
use crate::yaml::Node;
use crate::yaml::reader::{Reader, Trail, whole_number};

/// How long a worker is waited for that cannot be reached, unless `workerLostMs` is set: one hour, in milliseconds.
pub const DEFAULT_WORKER_LOST_MS: u64 = 3_600_000;

/// What one entry of `workers` says.
#[derive(Debug, Clone, Default)]
pub struct WorkerEntry {
    /// `host`
    pub host: Option<String>,
    /// `port`
    pub port: Option<f64>,
    /// `authToken`
    pub auth_token: Option<SecretString>,
    /// `authTokenFile`
    pub auth_token_file: Option<String>,
    /// `tlsCa`
    pub tls_ca: Option<String>,
    /// `insecure`
    pub insecure: Option<bool>,
    /// `labels`: what is said of it.
    pub labels: BTreeMap<String, String>,
    /// `capacity`: how many steps of ours may run there at a time.
    pub capacity: Option<u64>,
}

/// A worker that can be asked.
#[derive(Debug, Clone)]
pub struct Worker {
    /// Where it is, as people are told: `host:port`.
    pub name: String,
    /// Where it is, as a URI.
    pub address: String,
    /// What opens its door.
    pub token: Token,
    /// A file of certificates that its own must stem from; without one, those of the machine count.
    pub tls_ca: Option<String>,
    /// What is said of it.
    pub labels: BTreeMap<String, String>,
    /// How many steps of ours may run there at a time.
    pub capacity: Option<u64>,
}

/// Where a token is.
#[derive(Debug, Clone)]
pub enum Token {
    /// In the settings.
    Given(SecretString),
    /// In a file.
    File(String),
}

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

/// Why a worker of the settings cannot be asked. A token is in none of the texts.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RemoteError {
    /// Something is missing.
    #[error(transparent)]
    Incomplete(#[from] RemoteIncomplete),
    /// The token would go over the network for everybody to read.
    #[error(
        "{host} is another machine, and plaintext (cleartext) http would show the token to everybody on the way"
    )]
    Plaintext {
        /// The host as the settings have it.
        host: String,
    },
    /// The host is none.
    #[error("'{host}' is no host")]
    NoHost {
        /// What the settings have.
        host: String,
    },
    /// A manifest, which agents write too, would send the project's token somewhere else.
    #[error("the manifest names the worker's host, and the token is the project's")]
    TokenOfAnother,
}

impl WorkerEntry {
    /// Reads the list.
    pub(crate) fn read_all(
        reader: &mut Reader,
        trail: &Trail<'_>,
        node: &Node,
    ) -> Option<Vec<Self>> {
        let items = reader.list(trail, node)?;
        reader.whole(|reader| {
            let each = |(index, item)| Self::read(reader, &Trail::Index(trail, index), item);
            Some(items.iter().enumerate().filter_map(each).collect())
        })
    }

    fn read(reader: &mut Reader, trail: &Trail<'_>, node: &Node) -> Option<Self> {
        let mut entry = Self::default();
        for member in reader.map(trail, node)? {
            let (node, trail) = (&member.node, &Trail::Key(trail, &member.key));
            let text = |reader: &mut Reader| reader.filled_text(trail, node).map(str::to_owned);
            match member.key.as_str() {
                "host" => entry.host = text(reader),
                "port" => entry.port = reader.number(trail, node),
                "authToken" => {
                    entry.auth_token = reader.secret_text(trail, node).map(SecretString::from)
                }
                "authTokenFile" => entry.auth_token_file = text(reader),
                "tlsCa" => entry.tls_ca = text(reader),
                "insecure" => entry.insecure = reader.boolean(trail, node),
                "labels" => {
                    let read =
                        |reader: &mut Reader, trail: &Trail<'_>, member: &crate::yaml::Member| {
                            Some((member.key.clone(), reader.text(trail, &member.node)?.to_owned()))
                        };
                    entry.labels = reader.named(trail, node, read).unwrap_or_default();
                }
                "capacity" => entry.capacity = reader.positive_integer(trail, node),
                _ => {
                    let known =
                        "host, port, authToken, authTokenFile, tlsCa, insecure, labels, capacity";
                    reader.unknown(trail, member, known);
                }
            }
        }
        Some(entry)
    }

    /// Gives it as it may be shown.
    pub(crate) fn shown(&self) -> Value {
        let mut shown = Map::new();
        let mut put = |key: Key, value: Option<Value>| {
            shown.extend(value.map(|value| (key.as_str().to_owned(), value)));
        };
        put(Key::Host, self.host.as_deref().map(Value::from));
        put(Key::Port, self.port.and_then(whole_number).map(Value::from));
        put(Key::AuthToken, self.auth_token.as_ref().map(|_| "***".into()));
        put(Key::AuthTokenFile, self.auth_token_file.as_deref().map(Value::from));
        put(Key::TlsCa, self.tls_ca.as_deref().map(Value::from));
        put(Key::Insecure, self.insecure.map(Value::from));
        if !self.labels.is_empty() {
            shown.insert("labels".to_owned(), json!(self.labels));
        }
        shown.extend(self.capacity.map(|capacity| ("capacity".to_owned(), capacity.into())));
        Value::Object(shown)
    }

    fn worker(&self) -> Result<Worker, RemoteError> {
        let filled = |text: &Option<String>| text.clone().filter(|text| !text.trim().is_empty());
        let host = filled(&self.host);
        let port = self.port.and_then(whole_number).and_then(|port| u16::try_from(port).ok());
        let given =
            self.auth_token.clone().filter(|token| !token.expose_secret().trim().is_empty());
        let token =
            given.map(Token::Given).or_else(|| filled(&self.auth_token_file).map(Token::File));
        let (Some(host), Some(port), Some(token)) = (&host, port, &token) else {
            let needed = [
                (Key::Host, host.is_some()),
                (Key::Port, port.is_some()),
                (Key::AuthToken, token.is_some()),
            ];
            let missing = needed.into_iter().filter(|(_, has)| !has).map(|(key, _)| key.as_str());
            return Err(RemoteIncomplete { missing: missing.collect() }.into());
        };
        let (address, name) = address(host.trim(), port, self.insecure.unwrap_or_default().into())?;
        Ok(Worker {
            name,
            address,
            token: token.clone(),
            tls_ca: filled(&self.tls_ca),
            labels: self.labels.clone(),
            capacity: self.capacity,
        })
    }
}

/// Whether plaintext is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Plaintext {
    Refused,
    Asked,
}

impl From<bool> for Plaintext {
    fn from(insecure: bool) -> Self {
        if insecure { Self::Asked } else { Self::Refused }
    }
}

/// Works out the URI and the name of a host: an explicit `https://` is kept, an explicit `http://` is for this machine or
/// for who asks for it; without either, this machine is spoken with in the clear and every other is not.
fn address(host: &str, port: u16, plaintext: Plaintext) -> Result<(String, String), RemoteError> {
    let (scheme, bare) = match host.split_once("://") {
        Some((scheme, bare)) => (Some(scheme), bare.trim_end_matches('/')),
        None => (None, host),
    };
    let unbracketed =
        bare.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(bare);
    let number = unbracketed.parse::<IpAddr>();
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
    if number.is_err() && (bare.is_empty() || !bare.bytes().all(is_name)) {
        return Err(RemoteError::NoHost { host: host.to_owned() });
    }
    let is_here =
        number.as_ref().map_or(bare.eq_ignore_ascii_case("localhost"), IpAddr::is_loopback);
    let scheme = match scheme {
        Some("https") => "https",
        Some("http") if is_here || plaintext == Plaintext::Asked => "http",
        Some("http") => return Err(RemoteError::Plaintext { host: host.to_owned() }),
        Some(_) => return Err(RemoteError::NoHost { host: host.to_owned() }),
        None if is_here => "http",
        None => "https",
    };
    let shown = match number {
        Ok(IpAddr::V6(number)) => format!("[{number}]"),
        Ok(IpAddr::V4(_)) | Err(_) => bare.to_owned(),
    };
    Ok((format!("{scheme}://{shown}:{port}"), format!("{shown}:{port}")))
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
        match self.remote_workers() {
            Err(RemoteError::Incomplete(missing)) => Err(missing),
            _ => Ok(()),
        }
    }

    /// Gives the workers that steps may run on, in the order of the settings.
    ///
    /// # Errors
    /// Says of the first that cannot be asked, why.
    pub fn remote_workers(&self) -> Result<Vec<Worker>, RemoteError> {
        if !self.workers.is_empty() {
            return self.workers.iter().map(WorkerEntry::worker).collect();
        }
        let worker = WorkerEntry {
            host: self.host.clone(),
            port: self.port,
            auth_token: self.auth_token.clone(),
            auth_token_file: self.auth_token_file.clone(),
            tls_ca: self.tls_ca.clone(),
            insecure: self.insecure,
            ..WorkerEntry::default()
        }
        .worker()?;
        let token_key = match worker.token {
            Token::Given(_) => Key::AuthToken,
            Token::File(_) => Key::AuthTokenFile,
        };
        if self.source(Key::Host) > self.source(token_key) {
            return Err(RemoteError::TokenOfAnother);
        }
        Ok(vec![worker])
    }
}

impl fmt::Display for Worker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(host: &str) -> WorkerEntry {
        WorkerEntry {
            host: Some(host.to_owned()),
            port: Some(7431.0),
            auth_token: Some("hush".to_owned().into()),
            ..WorkerEntry::default()
        }
    }

    #[test]
    fn the_scheme_is_plain_only_on_this_machine_or_when_it_is_asked_for() {
        let worker =
            |host, insecure| WorkerEntry { insecure: Some(insecure), ..entry(host) }.worker();
        for (host, insecure, expected) in [
            ("localhost", false, "http://localhost:7431"),
            ("127.3.2.1", false, "http://127.3.2.1:7431"),
            ("::1", false, "http://[::1]:7431"),
            ("[::1]", false, "http://[::1]:7431"),
            ("build.example", false, "https://build.example:7431"),
            ("10.0.0.7", false, "https://10.0.0.7:7431"),
            ("https://localhost", false, "https://localhost:7431"),
            ("http://localhost", false, "http://localhost:7431"),
            ("http://build.example", true, "http://build.example:7431"),
        ] {
            assert_eq!(worker(host, insecure).unwrap().address, expected, "{host}");
        }
        let refused = entry("http://build.example").worker().unwrap_err();
        assert!(refused.to_string().contains("plaintext") && !refused.to_string().contains("hush"));
        for host in ["ftp://x", "a b", "user@host", "host/path", "", "http://"] {
            assert!(entry(host).worker().is_err(), "{host}");
        }
    }

    #[test]
    fn all_that_is_missing_is_named_at_once() {
        let missing = WorkerEntry::default().worker().unwrap_err();
        let expected = RemoteIncomplete { missing: vec!["host", "port", "authToken"] };
        assert_eq!(missing, RemoteError::Incomplete(expected));
    }

    #[test]
    fn a_worker_is_shown_without_its_token() {
        assert_eq!(entry("h").shown()["authToken"], "***");
        assert!(!format!("{:?}", entry("h")).contains("hush"));
    }
}
