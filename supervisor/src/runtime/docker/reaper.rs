//! Removes what was left behind: containers, networks and volumes that carry our labels and whose shim is gone, whatever
//! state they are in. What is not ours is never touched, nor what a ratchet with other folders has made, nor what is young:
//! a container is made a moment before its shim takes the lock.

use std::path::{Path, PathBuf};
use std::time::Duration;

use ratchet_spawn::{DirectoryError, SpawnDir, SpawnId, Standing, probe};

use super::container::{FOLDER_LABEL, SPAWN_LABEL};
use super::engine::{Engine, Labelled, words};
use super::error::DockerError;
use crate::environment::Environment;

/// How old something must be, unless the caller says otherwise.
pub const GRACE: Duration = Duration::from_secs(60);

/// What is done about what is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sweep {
    /// It is removed.
    Remove,
    /// It is only told.
    Look,
}

/// One thing of ours that an engine holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// What it is.
    pub kind: Kind,
    /// Its name.
    pub name: String,
    /// What became of it.
    pub fate: Fate,
}

/// What kind of thing it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A container, running or not.
    Container,
    /// A network.
    Network,
    /// A volume.
    Volume,
}

/// What became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// It was removed.
    Removed,
    /// It would have been removed.
    Removable,
    /// It is in use, or too young to tell.
    Kept,
    /// It is somebody else's.
    NotOurs,
    /// It could not be removed.
    Stuck(String),
}

/// Looks through an engine, and removes what is left behind. `own` is the folder of this user's spawns, `now` is in seconds
/// since 1970.
pub(crate) async fn reap(
    environment: &Environment,
    own: &Path,
    grace: Duration,
    sweep: Sweep,
    now: i64,
) -> Result<Vec<Found>, DockerError> {
    let engine = Engine::connect(environment).await?;
    let mut found = Vec::new();
    let things = [
        (Kind::Container, engine.containers(SPAWN_LABEL).await?),
        (Kind::Network, engine.networks(SPAWN_LABEL).await?),
        (Kind::Volume, engine.volumes(SPAWN_LABEL).await?),
    ];
    for (kind, labelled) in things {
        for one in labelled {
            let fate = match claim(&one, own, grace, now) {
                Claim::LeftBehind => remove(&engine, kind, &one, sweep).await,
                Claim::InUse => Fate::Kept,
                Claim::NotOurs => Fate::NotOurs,
            };
            found.push(Found { kind, name: one.name, fate });
        }
    }
    Ok(found)
}

/// Whose a thing is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Claim {
    LeftBehind,
    InUse,
    NotOurs,
}

fn claim(one: &Labelled, own: &Path, grace: Duration, now: i64) -> Claim {
    let id = one.labels.get(SPAWN_LABEL).and_then(|id| SpawnId::parse(id).ok());
    let folder =
        one.labels.get(FOLDER_LABEL).map(PathBuf::from).filter(|folder| folder.is_absolute());
    let (Some(id), Some(folder)) = (id, folder) else { return Claim::NotOurs };
    if folder != own && !is_gone(&folder) {
        return Claim::NotOurs;
    }
    let age = u64::try_from(now.saturating_sub(one.created)).unwrap_or(0);
    if one.created > 0 && age < grace.as_secs() {
        return Claim::InUse;
    }
    match SpawnDir::open(&folder, &id) {
        // Nobody can watch it any more, whatever it does.
        Err(DirectoryError::NotFound { .. }) => Claim::LeftBehind,
        Err(_) => Claim::InUse,
        Ok(dir) => match probe(&dir) {
            Ok(Standing::Running(_)) | Err(_) => Claim::InUse,
            Ok(
                Standing::NeverStarted
                | Standing::Abandoned
                | Standing::Ended(_)
                | Standing::Lost(_),
            ) => Claim::LeftBehind,
        },
    }
}

/// Says whether a folder of spawns is known not to be there any more: nobody else looks after what was in it. One that this
/// user may not look at is somebody else's.
fn is_gone(folder: &Path) -> bool {
    matches!(folder.symlink_metadata(), Err(error) if error.kind() == std::io::ErrorKind::NotFound)
}

async fn remove(engine: &Engine, kind: Kind, one: &Labelled, sweep: Sweep) -> Fate {
    if sweep == Sweep::Look {
        return Fate::Removable;
    }
    let removed = match kind {
        Kind::Container => engine.remove(&one.id).await,
        Kind::Network => engine.remove_network(&one.id).await,
        Kind::Volume => engine.remove_volume(&one.id).await,
    };
    match removed {
        Ok(()) => Fate::Removed,
        Err(error) => Fate::Stuck(words(&error)),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use ratchet_spawn::{Limits, Request, Stdin, abandon};

    use super::*;

    fn asked(folder: &Path) -> SpawnDir {
        let request = Request {
            id: SpawnId::parse("s1").unwrap(),
            argv: vec!["true".into()],
            cwd: "/".into(),
            stdin: Stdin::Null,
            limits: Limits::default(),
            needed_by: None,
        };
        SpawnDir::create(folder, &request).unwrap()
    }

    fn labelled(folder: &Path, created: i64) -> Labelled {
        let labels = [(SPAWN_LABEL, "s1".to_owned()), (FOLDER_LABEL, folder.display().to_string())];
        Labelled {
            id: "x".into(),
            name: "ratchet-s1".into(),
            labels: labels.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
            created,
        }
    }

    #[test]
    fn a_container_is_left_behind_when_it_is_old_and_nobody_holds_its_lock() {
        let folder = tempfile::tempdir().unwrap();
        let dir = asked(folder.path());
        let claimed =
            |created| claim(&labelled(folder.path(), created), folder.path(), GRACE, 1000);
        assert_eq!(claimed(950), Claim::InUse, "young");
        assert_eq!(claimed(900), Claim::LeftBehind);
        assert_eq!(abandon(&dir).unwrap(), Standing::Abandoned);
        assert_eq!(claimed(900), Claim::LeftBehind);
        std::fs::remove_dir_all(dir.path()).unwrap();
        assert_eq!(claimed(900), Claim::LeftBehind);
    }

    #[test]
    fn what_is_not_ours_is_never_touched() {
        let (own, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let claimed = |one: Labelled| claim(&one, own.path(), GRACE, 1000);
        let foreign = Labelled { labels: HashMap::new(), ..labelled(own.path(), 1) };
        assert_eq!(claimed(foreign), Claim::NotOurs);
        assert_eq!(claimed(labelled(Path::new("relative"), 1)), Claim::NotOurs);
        assert_eq!(claimed(labelled(other.path(), 1)), Claim::NotOurs);
        let gone = other.path().join("gone");
        assert_eq!(claimed(labelled(&gone, 1)), Claim::LeftBehind);
    }
}
