//! What is written, and what is read back.

use proptest::prelude::*;

use super::*;

fn entry() -> Entry {
    let at = Timestamp::parse("2026-07-02T09:05:01.000Z").unwrap();
    let message = "All good.\n\"Ready\" for archive.".to_owned();
    let said = Entry::new(at, StepKey::from_text("add-api"), EntryKind::Completion, message);
    Entry { transition: Some(StepKind::Verify), ..said }
}

#[test]
fn a_line_has_its_members_in_order_and_no_null() {
    let line = String::from_utf8(entry().to_line()).unwrap();
    assert_eq!(
        line,
        "{\"at\":\"2026-07-02T09:05:01.000Z\",\"change\":\"add-api\",\"kind\":\"completion\",\
         \"message\":\"All good.\\n\\\"Ready\\\" for archive.\",\"transition\":\"verify\"}\n"
    );
}

#[test]
fn every_kind_is_spelled_in_one_way() {
    for kind in EntryKind::ALL {
        assert_eq!(serde_json::to_value(kind).unwrap(), kind.as_str());
    }
}

// B-G05 B-G07
#[test]
fn a_line_that_is_no_entry_is_nothing() {
    for line in [
        "",
        "  ",
        "\t\r",
        "null",
        "7",
        "\"text\"",
        "[1, 2]",
        "{\"at\":\"2031-05-0",
        "\0junk",
        "{} {}",
    ] {
        assert_eq!(parse_line(line.as_bytes()), None, "{line:?}");
    }
    assert_eq!(parse_line(b"\x00\xfe\xff\x01junk"), None);
    assert_eq!(parse_line(b"{}\r"), Some(ReadEntry::default()));
}

#[test]
fn members_of_another_type_or_version_are_let_pass() {
    let line = r#"{"at":7,"change":"a","kind":"later-kind","message":["x"],"transition":"later","proof":{"phase":1},
        "via":null,"spawn":{"x":[1]},"more":{"deep":[[]]},"change":"b"}"#;
    let entry = parse_line(line.as_bytes()).unwrap();
    let expected =
        ReadEntry { change: "b".into(), kind_text: "later-kind".into(), ..ReadEntry::default() };
    assert_eq!(entry, expected);
    assert_eq!(entry.kind(), None);
}

#[test]
fn bytes_that_are_no_utf8_do_not_lose_the_entry() {
    let entry =
        parse_line(b"{\"change\":\"a\",\"kind\":\"progress\",\"message\":\"caf\xe9\"}").unwrap();
    assert_eq!((entry.kind(), &*entry.message), (Some(EntryKind::Progress), "caf\u{fffd}"));
}

#[test]
fn a_text_without_escapes_is_borrowed() {
    let entry = parse_line(br#"{"change":"plain","message":"a\nb"}"#).unwrap();
    assert!(matches!(entry.change, Cow::Borrowed(_)));
    assert!(matches!(entry.message, Cow::Owned(_)));
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(change in ".{0,12}", message in ".{0,40}", kind in prop::sample::select(&EntryKind::ALL[..])) {
        let line = Entry { change: StepKey::from_text(&change), message: message.clone(), kind, ..entry() }.to_line();
        prop_assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
        let read = parse_line(&line).unwrap();
        prop_assert_eq!(read.kind(), Some(kind));
        prop_assert_eq!(read.transition, Some(StepKind::Verify));
        prop_assert_eq!((&*read.change, &*read.message), (&*change, &*message));
    }
}
