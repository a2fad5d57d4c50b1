//! The trial before the first step in an image: is the program there, and does it start? It runs like the real thing,
//! under the same walls, and costs nothing. What has passed once is not tried again: an image does not change.

use std::fs;
use std::path::PathBuf;

use ratchet_spawn::{
    Attachment, End, Event, ExitRecord, Limits, NotStarted, Position, Request, SpawnDir, SpawnId,
    Stdin, signal_name,
};
use sha2::{Digest as _, Sha256};

use super::container::{Container, WORKSPACE};
use super::engine::ImageFound;
use super::error::DockerError;
use super::{Ending, Ground, run};
use crate::runtime::Line;

/// How long a program may take to say its version.
const LIMITS: Limits = Limits {
    start_ms: None,
    idle_ms: None,
    wall_ms: Some(60_000),
    output_bytes: Some(1 << 20),
    grace_ms: 500,
    open_files: None,
    memory_bytes: None,
};

/// How much is told of what it said.
const MOST_TOLD: usize = 300;

/// How a trial went.
#[derive(Debug)]
pub(crate) struct Tried {
    /// How it ended.
    pub(crate) end: End,
    /// What it said, both streams together.
    pub(crate) said: String,
}

/// Makes sure that a container's command can start in its image.
pub(super) async fn pass(
    ground: &Ground<'_>,
    container: &Container,
    image: &ImageFound,
    line: &Line<'_>,
) -> Result<(), DockerError> {
    let Some(program) = container.trial.first() else { return Ok(()) };
    let note = note(ground, container, image);
    if note.as_ref().is_some_and(|note| note.exists()) {
        return Ok(());
    }
    line.tell(format!("trying '{program}' in the image {}", container.image)).await;
    let tried = tokio::select! {
        tried = attempt(ground, container, image, &container.trial) => tried?,
        () = line.withdrawn.cancelled() => return Err(DockerError::Withdrawn),
    };
    judge(&container.image, program, &tried)?;
    if let Some(note) = note {
        remember(&note);
    }
    Ok(())
}

/// Runs a command to its end in a container of its own.
pub(crate) async fn attempt(
    ground: &Ground<'_>,
    container: &Container,
    image: &ImageFound,
    argv: &[String],
) -> Result<Tried, DockerError> {
    let id = SpawnId::parse(&uuid::Uuid::now_v7().to_string()).expect("a uuid is a folder name");
    let request = Request {
        id,
        argv: argv.iter().map(Into::into).collect(),
        cwd: WORKSPACE.into(),
        stdin: Stdin::Null,
        limits: LIMITS,
        needed_by: None,
    };
    let dir = SpawnDir::create(ground.spawns, &request).map_err(unusable)?;
    let tried = watched(ground, container, image, &dir).await;
    // What could not be removed is swept later.
    let _ = fs::remove_dir_all(dir.path());
    tried
}

async fn watched(
    ground: &Ground<'_>,
    container: &Container,
    image: &ImageFound,
    dir: &SpawnDir,
) -> Result<Tried, DockerError> {
    let mut attachment = Attachment::open(dir, Position::START).map_err(unusable)?;
    let mut keeper = run(ground, container, image, dir, std::iter::empty()).await?;
    let mut said = Vec::new();
    let mut over = false;
    let end = loop {
        let event = tokio::select! {
            biased;
            event = attachment.next() => Some(event.map_err(unusable)?),
            () = keeper.ended(), if !over => None,
        };
        match event {
            Some(Event::Frame(frame)) => said.extend_from_slice(&frame.bytes),
            Some(Event::Ended(record)) => break Some(*record),
            Some(Event::Lost(_) | Event::Abandoned) => break None,
            // Its shim took nothing up, or its files are not ours: whatever there is was told before.
            None => {
                over = true;
                if !matches!(ratchet_spawn::abandon(dir), Ok(ratchet_spawn::Standing::Ended(_))) {
                    break None;
                }
            }
        }
    };
    let ending = if end.is_some() { Ending::Recorded } else { Ending::Unexplained };
    let death = keeper.clear(ending).await;
    match end {
        Some(ExitRecord { end, .. }) => {
            Ok(Tried { end, said: String::from_utf8_lossy(&said).into_owned() })
        }
        None => Err(match death {
            Some(super::Death::OutOfMemory) => DockerError::Refused {
                doing: "run ratchet in a container",
                why: "it ran out of memory; dockerMemory is too small".to_owned(),
            },
            Some(super::Death::Told(why)) if why.contains("no spawn") => {
                DockerError::NotShared { endpoint: ground.engine.endpoint().to_string() }
            }
            Some(super::Death::Told(why)) => {
                DockerError::Refused { doing: "run ratchet in a container", why }
            }
            None => DockerError::NotShared { endpoint: ground.engine.endpoint().to_string() },
        }),
    }
}

fn judge(image: &str, program: &str, tried: &Tried) -> Result<(), DockerError> {
    let (image, program) = (image.to_owned(), program.to_owned());
    let ended = match &tried.end {
        End::Exited { code: 0 } => return Ok(()),
        End::NotStarted { reason: NotStarted::CommandNotFound, message, .. }
            if message.contains("not found on") =>
        {
            return Err(DockerError::AgentMissing { image, program });
        }
        End::NotStarted { message, .. } => message.clone(),
        End::Exited { code } => format!("it ended with code {code}"),
        End::Signaled { signal, .. } => format!("it died by {}", signal_name(*signal)),
        End::OutOfMemory => "it ran out of memory".to_owned(),
        End::TimedOut { after_ms, .. } => format!("it did not end within {} s", after_ms / 1000),
        End::Stopped { .. } => "it was stopped".to_owned(),
        End::OutputLimit { .. } => "it printed without end".to_owned(),
        End::SpoolFailed { message, .. } => message.clone(),
    };
    let said: String = tried
        .said
        .trim()
        .chars()
        .filter(|char| !char.is_control() || *char == '\n')
        .take(MOST_TOLD)
        .collect();
    let why = if said.is_empty() { ended } else { format!("{ended}: {said}") };
    Err(DockerError::AgentBroken { image, program, why })
}

/// Where it is noted that a trial was passed; `None` for a user without a place for it.
fn note(ground: &Ground<'_>, container: &Container, image: &ImageFound) -> Option<PathBuf> {
    let mut what = Sha256::new();
    let owner = container.owner();
    what.update(format!(
        "1\0{}\0{}:{}\0{}\0",
        image.id, owner.user, owner.group, container.read_only
    ));
    for word in &container.trial {
        what.update(word);
        what.update([0]);
    }
    let name = hex::encode(what.finalize());
    Some(ground.environment.cache_home()?.join("ratchet/images").join(name))
}

fn remember(note: &std::path::Path) {
    let written =
        note.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(note, b""));
    if let Err(error) = written {
        // It is tried again the next time.
        tracing::debug!(%error, "a passed trial cannot be noted");
    }
}

fn unusable(error: impl std::error::Error + Send + Sync + 'static) -> DockerError {
    DockerError::System {
        doing: "try the image",
        source: std::io::Error::other(crate::error::with_causes(&error)),
    }
}
