//! The credentials of a registry, from where `docker login` and `podman login` leave them. They go to the engine and
//! nowhere else; nothing here is ever shown.

use std::collections::HashMap;
use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

use super::endpoint::config_folder;
use super::engine::Credentials;
use crate::environment::Environment;

/// What Docker Hub is called in these files.
const HUB: &str = "https://index.docker.io/v1/";

/// The user name by which a helper says that its secret is a token.
const TOKEN_USER: &str = "<token>";

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Config {
    auths: HashMap<String, Login>,
    cred_helpers: HashMap<String, String>,
    creds_store: Option<String>,
}

#[derive(Deserialize, Default, Clone)]
#[serde(default)]
struct Login {
    auth: Option<String>,
    username: Option<String>,
    password: Option<String>,
    identitytoken: Option<String>,
    registrytoken: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Helped {
    username: String,
    secret: String,
}

/// Finds the credentials of a registry; `None` if there are none, and then it is asked without.
pub(super) fn of(registry: &str, environment: &Environment) -> Option<Credentials> {
    let files = [
        config_folder(environment).map(|folder| folder.join("config.json")),
        environment.var_os("REGISTRY_AUTH_FILE").map(PathBuf::from),
        environment.runtime_dir().map(|folder| folder.join("containers/auth.json")),
    ];
    files.into_iter().flatten().find_map(|file| {
        let config: Config = serde_json::from_slice(&fs::read(file).ok()?).ok()?;
        config.login(registry, environment)
    })
}

impl Config {
    fn login(&self, registry: &str, environment: &Environment) -> Option<Credentials> {
        let names = names(registry);
        let helper = names.iter().find_map(|name| self.cred_helpers.get(name));
        if let Some(helper) = helper.or(self.creds_store.as_ref())
            && let Some(found) = names.iter().find_map(|name| ask(helper, name, environment))
        {
            return Some(found);
        }
        let login = names.iter().find_map(|name| self.auths.get(name))?;
        login.credentials(&names[0])
    }
}

impl Login {
    fn credentials(&self, server: &str) -> Option<Credentials> {
        let decoded = self.auth.as_deref().and_then(|auth| STANDARD.decode(auth.trim()).ok());
        let decoded = decoded.and_then(|bytes| String::from_utf8(bytes).ok());
        let pair = decoded.as_deref().and_then(|text| text.split_once(':'));
        let credentials = Credentials {
            username: pair.map(|(user, _)| user.to_owned()).or_else(|| self.username.clone()),
            password: pair
                .map(|(_, password)| password.trim_end_matches('\0').to_owned())
                .or_else(|| self.password.clone()),
            identitytoken: self.identitytoken.clone().filter(|token| !token.is_empty()),
            registrytoken: self.registrytoken.clone().filter(|token| !token.is_empty()),
            serveraddress: Some(server.to_owned()),
            ..Credentials::default()
        };
        let says_something = credentials.username.is_some()
            || credentials.identitytoken.is_some()
            || credentials.registrytoken.is_some();
        says_something.then_some(credentials)
    }
}

/// The names that a registry may have in these files, the usual first.
fn names(registry: &str) -> Vec<String> {
    if registry == "docker.io" {
        return [HUB, "docker.io", "index.docker.io"].map(str::to_owned).to_vec();
    }
    vec![registry.to_owned(), format!("https://{registry}"), format!("https://{registry}/v1/")]
}

/// Asks a credential helper, by Docker's own protocol.
fn ask(helper: &str, server: &str, environment: &Environment) -> Option<Credentials> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    let program = helper.bytes().all(plain).then(|| format!("docker-credential-{helper}"))?;
    #[expect(
        clippy::disallowed_methods,
        reason = "a question that ends by itself; its answer must not be stored, so it gets no spawn folder"
    )]
    let mut child = Command::new(environment.find_program(&program)?)
        .arg("get")
        .env_clear()
        .envs(environment.vars())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let mut stdin = child.stdin.take()?;
    // A helper that does not read has nothing to say either.
    let _ = stdin.write_all(server.as_bytes());
    drop(stdin);
    let output = child.wait_with_output().ok().filter(|output| output.status.success())?;
    let helped: Helped = serde_json::from_slice(&output.stdout).ok()?;
    let mut found =
        Credentials { serveraddress: Some(server.to_owned()), ..Credentials::default() };
    if helped.username == TOKEN_USER {
        found.identitytoken = Some(helped.secret);
    } else {
        found.username = Some(helped.username);
        found.password = Some(helped.secret);
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn with(config: &str) -> (tempfile::TempDir, Environment) {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir(home.path().join(".docker")).unwrap();
        fs::write(home.path().join(".docker/config.json"), config).unwrap();
        let path = home.path().to_str().unwrap().to_owned();
        let environment =
            Environment::new("/w", [("HOME", path.as_str()), ("PATH", path.as_str())]);
        (home, environment)
    }

    #[test]
    fn a_login_is_found_by_its_registry() {
        let auth = STANDARD.encode("me:pa:ss?>");
        let config = format!(
            r#"{{"auths":{{"r.example:5000":{{"auth":"{auth}"}},"{HUB}":{{"identitytoken":"t"}}}}}}"#
        );
        let (_home, environment) = with(&config);
        let found = of("r.example:5000", &environment).unwrap();
        assert_eq!(
            (found.username.as_deref(), found.password.as_deref()),
            (Some("me"), Some("pa:ss?>"))
        );
        assert_eq!(of("docker.io", &environment).unwrap().identitytoken.as_deref(), Some("t"));
        assert_eq!(of("elsewhere.example", &environment), None);
    }

    #[test]
    fn a_helper_is_asked_and_wins_over_the_file() {
        let (home, environment) = with(r#"{"auths":{"r.x":{}},"credHelpers":{"r.x":"mine"}}"#);
        let helper = home.path().join("docker-credential-mine");
        let script = "#!/bin/sh\nread server\n[ \"$1\" = get ] && echo \"{\\\"ServerURL\\\":\\\"$server\\\",\\\"Username\\\":\\\"u\\\",\\\"Secret\\\":\\\"s\\\"}\"\n";
        fs::write(&helper, script).unwrap();
        fs::set_permissions(&helper, fs::Permissions::from_mode(0o755)).unwrap();
        let found = of("r.x", &environment).unwrap();
        assert_eq!((found.username.as_deref(), found.password.as_deref()), (Some("u"), Some("s")));
    }

    #[test]
    fn without_a_file_or_with_a_broken_one_the_registry_is_asked_without_credentials() {
        assert_eq!(of("r.x", &Environment::new("/w", [("HOME", "/nowhere")])), None);
        let (_home, environment) = with("{broken");
        assert_eq!(of("r.x", &environment), None);
    }
}
