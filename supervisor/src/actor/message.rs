//! Every message between the actors, in one file. Who sends what to whom reads from top to bottom.

use std::convert::Infallible;

use kameo::actor::ActorRef;
use ratchet_engine::outcome::StepResult;
use ratchet_engine::report::ApplyReport;
use tokio::sync::{mpsc, oneshot};

use super::batch::Batch;
use crate::error::Error;
use crate::event::EventSink;
use crate::request::{ApplyRequest, ChangeStepRequest, StopReason};
use crate::runtime::{Placed, Prepared};
use crate::store::layout::RunHome;
use crate::watch::Seen;

/// Door → root: who serves this run home?
pub(crate) struct Serve(pub(crate) RunHome);

/// The batch that serves a run home.
#[derive(kameo::Reply)]
pub(crate) struct Served(pub(crate) ActorRef<Batch>);

/// Door → root, root → every batch, batch → its step: stop what runs.
#[derive(Clone)]
pub(crate) struct Stop {
    pub(crate) by: StopReason,
    /// Nothing is ever sent: whoever has asked its shim, or has none to ask, drops it, and the door knows by the last.
    pub(crate) pending: mpsc::Sender<Infallible>,
}

/// Door → batch: run the next step of the batch.
pub(crate) struct Apply {
    pub(crate) request: ApplyRequest,
    pub(crate) caller: Caller,
}

/// Door → batch: run one forced transition of a change on its own.
pub(crate) struct RunChange {
    pub(crate) request: ChangeStepRequest,
    pub(crate) caller: Caller,
}

/// Who waits for a step: hears its events, and gets its report.
pub(crate) struct Caller {
    pub(crate) events: EventSink,
    pub(crate) reply: oneshot::Sender<Result<Report, Error>>,
}

/// What a caller gets in the end.
#[derive(Debug)]
pub(crate) enum Report {
    /// Of a batch.
    Applied(ApplyReport),
    /// Of a change on its own.
    Stepped(StepResult),
}

/// Batch → runtime actor: place this order, as soon as there is room.
pub(crate) struct Place {
    pub(crate) prepared: Box<Prepared>,
    pub(crate) reply_to: ActorRef<Batch>,
}

/// Runtime actor → batch: how placing went.
pub(crate) struct PlacedReply {
    pub(crate) outcome: Result<Placed, Error>,
}

/// Step → batch: the command and everything it started are gone.
pub(crate) struct StepEnded(pub(crate) Seen);

/// Watcher → step: the same, one level below.
pub(crate) struct Watched(pub(crate) Seen);
