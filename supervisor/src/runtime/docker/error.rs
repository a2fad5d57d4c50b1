//! What can stand in the way of a container, each with what a person can type next. Nothing was started, unless a variant
//! says so.

use std::path::PathBuf;

use ratchet_engine::shell::quoted;
use thiserror::Error;

/// Why a command does not run in a container.
#[derive(Debug, Error)]
pub enum DockerError {
    /// No engine was named, and none is where engines usually are.
    #[error("Docker not available (locus=docker): there is no engine socket; looked at {}", .looked.join(", "))]
    NoSocket {
        /// Where it was looked for.
        looked: Vec<String>,
    },
    /// The socket may not be used by this user.
    #[error("Docker not available (locus=docker): permission denied on {endpoint}")]
    Denied {
        /// The socket.
        endpoint: String,
    },
    /// Nobody answers at the socket.
    #[error("Docker not available (locus=docker): no engine answers at {endpoint}: {why}")]
    NoAnswer {
        /// The socket or address.
        endpoint: String,
        /// What the system says.
        why: String,
    },
    /// The engine's address, as it is configured, cannot be used.
    #[error("Docker not available (locus=docker): {from} names {named}, {why}")]
    BadEndpoint {
        /// Where the name comes from: a variable or a file.
        from: String,
        /// The name.
        named: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The engine is older than what is needed.
    #[error(
        "Docker not available (locus=docker): the engine at {endpoint} is too old ({version}, API {api}); Docker 20.10 or later is needed"
    )]
    TooOld {
        /// The socket or address.
        endpoint: String,
        /// The engine's version.
        version: String,
        /// The newest API it speaks.
        api: String,
    },
    /// What is mounted is not what is on this machine: the engine is elsewhere.
    #[error(
        "the engine at {endpoint} does not see the files of this machine, so it cannot run a step on them"
    )]
    NotShared {
        /// The socket or address.
        endpoint: String,
    },
    /// There is no ratchet that runs in any image.
    #[error("there is no statically linked ratchet to mount into the container: {} needs the libraries of this machine, and {} is not there", ours.display(), beside.display())]
    NoStaticBinary {
        /// The running binary.
        ours: PathBuf,
        /// Where a static one was looked for.
        beside: PathBuf,
    },
    /// The image's name is none.
    #[error("'{image}' is not an image reference")]
    BadReference {
        /// The text.
        image: String,
    },
    /// The image is not here, and may not be fetched.
    #[error("the image {image} is not here, and dockerPull is never")]
    ImageMissing {
        /// The image.
        image: String,
    },
    /// No registry has it.
    #[error("the image {image} is not here, and its registry does not give it: {why}")]
    ImageNotFound {
        /// The image.
        image: String,
        /// What the registry says.
        why: String,
    },
    /// The registry wants to know who is asking.
    #[error("the registry refuses the image {image}: {why}")]
    PullRefused {
        /// The image.
        image: String,
        /// Its registry, as `docker login` wants it.
        registry: String,
        /// What the registry says.
        why: String,
    },
    /// The registry has had enough of this address.
    #[error("the registry limits how often images are fetched, and {image} was one too many")]
    RateLimited {
        /// The image.
        image: String,
        /// Its registry, as `docker login` wants it.
        registry: String,
    },
    /// The registry does not answer.
    #[error("the image {image} is not here, and its registry cannot be reached: {why}")]
    RegistryUnreachable {
        /// The image.
        image: String,
        /// What the engine says.
        why: String,
    },
    /// The engine's disk is full.
    #[error("the disk of the engine is full: {why}")]
    DiskFull {
        /// What the engine says.
        why: String,
    },
    /// A folder that is to be mounted is not there, or not for the engine.
    #[error("the engine cannot mount {}: {why}", path.display())]
    MountMissing {
        /// The folder.
        path: PathBuf,
        /// What the engine says.
        why: String,
    },
    /// The engine's socket is inside of the project, so it would be inside of the container.
    #[error("the engine's socket {} is inside of the project, so an agent in a container could use it", socket.display())]
    SocketInside {
        /// The socket.
        socket: PathBuf,
    },
    /// There is no such network.
    #[error("there is no network '{network}'")]
    NoNetwork {
        /// The setting.
        network: String,
    },
    /// Only root can give its files to another user.
    #[error("dockerUser is {user}, and only root can give that user the files of a step")]
    UserNotOurs {
        /// The setting.
        user: String,
    },
    /// The agent's program is not in the image.
    #[error("there is no '{program}' in the image {image}, so the agent cannot run there")]
    AgentMissing {
        /// The image.
        image: String,
        /// The program.
        program: String,
    },
    /// The agent's program is in the image and does not start.
    #[error("'{program}' is in the image {image} and does not start: {why}")]
    AgentBroken {
        /// The image.
        image: String,
        /// The program.
        program: String,
        /// How its test run ended, and what it said.
        why: String,
    },
    /// The engine refuses for a reason that has no other variant.
    #[error("the engine cannot {doing}: {why}")]
    Refused {
        /// What it was to do.
        doing: &'static str,
        /// What it says.
        why: String,
    },
    /// A person stopped the step while its image was fetched.
    #[error("the step was stopped before it began; nothing was started")]
    Withdrawn,
    /// A file of this machine could not be used.
    #[error("cannot {doing}")]
    System {
        /// What was to be done.
        doing: &'static str,
        /// What the system says.
        source: std::io::Error,
    },
}

impl DockerError {
    /// Returns a name that never changes: the page in `docs/errors/`.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoSocket { .. } | Self::NoAnswer { .. } => "docker-not-available",
            Self::Denied { .. } => "docker-denied",
            Self::BadEndpoint { .. } => "docker-endpoint",
            Self::TooOld { .. } => "docker-too-old",
            Self::NotShared { .. } => "docker-elsewhere",
            Self::NoStaticBinary { .. } => "static-binary-missing",
            Self::BadReference { .. } => "bad-image-reference",
            Self::ImageMissing { .. } | Self::ImageNotFound { .. } => "image-not-found",
            Self::PullRefused { .. } => "image-refused",
            Self::RateLimited { .. } => "registry-limit",
            Self::RegistryUnreachable { .. } => "registry-unreachable",
            Self::DiskFull { .. } => "docker-disk-full",
            Self::MountMissing { .. } => "mount-missing",
            Self::SocketInside { .. } => "docker-socket-inside",
            Self::NoNetwork { .. } => "no-such-network",
            Self::UserNotOurs { .. } => "docker-user",
            Self::AgentMissing { .. } => "agent-not-in-image",
            Self::AgentBroken { .. } => "agent-broken-in-image",
            Self::Refused { .. } | Self::System { .. } => "docker-refused",
            Self::Withdrawn => "step-withdrawn",
        }
    }

    /// Says what to type next.
    #[must_use]
    pub fn help(&self) -> String {
        const LOCAL: &str = "or run without a container: 'ratchet batch config --set locus=local'";
        match self {
            Self::NoSocket { .. } => format!(
                "start the engine ('sudo systemctl start docker', rootless: 'systemctl --user start docker'), or name it in \
                 DOCKER_HOST; {LOCAL}"
            ),
            Self::Denied { .. } => format!(
                "'sudo usermod -aG docker \"$USER\"' and log in again, or use a rootless engine; {LOCAL}"
            ),
            Self::NoAnswer { .. } => {
                format!("'docker info' says more; start the engine: 'sudo systemctl start docker'; {LOCAL}")
            }
            Self::BadEndpoint { .. } => {
                "'docker context ls' lists the engines; name one of this machine: DOCKER_HOST=unix:///var/run/docker.sock"
                    .to_owned()
            }
            Self::TooOld { .. } => "update the engine: https://docs.docker.com/engine/install/".to_owned(),
            Self::NotShared { .. } => {
                "use an engine that runs on this machine and not in a virtual machine: 'docker context ls'".to_owned()
            }
            Self::NoStaticBinary { beside, .. } => format!(
                "install the released binary, or build one: 'RUSTFLAGS=\"-C target-feature=+crt-static\" cargo build \
                 --release -p ratchet --target x86_64-unknown-linux-gnu' and copy it to {}",
                quoted(&beside.display().to_string())
            ),
            Self::BadReference { .. } => {
                "name one such as registry.example/team/agent:1: 'ratchet batch config --set image=…'".to_owned()
            }
            Self::ImageMissing { image } => format!("'docker pull {image}', or 'ratchet batch config --set dockerPull=missing'"),
            Self::ImageNotFound { image, .. } => format!(
                "check the name: 'docker pull {image}'; if it is private, 'docker login' first; another image: 'ratchet \
                 batch config --set image=…'"
            ),
            Self::PullRefused { registry, .. } => format!("'docker login {registry}', then run the command again"),
            Self::RateLimited { registry, .. } => {
                format!("'docker login {registry}' raises the limit; else wait and run the command again")
            }
            Self::RegistryUnreachable { image, .. } => format!(
                "check the network, or bring the image by hand: 'docker save {image} | ssh THIS-MACHINE docker load'"
            ),
            Self::DiskFull { .. } => "'docker system df' shows what takes the room, 'docker system prune' frees some".to_owned(),
            Self::MountMissing { path, .. } => format!("check that it is there: 'ls -ld {}'", quoted(&path.display().to_string())),
            Self::SocketInside { .. } => "move the project to a folder of its own".to_owned(),
            Self::NoNetwork { .. } => {
                "'docker network ls' lists them; 'ratchet batch config --set network=bridge', or none, always works".to_owned()
            }
            Self::UserNotOurs { .. } => {
                "leave dockerUser unset, so that files belong to you, or run ratchet as root".to_owned()
            }
            Self::AgentMissing { .. } => {
                "take an image that holds the agent and git (deploy/images has a Dockerfile): 'ratchet batch config --set \
                 image=…'; 'ratchet doctor --locus docker' tests it"
                    .to_owned()
            }
            Self::AgentBroken { image, program, .. } => {
                format!("'docker run --rm -it --entrypoint {program} {image} --version' shows it again")
            }
            Self::Refused { .. } | Self::System { .. } => {
                "look at the cause; nothing was started, so the command can be repeated".to_owned()
            }
            Self::Withdrawn => "run the command again to begin it".to_owned(),
        }
    }
}
