//! `worker list` and `worker drain` as text.

use ratchet_supervisor::workers::{About, Drained, Looked, SessionState};

use super::page::{Page, Tone};

/// Draws every worker and what it has to do.
pub(crate) fn list(page: &mut Page, looked: &[Looked]) {
    for Looked { name, answer } in looked {
        match answer {
            Ok(about) => self::about(page, name, about),
            Err(error) => {
                page.tone(Tone::Bad, "✗ ").put(name).end();
                page.put("    ").put(error).end();
                if let Some(help) = error.help() {
                    page.tone(Tone::Dim, format_args!("    → {help}")).end();
                }
            }
        }
    }
}

fn about(page: &mut Page, name: &str, about: &About) {
    let (tone, sign) = if about.draining { (Tone::Warn, "⏸") } else { (Tone::Good, "✓") };
    page.tone(tone, sign).put(format_args!(" {name}"));
    page.put(format_args!("  {} of {} commands run", about.running, about.max_sessions));
    if about.draining {
        page.tone(Tone::Warn, ", takes no new ones");
    }
    page.end();
    let labels: Vec<String> =
        about.labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
    for (what, text) in [("labels", labels.join(" ")), ("agents", about.agents.join(", "))] {
        if !text.is_empty() {
            page.tone(Tone::Dim, format_args!("    {what:<8}")).put(text).end();
        }
    }
    page.tone(Tone::Dim, "    free    ").put(format_args!("{} GiB", about.free_bytes >> 30)).end();
    for session in &about.sessions {
        let state = match session.state {
            SessionState::Preparing => "begins",
            SessionState::Running => "runs",
            SessionState::Concluding => "ends",
            SessionState::Ended => "waits to be taken",
        };
        page.put(format_args!("    {state:<18}{}", session.id));
        for (name, value) in &session.labels {
            page.tone(Tone::Dim, format_args!("  {name}={value}"));
        }
        page.end();
    }
}

/// Draws what a worker still has to do.
pub(crate) fn drained(page: &mut Page, drained: &Drained) {
    let Drained { name, draining, running, unreleased } = drained;
    page.tone(Tone::Good, "✓ ");
    if *draining {
        page.put(format_args!("{name} takes no new commands."));
    } else {
        page.put(format_args!("{name} takes commands again."));
    }
    page.put(format_args!(" Running: {running}. Results to be taken: {unreleased}.")).end();
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use ratchet_supervisor::error::Error;
    use ratchet_supervisor::workers::Session;

    use super::*;
    use crate::commands::worker::Listed;
    use crate::render::page::Ink;
    use crate::schemas::assert_fits;

    fn words(name: &str, value: &str) -> BTreeMap<String, String> {
        BTreeMap::from([(name.to_owned(), value.to_owned())])
    }

    #[test]
    fn each_worker_is_shown_with_what_it_does_and_one_that_is_silent_with_the_reason() {
        let busy = About {
            version: "0.1.0".to_owned(),
            running: 1,
            max_sessions: 4,
            draining: true,
            labels: words("gpu", "none"),
            agents: vec!["claude".to_owned(), "codex".to_owned()],
            ratchet: None,
            free_bytes: 5 << 30,
            workspaces: 1,
            sessions: vec![Session {
                id: "0198c0de".to_owned(),
                project: "p".to_owned(),
                state: SessionState::Running,
                labels: words("step", "apply add-api"),
            }],
        };
        let looked = [
            Looked { name: "attic:7431".to_owned(), answer: Ok(busy) },
            Looked { name: "cellar:7431".to_owned(), answer: Err(Error::NoHome) },
        ];
        let mut page = Page::new(Ink::Plain);
        list(&mut page, &looked);
        let text = page.finish();
        for line in [
            "⏸ attic:7431  1 of 4 commands run, takes no new ones",
            "    labels  gpu=none",
            "    agents  claude, codex",
            "    runs              0198c0de  step=apply add-api",
            "✗ cellar:7431",
        ] {
            assert!(text.contains(line), "{line}:\n{text}");
        }
        assert_fits("worker-list", &Listed::of(&looked));
    }

    #[test]
    fn what_is_left_to_do_is_told() {
        let drained =
            Drained { name: "attic:7431".to_owned(), draining: true, running: 2, unreleased: 1 };
        let mut page = Page::new(Ink::Plain);
        self::drained(&mut page, &drained);
        assert_eq!(
            page.finish(),
            "✓ attic:7431 takes no new commands. Running: 2. Results to be taken: 1.\n"
        );
        assert_fits("worker-drain", &drained);
    }
}
