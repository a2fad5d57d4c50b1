//! What an earlier call left behind: found, and gone on from. An agent is never started twice for one intent.

use ratchet_spawn::{Attachment, DirectoryError, Position, SpawnDir, Standing};

use crate::error::Error;
use crate::house::House;
use crate::record;
use crate::runtime::Placed;
use crate::store::inflight::Inflight;
use crate::store::layout::{RunHome, spawns_root};

/// What was found.
pub(crate) enum Found {
    /// No intent, or one that came to nothing.
    Nothing,
    /// A spawn that runs, has ended or was lost: it is watched to its end, judged and recorded.
    Spawn(Box<(Inflight, Placed)>),
}

/// Looks for the intent of an earlier call.
pub(crate) fn look(house: &House, home: &RunHome) -> Result<Found, Error> {
    let run = house.project.layout().run(home);
    let Some(inflight) = Inflight::read(&run)? else {
        return Ok(Found::Nothing);
    };
    let Some(dir) = open_dir(house, &inflight)? else {
        // The intent was written, and nothing after it: not even the spawn's directory.
        return forget(house, home, &inflight);
    };
    match ratchet_spawn::abandon(&dir).map_err(Error::spawn_failed)? {
        Standing::NeverStarted | Standing::Abandoned => forget(house, home, &inflight),
        Standing::Running(_) | Standing::Ended(_) | Standing::Lost(_) => {
            let placed = attach(dir)?;
            Ok(Found::Spawn(Box::new((inflight, placed))))
        }
    }
}

/// Takes back the intent of a spawn that could not be started.
pub(crate) fn give_up(house: &House, home: &RunHome, inflight: &Inflight) -> Result<(), Error> {
    if let Some(dir) = open_dir(house, inflight)? {
        match ratchet_spawn::abandon(&dir).map_err(Error::spawn_failed)? {
            Standing::NeverStarted | Standing::Abandoned => {}
            // It did start after all: the intent stays, and the next look finds the spawn.
            Standing::Running(_) | Standing::Ended(_) | Standing::Lost(_) => return Ok(()),
        }
    }
    record::forget(house, home, inflight)
}

fn forget(house: &House, home: &RunHome, inflight: &Inflight) -> Result<Found, Error> {
    record::forget(house, home, inflight)?;
    Ok(Found::Nothing)
}

fn open_dir(house: &House, inflight: &Inflight) -> Result<Option<SpawnDir>, Error> {
    let root = spawns_root(house.project.environment()).ok_or(Error::NoHome)?;
    let id = ratchet_spawn::SpawnId::parse(inflight.spawn.as_str()).map_err(Error::spawn_failed)?;
    match SpawnDir::open(&root, &id) {
        Ok(dir) => Ok(Some(dir)),
        Err(DirectoryError::NotFound { .. }) => Ok(None),
        Err(error) => Err(Error::spawn_failed(error)),
    }
}

/// Attaches from the first byte, so that everything that judging needs is seen again.
fn attach(dir: SpawnDir) -> Result<Placed, Error> {
    let attachment = Attachment::open(&dir, Position::START).map_err(Error::spawn_failed)?;
    Ok(Placed { dir, attachment, slot: None, shim: None })
}
