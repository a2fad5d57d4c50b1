//! The way out: a bounded queue, one thread that empties it, and what happens while the collector is away.
//!
//! Whoever makes a span only ever tries to put it into the queue. A full queue drops and counts; nothing here can delay or
//! fail a step.

mod disk;
mod encode;
mod send;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::logs::v1::LogRecord;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SpanData;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

pub(crate) use self::disk::DiskQueue;
use self::encode::Encoder;
use self::send::{Failure, Senders};
use crate::config::{Config, Signal};

/// The shortest and the longest pause before a collector that is away is tried again.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));

/// One thing on its way out.
#[derive(Debug)]
pub(crate) enum Piece {
    Span(Box<SpanData>),
    Log(Box<LogRecord>),
    Metrics(Box<ExportMetricsServiceRequest>),
}

impl Piece {
    fn signal(&self) -> Signal {
        match self {
            Self::Span(_) => Signal::Traces,
            Self::Log(_) => Signal::Logs,
            Self::Metrics(_) => Signal::Metrics,
        }
    }
}

/// How many pieces were given up, by signal.
#[derive(Debug, Default)]
pub(crate) struct Dropped([AtomicU64; 3]);

impl Dropped {
    fn add(&self, signal: Signal, more: u64) {
        self.0[signal as usize].fetch_add(more, Ordering::Relaxed);
    }

    /// Returns how many of a signal were given up so far.
    pub(crate) fn of(&self, signal: Signal) -> u64 {
        self.0[signal as usize].load(Ordering::Relaxed)
    }
}

/// The entrance. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Queue {
    pieces: mpsc::Sender<Piece>,
    dropped: Arc<Dropped>,
}

impl Queue {
    /// Puts a piece in, or drops and counts it.
    pub(crate) fn put(&self, piece: Piece) {
        if let Err(full) = self.pieces.try_send(piece) {
            let (mpsc::error::TrySendError::Full(piece) | mpsc::error::TrySendError::Closed(piece)) =
                full;
            self.dropped.add(piece.signal(), 1);
        }
    }
}

/// The thread that sends, as its owner holds it.
#[derive(Debug)]
pub(crate) struct Exporter {
    pub(crate) queue: Queue,
    pub(crate) dropped: Arc<Dropped>,
    deadline: watch::Sender<Option<Instant>>,
    over: std::sync::mpsc::Receiver<()>,
    thread: Option<JoinHandle<()>>,
}

impl Exporter {
    /// Starts the thread.
    pub(crate) fn start(
        config: &Config,
        resource: &Resource,
        disk: Option<DiskQueue>,
    ) -> std::io::Result<Self> {
        let (pieces, received) = mpsc::channel(config.queue);
        let (deadline, asked) = watch::channel(None);
        let (tell_over, over) = std::sync::mpsc::sync_channel(1);
        let dropped = Arc::new(Dropped::default());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let senders = runtime.block_on(async { Senders::new(config) });
        let work = Shipping {
            pieces: received,
            asked,
            senders,
            encoder: Encoder::new(resource),
            disk,
            dropped: Arc::clone(&dropped),
            batch: config.batch,
            delay: config.batch_delay,
            away: None,
        };
        let thread = std::thread::Builder::new().name("telemetry".to_owned()).spawn(move || {
            runtime.block_on(work.run());
            // Nobody may wait for it any more.
            let _nobody_waits = tell_over.send(());
        })?;
        let queue = Queue { pieces, dropped: Arc::clone(&dropped) };
        Ok(Self { queue, dropped, deadline, over, thread: Some(thread) })
    }

    /// Sends what is left and ends the thread; waits for so long at most. What is not sent by then goes to the disk, or is
    /// given up.
    pub(crate) fn finish(mut self, patience: Duration) {
        self.deadline.send_replace(Some(Instant::now() + patience));
        // A little more for the thread's own last words; it is left alone if it does not even get that far.
        let ended = self.over.recv_timeout(patience + Duration::from_millis(100)).is_ok();
        if let Some(thread) = self.thread.take().filter(|_| ended) {
            // A panic over there has been told by the panic itself.
            drop(thread.join());
        }
    }
}

/// What the thread does.
struct Shipping {
    pieces: mpsc::Receiver<Piece>,
    /// Set once the end is near: until when there is time.
    asked: watch::Receiver<Option<Instant>>,
    senders: Senders,
    encoder: Encoder,
    disk: Option<DiskQueue>,
    dropped: Arc<Dropped>,
    batch: usize,
    delay: Duration,
    /// Since the collector did not answer.
    away: Option<Away>,
}

/// A collector that did not answer.
struct Away {
    pause: Duration,
    again_at: Instant,
}

/// What wakes the thread.
enum Wake {
    Pieces(usize),
    Due,
    TryAgain,
    End,
}

impl Shipping {
    async fn run(mut self) {
        let mut waiting = Vec::with_capacity(self.batch);
        let mut due = None;
        loop {
            match self.wake(&mut waiting, due).await {
                Wake::Pieces(0) | Wake::End => break,
                Wake::Pieces(_) if waiting.len() < self.batch => {
                    due = due.or(Some(Instant::now() + self.delay));
                }
                Wake::Pieces(_) | Wake::Due => {
                    due = None;
                    self.ship(std::mem::take(&mut waiting)).await;
                }
                Wake::TryAgain => self.replay().await,
            }
        }
        while let Ok(piece) = self.pieces.try_recv() {
            waiting.push(piece);
        }
        self.ship(waiting).await;
    }

    async fn wake(&mut self, waiting: &mut Vec<Piece>, due: Option<Instant>) -> Wake {
        let room = self.batch.saturating_sub(waiting.len()).max(1);
        let again = self.again_at();
        let Self { pieces, asked, .. } = self;
        tokio::select! {
            biased;
            _ = asked.wait_for(Option::is_some) => Wake::End,
            () = until(due) => Wake::Due,
            count = pieces.recv_many(waiting, room) => Wake::Pieces(count),
            () = until(again) => Wake::TryAgain,
        }
    }

    /// When what is on disk is tried again; never, if there is nothing.
    fn again_at(&self) -> Option<Instant> {
        self.disk.as_ref().filter(|disk| !disk.is_empty())?;
        Some(self.away.as_ref().map_or_else(Instant::now, |away| away.again_at))
    }

    /// Sends what has come together, each signal by itself and all at the same time.
    async fn ship(&mut self, pieces: Vec<Piece>) {
        let parcels = self.encoder.encode(pieces, &self.senders);
        let keeps_order = self.disk.as_ref().is_some_and(|disk| !disk.is_empty());
        if self.is_away() || keeps_order {
            // What is older goes first.
            for parcel in parcels {
                self.keep(parcel);
            }
            if !self.is_away() {
                self.replay().await;
            }
            return;
        }
        let sent = self.senders.send_all(&parcels, &self.asked).await;
        for (parcel, outcome) in parcels.into_iter().zip(sent) {
            self.settle(parcel, outcome);
        }
    }

    fn is_away(&self) -> bool {
        self.disk.is_some() && self.away.as_ref().is_some_and(|away| Instant::now() < away.again_at)
    }

    fn settle(&mut self, parcel: Parcel, outcome: Result<(), Failure>) {
        match outcome {
            Ok(()) => self.is_back(),
            Err(Failure::Away) => {
                self.went_away();
                self.keep(parcel);
            }
            Err(Failure::Refused(why)) => {
                tracing::warn!(signal = parcel.signal.as_str(), why, "the collector refuses");
                self.dropped.add(parcel.signal, parcel.pieces);
            }
            Err(Failure::Unknown) => {
                tracing::warn!(
                    signal = parcel.signal.as_str(),
                    "the collector takes none of these"
                );
                self.senders.forget(parcel.signal);
            }
        }
    }

    fn is_back(&mut self) {
        if self.away.take().is_some() {
            tracing::info!("the collector answers again");
        }
    }

    fn went_away(&mut self) {
        let (shortest, longest) = PAUSES;
        let pause = match &self.away {
            None => {
                tracing::warn!(on_disk = self.disk.is_some(), "the collector does not answer");
                shortest
            }
            Some(away) => (away.pause * 2).min(longest),
        };
        self.away = Some(Away { pause, again_at: Instant::now() + pause });
    }

    /// Puts a parcel on disk; without one, or if that fails, it is given up.
    fn keep(&mut self, parcel: Parcel) {
        let (signal, pieces) = (parcel.signal, parcel.pieces);
        match self.disk.as_mut().map(|disk| disk.push(&parcel)) {
            Some(Ok(lost)) => {
                for (signal, pieces) in lost {
                    self.dropped.add(signal, pieces);
                }
            }
            Some(Err(error)) => {
                tracing::warn!(%error, "telemetry cannot be kept on disk");
                self.dropped.add(signal, pieces);
            }
            None => self.dropped.add(signal, pieces),
        }
    }

    /// Sends what is on disk, the oldest first, until nothing is left or the collector does not answer.
    async fn replay(&mut self) {
        while let Some(parcel) = self.disk.as_mut().and_then(DiskQueue::oldest) {
            let sent = self.senders.send(&parcel, &self.asked).await;
            if matches!(sent, Err(Failure::Away)) {
                return self.went_away();
            }
            if let Some(disk) = &mut self.disk {
                disk.pop();
            }
            self.settle(parcel, sent);
            if self.asked.borrow().is_some_and(|deadline| Instant::now() >= deadline) {
                return;
            }
        }
    }
}

/// One request, ready to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Parcel {
    pub(crate) signal: Signal,
    /// How many spans, records or exports are in it.
    pub(crate) pieces: u64,
    pub(crate) bytes: bytes::Bytes,
}

async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_queue_drops_what_comes_and_counts_it() {
        let (pieces, mut received) = mpsc::channel(2);
        let dropped = Arc::new(Dropped::default());
        let queue = Queue { pieces, dropped: Arc::clone(&dropped) };
        for _ in 0..5 {
            queue.put(Piece::Log(Box::default()));
        }
        assert_eq!((dropped.of(Signal::Logs), dropped.of(Signal::Traces)), (3, 0));
        assert!(received.try_recv().is_ok());
        queue.put(Piece::Log(Box::default()));
        drop(received);
        queue.put(Piece::Metrics(Box::default()));
        assert_eq!((dropped.of(Signal::Logs), dropped.of(Signal::Metrics)), (3, 1));
    }
}
