//! A container of an engine on this machine, whose command is the shim. The spawn's folder and the project are mounted, so
//! output, limits, record and re-attachment are those of [`super::local`].
//!
//! The container is named after its spawn, so that one spawn never gets two.

mod binary;
pub(crate) mod container;
mod credentials;
mod endpoint;
mod engine;
mod error;
mod image;
mod keeper;
pub(crate) mod reaper;
mod reference;
mod trial;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use bollard::errors::Error as Refusal;
use ratchet_spawn::{Attachment, Handover, Position, SpawnDir, Standing};
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;

use self::container::{Container, Fitting, Owner};
use self::endpoint::Endpoint;
use self::engine::{Engine, ImageFound, Traits};
pub(crate) use self::error::DockerError;
pub(crate) use self::keeper::{Death, Ending, Keeper, Reach};
pub(crate) use self::trial::Tried;
use super::{Line, Placed, Places, Shim, StartError, Variables};
use crate::environment::Environment;

/// What every container of one start stands on.
#[derive(Debug)]
pub(crate) struct Ground<'a> {
    engine: &'a Engine,
    environment: &'a Environment,
    spawns: &'a Path,
    binary: &'a Path,
}

/// Names the container of a spawn.
pub(crate) fn name_of(spawn: &str) -> String {
    format!("ratchet-{spawn}")
}

/// Starts the shim of a prepared spawn in a container.
pub(super) async fn start(
    places: &Places,
    dir: SpawnDir,
    container: &Container,
    variables: Variables,
    slot: OwnedSemaphorePermit,
    line: &Line<'_>,
) -> Result<Placed, StartError> {
    let (engine, binary) = ready(&places.ratchet, &places.environment, container).await?;
    let ground = Ground {
        engine: &engine,
        environment: &places.environment,
        spawns: &places.spawns,
        binary: &binary,
    };
    let image =
        image::ready(&engine, &container.image, container.pull, &places.environment, line).await?;
    trial::pass(&ground, container, &image, line).await?;
    // Watching begins before the shim does, so that nothing can be missed.
    let attachment = Attachment::open(&dir, Position::START)?;
    let keeper = run(&ground, container, &image, &dir, variables.0).await?;
    let used = image.digest.unwrap_or(image.id);
    Ok(Placed {
        dir,
        attachment,
        slot: Some(slot),
        shim: Some(Shim::Container(keeper)),
        image: Some(used),
        reach: None,
    })
}

/// Goes on with a container that an earlier process has started.
pub(super) fn found(places: &Places, dir: &SpawnDir) -> Shim {
    Shim::Container(Keeper::of_found(dir, &places.environment))
}

/// Makes sure that the container of a spawn is gone, and everything in it. Blocks; for a look at what an earlier process
/// left, where the next step must not begin beside the old one.
pub(super) fn end(places: &Places, spawn: &str) {
    let (environment, name) = (places.environment.clone(), name_of(spawn));
    // A thread of its own, because this one may be needed by the runtime it is part of.
    let ending = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let ended = runtime.block_on(async {
            let engine = Engine::connect(&environment).await.map_err(std::io::Error::other)?;
            engine.remove(&name).await.map_err(std::io::Error::other)
        });
        ended.map_err(|error| std::io::Error::other(format!("{name}: {error}")))
    });
    match ending.join() {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::warn!(%error, "a container cannot be removed"),
        Err(_) => tracing::error!("removing a container went wrong"),
    }
}

/// What an engine and an image turned out to be.
#[derive(Debug)]
pub(crate) struct Examined {
    pub(crate) traits: Traits,
    pub(crate) endpoint: String,
    /// The image's digest, else the engine's number for it.
    pub(crate) image: String,
    /// Each program with how its trial went.
    pub(crate) tried: Vec<(String, Tried)>,
}

/// Tries programs in an image, whether they were tried before or not.
pub(crate) async fn examine(
    environment: &Environment,
    spawns: &Path,
    ratchet: &Path,
    container: &Container,
    programs: &[String],
) -> Result<Examined, DockerError> {
    let (engine, binary) = ready(ratchet, environment, container).await?;
    let ground = Ground { engine: &engine, environment, spawns, binary: &binary };
    let (events, _) = tokio::sync::mpsc::channel(1);
    let line = Line { events: &events, withdrawn: &CancellationToken::new() };
    let image = image::ready(&engine, &container.image, container.pull, environment, &line).await?;
    let mut tried = Vec::new();
    for program in programs {
        let argv = [program.clone(), "--version".to_owned()];
        tried.push((program.clone(), trial::attempt(&ground, container, &image, &argv).await?));
    }
    Ok(Examined {
        traits: engine.traits().clone(),
        endpoint: engine.endpoint().to_string(),
        image: image.digest.unwrap_or(image.id),
        tried,
    })
}

async fn ready(
    ratchet: &Path,
    environment: &Environment,
    container: &Container,
) -> Result<(Engine, PathBuf), DockerError> {
    let binary = binary::find(ratchet)?;
    let engine = Engine::connect(environment).await?;
    if let Endpoint::Socket(socket) = engine.endpoint()
        && let Ok(socket) = socket.canonicalize()
        && socket.starts_with(&container.project)
    {
        return Err(DockerError::SocketInside { socket });
    }
    Ok((engine, binary))
}

/// Makes the container of a spawn and runs it; whatever fails leaves none behind.
async fn run(
    ground: &Ground<'_>,
    container: &Container,
    image: &ImageFound,
    dir: &SpawnDir,
    variables: impl IntoIterator<Item = (OsString, OsString)>,
) -> Result<Keeper, DockerError> {
    let system = |doing| move |source| DockerError::System { doing, source };
    let handover = Handover::offer(dir, variables).map_err(system("hand the environment over"))?;
    give(dir, container.owner(), ground.engine.traits())?;
    let name = name_of(dir.id().as_str());
    let body = container.body(&Fitting {
        spawn: dir.path(),
        id: dir.id().as_str(),
        binary: ground.binary,
        image: &image.id,
        traits: ground.engine.traits(),
    });
    let engine = ground.engine;
    let ran = match engine.create(&name, body).await {
        Ok(()) => engine.start(&name).await,
        Err(error) => Err(error),
    };
    match ran {
        Ok(()) => Ok(Keeper::of_new(engine, dir, ground.environment, handover)),
        // The answer was lost on its way, and the container was not.
        Err(error) if engine::status(&error).is_none() && has_begun(dir) => {
            Ok(Keeper::of_new(engine, dir, ground.environment, handover))
        }
        Err(error) => {
            let refused = refused(engine, container, error);
            if let Err(error) = engine.remove(&name).await {
                tracing::warn!(container = name, %error, "a container that did not start cannot be removed");
            }
            Err(refused)
        }
    }
}

/// Says whether a shim has taken a spawn up; from here on none will that has not.
fn has_begun(dir: &SpawnDir) -> bool {
    matches!(
        ratchet_spawn::abandon(dir),
        Ok(Standing::Running(_) | Standing::Ended(_) | Standing::Lost(_))
    )
}

/// Gives the spawn's folder to who will run inside, unless it is theirs.
fn give(dir: &SpawnDir, owner: Owner, traits: &Traits) -> Result<(), DockerError> {
    let caller = Owner::caller();
    if owner == caller || traits.rootless {
        return Ok(());
    }
    if caller.user != 0 {
        return Err(DockerError::UserNotOurs { user: format!("{}:{}", owner.user, owner.group) });
    }
    let system =
        |source| DockerError::System { doing: "give the spawn's folder to dockerUser", source };
    let hand = |path: &Path| {
        std::os::unix::fs::lchown(path, Some(owner.user), Some(owner.group)).map_err(system)
    };
    for entry in fs::read_dir(dir.path()).map_err(system)? {
        hand(&entry.map_err(system)?.path())?;
    }
    hand(dir.path())
}

/// Makes out why a container was not made or not started.
fn refused(engine: &Engine, container: &Container, error: Refusal) -> DockerError {
    let why = engine::words(&error);
    let low = why.to_lowercase();
    if low.contains("bind source path does not exist")
        || low.contains("invalid mount config")
        || low.contains("error while creating mount source")
    {
        let path = why.rsplit_once(": ").map_or(why.as_str(), |(_, path)| path).trim();
        return DockerError::MountMissing { path: path.into(), why };
    }
    if low.contains("network") && low.contains("not found") {
        return DockerError::NoNetwork { network: container.network.clone() };
    }
    if low.contains("no such image") {
        return DockerError::ImageMissing { image: container.image.clone() };
    }
    engine.explained("run the container", error)
}
