//! Every message between the actors, in one file. Who sends what to whom reads from top to bottom.
//!
//! Work goes down: door → root → project → batch → step. Each hop is one `try_send`, so that a full mailbox is an answer
//! and never a wait. Word of what is over goes up; nobody above ever waits for somebody below, so it always arrives.

use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::Arc;

use kameo::actor::{ActorId, ActorRef};
use ratchet_engine::outcome::StepResult;
use ratchet_engine::report::ApplyReport;
use ratchet_telemetry::TraceSpan;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tracing::Span;

use super::batch::Batch;
use super::board::StepOf;
use crate::error::Error;
use crate::event::EventSink;
use crate::house::House;
use crate::request::{ApplyRequest, ChangeStepRequest, StopReason};
use crate::runtime::{Placed, Prepared};
use crate::store::layout::RunHome;
use crate::watch::Seen;

/// Door → root → project → batch: something to do.
pub(crate) struct Work {
    /// The project as this caller sees it: its environment is the caller's.
    pub(crate) house: Arc<House>,
    /// Whose run state.
    pub(crate) home: RunHome,
    /// What to do.
    pub(crate) ask: Ask,
    /// Who waits for it.
    pub(crate) caller: Caller,
    /// What it is part of: kameo begins a new trace for each handler, so it travels along.
    pub(crate) span: Span,
}

/// What a batch can be asked to do.
pub(crate) enum Ask {
    /// Run the next step of the batch.
    Apply(ApplyRequest),
    /// Run one forced transition of a change on its own.
    Change(ChangeStepRequest),
    /// Finish what an earlier process began, if it began anything.
    Recover,
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
    /// There was nothing to recover, or somebody else has taken the step over.
    Nothing,
}

/// Door → root → project → batch → step: stop what runs.
#[derive(Clone)]
pub(crate) struct Stop {
    /// Whose step; `None`: every step.
    pub(crate) of: Option<(PathBuf, RunHome)>,
    pub(crate) by: StopReason,
    /// Nothing is ever sent: whoever has asked its shim, or has none to ask, drops it, and the door knows by the last.
    pub(crate) pending: mpsc::Sender<Infallible>,
}

/// Batch → project → root: so many pieces of work are answered.
pub(crate) struct Settled<Key> {
    pub(crate) key: Key,
    pub(crate) who: ActorId,
    pub(crate) pieces: usize,
}

/// Batch → runtime actor: place this order, as soon as there is room.
pub(crate) struct Place {
    pub(crate) house: Arc<House>,
    pub(crate) of: StepOf,
    pub(crate) prepared: Box<Prepared>,
    pub(crate) reply_to: ActorRef<Batch>,
    /// Hears that the order has to wait.
    pub(crate) events: EventSink,
    /// Nobody wants it any more.
    pub(crate) withdrawn: CancellationToken,
    /// As in [`Work`].
    pub(crate) span: Span,
    /// What waiting and starting are told below.
    pub(crate) trace: TraceSpan,
}

/// Runtime actor → batch: how placing went.
pub(crate) struct PlacedReply {
    pub(crate) outcome: Result<Placed, Error>,
}

/// Step → batch: the command and everything it started are gone.
pub(crate) struct StepEnded(pub(crate) Seen);

/// Watcher → step: the same, one level below.
pub(crate) struct Watched(pub(crate) Seen);

impl Work {
    /// Gives work back undone.
    pub(crate) fn refuse(self, error: Error) {
        self.caller.answer(Err(error));
    }
}

impl Caller {
    pub(crate) fn answer(self, report: Result<Report, Error>) {
        // A caller that went away hears nothing and changes nothing.
        drop(self.reply.send(report));
    }
}
