//! `docs/reference/supervisor-api.md` is what the door's own description says, comments included: the same bytes that
//! reflection serves. `RATCHET_BLESS=1` writes it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use prost::Message as _;
use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{
    DescriptorProto, EnumDescriptorProto, FieldDescriptorProto, FileDescriptorProto,
    FileDescriptorSet,
};
use ratchet_proto::SUPERVISOR_DESCRIPTORS;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/reference/supervisor-api.md");

const TOP: &str = "\
# The supervisor's door

gRPC over the supervisor's Unix socket, or over TLS with a token. Written from the description that the supervisor itself
serves by reflection. Health is `grpc.health.v1.Health`; what a call refuses with is `ratchet.error.v1.ErrorDetail`, and its
code has [a page](../errors/README.md).
";

/// Where the numbers of a descriptor's own tree lead (`descriptor.proto`).
const MESSAGES: i32 = 4;
const ENUMS: i32 = 5;
const SERVICES: i32 = 6;
const FIELDS: i32 = 2;
const NESTED_MESSAGES: i32 = 3;
const NESTED_ENUMS: i32 = 4;

/// The comments of a file, by their place in the tree.
struct Comments(BTreeMap<Vec<i32>, String>);

impl Comments {
    fn of(file: &FileDescriptorProto) -> Self {
        let info = file.source_code_info.as_ref().expect("the description has its comments");
        let comment = |place: &prost_types::source_code_info::Location| {
            let text = place.leading_comments.as_ref()?;
            let lines: Vec<&str> = text.lines().map(str::trim).collect();
            Some((place.path.clone(), lines.join("\n").trim().to_owned()))
        };
        Self(info.location.iter().filter_map(comment).collect())
    }

    fn at(&self, path: &[i32]) -> &str {
        self.0.get(path).map(String::as_str).unwrap_or_default()
    }
}

#[test]
fn the_page_of_the_door_is_what_the_door_says_of_itself() {
    let set = FileDescriptorSet::decode(SUPERVISOR_DESCRIPTORS).expect("a description");
    let mut page = TOP.to_owned();
    let mut files: Vec<&FileDescriptorProto> =
        set.file.iter().filter(|file| file.package().starts_with("ratchet.")).collect();
    // The door first, then what it imports.
    files.sort_by_key(|file| (file.service.is_empty(), file.package().to_owned()));
    assert!(files.len() >= 2, "the door and its errors");
    for file in files {
        draw_file(&mut page, file);
    }
    if std::env::var_os("RATCHET_BLESS").is_some() {
        fs::write(PAGE, &page).expect("the page can be written");
    }
    let found = fs::read_to_string(PAGE).unwrap_or_default();
    assert!(found == page, "{PAGE} is out of date; run this test with RATCHET_BLESS=1");
}

fn draw_file(page: &mut String, file: &FileDescriptorProto) {
    let comments = Comments::of(file);
    line(page, &format!("\n## {}\n", file.package()));
    for (at, service) in (0..).zip(&file.service) {
        line(page, &format!("### {}\n", service.name()));
        line(page, &format!("{}\n", comments.at(&[SERVICES, at])));
        line(page, "| call | takes | answers | |\n| --- | --- | --- | --- |");
        for (of, method) in (0..).zip(&service.method) {
            let stream = |is: bool| if is { "stream of " } else { "" };
            let row = format!(
                "| `{}` | {}{} | {}{} | {} |",
                method.name(),
                stream(method.client_streaming()),
                short(method.input_type()),
                stream(method.server_streaming()),
                short(method.output_type()),
                cell(comments.at(&[SERVICES, at, FIELDS, of]))
            );
            line(page, &row);
        }
        line(page, "");
    }
    for (at, message) in (0..).zip(&file.message_type) {
        draw_message(page, message, "", &[MESSAGES, at], &comments);
    }
    for (at, words) in (0..).zip(&file.enum_type) {
        draw_words(page, words, "", &[ENUMS, at], &comments);
    }
}

fn draw_message(
    page: &mut String,
    message: &DescriptorProto,
    inside: &str,
    path: &[i32],
    comments: &Comments,
) {
    let name = format!("{inside}{}", message.name());
    line(page, &format!("### {name}\n"));
    line(page, &format!("{}\n", comments.at(path)));
    if !message.field.is_empty() {
        line(page, "| field | is | |\n| --- | --- | --- |");
    }
    for (at, field) in (0..).zip(&message.field) {
        let place = [path, &[FIELDS, at]].concat();
        let row = format!(
            "| `{}` = {} | {} | {} |",
            field.name(),
            field.number(),
            kind(message, field),
            cell(comments.at(&place))
        );
        line(page, &row);
    }
    if !message.field.is_empty() {
        line(page, "");
    }
    let inside = format!("{name}.");
    for (at, nested) in (0..).zip(&message.nested_type) {
        draw_message(page, nested, &inside, &[path, &[NESTED_MESSAGES, at]].concat(), comments);
    }
    for (at, words) in (0..).zip(&message.enum_type) {
        draw_words(page, words, &inside, &[path, &[NESTED_ENUMS, at]].concat(), comments);
    }
}

fn draw_words(
    page: &mut String,
    words: &EnumDescriptorProto,
    inside: &str,
    path: &[i32],
    comments: &Comments,
) {
    line(page, &format!("### {inside}{}\n", words.name()));
    line(page, &format!("{}\n", comments.at(path)));
    line(page, "| word | |\n| --- | --- |");
    for (at, word) in (0..).zip(&words.value) {
        let meaning = cell(comments.at(&[path, &[FIELDS, at]].concat()));
        line(page, &format!("| `{}` = {} | {meaning} |", word.name(), word.number()));
    }
    line(page, "");
}

/// Says what a field holds, and whether it may be absent.
fn kind(message: &DescriptorProto, field: &FieldDescriptorProto) -> String {
    let kind = match field.r#type() {
        Type::Message | Type::Enum => short(field.type_name()),
        other => other.as_str_name().trim_start_matches("TYPE_").to_lowercase(),
    };
    let choice = field
        .oneof_index
        .filter(|_| !field.proto3_optional())
        .and_then(|index| message.oneof_decl.get(usize::try_from(index).ok()?));
    match choice {
        Some(choice) => format!("{kind}, one of `{}`", choice.name()),
        None if field.label() == Label::Repeated => format!("list of {kind}"),
        None if field.proto3_optional() => format!("{kind}, may be absent"),
        None => kind,
    }
}

/// Leaves the package out of a name.
fn short(name: &str) -> String {
    let kept = name
        .trim_start_matches('.')
        .split('.')
        .skip_while(|part| part.starts_with(|c: char| c.is_ascii_lowercase()));
    kept.collect::<Vec<_>>().join(".")
}

/// Puts a comment into a cell of a table.
fn cell(comment: &str) -> String {
    comment.replace('\n', " ").replace('|', "\\|")
}

fn line(page: &mut String, text: &str) {
    writeln!(page, "{text}").expect("a String takes every write");
}
