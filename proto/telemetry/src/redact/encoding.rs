//! The forms in which a value appears: as it is, and as the encodings that programs print make of it.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

use super::SHORTEST;

/// A line of a value with several is hidden by itself if it has so many bytes.
const LONG_LINE: usize = 16;

/// What the usual encoders leave as it is, beside letters and digits: strict ones, browsers, and those of paths.
const LEFT: [&[u8]; 3] = [b"-._~", b"-._~!'()*", b"-._~/:@!$&'()*,;="];

/// Gives all forms of a value.
pub(super) fn forms(value: &[u8]) -> BTreeSet<Vec<u8>> {
    let mut forms = BTreeSet::from([value.to_vec()]);
    let lines = value.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    forms.extend(lines.filter(|line| line.len() >= LONG_LINE).map(<[u8]>::to_vec));
    for left in LEFT {
        forms.insert(percent(value, left, "%20", Case::Upper));
        forms.insert(percent(value, left, "%20", Case::Lower));
        forms.insert(percent(value, left, "+", Case::Upper));
    }
    for before in 0..3 {
        forms.insert(base64_at(value, before, &STANDARD_NO_PAD));
        forms.insert(base64_at(value, before, &URL_SAFE_NO_PAD));
    }
    forms.insert(hex(value, Case::Lower));
    forms.insert(hex(value, Case::Upper));
    forms.insert(json(value));
    forms.retain(|form| form.len() >= SHORTEST);
    forms
}

#[derive(Clone, Copy)]
enum Case {
    Upper,
    Lower,
}

fn percent(value: &[u8], left: &[u8], space: &str, case: Case) -> Vec<u8> {
    let mut text = Vec::new();
    for byte in value {
        match byte {
            b' ' => text.extend_from_slice(space.as_bytes()),
            byte if byte.is_ascii_alphanumeric() || left.contains(byte) => text.push(*byte),
            byte => {
                text.push(b'%');
                text.extend(hex(&[*byte], case));
            }
        }
    }
    text
}

fn hex(value: &[u8], case: Case) -> Vec<u8> {
    let mut text = String::with_capacity(value.len() * 2);
    for byte in value {
        let written = match case {
            Case::Upper => write!(text, "{byte:02X}"),
            Case::Lower => write!(text, "{byte:02x}"),
        };
        written.expect("a string takes text");
    }
    text.into_bytes()
}

/// The characters that depend on the value alone when so many bytes modulo three come before it.
fn base64_at(value: &[u8], before: usize, engine: &impl base64::Engine) -> Vec<u8> {
    let mut bytes = vec![0; before];
    bytes.extend_from_slice(value);
    let text = engine.encode(&bytes).into_bytes();
    let (from, to) = ((before * 8).div_ceil(6), bytes.len() * 8 / 6);
    text[from..to].to_vec()
}

/// As it stands within a JSON text.
fn json(value: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(value.len());
    for byte in value {
        match byte {
            b'"' => text.extend_from_slice(b"\\\""),
            b'\\' => text.extend_from_slice(b"\\\\"),
            b'\n' => text.extend_from_slice(b"\\n"),
            b'\r' => text.extend_from_slice(b"\\r"),
            b'\t' => text.extend_from_slice(b"\\t"),
            byte => text.push(*byte),
        }
    }
    text
}
