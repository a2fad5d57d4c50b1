//! What runs or waits for room, in one place that everybody of this process may look at. It decides nothing and starts
//! nothing; a batch posts its step and the posting goes with the step, however that ends.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::store::layout::RunHome;

/// Whose step: the project's root and the run home.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct StepOf {
    /// The project's root.
    pub root: PathBuf,
    /// Whose run state.
    pub home: RunHome,
}

/// A step that runs or waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Active {
    /// Whose step.
    pub of: StepOf,
    /// How many have their turn before it; `None` if it waits for no room.
    pub before: Option<usize>,
}

/// The board of one supervisor.
#[derive(Debug)]
pub(crate) struct Board {
    posted: Mutex<BTreeSet<StepOf>>,
    count: watch::Sender<usize>,
    closed: CancellationToken,
}

/// A step on the board. Dropping it takes the step off.
#[derive(Debug)]
pub(crate) struct Posting {
    board: Arc<Board>,
    of: StepOf,
}

impl Board {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            posted: Mutex::default(),
            count: watch::Sender::new(0),
            closed: CancellationToken::new(),
        })
    }

    /// Posts a step; whoever posts holds the step's lock, so there is one at most.
    pub(crate) fn post(self: &Arc<Self>, root: &Path, home: &RunHome) -> Posting {
        let of = StepOf { root: root.to_owned(), home: home.clone() };
        let mut posted = self.posted();
        posted.insert(of.clone());
        self.count.send_replace(posted.len());
        Posting { board: Arc::clone(self), of }
    }

    /// Lists what is posted, in order.
    pub(crate) fn list(&self) -> Vec<StepOf> {
        self.posted().iter().cloned().collect()
    }

    /// Says whether a step is posted.
    pub(crate) fn has(&self, of: &StepOf) -> bool {
        self.posted().contains(of)
    }

    /// Lets no new step begin.
    pub(crate) fn close(&self) {
        self.closed.cancel();
    }

    /// Says whether no new step may begin.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed.is_cancelled()
    }

    /// Waits until no new step may begin.
    pub(crate) async fn closing(&self) {
        self.closed.cancelled().await;
    }

    /// Waits until nothing is posted.
    pub(crate) async fn cleared(&self) {
        let mut count = self.count.subscribe();
        count.wait_for(|count| *count == 0).await.expect("the board itself holds the sender");
    }

    fn posted(&self) -> MutexGuard<'_, BTreeSet<StepOf>> {
        self.posted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Posting {
    fn drop(&mut self) {
        let mut posted = self.board.posted();
        posted.remove(&self.of);
        self.board.count.send_replace(posted.len());
    }
}
