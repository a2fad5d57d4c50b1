//! Can the worker be reached that the settings name?

use std::net::{TcpStream, ToSocketAddrs as _};
use std::time::Duration;

use ratchet_engine::settings::{Locus, Settings};

use super::Check;

const PATIENCE: Duration = Duration::from_secs(2);

/// Looks only if a worker is named, or needed. All are looked at; the first that is not there is told.
pub(super) fn check(settings: &Settings) -> Option<Check> {
    let check = || match settings.locus {
        Locus::Remote => Check::required("worker", "Worker"),
        Locus::Local | Locus::Docker => Check::optional("worker", "Worker"),
    };
    let is_named = settings.host.is_some() || !settings.workers.is_empty();
    if settings.locus != Locus::Remote && !is_named {
        return None;
    }
    let workers = match settings.remote_workers() {
        Ok(workers) => workers,
        Err(error) => {
            let remedy = "ratchet batch config --set host=<name>, and --set port=<number>";
            return Some(check().missing(error.to_string(), remedy));
        }
    };
    let missing = workers.iter().find_map(|worker| silence(&worker.name));
    Some(match missing {
        Some((what, remedy)) => check().missing(what, remedy),
        None => {
            let names: Vec<_> = workers.into_iter().map(|worker| worker.name).collect();
            check().passed(format!("{} can be reached", names.join(", ")))
        }
    })
}

/// Says what is wrong with an address, and what helps.
fn silence(shown: &str) -> Option<(String, String)> {
    let addresses = shown.to_socket_addrs().map(Iterator::collect::<Vec<_>>).unwrap_or_default();
    if addresses.is_empty() {
        return Some((format!("'{shown}' has no address"), format!("getent hosts {shown}")));
    }
    let answers = addresses.iter().any(|at| TcpStream::connect_timeout(at, PATIENCE).is_ok());
    let remedy = "start it there: runtime-agent serve --token-file <file>";
    (!answers).then(|| (format!("nobody answers at {shown}"), remedy.to_owned()))
}
