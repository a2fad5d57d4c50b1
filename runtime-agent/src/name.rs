//! Names and paths that come from outside, parsed once and trusted afterwards. Nothing here touches a disk.

use std::fmt;

use ratchet_proto::convert::Malformed;
use ratchet_proto::runtime::v1 as wire;
use serde::{Deserialize, Serialize};

/// The longest path that is taken, in bytes: what the kernel takes.
const LONGEST_PATH: usize = 4095;

/// Names a project; it is also the name of a folder and of a git reference.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct ProjectName(String);

/// A path below a folder: no `.`, no `..`, no `.git`, nothing absolute. Links in it are a matter of the disk.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct InnerPath(String);

/// A word about something.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Label {
    name: String,
    value: String,
}

impl ProjectName {
    /// A number is put behind it, and the whole may have a hundred bytes.
    const LONGEST: usize = 90;

    /// Parses a name.
    pub(crate) fn parse(text: &str) -> Result<Self, Malformed> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        let fits = text.len() <= Self::LONGEST
            && text.bytes().all(plain)
            && text.bytes().next().is_some_and(|first| first.is_ascii_alphanumeric())
            && !text.contains("..")
            && !text.ends_with('.')
            && !text.ends_with(".lock");
        if fits { Ok(Self(text.to_owned())) } else { Err(odd("a project's name", text)) }
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl InnerPath {
    /// Parses a path.
    pub(crate) fn parse(text: &str) -> Result<Self, Malformed> {
        let plain =
            |part: &str| !matches!(part, "" | "." | "..") && !part.eq_ignore_ascii_case(".git");
        let fits = text.len() <= LONGEST_PATH && !text.contains('\0') && text.split('/').all(plain);
        if fits { Ok(Self(text.to_owned())) } else { Err(odd("a path below the workspace", text)) }
    }

    /// Parses the name of a file that lies in no folder.
    pub(crate) fn parse_name(text: &str) -> Result<Self, Malformed> {
        if text.contains('/') {
            return Err(odd("a file's name", text));
        }
        Self::parse(text)
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Gives the folders above it, the nearest last, without the one it is below.
    pub(crate) fn folders(&self) -> impl Iterator<Item = &str> {
        self.0.match_indices('/').map(|(at, _)| &self.0[..at])
    }

    /// Gives the folder and the name.
    pub(crate) fn parted(&self) -> (Option<&str>, &str) {
        match self.0.rsplit_once('/') {
            Some((folder, name)) => (Some(folder), name),
            None => (None, &self.0),
        }
    }
}

impl Label {
    const LONGEST_NAME: usize = 64;
    const LONGEST_VALUE: usize = 256;

    /// Takes a name and a value.
    pub(crate) fn new(name: &str, value: &str) -> Result<Self, Malformed> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./".contains(&byte);
        let fits = (1..=Self::LONGEST_NAME).contains(&name.len())
            && name.bytes().all(plain)
            && value.len() <= Self::LONGEST_VALUE
            && !value.chars().any(char::is_control);
        if !fits {
            return Err(odd("a label", &format!("{name}={value}")));
        }
        Ok(Self { name: name.to_owned(), value: value.to_owned() })
    }

    /// Parses `name=value`, as an operator types it.
    pub(crate) fn parse(text: &str) -> Result<Self, Malformed> {
        let (name, value) = text.split_once('=').ok_or_else(|| odd("a label", text))?;
        Self::new(name, value)
    }
}

impl From<Label> for wire::Label {
    fn from(label: Label) -> Self {
        Self { name: label.name, value: label.value }
    }
}

impl TryFrom<wire::Label> for Label {
    type Error = Malformed;

    fn try_from(label: wire::Label) -> Result<Self, Malformed> {
        Self::new(&label.name, &label.value)
    }
}

/// Says what cannot be what it should be, shortened: whoever sent it may have sent anything.
fn odd(what: &str, text: &str) -> Malformed {
    let shown: String = text.chars().take(80).collect();
    Malformed::new(format!("{what} cannot be {shown:?}"))
}

impl TryFrom<String> for ProjectName {
    type Error = Malformed;

    fn try_from(text: String) -> Result<Self, Malformed> {
        Self::parse(&text)
    }
}

impl From<ProjectName> for String {
    fn from(name: ProjectName) -> Self {
        name.0
    }
}

impl TryFrom<String> for InnerPath {
    type Error = Malformed;

    fn try_from(text: String) -> Result<Self, Malformed> {
        Self::parse(&text)
    }
}

impl From<InnerPath> for String {
    fn from(path: InnerPath) -> Self {
        path.0
    }
}

impl fmt::Display for ProjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for InnerPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_and_no_path_leads_anywhere_else() {
        for good in ["shop", "a.b-c_d", "0198c0de"] {
            assert!(ProjectName::parse(good).is_ok(), "{good}");
        }
        let odd = ["", ".", "..", "a/b", "-a", ".a", "a..b", "a.", "a.lock", "a b", "ä", "a\0b"];
        for bad in odd.into_iter().chain([&*"x".repeat(91)]) {
            assert!(ProjectName::parse(bad).is_err(), "{bad:?}");
        }
        for good in ["a", "a/b", ".ratchet/batches/shop/run/journal.jsonl", "ö/…", ".github"] {
            assert!(InnerPath::parse(good).is_ok(), "{good}");
        }
        let odd = ["", "/", "/etc/passwd", "..", "a/../b", "a//b", "a/", "./a", ".git/hooks/x"];
        for bad in odd.into_iter().chain(["a/.GIT/config", "a\0", &*"x".repeat(5000)]) {
            assert!(InnerPath::parse(bad).is_err(), "{bad:?}");
        }
        assert!(InnerPath::parse_name("a/b").is_err());
    }

    #[test]
    fn a_path_knows_the_folders_that_it_lies_in() {
        let path = InnerPath::parse("a/b/c").unwrap();
        assert_eq!(path.folders().collect::<Vec<_>>(), ["a", "a/b"]);
        assert_eq!(path.parted(), (Some("a/b"), "c"));
        assert_eq!(InnerPath::parse("c").unwrap().parted(), (None, "c"));
    }

    #[test]
    fn a_label_is_a_plain_name_and_one_line() {
        assert!(Label::parse("gpu=none").is_ok() && Label::parse("a/b=").is_ok());
        for bad in ["gpu", "=x", "a b=c", "a=b\nc", &format!("a={}", "x".repeat(257))] {
            assert!(Label::parse(bad).is_err(), "{bad:?}");
        }
    }
}
