//! What an attachment told, from its beginning to its end or to where the line was cut.

use ratchet_proto::runtime::v1 as wire;
use ratchet_proto::runtime::v1::attach_response::Event;
use ratchet_proto::runtime::v1::ended::{End, Result as Came};
use ratchet_spawn::ExitRecord;
use tonic::Status;

use crate::world::{Client, World, id};

/// What a supervisor has of a session. It goes on from where it is.
#[derive(Debug, Clone, Default)]
pub(crate) struct Told {
    pub(crate) output: Vec<u8>,
    pub(crate) errors: Vec<u8>,
    /// Where each frame begins, and how much of both streams came before it.
    pub(crate) frames: Vec<(u64, usize)>,
    pub(crate) entries: Vec<String>,
    /// The sequence numbers of the entries.
    pub(crate) sequences: Vec<u64>,
    pub(crate) heartbeats: usize,
    pub(crate) offset: u64,
    pub(crate) ended: Option<wire::Ended>,
}

impl Told {
    /// Attaches, and listens to the end.
    pub(crate) async fn whole(client: &mut Client, name: &str) -> Self {
        let mut told = Self::default();
        told.go_on(client, name).await.unwrap();
        told
    }

    /// Attaches where it is, and listens to the end or to the first error.
    pub(crate) async fn go_on(&mut self, client: &mut Client, name: &str) -> Result<(), Status> {
        self.listen(client, name, |_| Listen::On).await
    }

    /// The same, until somebody has had enough.
    pub(crate) async fn listen(
        &mut self,
        client: &mut Client,
        name: &str,
        mut enough: impl FnMut(&Self) -> Listen,
    ) -> Result<(), Status> {
        let sequence = self.sequences.last().copied().unwrap_or(0);
        let request = wire::AttachRequest { id: id(name), offset: self.offset, sequence };
        let mut events = client.attach(request).await?.into_inner();
        while let Some(response) = events.message().await? {
            self.hear(response.event.unwrap());
            if enough(self) == Listen::Enough {
                return Ok(());
            }
        }
        if self.ended.is_some() { Ok(()) } else { Err(Status::unknown("it ended without an end")) }
    }

    fn hear(&mut self, event: Event) {
        assert!(self.ended.is_none(), "more after the end: {event:?}");
        match event {
            Event::Frame(frame) => {
                assert!(frame.offset >= self.offset, "a frame that was told before");
                self.frames.push((frame.offset, self.output.len() + self.errors.len()));
                match frame.stream() {
                    wire::OutputStream::Stderr => self.errors.extend_from_slice(&frame.data),
                    _ => self.output.extend_from_slice(&frame.data),
                }
                self.offset = frame.next_offset;
            }
            Event::Entry(entry) => {
                self.sequences.push(entry.sequence);
                self.entries.push(String::from_utf8(entry.line.to_vec()).unwrap());
            }
            Event::Heartbeat(_) => self.heartbeats += 1,
            Event::Ended(ended) => self.ended = Some(ended),
            Event::OutputGone(gone) => panic!("{gone:?}"),
        }
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.output).into_owned()
    }

    /// How the command ended, as the shim recorded it.
    #[track_caller]
    pub(crate) fn record(&self) -> ExitRecord {
        match self.ended.clone().unwrap().end.unwrap() {
            End::Record(record) => record.try_into().unwrap(),
            other => panic!("no record: {other:?}"),
        }
    }

    /// Says whether its worker was killed between the record and the start: the id is used up, and nothing has run.
    pub(crate) fn was_abandoned(&self) -> bool {
        matches!(self.ended.clone().unwrap().end, Some(End::Abandoned(_)))
    }

    /// Sees that a command of which this was told did nothing.
    #[track_caller]
    pub(crate) fn assert_nothing_ran(&self, world: &World, name: &str) {
        let starts = world.lines("starts").iter().filter(|line| *line == name).count();
        let result = self.ended.clone().unwrap().result;
        assert_eq!((starts, result, self.text().as_str()), (0, None, ""));
        assert!(self.entries.is_empty(), "{:?}", self.entries);
    }

    /// The snapshot that it left.
    #[track_caller]
    pub(crate) fn snapshot(&self) -> String {
        match self.ended.clone().unwrap().result.unwrap() {
            Came::Snapshot(id) => id,
            Came::ResultGone(gone) => panic!("no result: {gone:?}"),
        }
    }

    /// Entries are numbered from 1, each once.
    #[track_caller]
    pub(crate) fn assert_in_order(&self) {
        let expected: Vec<u64> = (1..).take(self.sequences.len()).collect();
        assert_eq!(self.sequences, expected);
    }
}

/// Whether to listen on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Listen {
    On,
    Enough,
}
