//! Is there a Docker engine, and may this user talk to it?

use std::io::{self, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ratchet_engine::settings::{Locus, Settings};
use serde_json::Value;

use super::Check;
use crate::environment::Environment;
use crate::project::Project;

const PATIENCE: Duration = Duration::from_secs(2);
const LONGEST_ANSWER: u64 = 1 << 20;

pub(super) fn check(project: &Project, settings: &Settings) -> Check {
    let check = match settings.locus {
        Locus::Docker => Check::required("docker", "Docker"),
        Locus::Local | Locus::Remote => Check::optional("docker", "Docker"),
    };
    let socket = match place(project.environment()) {
        Place::Socket(socket) => socket,
        Place::Elsewhere(host) => {
            return check.missing(
                format!("DOCKER_HOST is {host}; only a socket on this machine is looked at"),
                "unset DOCKER_HOST, or set it to unix:///var/run/docker.sock",
            );
        }
    };
    let shown = socket.display();
    match version(&socket) {
        Ok((engine, api)) => check.passed(format!("engine {engine}, API {api}, at {shown}")),
        Err(error) => match error.kind() {
            io::ErrorKind::NotFound => check.missing(
                format!("there is no engine at {shown}"),
                "install Docker and start it; only the locus docker needs it",
            ),
            io::ErrorKind::PermissionDenied => check.missing(
                format!("this user may not use {shown}"),
                "sudo usermod -aG docker \"$USER\", then log in again",
            ),
            io::ErrorKind::ConnectionRefused => {
                check.missing(format!("nobody answers at {shown}"), "sudo systemctl start docker")
            }
            _ => check.missing(
                format!("the engine at {shown} does not answer as it should: {error}"),
                "sudo systemctl status docker",
            ),
        },
    }
}

/// Where an engine is looked for.
enum Place {
    Socket(PathBuf),
    Elsewhere(String),
}

/// Follows DOCKER_HOST, then a rootless engine of this user, then the usual place.
fn place(environment: &Environment) -> Place {
    if let Some(host) = environment.var("DOCKER_HOST").filter(|host| !host.is_empty()) {
        return match host.strip_prefix("unix://") {
            Some(path) => Place::Socket(path.into()),
            None => Place::Elsewhere(host.to_owned()),
        };
    }
    let rootless = environment.runtime_dir().map(|folder| folder.join("docker.sock"));
    let socket = rootless.filter(|socket| socket.exists());
    Place::Socket(socket.unwrap_or_else(|| "/var/run/docker.sock".into()))
}

/// Asks the engine for its version and that of its API.
fn version(socket: &Path) -> io::Result<(String, String)> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(b"GET /version HTTP/1.0\r\nHost: docker\r\n\r\n")?;
    let mut answer = Vec::new();
    stream.take(LONGEST_ANSWER).read_to_end(&mut answer)?;
    let text = String::from_utf8_lossy(&answer);
    let strange = || io::Error::from(io::ErrorKind::InvalidData);
    let (_, body) = text.split_once("\r\n\r\n").ok_or_else(strange)?;
    let body: Value = serde_json::from_str(body.trim()).map_err(io::Error::other)?;
    let word = |key: &str| body[key].as_str().map(str::to_owned).ok_or_else(strange);
    Ok((word("Version")?, word("ApiVersion")?))
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    // C-M21
    #[test]
    fn an_engine_is_asked_for_its_version() {
        let dir = tempfile::tempdir().unwrap();
        let socket = dir.path().join("docker.sock");
        assert_eq!(version(&socket).unwrap_err().kind(), io::ErrorKind::NotFound);
        let listener = UnixListener::bind(&socket).unwrap();
        let engine = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 64];
            let _read = stream.read(&mut request).unwrap();
            let body = r#"{"Version":"20.10.24","ApiVersion":"1.41"}"#;
            write!(stream, "HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n{body}")
                .unwrap();
        });
        assert_eq!(version(&socket).unwrap(), ("20.10.24".to_owned(), "1.41".to_owned()));
        engine.join().unwrap();
        assert_eq!(version(&socket).unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
    }
}
