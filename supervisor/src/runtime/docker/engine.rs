//! The engine: every call of its interface that is made, and its errors made ours. The only file that knows bollard's
//! client. Nothing is decided here.

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use bollard::errors::Error as Refusal;
use bollard::models::{
    ContainerCreateBody, ContainerState, CreateImageInfo, SystemInfo, SystemVersion,
};
use bollard::query_parameters::{
    CreateContainerOptions, CreateImageOptions, KillContainerOptions, ListContainersOptions,
    ListNetworksOptions, ListVolumesOptions, LogsOptions, RemoveContainerOptions,
    WaitContainerOptions,
};
use bollard::{API_DEFAULT_VERSION, BollardRequest, Docker};
use tokio_stream::{Stream, StreamExt as _};

use super::endpoint::{self, Endpoint};
use super::error::DockerError;
use crate::environment::Environment;
use crate::error::io_kind;

pub(super) use bollard::auth::DockerCredentials as Credentials;

/// How long the engine may take to begin an answer, in seconds. Removing a container on a busy machine takes some.
const PATIENCE_SECONDS: u64 = 60;

/// How long a first answer may take: an engine that is hung is told soon.
const FIRST_ANSWER: Duration = Duration::from_secs(10);

/// The API that is spoken, minor number of version 1: that of Docker 20.10. A newer engine that no longer speaks it is
/// spoken to in the oldest that it does.
const SPOKEN: u32 = 41;

/// An engine that answers.
#[derive(Debug, Clone)]
pub(crate) struct Engine {
    client: Docker,
    endpoint: Endpoint,
    traits: Traits,
}

/// What an engine is like.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Traits {
    /// Its name and version, for people.
    pub(crate) version: String,
    /// The API that is spoken with it, such as `1.41`.
    pub(crate) api: String,
    /// It runs as its user, who is root in its containers.
    pub(crate) rootless: bool,
    /// It gives containers user numbers of their own.
    pub(crate) remaps_users: bool,
    /// The machine's SELinux keeps containers from files that are not marked for them.
    pub(crate) selinux: bool,
}

/// An image that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ImageFound {
    /// The engine's id for it.
    pub(crate) id: String,
    /// What its registry calls this very image; one that was built or loaded here has none.
    pub(crate) digest: Option<String>,
}

/// Something that carries a label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Labelled {
    /// Its id or name.
    pub(crate) id: String,
    /// Its name, for people.
    pub(crate) name: String,
    /// Its labels.
    pub(crate) labels: HashMap<String, String>,
    /// When it was made, in seconds since 1970; 0 if nobody knows.
    pub(crate) created: i64,
}

impl Engine {
    /// Finds the engine and makes sure that it can be spoken with.
    pub(crate) async fn connect(environment: &Environment) -> Result<Self, DockerError> {
        let endpoint = endpoint::find(environment)?;
        let client = client(&endpoint)?;
        let asked = async { tokio::join!(client.version(), client.info()) };
        let no_answer = || DockerError::NoAnswer {
            endpoint: endpoint.to_string(),
            why: format!("no answer within {} s", FIRST_ANSWER.as_secs()),
        };
        let (version, info) =
            tokio::time::timeout(FIRST_ANSWER, asked).await.map_err(|_| no_answer())?;
        let told = |error| explained("answer", error, &endpoint);
        let (version, info) = (version.map_err(told)?, info.map_err(told)?);
        let spoken = negotiated(&version).ok_or_else(|| DockerError::TooOld {
            endpoint: endpoint.to_string(),
            version: version.version.clone().unwrap_or_default(),
            api: version.api_version.clone().unwrap_or_default(),
        })?;
        let traits = traits(&version, &info, spoken);
        let client = client.with_request_modifier(move |request| versioned(request, spoken));
        Ok(Self { client, endpoint, traits })
    }

    /// Says what it is like.
    pub(crate) fn traits(&self) -> &Traits {
        &self.traits
    }

    /// Says where it is.
    pub(crate) fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Looks for an image.
    pub(crate) async fn image(&self, reference: &str) -> Result<Option<ImageFound>, DockerError> {
        match self.client.inspect_image(reference).await {
            Ok(found) => Ok(Some(ImageFound {
                id: found.id.unwrap_or_else(|| reference.to_owned()),
                digest: found.repo_digests.and_then(|digests| digests.into_iter().next()),
            })),
            Err(error) if status(&error) == Some(404) => Ok(None),
            Err(error) => Err(self.explained("look at an image", error)),
        }
    }

    /// Fetches an image; the stream is over when it is there.
    pub(super) fn pull(
        &self,
        name: &str,
        tag: &str,
        credentials: Option<Credentials>,
    ) -> impl Stream<Item = Result<CreateImageInfo, Refusal>> + Unpin {
        let options = CreateImageOptions {
            from_image: Some(name.to_owned()),
            tag: Some(tag.to_owned()),
            ..Default::default()
        };
        Box::pin(self.client.create_image(Some(options), None, credentials))
    }

    /// Makes a container, which does not run yet.
    pub(crate) async fn create(
        &self,
        name: &str,
        body: ContainerCreateBody,
    ) -> Result<(), Refusal> {
        let options = CreateContainerOptions { name: Some(name.to_owned()), ..Default::default() };
        self.client.create_container(Some(options), body).await.map(drop)
    }

    /// Runs a container.
    pub(crate) async fn start(&self, name: &str) -> Result<(), Refusal> {
        self.client.start_container(name, None).await
    }

    /// Waits until a container does not run any more. One that is not there does not run.
    pub(crate) async fn wait(&self, name: &str) -> Result<(), Refusal> {
        let options = WaitContainerOptions { condition: "not-running".to_owned() };
        let mut waiting = Box::pin(self.client.wait_container(name, Some(options)));
        match waiting.next().await {
            // Its exit code is an error to bollard, and nothing to us.
            Some(Ok(_) | Err(Refusal::DockerContainerWaitError { .. })) => Ok(()),
            Some(Err(error)) if status(&error) == Some(404) => Ok(()),
            Some(Err(error)) => Err(error),
            None => Err(Refusal::RequestTimeoutError),
        }
    }

    /// Looks at a container; `None` if there is none of that name.
    pub(crate) async fn state(&self, name: &str) -> Result<Option<ContainerState>, Refusal> {
        match self.client.inspect_container(name, None).await {
            Ok(found) => Ok(Some(found.state.unwrap_or_default())),
            Err(error) if status(&error) == Some(404) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Gives the last thing a container's first process said.
    pub(crate) async fn last_words(&self, name: &str) -> Option<String> {
        let options =
            LogsOptions { stdout: true, stderr: true, tail: "20".to_owned(), ..Default::default() };
        let mut logs = Box::pin(self.client.logs(name, Some(options)));
        let mut last = None;
        while let Some(Ok(line)) = logs.next().await {
            let text =
                String::from_utf8_lossy(&line.into_bytes()).trim().replace(char::is_control, " ");
            last = Some(text).filter(|text| !text.is_empty()).or(last);
        }
        last
    }

    /// Ends and removes a container in any state, with its unnamed volumes. One that is not there is fine.
    pub(crate) async fn remove(&self, name: &str) -> Result<(), Refusal> {
        let options = RemoveContainerOptions { v: true, force: true, link: false };
        match self.client.remove_container(name, Some(options)).await {
            Ok(()) => Ok(()),
            // 409: somebody else removes it at this moment.
            Err(error) if matches!(status(&error), Some(404 | 409)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Sends TERM to a container's first process.
    pub(crate) async fn terminate(&self, name: &str) -> Result<(), Refusal> {
        self.client
            .kill_container(name, Some(KillContainerOptions { signal: "SIGTERM".to_owned() }))
            .await
    }

    /// Lists the containers that carry a label, in any state.
    pub(crate) async fn containers(&self, label: &str) -> Result<Vec<Labelled>, DockerError> {
        let options =
            ListContainersOptions { all: true, filters: Some(by(label)), ..Default::default() };
        let found = self.client.list_containers(Some(options)).await;
        let found = found.map_err(|error| self.explained("list containers", error))?;
        let labelled = found.into_iter().map(|one| Labelled {
            id: one.id.unwrap_or_default(),
            name: one
                .names
                .and_then(|names| names.into_iter().next())
                .unwrap_or_default()
                .trim_start_matches('/')
                .to_owned(),
            labels: one.labels.unwrap_or_default(),
            created: one.created.unwrap_or_default(),
        });
        Ok(labelled.collect())
    }

    /// Lists the networks that carry a label.
    pub(crate) async fn networks(&self, label: &str) -> Result<Vec<Labelled>, DockerError> {
        let options = ListNetworksOptions { filters: Some(by(label)) };
        let found = self.client.list_networks(Some(options)).await;
        let found = found.map_err(|error| self.explained("list networks", error))?;
        let labelled = found.into_iter().map(|one| Labelled {
            id: one.id.unwrap_or_default(),
            name: one.name.unwrap_or_default(),
            labels: one.labels.unwrap_or_default(),
            created: 0,
        });
        Ok(labelled.collect())
    }

    /// Lists the volumes that carry a label.
    pub(crate) async fn volumes(&self, label: &str) -> Result<Vec<Labelled>, DockerError> {
        let options = ListVolumesOptions { filters: Some(by(label)) };
        let found = self.client.list_volumes(Some(options)).await;
        let found = found.map_err(|error| self.explained("list volumes", error))?;
        let labelled = found.volumes.unwrap_or_default().into_iter().map(|one| Labelled {
            id: one.name.clone(),
            name: one.name,
            labels: one.labels,
            created: 0,
        });
        Ok(labelled.collect())
    }

    /// Removes a network.
    pub(crate) async fn remove_network(&self, id: &str) -> Result<(), Refusal> {
        self.client.remove_network(id).await
    }

    /// Removes a volume.
    pub(crate) async fn remove_volume(&self, name: &str) -> Result<(), Refusal> {
        self.client
            .remove_volume(name, None::<bollard::query_parameters::RemoveVolumeOptions>)
            .await
    }

    /// Makes an error of a call ours.
    pub(crate) fn explained(&self, doing: &'static str, error: Refusal) -> DockerError {
        explained(doing, error, &self.endpoint)
    }
}

fn client(endpoint: &Endpoint) -> Result<Docker, DockerError> {
    let client = match endpoint {
        Endpoint::Socket(path) => {
            endpoint::knock(path)?;
            Docker::connect_with_unix(
                &path.to_string_lossy(),
                PATIENCE_SECONDS,
                API_DEFAULT_VERSION,
            )
        }
        Endpoint::Plain(address) => {
            Docker::connect_with_http(address, PATIENCE_SECONDS, API_DEFAULT_VERSION)
        }
        Endpoint::Tls { address, certificates } => {
            let file = |name: &str| -> PathBuf { certificates.join(name) };
            Docker::connect_with_ssl(
                address,
                &file("key.pem"),
                &file("cert.pem"),
                &file("ca.pem"),
                PATIENCE_SECONDS,
                API_DEFAULT_VERSION,
            )
        }
    };
    client.map_err(|error| explained("be connected to", error, endpoint))
}

/// Chooses the API, by minor number; `None` if the engine speaks none that is new enough.
fn negotiated(version: &SystemVersion) -> Option<u32> {
    let minor = |text: &Option<String>| text.as_ref()?.strip_prefix("1.")?.parse::<u32>().ok();
    let newest = minor(&version.api_version)?;
    let oldest = minor(&version.min_api_version).unwrap_or(0);
    (newest >= SPOKEN).then(|| SPOKEN.max(oldest))
}

fn traits(version: &SystemVersion, info: &SystemInfo, spoken: u32) -> Traits {
    let options = info.security_options.clone().unwrap_or_default();
    let has = |word: &str| {
        options.iter().any(|option| {
            option.split(',').any(|part| part == format!("name={word}") || part == word)
        })
    };
    let podman = version.components.iter().flatten().any(|part| part.name.contains("Podman"));
    let name = if podman { "Podman" } else { "Docker" };
    Traits {
        version: format!(
            "{name} {}",
            version.version.as_deref().unwrap_or("of an unknown version")
        ),
        api: format!("1.{spoken}"),
        rootless: has("rootless"),
        remaps_users: has("userns"),
        selinux: has("selinux"),
    }
}

/// Puts the chosen version into a request's path, and its credentials into the alphabet that the engine reads.
fn versioned(mut request: BollardRequest, spoken: u32) -> BollardRequest {
    let mut parts = request.uri().clone().into_parts();
    let path = parts.path_and_query.as_ref().map_or("/", |path| path.as_str());
    if let Ok(path) = format!("/v1.{spoken}{path}").parse() {
        parts.path_and_query = Some(path);
        if let Ok(uri) = parts.try_into() {
            *request.uri_mut() = uri;
        }
    }
    if let Some(value) = request.headers_mut().get_mut("x-registry-auth") {
        let text = value.to_str().unwrap_or_default().replace('+', "-").replace('/', "_");
        if let Ok(safe) = text.parse() {
            *value = safe;
        }
    }
    request
}

fn by(label: &str) -> HashMap<String, Vec<String>> {
    HashMap::from([("label".to_owned(), vec![label.to_owned()])])
}

/// The status of an answer that was a refusal.
pub(super) fn status(error: &Refusal) -> Option<u16> {
    match error {
        Refusal::DockerResponseServerError { status_code, .. } => Some(*status_code),
        _ => None,
    }
}

/// What the engine, or the way to it, says; the engine's own words if there are any.
pub(super) fn words(error: &Refusal) -> String {
    match error {
        Refusal::DockerResponseServerError { message, .. } => message.trim().to_owned(),
        Refusal::DockerStreamError { error } => error.trim().to_owned(),
        Refusal::RequestTimeoutError => "no answer in time".to_owned(),
        other => crate::error::with_causes(other),
    }
}

fn explained(doing: &'static str, error: Refusal, endpoint: &Endpoint) -> DockerError {
    let why = words(&error);
    if why.contains("no space left on device") {
        return DockerError::DiskFull { why };
    }
    if status(&error).is_some() {
        return DockerError::Refused { doing, why };
    }
    let endpoint = endpoint.to_string();
    match io_kind(&error) {
        Some(io::ErrorKind::PermissionDenied) => DockerError::Denied { endpoint },
        Some(_) => DockerError::NoAnswer { endpoint, why },
        None => match error {
            Refusal::RequestTimeoutError
            | Refusal::HyperLegacyError { .. }
            | Refusal::HyperResponseError { .. } => DockerError::NoAnswer { endpoint, why },
            _ => DockerError::Refused { doing, why },
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(api: &str, least: Option<&str>) -> SystemVersion {
        SystemVersion {
            api_version: Some(api.to_owned()),
            min_api_version: least.map(str::to_owned),
            ..Default::default()
        }
    }

    #[test]
    fn the_api_of_docker_20_10_is_spoken_unless_an_engine_has_dropped_it() {
        assert_eq!(negotiated(&version("1.41", Some("1.12"))), Some(41));
        assert_eq!(negotiated(&version("1.50", Some("1.24"))), Some(41));
        assert_eq!(negotiated(&version("1.52", Some("1.44"))), Some(44));
        assert_eq!(negotiated(&version("1.41", None)), Some(41));
        assert_eq!(negotiated(&version("1.40", Some("1.12"))), None);
        assert_eq!(negotiated(&SystemVersion::default()), None);
    }

    #[test]
    fn what_an_engine_is_like_is_read_from_its_own_words() {
        let info = SystemInfo {
            security_options: Some(vec![
                "name=seccomp,profile=default".into(),
                "name=rootless".into(),
            ]),
            ..Default::default()
        };
        let found = traits(&version("1.41", None), &info, 41);
        assert!(found.rootless && !found.remaps_users && !found.selinux);
        assert_eq!(found.api, "1.41");
    }
}
