//! The picture: the state as lines on a screen of any size. Which text stands where is decided here, and nothing else.

use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratchet_engine::park::ParkKind;

use super::board::{Board, Followed, Mode, Source, Word, reading_room};
use super::detail::detail;
use super::entry::Entry;
use super::keys::HELP;
use super::look::Step;
use super::pager::{Pager, Room};
use super::rows::{Brush, Row, one_line};
use super::scroll::{columns, fitted, lines, wrapped};
use crate::render::page::{Ink, Page, Tone, cleaned};

/// The smallest screen that says anything.
const LEAST: Room = Room { width: 30, height: 8 };

/// The most rows that the chosen row's details take.
const MOST_DETAIL: usize = 6;

/// The most rows that a message takes; what is longer ends with an ellipsis.
const MOST_SAID: usize = 6;

/// Draws the dashboard.
pub(crate) fn draw(frame: &mut Frame<'_>, board: &Board) {
    let area = frame.area();
    let room = Room { width: area.width.into(), height: area.height.into() };
    if room.width < LEAST.width || room.height < LEAST.height {
        let text = format!(
            "This terminal is too small: {}×{}, and the dashboard needs {}×{}. q leaves.",
            room.width, room.height, LEAST.width, LEAST.height
        );
        put(frame, area, wrapped(&Line::from(text), room.width));
        return;
    }
    match &board.mode {
        Mode::Reading { source, pager } => reading(frame, board, source, pager, room),
        Mode::Help => help(frame, board, room),
        Mode::Looking | Mode::Typing { .. } | Mode::Sure { .. } => overview(frame, board, room),
    }
}

/// How the rows of a screen are shared out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Shares {
    tree: usize,
    detail: usize,
    output: usize,
}

impl Shares {
    /// Gives each part what it needs, and the output the rest; where it is tight the tree stays usable first. The heading of
    /// each part is counted.
    fn of(height: usize, tree: usize, detail: usize) -> Self {
        let detail = match detail {
            0 => 0,
            lines => (lines.min(MOST_DETAIL) + 1).min((height / 3).max(2)),
        };
        let least_output = if height >= 12 { height / 3 } else { 2 };
        let tree = tree.min(height.saturating_sub(detail + least_output)).max(1);
        Self { tree, detail, output: height.saturating_sub(tree + detail) }
    }
}

fn overview(frame: &mut Frame<'_>, board: &Board, room: Room) {
    let footer = footer(board, room);
    let body = room.height - 1 - footer.lines.len();
    let rows = board.rows();
    let row = board.row();
    let notes = row.map(|row| detail(row, board.ink)).unwrap_or_default();
    let notes: Vec<_> = notes.iter().flat_map(|line| wrapped(line, room.width - 2)).collect();
    let shares = Shares::of(body, rows.len().max(1), notes.len());
    let mut picture = vec![header(board, room.width)];
    picture.extend(tree(board, &rows, shares.tree, room.width));
    if let Some(row) = row.filter(|_| shares.detail > 0) {
        picture.push(rule(&name_of(row), room.width));
        let indented = cut(notes, shares.detail - 1, room.width - 2).into_iter().map(|mut line| {
            line.spans.insert(0, Span::raw("  "));
            line
        });
        picture.extend(indented.collect::<Vec<_>>());
    }
    picture.resize(1 + shares.tree + shares.detail, Line::default());
    picture.extend(output(board, shares.output, room.width));
    picture.resize(1 + body, Line::default());
    picture.extend(footer.lines);
    put(frame, frame.area(), picture);
    if let Some((column, row)) = footer.cursor {
        let row = room.height - 1 - row;
        frame.set_cursor_position(Position::new(short(column), short(row)));
    }
}

fn header(board: &Board, width: usize) -> Line<'static> {
    let mut running = 0;
    let mut waiting = 0;
    for row in board.rows() {
        waiting += usize::from(row.waits());
        if let Row::Batch(batch) = row {
            let step = batch.found.as_ref().ok().and_then(|found| found.step.as_ref());
            running += usize::from(step.is_some());
        }
    }
    let mut page = Page::new(board.ink);
    page.tone(Tone::Heading, "ratchet").put(" ").put(&board.title);
    if running > 0 {
        page.tone(Tone::Busy, format_args!("  {running} running"));
    }
    if waiting > 0 {
        let verb = if waiting == 1 { "waits" } else { "wait" };
        page.tone(Tone::Warn, format_args!("  {waiting} {verb} for you"));
    }
    if let Some(problem) = board.look.as_ref().and_then(|look| look.problem.as_ref()) {
        page.tone(Tone::Bad, format_args!("  ⚠ {problem}"));
    }
    fitted(first_line(&page, board.ink), width)
}

fn tree(board: &Board, rows: &[Row<'_>], height: usize, width: usize) -> Vec<Line<'static>> {
    if rows.is_empty() {
        let text = match &board.look {
            None => "Looking …",
            Some(_) => "No batches found. Create one with 'ratchet new batch <name>'.",
        };
        return vec![fitted(Line::from(format!("  {text}")), width)];
    }
    // The chosen row stays in the middle, so that one sees what is around it.
    let top = board.chosen.index.saturating_sub(height / 2).min(rows.len().saturating_sub(height));
    let brush = Brush { ink: board.ink, width: width - 2, now: board.now, shut: &board.shut };
    let drawn = rows.iter().enumerate().skip(top).take(height).map(|(index, row)| {
        let is_chosen = index == board.chosen.index;
        let mut line = row.line(brush);
        line.spans.insert(0, Span::raw(if is_chosen { "> " } else { "  " }));
        if is_chosen && board.ink == Ink::Colour {
            line.style = Style::new().add_modifier(Modifier::BOLD);
        }
        line
    });
    drawn.collect()
}

fn name_of(row: Row<'_>) -> String {
    match row {
        Row::Batch(batch) => batch.name.to_string(),
        Row::Phase(_, _, phase) => format!("phase {}", phase.name),
        Row::Change(_, _, change) => change.name.to_string(),
        Row::PullRequest(_, due) => due.key.to_string(),
    }
}

/// Draws the end of what the step of the chosen batch has printed.
fn output(board: &Board, height: usize, width: usize) -> Vec<Line<'static>> {
    let Some(room) = height.checked_sub(1) else { return Vec::new() };
    let step = board.wanted().map(|(_, step)| step);
    let shown = board
        .output
        .as_ref()
        .filter(|followed| board.row().is_some_and(|row| row.batch().name == followed.batch));
    let mut drawn = Vec::new();
    match (shown, step) {
        (Some(followed), step) => {
            drawn.push(rule(&heading(board, followed, step), width));
            drawn.extend(followed.output.scroll.last_rows(width, room));
        }
        (None, Some(step)) => drawn.push(rule(&step.what(), width)),
        (None, None) => drawn.push(rule("nothing runs", width)),
    }
    drawn
}

fn heading(board: &Board, followed: &Followed, step: Option<&Step>) -> String {
    match step.filter(|step| step.spawn == followed.output.spawn) {
        Some(step) => {
            let agent = step.agent.as_ref().map(|agent| format!(" · {agent}")).unwrap_or_default();
            format!("{}{agent} · {}", step.what(), step.elapsed(board.now))
        }
        None => format!("{} · over", followed.output.title),
    }
}

/// What stands at the bottom, and where a person types in it: the column, and the rows below.
struct Footer {
    lines: Vec<Line<'static>>,
    cursor: Option<(usize, usize)>,
}

fn footer(board: &Board, room: Room) -> Footer {
    let width = room.width;
    let plain = |lines| Footer { lines, cursor: None };
    match &board.mode {
        Mode::Typing { to, entry } => {
            let verb = match to.word {
                Word::Answer => "Answer",
                Word::Reject => "Reject",
            };
            typing(board.ink, &format!("{verb} {}", to.key), entry, width)
        }
        Mode::Sure { what, .. } => {
            let mut page = Page::new(board.ink);
            page.tone(Tone::Heading, format_args!("Stop {what}? [y/N]"));
            plain(vec![fitted(first_line(&page, board.ink), width)])
        }
        Mode::Looking | Mode::Help | Mode::Reading { .. } => match (&board.doing, &board.said) {
            (Some(doing), _) => {
                let mut page = Page::new(board.ink);
                page.tone(Tone::Busy, format_args!("{doing} …"));
                plain(vec![fitted(first_line(&page, board.ink), width)])
            }
            (None, said) if !said.is_empty() => {
                let rows = said.iter().flat_map(|line| wrapped(line, width)).collect();
                plain(cut(rows, MOST_SAID.min(room.height / 2), width))
            }
            (None, _) => plain(vec![hints(board, width)]),
        },
    }
}

fn typing(ink: Ink, what: &str, entry: &Entry, width: usize) -> Footer {
    let mut page = Page::new(ink);
    page.tone(Tone::Heading, what).tone(Tone::Dim, "  Enter sends, Esc leaves");
    let (text, cursor) = entry.window(width - 2);
    let lines = vec![fitted(first_line(&page, ink), width), Line::from(format!("> {text}"))];
    Footer { lines, cursor: Some((cursor + 2, 0)) }
}

/// Draws the keys that mean something here, the most useful first, as many as fit.
fn hints(board: &Board, width: usize) -> Line<'static> {
    let mut hints = vec!["? help", "q quit"];
    let waiting = board.row().filter(|row| row.waits()).and_then(Row::park);
    match waiting.map(|park| park.kind) {
        Some(ParkKind::Blocked) => hints.push("i answer"),
        Some(ParkKind::AwaitingApproval) => hints.extend(["a approve", "r reject"]),
        None if board.rows().into_iter().any(Row::waits) => hints.push("Tab next question"),
        None => {}
    }
    if board.wanted().is_some() {
        hints.push("c stop");
    }
    hints.extend(["l log", "↑↓ move", "←→ close/open"]);
    in_a_row(&hints, board.ink, width)
}

fn in_a_row(hints: &[&str], ink: Ink, width: usize) -> Line<'static> {
    let mut text = String::new();
    for hint in hints {
        let gap = if text.is_empty() { "" } else { "  " };
        if columns(&text) + columns(gap) + columns(hint) > width {
            break;
        }
        text.push_str(gap);
        text.push_str(hint);
    }
    let mut page = Page::new(ink);
    page.tone(Tone::Dim, text);
    first_line(&page, ink)
}

fn help(frame: &mut Frame<'_>, board: &Board, room: Room) {
    let keys = HELP.iter().map(|(keys, _)| columns(keys)).max().unwrap_or_default();
    let mut page = Page::new(board.ink);
    page.tone(Tone::Heading, "Keys").end();
    for (key, does) in HELP {
        let gap = " ".repeat(keys - columns(key) + 2);
        page.put("  ").tone(Tone::Busy, key).put(gap).put(does).end();
    }
    let fit = |line| fitted(line, room.width);
    let mut picture: Vec<_> = lines(page.finish(), board.ink).into_iter().map(fit).collect();
    picture = cut(picture, room.height - 1, room.width);
    picture.resize(room.height - 1, Line::default());
    picture.push(in_a_row(&["any key goes back"], board.ink, room.width));
    put(frame, frame.area(), picture);
}

fn reading(frame: &mut Frame<'_>, board: &Board, source: &Source, pager: &Pager, room: Room) {
    let output = board.output_of(source);
    let inner = reading_room(room);
    let mut picture = Vec::new();
    if let Some(output) = output {
        let gone = match output.scroll.first() {
            0 => String::new(),
            lines => format!(" · {lines} older lines: ratchet batch log --spawn {}", output.spawn),
        };
        picture.push(rule(&format!("{}{gone}", output.title), room.width));
        picture.extend(pager.rows(&output.scroll, inner));
    }
    picture.resize(1 + inner.height, Line::default());
    let end = if pager.is_at_end() { "the end" } else { "G to the end" };
    let hints = ["q back", end, "↑↓ PgUp PgDn move", "g to the start"];
    picture.push(in_a_row(&hints, board.ink, room.width));
    put(frame, frame.area(), picture);
}

/// Draws a heading across the screen.
fn rule(title: &str, width: usize) -> Line<'static> {
    let title = one_line(&cleaned(title));
    let mut line = fitted(Line::from(format!("── {title} ")), width);
    let rest = width.saturating_sub(line.width());
    line.push_span("─".repeat(rest));
    line
}

/// Keeps the first rows, and says so if there are more.
fn cut(mut rows: Vec<Line<'static>>, height: usize, width: usize) -> Vec<Line<'static>> {
    if rows.len() > height {
        rows.truncate(height);
        if let Some(last) = rows.pop() {
            let mut last = fitted(last, width.saturating_sub(2));
            last.push_span(" …");
            rows.push(last);
        }
    }
    rows
}

fn first_line(page: &Page, ink: Ink) -> Line<'static> {
    lines(page.finish(), ink).into_iter().next().unwrap_or_default()
}

fn put(frame: &mut Frame<'_>, area: Rect, picture: Vec<Line<'static>>) {
    let buffer = frame.buffer_mut();
    for (row, line) in (area.y..area.bottom()).zip(picture) {
        buffer.set_line(area.x, row, &line, area.width);
    }
}

/// Terminals have fewer columns and rows than this can count.
fn short(number: usize) -> u16 {
    u16::try_from(number).unwrap_or(u16::MAX)
}
