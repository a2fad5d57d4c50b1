//! A request for a command, checked: past this file nothing of it has to be doubted. Pure.

mod placeholder;

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;

use bytes::Bytes;
use prost::Message as _;
use ratchet_proto::convert::Malformed;
use ratchet_proto::runtime::v1 as wire;
use ratchet_spawn::{Limits, SpawnId};
use ratchet_workspace::SnapshotId;
use sha2::{Digest as _, Sha256};

use self::placeholder::Placeholders;
pub(crate) use self::placeholder::{Places, Wants};
use crate::name::{InnerPath, Label, ProjectName};

/// How many of each there may be.
const MOST_FILES: usize = 64;
const MOST_RELAYS: usize = 16;
const MOST_LABELS: usize = 16;
const MOST_WORDS: usize = 65_536;

/// One command, as it was asked for.
#[derive(Debug)]
pub(crate) struct Order {
    pub(crate) id: SpawnId,
    pub(crate) project: ProjectName,
    pub(crate) snapshot: SnapshotId,
    /// Of the whole request, in hexadecimal: a second request is the same if this is.
    pub(crate) digest: String,
    pub(crate) labels: Vec<Label>,
    pub(crate) cwd: Option<InnerPath>,
    pub(crate) limits: Limits,
    /// The paths of the files that are relayed.
    pub(crate) relays: Vec<InnerPath>,
    /// Which paths the request needs.
    pub(crate) wants: Wants,
    placeholders: Placeholders,
    /// Everything in which placeholders are replaced.
    texts: Texts,
}

/// The parts of a request that may name paths of the worker.
pub(crate) struct Texts {
    pub(crate) argv: Vec<OsString>,
    pub(crate) variables: Vec<(OsString, OsString)>,
    pub(crate) stdin: Option<Bytes>,
    /// Names, and what is in them.
    pub(crate) files: Vec<(InnerPath, Bytes)>,
    /// Paths below the workspace, and what is in them.
    pub(crate) workspace_files: Vec<(InnerPath, Bytes)>,
    /// What the relayed files hold at first, in their order. Placeholders in it are left alone: it is somebody's journal.
    pub(crate) initial: Vec<Bytes>,
}

impl TryFrom<wire::SpawnRequest> for Order {
    type Error = Malformed;

    fn try_from(request: wire::SpawnRequest) -> Result<Self, Malformed> {
        let digest = hex_of(&request.encode_to_vec());
        let placeholders = Placeholders::try_from(request.placeholders)?;
        let relays = bounded("relays", request.relays, MOST_RELAYS)?;
        let mut paths = Vec::new();
        let mut initial = Vec::new();
        for relay in relays {
            let path = InnerPath::parse(&relay.path)?;
            if paths.contains(&path) {
                return Err(Malformed::new(format!("{path} is to be relayed twice")));
            }
            paths.push(path);
            initial.push(relay.initial);
        }
        let labels = bounded("labels", request.labels, MOST_LABELS)?;
        Ok(Self {
            id: spawn_id(&request.id)?,
            project: ProjectName::parse(&request.project)?,
            snapshot: snapshot_id(&request.snapshot)?,
            digest,
            labels: labels.into_iter().map(Label::try_from).collect::<Result<_, _>>()?,
            cwd: match request.cwd.as_str() {
                "" => None,
                path => Some(InnerPath::parse(path)?),
            },
            limits: request.limits.unwrap_or_default().into(),
            relays: paths,
            wants: placeholders.wants(),
            placeholders,
            texts: Texts {
                argv: argv(request.argv)?,
                variables: request
                    .environment
                    .into_iter()
                    .map(variable)
                    .collect::<Result<_, _>>()?,
                stdin: request.stdin,
                files: files("files", request.files, InnerPath::parse_name)?,
                workspace_files: files(
                    "workspace files",
                    request.workspace_files,
                    InnerPath::parse,
                )?,
                initial,
            },
        })
    }
}

impl Order {
    /// Gives what is to be run and written, with real paths in the place of every placeholder.
    pub(crate) fn fill(&self, places: &Places<'_>) -> Texts {
        let Texts { argv, variables, stdin, files, workspace_files, initial } = &self.texts;
        let filled = |bytes: &Bytes| Bytes::from(self.placeholders.replaced(bytes, places));
        let word = |word: &OsString| {
            let bytes = Bytes::from(word.clone().into_vec());
            OsString::from_vec(self.placeholders.replaced(&bytes, places))
        };
        let written = |files: &[(InnerPath, Bytes)]| {
            files.iter().map(|(path, content)| (path.clone(), filled(content))).collect()
        };
        Texts {
            argv: argv.iter().map(word).collect(),
            variables: variables.iter().map(|(name, value)| (name.clone(), word(value))).collect(),
            stdin: stdin.as_ref().map(filled),
            files: written(files),
            workspace_files: written(workspace_files),
            initial: initial.clone(),
        }
    }
}

/// Parses the id of a spawn.
pub(crate) fn spawn_id(text: &str) -> Result<SpawnId, Malformed> {
    SpawnId::parse(text).map_err(|error| Malformed::new(error.to_string()))
}

/// Parses the id of a snapshot.
pub(crate) fn snapshot_id(text: &str) -> Result<SnapshotId, Malformed> {
    text.parse().map_err(|_| Malformed::new("a snapshot's name is not the name of a git object"))
}

fn argv(words: Vec<Bytes>) -> Result<Vec<OsString>, Malformed> {
    if words.is_empty() {
        return Err(Malformed::missing("the command"));
    }
    let words = bounded("arguments", words, MOST_WORDS)?;
    let whole = |word: Bytes| match word.contains(&0) {
        true => Err(Malformed::new("an argument holds a zero byte")),
        false => Ok(OsString::from_vec(word.into())),
    };
    words.into_iter().map(whole).collect()
}

fn variable(variable: wire::Variable) -> Result<(OsString, OsString), Malformed> {
    let wire::Variable { name, value } = variable;
    if name.is_empty() || name.contains(&b'=') || name.contains(&0) || value.contains(&0) {
        return Err(Malformed::new("a variable that no environment can hold"));
    }
    Ok((OsString::from_vec(name.into()), OsString::from_vec(value.into())))
}

fn files(
    what: &str,
    files: Vec<wire::File>,
    parse: impl Fn(&str) -> Result<InnerPath, Malformed>,
) -> Result<Vec<(InnerPath, Bytes)>, Malformed> {
    let files = bounded(what, files, MOST_FILES)?;
    files.into_iter().map(|file| Ok((parse(&file.path)?, file.content))).collect()
}

fn bounded<T>(what: &str, list: Vec<T>, most: usize) -> Result<Vec<T>, Malformed> {
    if list.len() > most {
        return Err(Malformed::new(format!("{} {what}, and there may be {most}", list.len())));
    }
    Ok(list)
}

/// Gives the SHA-256 of some bytes in hexadecimal.
pub(crate) fn hex_of(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

/// Shows how much there is of each: what is in them may be secret.
impl std::fmt::Debug for Texts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Texts")
            .field("program", &self.argv.first())
            .field("variables", &self.variables.iter().map(|(name, _)| name).collect::<Vec<_>>())
            .field("stdin", &self.stdin.as_ref().map(Bytes::len))
            .field("files", &self.files.iter().map(|(path, _)| path).collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn request() -> wire::SpawnRequest {
        wire::SpawnRequest {
            id: "s-1".to_owned(),
            project: "shop".to_owned(),
            snapshot: "0".repeat(40),
            argv: vec!["sh".into(), "-c".into(), "cat ratchet-workspace-s-1/x".into()],
            environment: vec![wire::Variable {
                name: "ROOT".into(),
                value: "ratchet-workspace-s-1".into(),
            }],
            stdin: Some("in ratchet-workspace-s-1, with ratchet-files-of-s-1/policy".into()),
            placeholders: vec![
                wire::Placeholder {
                    word: "ratchet-workspace-s-1".to_owned(),
                    place: wire::Place::Workspace.into(),
                },
                wire::Placeholder {
                    word: "ratchet-files-of-s-1".to_owned(),
                    place: wire::Place::Files.into(),
                },
            ],
            ..Default::default()
        }
    }

    #[test]
    fn a_request_is_filled_with_the_paths_of_the_worker() {
        let order = Order::try_from(request()).unwrap();
        let places = Places {
            workspace: Path::new("/w/shop"),
            files: Path::new("/s/s-1/files"),
            ratchet: None,
        };
        let texts = order.fill(&places);
        assert_eq!(texts.argv[2], "cat /w/shop/x");
        assert_eq!(texts.variables[0].1, "/w/shop");
        assert_eq!(&texts.stdin.unwrap()[..], b"in /w/shop, with /s/s-1/files/policy");
    }

    #[test]
    fn the_same_request_has_the_same_digest_and_another_one_has_not() {
        let digest = |request| Order::try_from(request).unwrap().digest;
        assert_eq!(digest(request()), digest(request()));
        let other = wire::SpawnRequest { stdin: Some("else".into()), ..request() };
        assert_ne!(digest(request()), digest(other));
    }

    #[test]
    fn what_could_leave_the_workspace_or_cannot_run_is_refused() {
        let file = |path: &str| wire::File { path: path.to_owned(), content: "x".into() };
        let relay = |path: &str| wire::RelayedFile { path: path.to_owned(), initial: Bytes::new() };
        let variable = |name: &str, value: &str| wire::Variable {
            name: name.to_owned().into(),
            value: value.to_owned().into(),
        };
        let word = |word: &str, place: wire::Place| wire::Placeholder {
            word: word.to_owned(),
            place: place.into(),
        };
        let base = request;
        let odd = [
            wire::SpawnRequest { id: "../x".to_owned(), ..base() },
            wire::SpawnRequest { project: "a/b".to_owned(), ..base() },
            wire::SpawnRequest { snapshot: "HEAD".to_owned(), ..base() },
            wire::SpawnRequest { argv: Vec::new(), ..base() },
            wire::SpawnRequest { argv: vec!["a\0b".into()], ..base() },
            wire::SpawnRequest { cwd: "..".to_owned(), ..base() },
            wire::SpawnRequest { cwd: "/etc".to_owned(), ..base() },
            wire::SpawnRequest { files: vec![file("a/b")], ..base() },
            wire::SpawnRequest { files: vec![file("..")], ..base() },
            wire::SpawnRequest { files: vec![file("x"); 65], ..base() },
            wire::SpawnRequest { workspace_files: vec![file("/etc/x")], ..base() },
            wire::SpawnRequest { workspace_files: vec![file(".git/hooks/pre-commit")], ..base() },
            wire::SpawnRequest { relays: vec![relay("../journal")], ..base() },
            wire::SpawnRequest { relays: vec![relay("j"), relay("j")], ..base() },
            wire::SpawnRequest { environment: vec![variable("A=B", "c")], ..base() },
            wire::SpawnRequest { environment: vec![variable("", "c")], ..base() },
            wire::SpawnRequest { environment: vec![variable("A", "c\0d")], ..base() },
            wire::SpawnRequest {
                placeholders: vec![word("short", wire::Place::Workspace)],
                ..base()
            },
            wire::SpawnRequest {
                placeholders: vec![word("long-enough-to-be-one", wire::Place::Unspecified)],
                ..base()
            },
        ];
        for request in odd {
            assert!(Order::try_from(request.clone()).is_err(), "{request:?}");
        }
    }

    #[test]
    fn nothing_of_a_request_that_may_be_secret_is_in_its_debug_text() {
        let secret = wire::Variable { name: "API_KEY".into(), value: "hunter2-hunter2".into() };
        let request = wire::SpawnRequest {
            environment: vec![secret],
            stdin: Some("hunter2-hunter2".into()),
            ..request()
        };
        let text = format!("{:?}", Order::try_from(request).unwrap());
        assert!(text.contains("API_KEY") && !text.contains("hunter2"), "{text}");
    }
}
