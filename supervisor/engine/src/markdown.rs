//! The little of Markdown that ratchet looks at: fenced code, which is never read as anything else, and headings with what
//! stands under them. Tasks are [`crate::change`]'s.

use std::ops::Range;

#[cfg(test)]
mod tests;

/// A heading and what stands under it, up to the next heading of the same level or a higher one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section<'a> {
    /// Its text, without the marks.
    pub title: &'a str,
    /// Its line, from 1.
    pub line: u32,
    /// How deep it is, from 1.
    pub level: usize,
    /// What stands under it, deeper headings among it.
    pub body: &'a str,
    /// Where it all stands in the text, its heading included; in bytes.
    pub span: Range<usize>,
}

/// Finds the headings (`# …` to `###### …`) outside of fenced code. A fence that is never closed masks the rest.
#[must_use]
pub fn sections(text: &str) -> Vec<Section<'_>> {
    let headings = headings(text);
    let mut sections = Vec::with_capacity(headings.len());
    for (index, heading) in headings.iter().enumerate() {
        let next = headings[index + 1..].iter().find(|next| next.level <= heading.level);
        let end = next.map_or(text.len(), |next| next.start);
        let Heading { title, line, level, start, body } = *heading;
        sections.push(Section { title, line, level, body: &text[body..end], span: start..end });
    }
    sections
}

struct Heading<'a> {
    title: &'a str,
    line: u32,
    level: usize,
    /// Where its line begins.
    start: usize,
    /// Where the next line begins.
    body: usize,
}

fn headings(text: &str) -> Vec<Heading<'_>> {
    let mut headings = Vec::new();
    let mut fence: Option<Fence> = None;
    let mut start = 0;
    for (number, line) in (1..).zip(text.split_inclusive('\n')) {
        let body = start + line.len();
        let line = line.trim_start_matches('\u{feff}').trim();
        match (&fence, Fence::at_start_of(line)) {
            (None, Some((open, _))) => fence = Some(open),
            (Some(open), Some((close, Rest::Blank))) if close.closes(open) => fence = None,
            (Some(_), _) => {}
            (None, None) => {
                let heading = heading(line);
                headings.extend(heading.map(|(level, title)| Heading {
                    title,
                    line: number,
                    level,
                    start,
                    body,
                }));
            }
        }
        start = body;
    }
    headings
}

fn heading(line: &str) -> Option<(usize, &str)> {
    let level = line.bytes().take_while(|byte| *byte == b'#').count();
    let rest = &line[level..];
    if !(1..=6).contains(&level) || !(rest.is_empty() || rest.starts_with([' ', '\t'])) {
        return None;
    }
    Some((level, rest.trim().trim_end_matches('#').trim_end()))
}

/// A line of three or more backticks or tildes.
pub(crate) struct Fence {
    mark: u8,
    len: usize,
}

/// What follows the marks of a fence.
pub(crate) enum Rest {
    Blank,
    Text,
}

impl Fence {
    /// Reads a fence from a line without its indentation.
    pub(crate) fn at_start_of(line: &str) -> Option<(Self, Rest)> {
        let mark = *line.as_bytes().first().filter(|byte| matches!(byte, b'`' | b'~'))?;
        let len = line.bytes().take_while(|byte| *byte == mark).count();
        let rest = &line[len..];
        // Backticks on both ends are inline code, not a fence.
        if len < 3 || (mark == b'`' && rest.contains('`')) {
            return None;
        }
        let rest = if rest.trim().is_empty() { Rest::Blank } else { Rest::Text };
        Some((Self { mark, len }, rest))
    }

    /// Tells whether this one ends what the other began.
    pub(crate) fn closes(&self, open: &Self) -> bool {
        self.mark == open.mark && self.len >= open.len
    }
}
