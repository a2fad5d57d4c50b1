//! An image's name taken apart, as the engine's interface wants it: registry, repository, tag or digest.

/// The registry of names that name none.
const HUB: &str = "docker.io";

/// A well-formed name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reference {
    text: String,
    name: String,
    tag: String,
    registry: String,
}

impl Reference {
    /// Reads a name; `None` for what no engine would take.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (rest, digest) = match text.split_once('@') {
            Some((rest, digest)) => (rest, Some(digest)),
            None => (text, None),
        };
        let slash = rest.rfind('/').map_or(0, |at| at + 1);
        let (name, tag) = match rest[slash..].split_once(':') {
            Some((last, tag)) => (&rest[..slash + last.len()], Some(tag)),
            None => (rest, None),
        };
        let first = name.split_once('/').map(|(first, _)| first);
        let registry = first.filter(|first| first.contains(['.', ':']) || *first == "localhost");
        let path = registry.map_or(name, |registry| &name[registry.len() + 1..]);
        let fits = name.len() <= 255
            && registry.is_none_or(is_host)
            && path.split('/').all(is_component)
            && tag.is_none_or(is_tag)
            && digest.is_none_or(is_digest);
        fits.then(|| Self {
            text: text.to_owned(),
            name: name.to_owned(),
            tag: digest.or(tag).unwrap_or("latest").to_owned(),
            registry: registry.unwrap_or(HUB).to_owned(),
        })
    }

    /// The name as it was given.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Registry and repository.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The digest, else the tag, else `latest`.
    pub(super) fn tag(&self) -> &str {
        &self.tag
    }

    /// Who gives the image.
    pub(super) fn registry(&self) -> &str {
        &self.registry
    }

    /// Says whether it is an engine's own number for an image, which no registry knows.
    pub(super) fn is_id(&self) -> bool {
        (self.name == "sha256" && is_hex(&self.tag))
            || (is_hex(&self.text) && self.text.len() == 64)
    }
}

fn is_hex(text: &str) -> bool {
    text.len() >= 12
        && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

fn is_host(text: &str) -> bool {
    let (host, port) = text.split_once(':').unwrap_or((text, "0"));
    let label = |part: &str| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    host.split('.').all(label) && port.parse::<u16>().is_ok()
}

/// Lower case letters and digits, divided by one dot, one or two underscores, or any number of dashes.
fn is_component(text: &str) -> bool {
    let alphanumeric = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let ends = text.bytes().next().is_some_and(alphanumeric)
        && text.bytes().last().is_some_and(alphanumeric);
    let separators = text.split(|char: char| char.is_ascii_lowercase() || char.is_ascii_digit());
    let fits = |separator: &str| {
        matches!(separator, "" | "." | "_" | "__") || separator.bytes().all(|byte| byte == b'-')
    };
    ends && separators.into_iter().all(fits)
}

fn is_tag(text: &str) -> bool {
    let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    text.len() <= 128
        && text.bytes().next().is_some_and(word)
        && text.bytes().all(|byte| word(byte) || byte == b'.' || byte == b'-')
}

fn is_digest(text: &str) -> bool {
    text.split_once(':')
        .is_some_and(|(kind, hex)| !kind.is_empty() && hex.len() >= 32 && is_hex(hex))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_taken_apart_at_the_right_colon() {
        let parts = |text: &str| {
            let found = Reference::parse(text).unwrap();
            (found.name().to_owned(), found.tag().to_owned(), found.registry().to_owned())
        };
        let owned = |a: &str, b: &str, c: &str| (a.to_owned(), b.to_owned(), c.to_owned());
        assert_eq!(parts("python:3.12"), owned("python", "3.12", "docker.io"));
        assert_eq!(parts("me/agent"), owned("me/agent", "latest", "docker.io"));
        assert_eq!(
            parts("localhost:5000/a/b_c:v1"),
            owned("localhost:5000/a/b_c", "v1", "localhost:5000")
        );
        assert_eq!(parts("ghcr.io/x/y"), owned("ghcr.io/x/y", "latest", "ghcr.io"));
        let digest = format!("sha256:{}", "a1".repeat(32));
        assert_eq!(parts(&format!("h.x/y:1@{digest}")), owned("h.x/y", &digest, "h.x"));
    }

    #[test]
    fn what_is_no_name_is_refused() {
        for text in [
            "",
            "UPPER",
            "a b",
            "a::b",
            "a:",
            "-a",
            "a//b",
            "a/",
            "x:y:z",
            "a@sha256:12",
            "a___b",
            "a..b",
            "$(x)",
            "a\n",
        ] {
            assert_eq!(Reference::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn an_engines_own_number_is_known_as_one() {
        assert!(Reference::parse(&format!("sha256:{}", "ab".repeat(32))).unwrap().is_id());
        assert!(!Reference::parse("python:3.12").unwrap().is_id());
    }
}
