//! `supervisor status` and `supervisor stop` as text.

use std::fmt;

use ratchet_supervisor::Active;
use ratchet_supervisor::client::about::About;
use ratchet_supervisor::store::layout::RunHome;

use super::page::{Page, Tone};
use crate::commands::supervisor::stop::Gone;

/// Draws who answers.
pub(crate) fn about(page: &mut Page, about: &About) {
    page.tone(Tone::Heading, format_args!("ratchet supervisor {}", about.version));
    page.put(format_args!("  pid {}, since {}", about.pid, about.started_at)).end();
    if about.draining {
        page.tone(Tone::Warn, "  it is stopping: it waits for its steps and begins none").end();
    }
    for listener in &about.listeners {
        row(page, "listens at", listener);
    }
    row(page, "capacity", format_args!("{} at a time", count(about.capacity as usize, "command")));
    row(page, "active", count(about.active.len(), "step"));
    steps(page, &about.active);
    row(page, "knows", count(about.projects.len(), "project"));
    for project in &about.projects {
        page.put("    ").put(project.display()).end();
    }
}

/// Draws how one ended.
pub(crate) fn gone(page: &mut Page, gone: &Gone) {
    page.tone(Tone::Good, "✓ ");
    page.put(format_args!("The supervisor (pid {}) has stopped.", gone.pid)).end();
    if gone.unfinished.is_empty() {
        return;
    }
    let number = count(gone.unfinished.len(), "step");
    let rest = match gone.unfinished.len() {
        1 => "goes on without it; the next supervisor or command for its batch finds it:",
        _ => "go on without it; the next supervisor or command for their batches finds them:",
    };
    page.put(format_args!("{number} {rest}")).end();
    steps(page, &gone.unfinished);
}

/// Says that there was none to stop.
pub(crate) fn nobody(page: &mut Page, place: &str) {
    page.put(format_args!("No supervisor is running at {place}.")).end();
}

fn row(page: &mut Page, name: &str, value: impl fmt::Display) {
    page.tone(Tone::Dim, format_args!("  {name:<11}")).put(value).end();
}

fn steps(page: &mut Page, steps: &[Active]) {
    for Active { of, before } in steps {
        match &of.home {
            RunHome::Batch(name) => page.put(format_args!("    batch {name}")),
            RunHome::Change(name) => page.put(format_args!("    change {name}")),
        };
        page.tone(Tone::Dim, format_args!("  {}", of.root.display()));
        if let Some(before) = before {
            page.tone(Tone::Warn, format_args!("  waits for room, {before} before it"));
        }
        page.end();
    }
}

fn count(number: usize, of: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {of}{plural}")
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use ratchet_engine::name::{BatchName, ChangeName};
    use ratchet_supervisor::StepOf;

    use super::*;
    use crate::commands::supervisor::status::Described;
    use crate::commands::supervisor::stop::Answer;
    use crate::render::page::Ink;
    use crate::schemas::assert_fits;

    fn active() -> Vec<Active> {
        let batch = RunHome::Batch(BatchName::parse("shop").unwrap());
        let change = RunHome::Change(ChangeName::parse("add-cart").unwrap());
        let root = || PathBuf::from("/home/ada/shop");
        vec![
            Active { of: StepOf { root: root(), home: batch }, before: None },
            Active { of: StepOf { root: root(), home: change }, before: Some(2) },
        ]
    }

    #[test]
    fn who_answers_is_told_with_what_it_does() {
        let described = About {
            version: "0.1.0".into(),
            protocol: 1,
            pid: 4711,
            started_at: "2026-01-02T03:04:05.000Z".into(),
            listeners: vec!["unix:/run/user/1000/ratchet/supervisor.sock".into()],
            capacity: 4,
            active: active(),
            projects: vec![PathBuf::from("/home/ada/shop")],
            draining: true,
        };
        let mut page = Page::new(Ink::Plain);
        about(&mut page, &described);
        insta::assert_snapshot!(page.finish(), @r"
        ratchet supervisor 0.1.0  pid 4711, since 2026-01-02T03:04:05.000Z
          it is stopping: it waits for its steps and begins none
          listens at unix:/run/user/1000/ratchet/supervisor.sock
          capacity   4 commands at a time
          active     2 steps
            batch shop  /home/ada/shop
            change add-cart  /home/ada/shop  waits for room, 2 before it
          knows      1 project
            /home/ada/shop
        ");
        assert_fits("supervisor-status", &Described::from(described));
    }

    #[test]
    fn the_end_is_told_with_what_goes_on() {
        let ended = Gone { pid: 4711, active: active(), unfinished: active()[..1].to_vec() };
        let mut page = Page::new(Ink::Plain);
        gone(&mut page, &ended);
        nobody(&mut page, "unix:/run/user/1000/ratchet/supervisor.sock");
        insta::assert_snapshot!(page.finish(), @r"
        ✓ The supervisor (pid 4711) has stopped.
        1 step goes on without it; the next supervisor or command for its batch finds it:
            batch shop  /home/ada/shop
        No supervisor is running at unix:/run/user/1000/ratchet/supervisor.sock.
        ");
        assert_fits("supervisor-stop", &Answer::of(Some(&ended)));
        assert_fits("supervisor-stop", &Answer::of(None));
    }
}
