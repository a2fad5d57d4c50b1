//! The walls of a container as settings: words, sizes and users, checked once for files and for `--set`
//! (design `architecture` 5).

use super::Word;

/// When an image is fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PullPolicy {
    /// When it is not there.
    #[default]
    Missing,
    /// Before every step.
    Always,
    /// Never: it has to be there.
    Never,
}

/// What keeps an agent in bounds inside a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AgentSandbox {
    /// Its own sandbox or permission mode, as everywhere else.
    #[default]
    Own,
    /// The container is the wall: the agent gets its full-access flags.
    Container,
}

impl Word for PullPolicy {
    const WORDS: &'static [(&'static str, Self)] =
        &[("missing", Self::Missing), ("always", Self::Always), ("never", Self::Never)];
}

impl Word for AgentSandbox {
    const WORDS: &'static [(&'static str, Self)] =
        &[("own", Self::Own), ("container", Self::Container)];
}

/// The least memory that an engine gives a container, in bytes.
const LEAST_MEMORY: u64 = 6 * 1024 * 1024;

/// Reads an amount of memory as Docker spells it: a whole number and, if any, one of `b`, `k`, `m`, `g`, in bytes.
#[must_use]
pub fn parse_memory(text: &str) -> Option<u64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let factor: u64 = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kb" => 1 << 10,
        "m" | "mb" => 1 << 20,
        "g" | "gb" => 1 << 30,
        _ => return None,
    };
    number
        .parse::<u64>()
        .ok()?
        .checked_mul(factor)
        .filter(|bytes| *bytes >= LEAST_MEMORY && i64::try_from(*bytes).is_ok())
}

/// Reads a user as numbers: `uid` or `uid:gid`; the group is the user's number if none is given. Names are not taken: what
/// they mean is the image's to say, and files in the project must belong to somebody of this machine.
#[must_use]
pub fn parse_user(text: &str) -> Option<(u32, u32)> {
    let number = |text: &str| {
        text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
    };
    match text.split_once(':') {
        Some((user, group)) => Some((number(user)?, number(group)?)),
        None => number(text).map(|user| (user, user)),
    }
}

/// What a memory setting must look like, for people.
pub(super) const MEMORY_FORM: &str =
    "it must be a number with b, k, m or g, at least 6m, such as 2g";

/// What a user setting must look like, for people.
pub(super) const USER_FORM: &str = "it must be uid or uid:gid in numbers, such as 1000:1000";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_as_docker_spells_it() {
        assert_eq!(parse_memory("2g"), Some(2 << 30));
        assert_eq!(parse_memory("512M"), Some(512 << 20));
        assert_eq!(parse_memory("64mb"), Some(64 << 20));
        assert_eq!(parse_memory("1073741824"), Some(1 << 30));
        for wrong in ["", "g", "2 g", "-1g", "1.5g", "2t", "5m", "99999999999g", "0"] {
            assert_eq!(parse_memory(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_user_is_numbers() {
        assert_eq!(parse_user("1000:100"), Some((1000, 100)));
        assert_eq!(parse_user("0"), Some((0, 0)));
        for wrong in ["", "root", "1000:", ":1", "1:2:3", "+1", "-1", "4294967296"] {
            assert_eq!(parse_user(wrong), None, "{wrong}");
        }
    }
}
