//! What a command prints.

use ratchet_spawn::{Frame, LONGEST_FRAME, Position, Stream};

use super::Malformed;
use crate::runtime::v1 as wire;

impl From<Stream> for wire::OutputStream {
    fn from(stream: Stream) -> Self {
        match stream {
            Stream::Stdout => Self::Stdout,
            Stream::Stderr => Self::Stderr,
        }
    }
}

impl From<Frame> for wire::Frame {
    fn from(frame: Frame) -> Self {
        let Frame { position, next, stream, time_us, bytes } = frame;
        Self {
            stream: wire::OutputStream::from(stream).into(),
            data: bytes.into(),
            offset: position.offset(),
            next_offset: next.offset(),
            time_us,
        }
    }
}

impl TryFrom<wire::Frame> for Frame {
    type Error = Malformed;

    fn try_from(frame: wire::Frame) -> Result<Self, Malformed> {
        let stream = match frame.stream() {
            wire::OutputStream::Unspecified => return Err(Malformed::unknown("a frame's stream")),
            wire::OutputStream::Stdout => Stream::Stdout,
            wire::OutputStream::Stderr => Stream::Stderr,
        };
        if frame.data.is_empty() || frame.data.len() > LONGEST_FRAME {
            return Err(Malformed::new(format!("a frame of {} bytes", frame.data.len())));
        }
        if frame.next_offset <= frame.offset {
            return Err(Malformed::new("a frame that ends before it begins"));
        }
        Ok(Self {
            position: Position::from_offset(frame.offset),
            next: Position::from_offset(frame.next_offset),
            stream,
            time_us: frame.time_us,
            bytes: frame.data.into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame() -> wire::Frame {
        Frame {
            position: Position::START,
            next: Position::from_offset(27),
            stream: Stream::Stderr,
            time_us: 7,
            bytes: vec![0, 255, b'\n'],
        }
        .into()
    }

    #[test]
    fn a_frame_crosses_the_wire_whole() {
        let arrived = Frame::try_from(frame()).unwrap();
        assert_eq!(wire::Frame::from(arrived), frame());
    }

    #[test]
    fn a_frame_that_no_spool_can_hold_is_refused() {
        let nowhere = wire::Frame { stream: 9, ..frame() };
        let empty = wire::Frame { data: bytes::Bytes::new(), ..frame() };
        let large = wire::Frame { data: vec![0; LONGEST_FRAME + 1].into(), ..frame() };
        let backwards = wire::Frame { next_offset: 8, ..frame() };
        for odd in [nowhere, empty, large, backwards] {
            assert!(Frame::try_from(odd.clone()).is_err(), "{odd:?}");
        }
    }
}
