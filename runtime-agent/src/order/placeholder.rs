//! Words of a request that stand for paths which only the worker knows.

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use memchr::memmem;
use ratchet_proto::convert::Malformed;
use ratchet_proto::runtime::v1 as wire;

const MOST: usize = 16;

/// How long a word is: shorter ones may be somewhere by chance.
const LENGTHS: std::ops::RangeInclusive<usize> = 16..=256;

/// The placeholders of one request.
#[derive(Debug)]
pub(super) struct Placeholders(Vec<(String, Place)>);

/// A path that only the worker knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Workspace,
    Files,
    Ratchet,
}

/// What a request cannot do without.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wants {
    /// A `ratchet`.
    Ratchet,
    /// Only what every worker has.
    Nothing,
}

/// The paths of one spawn.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Places<'a> {
    pub(crate) workspace: &'a Path,
    pub(crate) files: &'a Path,
    /// Absent if the worker has none, and then nothing asks for it.
    pub(crate) ratchet: Option<&'a Path>,
}

impl TryFrom<Vec<wire::Placeholder>> for Placeholders {
    type Error = Malformed;

    fn try_from(list: Vec<wire::Placeholder>) -> Result<Self, Malformed> {
        if list.len() > MOST {
            return Err(Malformed::new(format!("{} placeholders", list.len())));
        }
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        let mut words: Vec<(String, Place)> = Vec::new();
        for placeholder in list {
            let place = match placeholder.place() {
                wire::Place::Unspecified => {
                    return Err(Malformed::unknown("a placeholder's place"));
                }
                wire::Place::Workspace => Place::Workspace,
                wire::Place::Files => Place::Files,
                wire::Place::Ratchet => Place::Ratchet,
            };
            let word = placeholder.word;
            if !LENGTHS.contains(&word.len()) || !word.bytes().all(plain) {
                return Err(Malformed::new("a placeholder's word is too short, too long or odd"));
            }
            // Of two words that overlap nobody could say which one is meant.
            if words.iter().any(|(other, _)| other.contains(&word) || word.contains(other.as_str()))
            {
                return Err(Malformed::new("a placeholder's word is within another one"));
            }
            words.push((word, place));
        }
        Ok(Self(words))
    }
}

impl Placeholders {
    pub(super) fn wants(&self) -> Wants {
        let ratchet = self.0.iter().any(|(_, place)| *place == Place::Ratchet);
        if ratchet { Wants::Ratchet } else { Wants::Nothing }
    }

    /// Gives the bytes with every placeholder replaced.
    pub(super) fn replaced(&self, bytes: &[u8], places: &Places<'_>) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        for (word, place) in &self.0 {
            let path = match place {
                Place::Workspace => places.workspace,
                Place::Files => places.files,
                Place::Ratchet => places.ratchet.unwrap_or(Path::new("ratchet")),
            };
            bytes = replace(&bytes, word.as_bytes(), path.as_os_str().as_bytes());
        }
        bytes
    }
}

fn replace(bytes: &[u8], word: &[u8], path: &[u8]) -> Vec<u8> {
    let mut replaced = Vec::with_capacity(bytes.len());
    let mut rest = 0;
    for found in memmem::find_iter(bytes, word) {
        replaced.extend_from_slice(&bytes[rest..found]);
        replaced.extend_from_slice(path);
        rest = found + word.len();
    }
    replaced.extend_from_slice(&bytes[rest..]);
    replaced
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placeholder(word: &str) -> wire::Placeholder {
        wire::Placeholder { word: word.to_owned(), place: wire::Place::Workspace.into() }
    }

    #[test]
    fn a_word_is_replaced_wherever_it_is_and_bytes_that_are_no_text_stay() {
        let words = Placeholders::try_from(vec![placeholder("ratchet-workspace-1")]).unwrap();
        let places = Places { workspace: Path::new("/w"), files: Path::new("/f"), ratchet: None };
        let bytes = b"\xffratchet-workspace-1ratchet-workspace-1/a\0ratchet-workspace-";
        assert_eq!(words.replaced(bytes, &places), b"\xff/w/w/a\0ratchet-workspace-");
    }

    #[test]
    fn of_two_words_none_is_within_the_other() {
        let words = ["ratchet-workspace-1", "ratchet-workspace-11"].map(placeholder);
        assert!(Placeholders::try_from(words.to_vec()).is_err());
    }
}
