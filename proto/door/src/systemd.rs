//! What systemd and a server of ours tell each other: sockets that are handed over, and how it is going. Nothing of it is
//! there without systemd, and nothing is missing then.

use std::ffi::OsString;
use std::io;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

/// The variables between systemd and us, which are no business of what we start.
pub const OURS_ALONE: [&str; 7] = [
    "NOTIFY_SOCKET",
    "WATCHDOG_USEC",
    "WATCHDOG_PID",
    "LISTEN_FDS",
    "LISTEN_PID",
    "LISTEN_FDNAMES",
    "LISTEN_PIDFDID",
];

/// The way to tell systemd.
#[derive(Debug)]
pub struct Systemd {
    socket: Option<(UnixDatagram, SocketAddr)>,
    watchdog: Option<Duration>,
}

impl Systemd {
    /// Looks for it in an environment: the value of a variable, by its name.
    pub fn of(variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let text = |name| variable(name).and_then(|value| value.into_string().ok());
        let socket = variable("NOTIFY_SOCKET").and_then(|name| {
            let address = match name.as_bytes() {
                [b'@', name @ ..] => SocketAddr::from_abstract_name(name),
                _ => SocketAddr::from_pathname(name),
            };
            Some((UnixDatagram::unbound().ok()?, address.ok()?))
        });
        let ours = text("WATCHDOG_PID").is_none_or(|pid| pid.parse() == Ok(std::process::id()));
        let every = text("WATCHDOG_USEC").filter(|_| ours);
        let watchdog = every.and_then(|text| text.parse().ok()).map(Duration::from_micros);
        Self { socket, watchdog: watchdog.filter(|every| !every.is_zero()) }
    }

    /// Says that calls are answered from now on.
    pub fn ready(&self) {
        self.tell("READY=1");
    }

    /// Says that the end has begun.
    pub fn stopping(&self) {
        self.tell("STOPPING=1");
    }

    /// Says every now and then that all is well, if that is asked for; else never wakes.
    pub async fn keep_telling(&self) {
        let Some(every) = self.watchdog else { return std::future::pending().await };
        let mut beat = tokio::time::interval(every / 2);
        loop {
            beat.tick().await;
            self.tell("WATCHDOG=1");
        }
    }

    fn tell(&self, what: &str) {
        let Some((socket, address)) = &self.socket else { return };
        if let Err(error) = socket.send_to_addr(what.as_bytes(), address) {
            tracing::warn!(%error, what, "systemd cannot be told");
        }
    }
}

/// Takes the Unix socket that was handed over, if one was.
///
/// # Errors
/// The system's.
pub fn handed_over() -> io::Result<Option<std::os::unix::net::UnixListener>> {
    let mut handed = listenfd::ListenFd::from_env();
    let listener = handed.take_unix_listener(0)?;
    if let Some(listener) = &listener {
        // Nothing that we start may hold it open.
        rustix::io::fcntl_setfd(listener, rustix::io::FdFlags::CLOEXEC)?;
        listener.set_nonblocking(true)?;
    }
    Ok(listener)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    #[test]
    fn systemd_is_told_at_a_path_and_at_an_abstract_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        let heard = UnixDatagram::bind(&path).unwrap();
        let at = |socket: &OsStr| {
            let value = socket.to_owned();
            move |name: &str| (name == "NOTIFY_SOCKET").then(|| value.clone())
        };
        Systemd::of(at(path.as_os_str())).ready();
        let name = format!("ratchet-test-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let abstractly = UnixDatagram::bind_addr(&address).unwrap();
        Systemd::of(at(format!("@{name}").as_ref())).stopping();
        for (socket, what) in [(heard, "READY=1"), (abstractly, "STOPPING=1")] {
            let mut text = [0; 32];
            let length = socket.recv(&mut text).unwrap();
            assert_eq!(&text[..length], what.as_bytes());
        }
    }

    #[test]
    fn the_watchdog_of_another_process_is_not_fed() {
        let with = |pid: String| {
            let vars = [("WATCHDOG_USEC", "30000000".to_owned()), ("WATCHDOG_PID", pid)];
            let value = |name: &str| vars.iter().find(|(known, _)| *known == name);
            Systemd::of(|name| value(name).map(|(_, value)| value.into())).watchdog
        };
        assert_eq!(with(std::process::id().to_string()), Some(Duration::from_secs(30)));
        assert_eq!(with("1".to_owned()), None);
        assert_eq!(Systemd::of(|_| None).watchdog, None);
    }
}
