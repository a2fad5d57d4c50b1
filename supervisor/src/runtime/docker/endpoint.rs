//! Finds the engine as Docker's own command line does, and the usual places of rootless engines and of Podman besides.

use std::fs;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use super::error::DockerError;
use crate::environment::Environment;

/// Where an engine is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Endpoint {
    /// A socket of this machine.
    Socket(PathBuf),
    /// An address, without encryption.
    Plain(String),
    /// An address, with the certificates to use.
    Tls {
        /// The address.
        address: String,
        /// The folder of `ca.pem`, `cert.pem` and `key.pem`.
        certificates: PathBuf,
    },
}

impl std::fmt::Display for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Socket(path) => write!(f, "{}", path.display()),
            Self::Plain(address) | Self::Tls { address, .. } => f.write_str(address),
        }
    }
}

/// Finds the engine: `DOCKER_HOST`, the context that is chosen, the usual sockets.
pub(crate) fn find(environment: &Environment) -> Result<Endpoint, DockerError> {
    if let Some(host) = environment.var("DOCKER_HOST").filter(|host| !host.is_empty()) {
        let certificates = environment
            .var("DOCKER_TLS_VERIFY")
            .filter(|verify| !verify.is_empty())
            .and_then(|_| {
                environment
                    .var_os("DOCKER_CERT_PATH")
                    .map(PathBuf::from)
                    .or_else(|| config_folder(environment))
            });
        return parse(host, "DOCKER_HOST", certificates);
    }
    match context(environment)? {
        Some(endpoint) => Ok(endpoint),
        None => usual(&usual_sockets(environment)),
    }
}

/// The folder of Docker's own configuration.
pub(super) fn config_folder(environment: &Environment) -> Option<PathBuf> {
    let named = environment.var_os("DOCKER_CONFIG").filter(|path| !path.is_empty());
    named.map(PathBuf::from).or_else(|| Some(environment.home()?.join(".docker")))
}

fn parse(host: &str, from: &str, certificates: Option<PathBuf>) -> Result<Endpoint, DockerError> {
    let bad = |why| DockerError::BadEndpoint { from: from.to_owned(), named: host.to_owned(), why };
    if let Some(path) = host.strip_prefix("unix://") {
        return match Path::new(path) {
            path if path.is_absolute() => Ok(Endpoint::Socket(path.to_owned())),
            _ => Err(bad("which is no absolute path of a socket")),
        };
    }
    let Some((scheme, rest)) = host.split_once("://") else {
        return Err(bad("which names no scheme such as unix:// or tcp://"));
    };
    match (scheme, certificates) {
        _ if rest.is_empty() => Err(bad("which names no host")),
        ("tcp" | "https", Some(certificates)) => {
            Ok(Endpoint::Tls { address: format!("tcp://{rest}"), certificates })
        }
        ("tcp" | "http", None) => Ok(Endpoint::Plain(format!("tcp://{rest}"))),
        ("ssh", _) => Err(bad(
            "an engine on another machine; a step needs one that sees the files of this one",
        )),
        _ => Err(bad("whose scheme is not known here")),
    }
}

#[derive(Deserialize)]
struct Config {
    #[serde(rename = "currentContext", default)]
    current_context: String,
}

#[derive(Deserialize)]
struct ContextFile {
    #[serde(rename = "Endpoints")]
    endpoints: Endpoints,
}

#[derive(Deserialize)]
struct Endpoints {
    docker: DockerEndpoint,
}

#[derive(Deserialize)]
struct DockerEndpoint {
    #[serde(rename = "Host", default)]
    host: String,
}

/// Follows the context that `DOCKER_CONTEXT` or `docker context use` has chosen, unless it is the default one.
fn context(environment: &Environment) -> Result<Option<Endpoint>, DockerError> {
    let Some(folder) = config_folder(environment) else { return Ok(None) };
    let from_file = || {
        let bytes = fs::read(folder.join("config.json")).ok()?;
        Some(serde_json::from_slice::<Config>(&bytes).ok()?.current_context)
    };
    let name = environment.var("DOCKER_CONTEXT").map(str::to_owned).or_else(from_file);
    let Some(name) = name.filter(|name| !name.is_empty() && name != "default") else {
        return Ok(None);
    };
    let id = hex::encode(Sha256::digest(&name));
    let meta = folder.join("contexts/meta").join(&id).join("meta.json");
    let bad = |why| DockerError::BadEndpoint {
        from: "the context of docker".to_owned(),
        named: name.clone(),
        why,
    };
    let bytes = fs::read(meta).map_err(|_| bad("which is not there"))?;
    let file: ContextFile =
        serde_json::from_slice(&bytes).map_err(|_| bad("whose file cannot be made out"))?;
    let certificates =
        Some(folder.join("contexts/tls").join(id).join("docker")).filter(|path| path.is_dir());
    parse(&file.endpoints.docker.host, &format!("the context '{name}'"), certificates).map(Some)
}

fn usual_sockets(environment: &Environment) -> Vec<PathBuf> {
    let user = environment
        .runtime_dir()
        .unwrap_or_else(|| format!("/run/user/{}", rustix::process::geteuid().as_raw()).into());
    let home = |below: &str| environment.home().map(|home| home.join(below));
    let sockets = [
        Some("/var/run/docker.sock".into()),
        Some(user.join("docker.sock")),
        home(".docker/run/docker.sock"),
        Some(user.join("podman/podman.sock")),
        Some("/run/podman/podman.sock".into()),
    ];
    sockets.into_iter().flatten().collect()
}

/// Takes the first socket that somebody listens at; else tells the nearest thing to one.
fn usual(sockets: &[PathBuf]) -> Result<Endpoint, DockerError> {
    let mut trouble = None;
    for socket in sockets {
        match knock(socket) {
            Ok(()) => return Ok(Endpoint::Socket(socket.clone())),
            Err(DockerError::NoSocket { .. }) => {}
            Err(other) => trouble = trouble.or(Some(other)),
        }
    }
    let looked = sockets.iter().map(|socket| socket.display().to_string()).collect();
    Err(trouble.unwrap_or(DockerError::NoSocket { looked }))
}

/// Sees whether somebody listens at a socket.
pub(super) fn knock(socket: &Path) -> Result<(), DockerError> {
    let endpoint = socket.display().to_string();
    UnixStream::connect(socket).map(drop).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => DockerError::NoSocket { looked: vec![endpoint] },
        io::ErrorKind::PermissionDenied => DockerError::Denied { endpoint },
        _ => DockerError::NoAnswer { endpoint, why: error.to_string() },
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;
    use std::os::unix::net::UnixListener;

    use super::*;

    fn environment(vars: &[(&str, &str)]) -> Environment {
        Environment::new("/w", vars.iter().copied())
    }

    fn refused(vars: &[(&str, &str)]) -> String {
        find(&environment(vars)).unwrap_err().to_string()
    }

    #[test]
    fn docker_host_wins_and_is_understood_or_refused_with_its_name() {
        let found = |host| find(&environment(&[("DOCKER_HOST", host)]));
        assert_eq!(found("unix:///x/d.sock").unwrap(), Endpoint::Socket("/x/d.sock".into()));
        assert_eq!(
            found("tcp://127.0.0.1:2375").unwrap(),
            Endpoint::Plain("tcp://127.0.0.1:2375".into())
        );
        for (host, why) in [
            ("ssh://me@there", "another machine"),
            ("unix://x", "no absolute path"),
            ("127.0.0.1:2375", "no scheme"),
            ("tcp://", "no host"),
            ("npipe:////./pipe/x", "not known"),
        ] {
            let text = refused(&[("DOCKER_HOST", host)]);
            assert!(
                text.contains(why) && text.contains(host) && text.contains("DOCKER_HOST"),
                "{text}"
            );
        }
    }

    #[test]
    fn certificates_are_used_when_they_are_asked_for() {
        let vars = [
            ("DOCKER_HOST", "tcp://h:2376"),
            ("DOCKER_TLS_VERIFY", "1"),
            ("DOCKER_CERT_PATH", "/c"),
        ];
        let expected = Endpoint::Tls { address: "tcp://h:2376".into(), certificates: "/c".into() };
        assert_eq!(find(&environment(&vars)).unwrap(), expected);
    }

    #[test]
    fn the_chosen_context_is_followed() {
        let home = tempfile::tempdir().unwrap();
        let id = hex::encode(Sha256::digest("mine"));
        let meta = home.path().join("contexts/meta").join(id);
        fs::create_dir_all(&meta).unwrap();
        fs::write(
            meta.join("meta.json"),
            r#"{"Name":"mine","Metadata":{},"Endpoints":{"docker":{"Host":"unix:///m.sock","SkipTLSVerify":false}}}"#,
        )
        .unwrap();
        let config = home.path().to_str().unwrap();
        let by_variable = environment(&[("DOCKER_CONFIG", config), ("DOCKER_CONTEXT", "mine")]);
        assert_eq!(find(&by_variable).unwrap(), Endpoint::Socket("/m.sock".into()));
        fs::write(home.path().join("config.json"), r#"{"auths":{},"currentContext":"mine"}"#)
            .unwrap();
        assert_eq!(
            find(&environment(&[("DOCKER_CONFIG", config)])).unwrap(),
            Endpoint::Socket("/m.sock".into())
        );
        let text = refused(&[("DOCKER_CONFIG", config), ("DOCKER_CONTEXT", "other")]);
        assert!(text.contains("other") && text.contains("not there"), "{text}");
    }

    #[test]
    fn the_first_socket_that_somebody_listens_at_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let looked = usual(&[at("none"), at("nor-this")]).unwrap_err().to_string();
        assert!(
            looked.contains("none")
                && looked.contains("nor-this")
                && looked.contains("locus=docker"),
            "{looked}"
        );
        drop(UnixListener::bind(at("dead")).unwrap());
        let dead = usual(&[at("none"), at("dead")]).unwrap_err();
        assert!(matches!(dead, DockerError::NoAnswer { .. }), "{dead}");
        let _listening = UnixListener::bind(at("podman")).unwrap();
        assert_eq!(
            usual(&[at("none"), at("dead"), at("podman")]).unwrap(),
            Endpoint::Socket(at("podman"))
        );
    }

    #[test]
    fn a_socket_of_somebody_else_is_told_as_one() {
        if rustix::process::geteuid().is_root() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("s");
        let _listening = UnixListener::bind(&socket).unwrap();
        fs::set_permissions(&socket, fs::Permissions::from_mode(0o000)).unwrap();
        assert!(matches!(knock(&socket), Err(DockerError::Denied { .. })));
    }
}
