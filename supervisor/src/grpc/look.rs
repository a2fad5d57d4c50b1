//! Calls that look on: a batch's status whenever it changes, and a spawn's output. They change nothing, and end with the
//! call.

use ratchet_engine::name::BatchName;
use ratchet_proto::supervisor::v1 as wire;
use ratchet_proto::supervisor::v1::watch_response;
use ratchet_spawn::{AttachError, Event, Folders, SpawnDir};
use tokio_util::sync::CancellationToken;
use tonic::Status;

use super::convert::IntoWire as _;
use super::feed::Queue;
use super::refusal::{deaf, detail, leaving};
use crate::error::Error;
use crate::event::StepEvent;
use crate::follow::{self, Start};
use crate::news;
use crate::project::Project;
use crate::store::inflight::Inflight;

/// Reads the whole status of a batch, and what runs.
pub(super) fn status(project: &Project, batch: &BatchName) -> Result<wire::BatchStatus, Error> {
    let status = project.status(batch)?;
    let latest = project.latest_entry(batch)?.map(|entry| wire::JournalEntry {
        at: entry.at.into_owned(),
        key: entry.change.into_owned(),
        kind: entry.kind_text.into_owned(),
        message: entry.message.into_owned(),
    });
    let running = project.running(batch)?.map(|current| current.into_wire());
    Ok(wire::BatchStatus { running, latest, ..status.into_wire() })
}

/// Sends the status of a batch, and again whenever it is another one. A client that reads slowly gets the latest.
pub(super) async fn watch(
    project: Project,
    batch: BatchName,
    ending: CancellationToken,
    queue: Queue<wire::WatchResponse>,
) {
    let mut ears = match Folders::new() {
        Ok(ears) => ears,
        Err(error) => return drop(queue.send(Err(deaf(&error))).await),
    };
    let mut last = None;
    loop {
        let Ok(room) = queue.reserve().await else { return };
        // Listened to before it is read, so that a change in between is heard.
        if let Err(error) = ears.listen_to(news::folders(project.layout(), [&batch])) {
            return room.send(Err(deaf(&error)));
        }
        let looked = (project.clone(), batch.clone());
        let read = tokio::task::spawn_blocking(move || status(&looked.0, &looked.1)).await;
        let now = match read {
            Ok(Ok(status)) => watch_response::Message::Status(status),
            Ok(Err(error)) => watch_response::Message::Error(detail(&error)),
            Err(_) => return room.send(Err(Status::internal("the status could not be read"))),
        };
        if last.as_ref() == Some(&now) {
            drop(room);
        } else {
            last = Some(now.clone());
            room.send(Ok(wire::WatchResponse { message: Some(now) }));
        }
        tokio::select! {
            () = ears.news() => {}
            () = queue.closed() => return,
            () = ending.cancelled() => return drop(queue.send(Err(leaving())).await),
        }
    }
}

/// Sends the output of a spawn, until it is over.
pub(super) async fn attach(
    dir: SpawnDir,
    running: Option<Inflight>,
    from: Start,
    ending: CancellationToken,
    queue: Queue<wire::AttachResponse>,
) {
    let mut attachment = match follow::attach(&dir, from) {
        Ok(attachment) => attachment,
        Err(error) => return drop(queue.send(Err(Error::from(error).into())).await),
    };
    let said = |event: StepEvent| Ok(wire::AttachResponse { event: Some(event.into_wire()) });
    if let Some(inflight) = running {
        let started = StepEvent::Started(follow::started(&inflight));
        if queue.send(said(started)).await.is_err() {
            return;
        }
    }
    loop {
        let event = tokio::select! {
            event = attachment.next() => event,
            () = queue.closed() => return,
            () = ending.cancelled() => return drop(queue.send(Err(leaving())).await),
        };
        let message = match event {
            Ok(Event::Frame(frame)) => said(StepEvent::output(frame)),
            Ok(Event::Ended(_) | Event::Lost(_) | Event::Abandoned) => {
                return drop(queue.send(said(StepEvent::Ended)).await);
            }
            Err(AttachError::Spool(error)) => said(StepEvent::Notice(follow::unreadable(&error))),
            Err(error @ AttachError::Watch(_)) => {
                Err(Error::from(follow::FollowError::from(error)).into())
            }
        };
        let last = message.is_err();
        if queue.send(message).await.is_err() || last {
            return;
        }
    }
}
