//! What happens while a step runs.

use bytes::Bytes;
use ratchet_engine::name::{AgentName, SpawnId, StepKey};
use ratchet_proto::supervisor::v1 as wire;
use ratchet_proto::supervisor::v1::step_event::Event;

use super::{FromWire, IntoWire, Malformed, kind_of_wire, kind_to_wire};
use crate::event::{Notice, NoticeLevel, Origin, Running, Started, StepEvent, Stream};

impl IntoWire for StepEvent {
    type Message = wire::StepEvent;

    fn into_wire(self) -> wire::StepEvent {
        let event = match self {
            StepEvent::Notice(notice) => Event::Notice(notice.into_wire()),
            StepEvent::Started(started) => Event::Started(started.into_wire()),
            StepEvent::Output { stream, bytes, next, .. } => Event::Output(wire::Output {
                stream: stream_to_wire(stream).into(),
                data: Bytes::from(bytes),
                next_offset: next,
            }),
            StepEvent::Ended => Event::Ended(wire::Ended {}),
        };
        wire::StepEvent { event: Some(event) }
    }
}

impl FromWire<wire::StepEvent> for StepEvent {
    fn from_wire(event: wire::StepEvent) -> Result<Self, Malformed> {
        Ok(match event.event.ok_or_else(|| Malformed::missing("an event"))? {
            Event::Notice(notice) => Self::Notice(Notice::from(notice)),
            Event::Started(started) => Self::Started(Started::from_wire(started)?),
            Event::Output(output) => {
                let stream = match output.stream() {
                    wire::OutputStream::Stderr => Stream::Stderr,
                    wire::OutputStream::Stdout | wire::OutputStream::Unspecified => Stream::Stdout,
                };
                Self::Output {
                    stream,
                    offset: None,
                    next: output.next_offset,
                    bytes: output.data.into(),
                }
            }
            Event::Ended(wire::Ended {}) => Self::Ended,
        })
    }
}

fn stream_to_wire(stream: Stream) -> wire::OutputStream {
    match stream {
        Stream::Stdout => wire::OutputStream::Stdout,
        Stream::Stderr => wire::OutputStream::Stderr,
    }
}

impl IntoWire for Notice {
    type Message = wire::Notice;

    fn into_wire(self) -> wire::Notice {
        let level = match self.level {
            NoticeLevel::Info => wire::NoticeLevel::Info,
            NoticeLevel::Warning => wire::NoticeLevel::Warning,
        };
        wire::Notice { level: level.into(), text: self.text }
    }
}

impl From<wire::Notice> for Notice {
    fn from(notice: wire::Notice) -> Self {
        let level = match notice.level() {
            wire::NoticeLevel::Info => NoticeLevel::Info,
            // A level that is not known matters as much as any.
            wire::NoticeLevel::Warning | wire::NoticeLevel::Unspecified => NoticeLevel::Warning,
        };
        Self { level, text: notice.text }
    }
}

impl IntoWire for Started {
    type Message = wire::Started;

    fn into_wire(self) -> wire::Started {
        let (kind, agent) = match self.what {
            Running::Agent { kind, agent } => (kind_to_wire(kind), agent),
            Running::Proof => (wire::StepKind::Unspecified, None),
        };
        wire::Started {
            spawn: self.spawn.to_string(),
            key: self.key.to_string(),
            kind: kind.into(),
            agent: agent.map(|agent| agent.to_string()),
            reattached: self.origin == Origin::Reattached,
        }
    }
}

impl FromWire<wire::Started> for Started {
    fn from_wire(started: wire::Started) -> Result<Self, Malformed> {
        let spawn = SpawnId::parse(&started.spawn)
            .map_err(|error| Malformed::new(format!("a spawn's id: {error}")))?;
        let what = match kind_of_wire(started.kind()) {
            Some(kind) => {
                Running::Agent { kind, agent: started.agent.as_deref().map(AgentName::new) }
            }
            None => Running::Proof,
        };
        let origin = if started.reattached { Origin::Reattached } else { Origin::Fresh };
        Ok(Self { spawn, key: StepKey::from_text(&started.key), what, origin })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratchet_engine::transition::StepKind;

    #[test]
    fn events_cross_the_wire_whole() {
        let started = |what, origin| {
            StepEvent::Started(Started {
                spawn: SpawnId::parse("0192").unwrap(),
                key: StepKey::from_text("add-cart"),
                what,
                origin,
            })
        };
        let claude = Some(AgentName::new("claude"));
        let agent = Running::Agent { kind: StepKind::Verify, agent: claude };
        for event in [
            StepEvent::Notice(Notice { level: NoticeLevel::Warning, text: "hm".to_owned() }),
            started(agent, Origin::Fresh),
            started(Running::Proof, Origin::Reattached),
            StepEvent::Output {
                stream: Stream::Stderr,
                bytes: vec![0, 255, b'\n'],
                offset: None,
                next: 77,
            },
            StepEvent::Ended,
        ] {
            let sent = event.clone().into_wire();
            assert_eq!(StepEvent::from_wire(sent), Ok(event));
        }
        assert!(StepEvent::from_wire(wire::StepEvent { event: None }).is_err());
    }
}
