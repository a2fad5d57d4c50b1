//! Can the worker be reached that the settings name?

use std::net::{TcpStream, ToSocketAddrs as _};
use std::time::Duration;

use ratchet_engine::settings::{Locus, Settings};

use super::Check;

const PATIENCE: Duration = Duration::from_secs(2);

/// Looks only if a worker is named, or needed.
pub(super) fn check(settings: &Settings) -> Option<Check> {
    let check = match settings.locus {
        Locus::Remote => Check::required("worker", "Worker"),
        Locus::Local | Locus::Docker => Check::optional("worker", "Worker"),
    };
    let (host, port) = match (settings.host.as_deref(), settings.port) {
        (Some(host), Some(port)) => (host, port),
        _ if settings.locus == Locus::Remote => {
            return Some(check.failed(
                "the locus is remote, and the settings name no worker",
                "ratchet batch config --set host=<name>, and --set port=<number>",
            ));
        }
        _ => return None,
    };
    let shown = format!("{host}:{port}");
    let addresses = shown.to_socket_addrs().map(Iterator::collect::<Vec<_>>).unwrap_or_default();
    if addresses.is_empty() {
        return Some(
            check.missing(format!("'{host}' has no address"), format!("getent hosts {host}")),
        );
    }
    let answers = addresses.iter().any(|at| TcpStream::connect_timeout(at, PATIENCE).is_ok());
    Some(if answers {
        check.passed(format!("{shown} can be reached"))
    } else {
        check.missing(
            format!("nobody answers at {shown}"),
            format!("start it there: runtime-agent serve --listen 0.0.0.0:{port}"),
        )
    })
}
