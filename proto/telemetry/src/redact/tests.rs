//! Nothing known gets through, however it is cut and in whatever usual encoding; and nothing else is touched.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use proptest::prelude::*;

use super::*;

/// Values as they are in environments and settings.
const VALUES: [&str; 7] = [
    "hunter2-hunter2",
    "pa ss/wo+rd=?&%\"quoted\"",
    "0123456789abcdef0123456789abcdef",
    "aaaaaaaaaaaaaaab",
    "def0123456789abcdefXYZ",
    "zürich-geheim-🔑",
    "first line of a key 0001\nsecond line of a key 0002",
];

/// Tokens that nobody told of: how they begin, and how they go on. Apart here, so that this file holds no token.
const TOKENS: [(&str, &str); 12] = [
    ("sk-", "ant-api03-abcdefghijklmnop_0123456789"),
    ("sk-", "proj-0123456789abcdefghij"),
    ("sk_live_", "4eC39HqLyjWDarjt"),
    ("ghp_", "0123456789abcdefghijABCDEFGHIJ012345"),
    ("github_pat_", "11ABCDEFG0abcdefghijkl_mnopqrstuvwxyz"),
    ("glpat-", "abcdefghij0123456789"),
    ("xoxb-", "123456789012-abcdefghijkl"),
    ("AKIA", "IOSFODNN7EXAMPLE"),
    ("AIza", "SyA1234567890abcdefghijklmnopqrstuv"),
    ("hf_", "abcdefghijklmnopqrstuvwxyz012345"),
    ("eyJ", "hbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxIn0.dozjgNryP4J3jVmNHl0w5N"),
    ("npm_", "abcdefghijklmnopqrstuvwxyz0123456789"),
];

fn tokens() -> Vec<String> {
    TOKENS.iter().map(|(begin, rest)| format!("{begin}{rest}")).collect()
}

fn redactor() -> Arc<Redactor> {
    Arc::new(Redactor::new(VALUES.map(str::as_bytes)))
}

fn streamed(redactor: &Arc<Redactor>, pieces: &[&[u8]]) -> Vec<u8> {
    let mut stream = redactor.stream();
    let mut clean = Vec::new();
    for piece in pieces {
        stream.push(piece, &mut |bytes| clean.extend_from_slice(bytes));
    }
    stream.finish(&mut |bytes| clean.extend_from_slice(bytes));
    clean
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

/// Everything by which a value could be known again.
fn traces_of(value: &str) -> Vec<Vec<u8>> {
    encoding::forms(value.as_bytes()).into_iter().collect()
}

fn assert_hidden(clean: &[u8], value: &str, how: &str) {
    for trace in traces_of(value) {
        let shown = String::from_utf8_lossy(clean);
        assert!(!contains(clean, &trace), "{how}: {value:?} is in {shown:?}");
    }
}

/// The forms in which a program could print a value that stands between two texts.
fn printed(before: &str, value: &str, after: &str) -> Vec<Vec<u8>> {
    let plain = format!("{before}{value}{after}");
    let percent = |escape: fn(u8) -> String| -> Vec<u8> {
        let text = plain.bytes().map(|byte| match byte {
            byte if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) => {
                char::from(byte).to_string()
            }
            byte => escape(byte),
        });
        text.collect::<String>().into_bytes()
    };
    vec![
        plain.clone().into_bytes(),
        STANDARD.encode(&plain).into_bytes(),
        URL_SAFE_NO_PAD.encode(&plain).into_bytes(),
        percent(|byte| format!("%{byte:02X}")),
        percent(|byte| format!("%{byte:02x}")),
        plain.bytes().map(|byte| format!("{byte:02x}")).collect::<String>().into_bytes(),
    ]
}

#[test]
fn every_value_is_hidden_at_every_split_point_in_every_encoding() {
    let redactor = redactor();
    for value in VALUES {
        for (before, after) in [("", ""), ("x=", "\n"), ("token: ", " and more"), ("abc", "xyz")] {
            for text in printed(before, value, after) {
                for split in 0..=text.len() {
                    let (one, other) = text.split_at(split);
                    let clean = streamed(&redactor, &[one, other]);
                    assert_hidden(&clean, value, &format!("split at {split}"));
                    assert!(contains(&clean, MARK.as_bytes()));
                }
                let bytes: Vec<&[u8]> = text.chunks(1).collect();
                assert_hidden(&streamed(&redactor, &bytes), value, "byte by byte");
                assert_hidden(&redactor.bytes(&text), value, "whole");
            }
        }
    }
}

#[test]
fn every_kind_of_token_is_hidden_at_every_split_point() {
    let redactor = Arc::new(Redactor::new([]));
    for token in tokens() {
        for (before, after) in [("", ""), ("key=", "\n"), ("{\"a\":\"", "\"}"), ("out\\n", " ")] {
            let text = format!("{before}{token}{after}");
            let expected = format!("{before}{MARK}{after}");
            for split in 0..=text.len() {
                let (one, other) = text.as_bytes().split_at(split);
                let clean = streamed(&redactor, &[one, other]);
                assert_eq!(String::from_utf8(clean).unwrap(), expected, "split at {split}");
            }
            let bytes: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
            assert_eq!(String::from_utf8(streamed(&redactor, &bytes)).unwrap(), expected);
        }
    }
    let header = "authorization: Bearer abcdefghijkl.mnop/qrst=\r\n";
    for split in 0..=header.len() {
        let (one, other) = header.as_bytes().split_at(split);
        let clean = streamed(&redactor, &[one, other]);
        assert_eq!(clean, b"authorization: Bearer ***\r\n", "split at {split}");
    }
}

#[test]
fn a_value_that_overlaps_another_is_hidden_to_its_end() {
    let redactor =
        Arc::new(Redactor::new([b"abcdef0123456".as_slice(), b"0123456-and-on-it-goes"]));
    let text = b"<abcdef0123456-and-on-it-goes>";
    for split in 0..=text.len() {
        let (one, other) = text.split_at(split);
        assert_eq!(streamed(&redactor, &[one, other]), b"<***>", "split at {split}");
    }
}

#[test]
fn a_token_that_begins_as_a_known_value_does_is_hidden_too() {
    let (known, other) =
        (format!("{}{}", TOKENS[0].0, TOKENS[0].1), "ant-api03-abcdefgh_and_others");
    let redactor = Arc::new(Redactor::new([known.as_bytes()]));
    let text = format!("<{known}> <{}{other}>", TOKENS[0].0);
    for split in 0..=text.len() {
        let (one, two) = text.as_bytes().split_at(split);
        assert_eq!(streamed(&redactor, &[one, two]), b"<***> <***>", "split at {split}");
    }
}

#[test]
fn many_values_are_found_as_few_are() {
    let values: Vec<String> =
        (0..200).map(|number| format!("{number:03}-a-secret-value")).collect();
    let redactor = Redactor::new(values.iter().map(String::as_bytes));
    assert!(matches!(redactor.finder, Finder::Automaton(_)));
    for value in &values {
        assert_eq!(redactor.bytes(format!("<{value}>").as_bytes()), b"<***>");
    }
}

#[test]
fn ordinary_text_goes_through_at_once_and_untouched() {
    let redactor = redactor();
    for text in [
        "risk-assessment-of-everything-that-is-long",
        "task-management-system-version-two",
        "the bearer of bad news",
        "eyJ is how JSON begins in base64",
        "npm_config_cache ghp_ sk-",
        "AKIA is a prefix",
    ] {
        assert_eq!(redactor.bytes(text.as_bytes()), text.as_bytes());
    }
    let mut stream = redactor.stream();
    let mut shown = Vec::new();
    stream.push(b"a line of output\n", &mut |bytes| shown.extend_from_slice(bytes));
    assert_eq!(shown, b"a line of output\n");
}

#[test]
fn what_is_short_or_a_path_is_no_secret() {
    assert!(!is_telling(b"1234567"));
    assert!(!is_telling(b"/run/secrets/token"));
    assert!(is_telling(b"12345678"));
}

#[test]
fn a_string_is_cleaned_in_its_place() {
    let mut text = "the key is hunter2-hunter2, keep it".to_owned();
    redactor().clean(&mut text);
    assert_eq!(text, "the key is ***, keep it");
}

proptest! {
    #[test]
    fn pieces_come_to_the_same_as_the_whole(
        parts in prop::collection::vec(prop_oneof![
            prop::sample::select(VALUES.to_vec()).prop_map(str::to_owned),
            prop::sample::select(tokens()),
            "[a-z0-9 _.-]{0,12}",
            "sk-|Bearer |eyJ|hunter2-hun|AKIA|def0123",
        ], 0..8),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let redactor = redactor();
        let text = parts.concat().into_bytes();
        let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
        at.sort_unstable();
        let mut pieces = Vec::new();
        let mut from = 0;
        for cut in at {
            pieces.push(&text[from..cut]);
            from = cut;
        }
        pieces.push(&text[from..]);
        let clean = streamed(&redactor, &pieces);
        for value in VALUES {
            prop_assert!(!contains(&clean, value.as_bytes()), "{:?}", String::from_utf8_lossy(&clean));
        }
    }

    #[test]
    fn bytes_without_secrets_come_through_as_they_were(
        text in prop::collection::vec(any::<u8>(), 0..400),
        size in 1usize..40,
    ) {
        let redactor = redactor();
        let pieces: Vec<&[u8]> = text.chunks(size).collect();
        let whole = redactor.bytes(&text);
        prop_assert_eq!(streamed(&redactor, &pieces), whole);
    }
}
