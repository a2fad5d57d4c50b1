//! Who may call: on the socket, a process of this user or of a group that was named; elsewhere, whoever has the token.
//!
//! Both may have commands run as this user, so there is nothing to tell apart beyond that, but for one thing: only a
//! process of this user may bring its environment.

use ratchet_door::connection::Caller;
use ratchet_door::token::{self, Token};
use ratchet_proto::error::v1::ErrorDetail;
use ratchet_proto::status::{Server, check};
use rustix::process::{Gid, Uid};
use tonic::service::Interceptor;
use tonic::{Code, Request, Status};

/// How this server calls itself where it refuses.
const US: Server =
    Server { name: "the supervisor", restart: "restart the supervisor: 'ratchet supervisor stop'" };

/// Whoever calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Peer {
    /// A process of this user, on this machine.
    SameUser,
    /// A process of another user, on this machine.
    Group,
    /// Somebody with the token.
    Token,
}

/// Who may come in by one listener.
#[derive(Debug, Clone)]
pub(crate) enum Admit {
    /// Processes of this user, and of a group if one is named.
    Peers(Option<Gid>),
    /// Whoever has the token.
    Token(Token),
}

/// Looks at every call, whatever the service, before anything of it is read.
#[derive(Debug, Clone)]
pub(crate) struct Doorkeeper {
    admit: Admit,
    me: Uid,
}

impl Doorkeeper {
    pub(crate) fn new(admit: Admit) -> Self {
        Self { admit, me: rustix::process::geteuid() }
    }

    fn peer(&self, request: &Request<()>) -> Result<Peer, Refused> {
        match &self.admit {
            Admit::Peers(group) => {
                let caller = request.extensions().get::<Caller>();
                let process = caller.and_then(|caller| caller.process());
                let credentials =
                    process.and_then(|process| process.peer_cred).ok_or(Refused::NoPeer)?;
                if credentials.uid() == self.me.as_raw() {
                    return Ok(Peer::SameUser);
                }
                let uid = credentials.uid();
                let group = group.ok_or(Refused::OtherUser { uid })?;
                let member = credentials.gid() == group.as_raw()
                    || credentials.pid().is_some_and(|pid| is_in_group(pid, group));
                if member { Ok(Peer::Group) } else { Err(Refused::OtherUser { uid }) }
            }
            Admit::Token(token) => {
                token.admit(request.metadata()).map_err(Refused::Token)?;
                Ok(Peer::Token)
            }
        }
    }
}

impl Interceptor for Doorkeeper {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        let peer = self.peer(&request).map_err(Refused::status)?;
        check(request.metadata(), US).map_err(|status| *status)?;
        if let Some(caller) = request.extensions().get::<Caller>() {
            caller.admit();
        }
        request.extensions_mut().insert(peer);
        Ok(request)
    }
}

/// Says whether a process belongs to a group by one of its supplementary ones. The socket's own mode has held off
/// everybody else already, so a process that is gone by now loses nothing.
fn is_in_group(pid: i32, group: Gid) -> bool {
    let Ok(status) = std::fs::read_to_string(format!("/proc/{pid}/status")) else { return false };
    let groups = status.lines().find_map(|line| line.strip_prefix("Groups:")).unwrap_or_default();
    groups.split_ascii_whitespace().any(|word| word.parse() == Ok(group.as_raw()))
}

/// Why somebody may not come in.
enum Refused {
    NoPeer,
    OtherUser { uid: u32 },
    Token(token::Refused),
}

impl Refused {
    fn status(self) -> Status {
        let (grpc, code, message, help) = match self {
            Self::NoPeer => (
                Code::PermissionDenied,
                "not-allowed",
                "the caller's user cannot be told".to_owned(),
                "call over the supervisor's Unix socket",
            ),
            Self::OtherUser { uid } => (
                Code::PermissionDenied,
                "not-allowed",
                format!("this supervisor is of another user than the caller's (uid {uid})"),
                "start one of your own: 'ratchet supervisor run'; RATCHET_SUPERVISOR=embedded does \
                 without one",
            ),
            Self::Token(refused) => (
                Code::Unauthenticated,
                "bad-token",
                refused.to_string(),
                "give the token that the supervisor was started with",
            ),
        };
        tracing::warn!(code, message, "somebody was turned away");
        let detail = ErrorDetail {
            code: code.to_owned(),
            message,
            causes: Vec::new(),
            help: Some(help.to_owned()),
        };
        ratchet_proto::status::to_status(grpc, &detail)
    }
}

#[cfg(test)]
mod tests {
    use secrecy::SecretString;

    use super::*;

    #[test]
    fn whoever_has_the_token_comes_in_and_nobody_else() {
        let call = |header: &str| {
            let admit = Admit::Token(SecretString::from("s3cret-s3cret").into());
            let mut request = Request::new(());
            request.metadata_mut().insert("authorization", header.parse().unwrap());
            let admitted = Doorkeeper::new(admit).call(request)?;
            Ok::<_, Status>(*admitted.extensions().get::<Peer>().unwrap())
        };
        assert_eq!(call("Bearer s3cret-s3cret").unwrap(), Peer::Token);
        let status = call("Bearer s3cret-s3cre").unwrap_err();
        assert_eq!(status.code(), Code::Unauthenticated);
        assert!(!format!("{status:?}").contains("s3cret-s3cret"));
    }

    #[test]
    fn a_caller_whose_user_cannot_be_told_stays_outside() {
        let refused = Doorkeeper::new(Admit::Peers(None)).call(Request::new(())).unwrap_err();
        assert_eq!(refused.code(), Code::PermissionDenied);
    }

    #[test]
    fn a_process_is_known_by_its_supplementary_groups() {
        let pid = i32::try_from(std::process::id()).unwrap();
        for group in rustix::process::getgroups().unwrap() {
            assert!(is_in_group(pid, group));
        }
        assert!(!is_in_group(pid, Gid::from_raw(4_000_000_000)));
    }
}
