//! Turns the scanner's events into a tree, and refuses what would make a small file large or a stack deep.

use std::collections::BTreeMap;

use serde_yaml::granit_parser::{
    ErrorKind, Event, Marker, Parser, ScalarStyle, ScanError, Span, Tag, options,
};

use super::{
    MAX_ALIASED_BYTES, MAX_ALIASED_NODES, MAX_DEPTH, Member, Node, Value, YamlError, YamlProblem,
    narrow, scalar,
};

/// Builds the tree of a text that has one document.
pub(super) fn tree(text: &str) -> Result<Node, YamlError> {
    let mut builder = Builder::default();
    for event in Parser::new_from_str_with_options(text, options! { emit_comments: false }) {
        let (event, span) = event.map_err(|error| {
            let (line, column) = place(error.marker());
            problem_of(&error).at(line, column)
        })?;
        builder.take(event, &span)?;
    }
    Ok(builder.root.unwrap_or(Node { value: Value::Null, line: 1, column: 1 }))
}

#[derive(Default)]
struct Builder {
    root: Option<Node>,
    open: Vec<Open>,
    documents: usize,
    anchored: BTreeMap<usize, Anchored>,
    /// What anchors and aliases have copied so far.
    copied: Size,
}

/// A list or map whose end has not come yet.
struct Open {
    content: Content,
    anchor: usize,
    line: u32,
    column: u32,
}

enum Content {
    List(Vec<Node>),
    /// The members, and the key that still waits for its value.
    Map(Vec<Member>, Option<Key>),
}

struct Key {
    text: String,
    line: u32,
    column: u32,
}

struct Anchored {
    node: Node,
    spelling: Option<String>,
    size: Size,
    height: usize,
}

#[derive(Default, Clone, Copy)]
struct Size {
    nodes: usize,
    bytes: usize,
}

impl Builder {
    fn take(&mut self, event: Event<'_>, span: &Span) -> Result<(), YamlError> {
        let (line, column) = place(&span.start);
        match event {
            Event::DocumentStart(..) => {
                self.documents += 1;
                if self.documents > 1 {
                    return Err(YamlProblem::SecondDocument.at(line, column));
                }
            }
            Event::Scalar(text, style, anchor, tag) => {
                let value = scalar_value(&text, style, tag.as_deref())
                    .map_err(|problem| problem.at(line, column))?;
                let node = Node { value, line, column };
                self.remember(anchor, &node, Some(&text))?;
                self.place(node, Some(text.into_owned()))?;
            }
            Event::SequenceStart(_, anchor, _) => {
                self.begin(Content::List(Vec::new()), anchor, line, column)?;
            }
            Event::MappingStart(_, anchor, _) => {
                self.begin(Content::Map(Vec::new(), None), anchor, line, column)?;
            }
            Event::SequenceEnd | Event::MappingEnd => self.end()?,
            Event::Alias(anchor) => self.copy(anchor, line, column)?,
            Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentEnd
            | Event::Anchor(..)
            | Event::UnresolvedAlias(_)
            | Event::Comment(..) => {}
            // The enum may grow in a later scanner; what is no node says nothing about the tree.
            _ => {}
        }
        Ok(())
    }

    fn begin(
        &mut self,
        content: Content,
        anchor: usize,
        line: u32,
        column: u32,
    ) -> Result<(), YamlError> {
        if self.open.len() >= MAX_DEPTH {
            return Err(YamlProblem::TooDeep.at(line, column));
        }
        self.open.push(Open { content, anchor, line, column });
        Ok(())
    }

    fn end(&mut self) -> Result<(), YamlError> {
        let Some(Open { content, anchor, line, column }) = self.open.pop() else { return Ok(()) };
        let value = match content {
            Content::List(items) => Value::List(items),
            Content::Map(members, _) => {
                refuse_duplicates(&members)?;
                Value::Map(members)
            }
        };
        let node = Node { value, line, column };
        self.remember(anchor, &node, None)?;
        self.place(node, None)
    }

    /// Puts a finished node where it belongs. `spelling` is what a scalar looked like, in case it is a key.
    fn place(&mut self, node: Node, spelling: Option<String>) -> Result<(), YamlError> {
        let Some(open) = self.open.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        match &mut open.content {
            Content::List(items) => items.push(node),
            Content::Map(members, key) => match key.take() {
                Some(Key { text, line, column }) => {
                    members.push(Member { key: text, line, column, node });
                }
                None => {
                    let Node { line, column, .. } = node;
                    let text =
                        spelling.ok_or_else(|| YamlProblem::CompositeKey.at(line, column))?;
                    *key = Some(Key { text, line, column });
                }
            },
        }
        Ok(())
    }

    fn remember(
        &mut self,
        anchor: usize,
        node: &Node,
        spelling: Option<&str>,
    ) -> Result<(), YamlError> {
        if anchor == 0 {
            return Ok(());
        }
        let (size, height) = measure(node);
        self.charge(size).map_err(|problem| problem.at(node.line, node.column))?;
        let spelling = spelling.map(str::to_owned);
        self.anchored.insert(anchor, Anchored { node: node.clone(), spelling, size, height });
        Ok(())
    }

    fn copy(&mut self, anchor: usize, line: u32, column: u32) -> Result<(), YamlError> {
        let Some(source) = self.anchored.get(&anchor) else {
            return Err(YamlProblem::AliasInItself.at(line, column));
        };
        if self.open.len() + source.height > MAX_DEPTH {
            return Err(YamlProblem::TooDeep.at(line, column));
        }
        self.charge(source.size).map_err(|problem| problem.at(line, column))?;
        let source = &self.anchored[&anchor];
        let node = Node { value: source.node.value.clone(), line, column };
        let spelling = source.spelling.clone();
        self.place(node, spelling)
    }

    fn charge(&mut self, size: Size) -> Result<(), YamlProblem> {
        self.copied.nodes += size.nodes;
        self.copied.bytes += size.bytes;
        if self.copied.nodes > MAX_ALIASED_NODES || self.copied.bytes > MAX_ALIASED_BYTES {
            return Err(YamlProblem::TooManyAliases);
        }
        Ok(())
    }
}

fn scalar_value(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Result<Value, YamlProblem> {
    let Some(suffix) = tag.and_then(Tag::core_suffix) else {
        let is_plain = tag.is_none() && style == ScalarStyle::Plain;
        return Ok(if is_plain { scalar::plain(text) } else { Value::Text(text.to_owned()) });
    };
    let value = scalar::plain(text);
    let (tag, fits) = match suffix {
        "null" => ("null", matches!(value, Value::Null)),
        "bool" => ("bool", matches!(value, Value::Bool(_))),
        "int" => ("int", matches!(value, Value::Number(number) if number.fract() == 0.0)),
        "float" => ("float", matches!(value, Value::Number(_))),
        _ => return Ok(Value::Text(text.to_owned())),
    };
    if fits { Ok(value) } else { Err(YamlProblem::Tag { tag }) }
}

/// Refuses the first key that repeats an earlier one.
fn refuse_duplicates(members: &[Member]) -> Result<(), YamlError> {
    let mut by_key: Vec<&Member> = members.iter().collect();
    by_key.sort_by(|a, b| a.key.cmp(&b.key));
    let pairs = by_key.windows(2).filter(|pair| pair[0].key == pair[1].key);
    match pairs.min_by_key(|pair| (pair[1].line, pair[1].column)) {
        Some([first, second]) => {
            let problem =
                YamlProblem::DuplicateKey { key: second.key.clone(), first_line: first.line };
            Err(problem.at(second.line, second.column))
        }
        _ => Ok(()),
    }
}

/// Measures a node: everything in it, and how many levels it has. It is at most [`MAX_DEPTH`] deep.
fn measure(node: &Node) -> (Size, usize) {
    let (mut size, mut height) = (Size { nodes: 1, bytes: 0 }, 0);
    let mut add = |child: &Node| {
        let (inner, levels) = measure(child);
        size.nodes += inner.nodes;
        size.bytes += inner.bytes;
        height = height.max(levels + 1);
    };
    match &node.value {
        Value::List(items) => items.iter().for_each(&mut add),
        Value::Map(members) => members.iter().for_each(|member| add(&member.node)),
        Value::Text(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
    size.bytes += match &node.value {
        Value::Text(text) => text.len(),
        Value::Map(members) => members.iter().map(|member| member.key.len()).sum(),
        Value::List(_) | Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    };
    (size, height)
}

/// The scanner has a limit on depth too, and looks ahead, so that it may be the first to see it.
fn problem_of(error: &ScanError) -> YamlProblem {
    if matches!(error.kind(), ErrorKind::RecursionLimitExceeded) {
        YamlProblem::TooDeep
    } else {
        YamlProblem::Syntax(error.info())
    }
}

fn place(marker: &Marker) -> (u32, u32) {
    (narrow(marker.line()), narrow(marker.col() + 1))
}
