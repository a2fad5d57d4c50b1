//! What an earlier call left behind: found, and gone on from. An agent is never started twice for one intent.

use ratchet_engine::outcome::Verdict;
use ratchet_engine::permission::Escalation;
use ratchet_engine::settings::{Locus, Worker};
use ratchet_spawn::{Attachment, DirectoryError, Position, SpawnDir, Standing};

use crate::error::Error;
use crate::house::House;
use crate::record;
use crate::runtime::{self, Placed, StartError};
use crate::store::inflight::Inflight;
use crate::store::layout::RunHome;
use crate::watch::{Seen, strays_note};

/// What was found.
pub(crate) enum Found {
    /// No intent, or one that came to nothing.
    Nothing,
    /// A spawn that runs, has ended or was lost: it is watched to its end, judged and recorded.
    Spawn(Box<(Inflight, Placed)>),
    /// A spawn that was judged, and whose verdict was not recorded to its end.
    Judged(Box<(Inflight, Verdict)>),
    /// A spawn of which nothing is left: it is judged and recorded as lost.
    Gone(Box<(Inflight, Seen)>),
}

/// Looks for the intent of an earlier call.
pub(crate) fn look(house: &House, home: &RunHome) -> Result<Found, Error> {
    let run = house.project.layout().run(home);
    let Some(inflight) = Inflight::read(&run)? else {
        return Ok(Found::Nothing);
    };
    if let Some(verdict) = inflight.verdict.clone() {
        return Ok(Found::Judged(Box::new((inflight, verdict))));
    }
    let dir = match open_dir(&inflight)? {
        Some(dir) => dir,
        None => {
            end(house, home, &inflight)?;
            return Ok(Found::Gone(Box::new(gone(inflight))));
        }
    };
    match ratchet_spawn::abandon(&dir).map_err(Error::spawn_failed)? {
        Standing::NeverStarted | Standing::Abandoned => {
            end(house, home, &inflight)?;
            record::forget(house, home, &inflight)?;
            Ok(Found::Nothing)
        }
        Standing::Running(_) | Standing::Ended(_) | Standing::Lost(_) => {
            let placed = attach(house, home, &inflight, dir)?;
            Ok(Found::Spawn(Box::new((inflight, placed))))
        }
    }
}

/// Its directory was there before the intent was, so somebody removed it: nobody knows how far the command came. What
/// still carries its mark is ended, and the step is judged as lost.
fn gone(inflight: Inflight) -> (Inflight, Seen) {
    let folder = inflight.place.spawns.join(inflight.spawn.as_str());
    let mut reason = format!("its directory {} was removed", folder.display());
    let strays = spawn_id(&inflight)
        .and_then(|id| ratchet_spawn::end_marked(&id).map_err(Error::spawn_failed));
    match strays {
        Ok(strays) if strays.is_empty() => {}
        Ok(strays) => {
            reason.push_str("; ");
            reason.push_str(&strays_note(&strays));
        }
        Err(error) => reason.push_str(&format!("; its processes cannot be looked for: {error}")),
    }
    (inflight, Seen::lost(&reason))
}

/// Takes back the intent of a spawn that could not be started.
pub(crate) fn give_up(house: &House, home: &RunHome, inflight: &Inflight) -> Result<(), Error> {
    if let Some(dir) = open_dir(inflight)? {
        match ratchet_spawn::abandon(&dir).map_err(Error::spawn_failed)? {
            Standing::NeverStarted | Standing::Abandoned => {}
            // It did start after all: the intent stays, and the next look finds the spawn.
            Standing::Running(_) | Standing::Ended(_) | Standing::Lost(_) => return Ok(()),
        }
    }
    record::forget(house, home, inflight)
}

fn open_dir(inflight: &Inflight) -> Result<Option<SpawnDir>, Error> {
    let id = spawn_id(inflight)?;
    match SpawnDir::open(&inflight.place.spawns, &id) {
        Ok(dir) => Ok(Some(dir)),
        Err(DirectoryError::NotFound { .. }) => Ok(None),
        Err(error) => Err(Error::spawn_failed(error)),
    }
}

fn spawn_id(inflight: &Inflight) -> Result<ratchet_spawn::SpawnId, Error> {
    ratchet_spawn::SpawnId::parse(inflight.spawn.as_str()).map_err(Error::spawn_failed)
}

/// Attaches from the first byte, so that everything that judging needs is seen again.
fn attach(
    house: &House,
    home: &RunHome,
    inflight: &Inflight,
    dir: SpawnDir,
) -> Result<Placed, Error> {
    // A mirror that is gone is brought back before anybody looks whether there is one.
    let shim = runtime::found(
        &house.places()?,
        inflight.place.locus,
        &workers(house, home, inflight)?,
        &dir,
    )?;
    let attachment = Attachment::open(&dir, Position::START).map_err(Error::spawn_failed)?;
    Ok(Placed { dir, attachment, slot: None, shim, image: None, reach: None })
}

fn end(house: &House, home: &RunHome, inflight: &Inflight) -> Result<(), Error> {
    // Settings that name no worker any more leave nobody to be told.
    let workers = workers(house, home, inflight).unwrap_or_default();
    runtime::end(&house.places()?, inflight.place.locus, &workers, inflight.spawn.as_str());
    Ok(())
}

/// Gives the workers that the settings name now, where the spawn may be on one.
fn workers(house: &House, home: &RunHome, inflight: &Inflight) -> Result<Vec<Worker>, Error> {
    if inflight.place.locus != Locus::Remote {
        return Ok(Vec::new());
    }
    let batch = match home {
        RunHome::Batch(batch) => Some(batch),
        RunHome::Change(_) => None,
    };
    let settings = house.project.settings(batch, Escalation::Clamped)?;
    Ok(settings.remote_workers().map_err(|error| StartError::Remote(error.into()))?)
}
