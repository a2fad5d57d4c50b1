//! Packs between a stream of messages, which waits for a line, and git, which waits for a disk: each on its own side, with a
//! few pieces between them.

use std::io::{self, Read};

use bytes::{Buf as _, Bytes};
use ratchet_proto::convert::Malformed;
use ratchet_proto::runtime::v1 as wire;
use ratchet_proto::runtime::v1::put_snapshot_request::Message;
use ratchet_workspace::Pack;
use tokio::sync::mpsc;
use tonic::{Status, Streaming};

use crate::error::WorkerError;

/// The longest piece, in bytes.
const PIECE: usize = 64 * 1024;

/// How many pieces may be between the two.
pub(crate) const BETWEEN: usize = 8;

/// What passes between the two. Without the last one the pack was broken off.
enum Passing {
    Piece(Bytes),
    Broken(io::Error),
    Whole,
}

/// The end into which pieces go.
pub(crate) struct Inlet(mpsc::Sender<Passing>);

/// The end at which a pack is read. Blocks.
pub(crate) struct Outlet {
    passing: mpsc::Receiver<Passing>,
    piece: Bytes,
    received: u64,
    whole: bool,
}

/// Makes the two ends.
pub(crate) fn pipe() -> (Inlet, Outlet) {
    let (inlet, passing) = mpsc::channel(BETWEEN);
    (Inlet(inlet), Outlet { passing, piece: Bytes::new(), received: 0, whole: false })
}

impl Inlet {
    /// Passes on what comes, to the end. A reader that has gone away has had enough, and says itself why.
    pub(crate) async fn fill(
        self,
        mut from: Streaming<wire::PutSnapshotRequest>,
    ) -> Result<(), Malformed> {
        loop {
            let passing = match from.message().await {
                Ok(Some(wire::PutSnapshotRequest { message: Some(Message::Chunk(piece)) })) => {
                    if piece.len() > PIECE {
                        return Err(Malformed::new(format!("a piece of {} bytes", piece.len())));
                    }
                    Passing::Piece(piece)
                }
                Ok(Some(_)) => return Err(Malformed::new("a pack begins once")),
                Ok(None) => Passing::Whole,
                Err(status) => Passing::Broken(io::Error::other(status.message().to_owned())),
            };
            let is_last = !matches!(passing, Passing::Piece(_));
            if self.0.send(passing).await.is_err() || is_last {
                return Ok(());
            }
        }
    }
}

impl Outlet {
    /// Says how many bytes were read.
    pub(crate) fn received(&self) -> u64 {
        self.received
    }
}

impl Read for Outlet {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.piece.is_empty() && !self.whole {
            match self.passing.blocking_recv() {
                Some(Passing::Piece(piece)) => self.piece = piece,
                Some(Passing::Whole) => self.whole = true,
                Some(Passing::Broken(error)) => return Err(error),
                None => return Err(io::ErrorKind::UnexpectedEof.into()),
            }
        }
        let count = self.piece.len().min(buffer.len());
        self.piece.copy_to_slice(&mut buffer[..count]);
        self.received += count as u64;
        Ok(count)
    }
}

/// Sends a pack in pieces. Blocks. A caller that goes away ends it.
pub(crate) fn send(mut pack: Pack, to: &mpsc::Sender<Result<wire::GetSnapshotResponse, Status>>) {
    let mut buffer = vec![0; PIECE];
    loop {
        match pack.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => {
                let chunk = Bytes::copy_from_slice(&buffer[..count]);
                if to.blocking_send(Ok(wire::GetSnapshotResponse { chunk })).is_err() {
                    return;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                tracing::warn!(%error, "a pack broke off");
                break;
            }
        }
    }
    // Half a pack must not look like a whole one.
    if let Err(error) = pack.finish() {
        let _gone = to.blocking_send(Err(WorkerError::from(error).into()));
    }
}
