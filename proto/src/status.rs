//! Errors on the wire: a typed error becomes a gRPC status with an [`ErrorDetail`] in its details, and comes back whole.
//!
//! The details have the shape that gRPC tools know (`google.rpc.Status`), so they can be read without this crate too.

use std::fmt;

use prost::Message;
use prost_types::Any;
use tonic::metadata::{MetadataMap, MetadataValue};
use tonic::{Code, Status};

use crate::error::v1::ErrorDetail;
use crate::{PROTOCOL, PROTOCOL_HEADER};

/// The name under which the detail is packed.
const TYPE_URL: &str = "type.googleapis.com/ratchet.error.v1.ErrorDetail";

/// The code of an error that a server without our details gave: a proxy, or something that is no supervisor.
pub const FOREIGN: &str = "rpc-failed";

/// The code of a call that speaks another protocol.
pub const PROTOCOL_MISMATCH: &str = "protocol-mismatch";

/// What an error may say, in bytes. It travels in headers, and clients take sixteen kilobytes of those: the message once
/// as it is, where each byte may become three, and all of it in base 64.
const LONGEST_MESSAGE: usize = 2048;

/// What anything else of it may say, in bytes.
const LONGEST: usize = 1024;

/// How many causes it may have.
const MOST_CAUSES: usize = 4;

/// `google.rpc.Status`.
#[derive(Clone, PartialEq, Message)]
struct RpcStatus {
    #[prost(int32, tag = "1")]
    code: i32,
    #[prost(string, tag = "2")]
    message: String,
    #[prost(message, repeated, tag = "3")]
    details: Vec<Any>,
}

/// Lists what an error comes from, the nearest cause first: the causes of its detail.
pub fn causes<'a>(
    error: &'a (dyn std::error::Error + 'static),
) -> impl Iterator<Item = &'a (dyn std::error::Error + 'static)> {
    std::iter::successors(error.source(), |cause| cause.source())
}

/// Puts an error into a status.
#[must_use]
pub fn to_status(code: Code, detail: &ErrorDetail) -> Status {
    let detail = ErrorDetail {
        code: detail.code.clone(),
        message: shortened(&detail.message, LONGEST_MESSAGE),
        causes: detail
            .causes
            .iter()
            .take(MOST_CAUSES)
            .map(|cause| shortened(cause, LONGEST))
            .collect(),
        help: detail.help.as_deref().map(|help| shortened(help, LONGEST)),
    };
    let packed = Any { type_url: TYPE_URL.to_owned(), value: detail.encode_to_vec() };
    let message = shortened(&detail.message, LONGEST);
    let status = RpcStatus { code: code as i32, message: message.clone(), details: vec![packed] };
    Status::with_details(code, message, status.encode_to_vec().into())
}

/// Gives a text, cut off with dots if it is too long.
fn shortened(text: &str, longest: usize) -> String {
    if text.len() <= longest {
        return text.to_owned();
    }
    format!("{}…", &text[..text.floor_char_boundary(longest)])
}

/// Takes the error out of a status. One that carries none is described by its gRPC code.
#[must_use]
pub fn from_status(status: &Status) -> ErrorDetail {
    detail_of(status).unwrap_or_else(|| ErrorDetail {
        code: FOREIGN.to_owned(),
        message: match status.message() {
            "" => status.code().description().to_owned(),
            message => message.to_owned(),
        },
        causes: Vec::new(),
        help: None,
    })
}

/// Takes the error out of a status, if it carries one.
#[must_use]
pub fn detail_of(status: &Status) -> Option<ErrorDetail> {
    let details = RpcStatus::decode(status.details()).ok()?.details;
    let ours = details.iter().find(|detail| detail.type_url == TYPE_URL)?;
    ErrorDetail::decode(ours.value.as_slice()).ok()
}

/// Marks a call with the protocol that its caller speaks.
pub fn mark(metadata: &mut MetadataMap) {
    metadata.insert(PROTOCOL_HEADER, MetadataValue::from(PROTOCOL));
}

/// Who refuses a call, in the words of the refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Server {
    /// What it is, such as `the supervisor`.
    pub name: &'static str,
    /// How it is restarted once it was updated.
    pub restart: &'static str,
}

/// Refuses a call that speaks another protocol. One that does not say is taken at its word: it found this service by its
/// versioned name.
///
/// # Errors
/// A status with the code [`PROTOCOL_MISMATCH`].
pub fn check(metadata: &MetadataMap, server: Server) -> Result<(), Box<Status>> {
    let Some(said) = metadata.get(PROTOCOL_HEADER) else { return Ok(()) };
    let said = said.to_str().unwrap_or("?");
    if said.parse() == Ok(PROTOCOL) {
        return Ok(());
    }
    let detail = ErrorDetail {
        code: PROTOCOL_MISMATCH.to_owned(),
        message: format!("{} speaks protocol {PROTOCOL}, the caller protocol {said}", server.name),
        causes: Vec::new(),
        help: Some(format!("update the older of the two and {}", server.restart)),
    };
    Err(Box::new(to_status(Code::FailedPrecondition, &detail)))
}

impl fmt::Display for ErrorDetail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERVER: Server = Server { name: "the worker", restart: "restart it" };

    fn detail() -> ErrorDetail {
        ErrorDetail {
            code: "batch-not-found".to_owned(),
            message: "Batch 'shöp' not found".to_owned(),
            causes: vec!["one".to_owned(), "two".to_owned()],
            help: Some("'ratchet batch list' shows the batches".to_owned()),
        }
    }

    #[test]
    fn an_error_crosses_the_wire_whole() {
        let status = to_status(Code::NotFound, &detail());
        let headers = tonic::Status::into_http::<()>(status).into_parts().0.headers;
        let arrived = Status::from_header_map(&headers).unwrap();
        assert_eq!(arrived.code(), Code::NotFound);
        assert_eq!(from_status(&arrived), detail());
    }

    #[test]
    fn an_error_of_any_length_fits_into_headers() {
        let long = "ö".repeat(1 << 20);
        let detail = ErrorDetail {
            code: "c".to_owned(),
            message: long.clone(),
            causes: vec![long.clone(); 100],
            help: Some(long),
        };
        let status = to_status(Code::NotFound, &detail);
        let headers = tonic::Status::into_http::<()>(status).into_parts().0.headers;
        let size: usize =
            headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 32).sum();
        assert!(size < 16 * 1024, "{size}");
        assert!(from_status(&Status::from_header_map(&headers).unwrap()).message.ends_with('…'));
    }

    #[test]
    fn a_status_of_somebody_else_is_still_an_error() {
        let bare = from_status(&Status::unavailable("no route"));
        assert_eq!((bare.code.as_str(), bare.message.as_str()), (FOREIGN, "no route"));
        let odd = Status::with_details(Code::Internal, "", vec![9, 9, 9].into());
        assert_eq!(from_status(&odd).code, FOREIGN);
        assert!(!from_status(&odd).message.is_empty());
    }

    #[test]
    fn another_protocol_is_refused_with_what_to_do() {
        let mut metadata = MetadataMap::new();
        assert!(check(&metadata, SERVER).is_ok());
        mark(&mut metadata);
        assert!(check(&metadata, SERVER).is_ok());
        for odd in ["2", "one", ""] {
            metadata.insert(PROTOCOL_HEADER, odd.parse().unwrap());
            let status = check(&metadata, SERVER).unwrap_err();
            let detail = from_status(&status);
            assert_eq!(detail.code, PROTOCOL_MISMATCH);
            assert!(detail.help.is_some());
        }
    }
}
