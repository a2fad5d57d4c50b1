//! Bytes as text, two lower-case digits each: how hashes stand in names and files.

use std::fmt::Write as _;

/// Writes bytes in hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a string takes every text");
        text
    })
}
