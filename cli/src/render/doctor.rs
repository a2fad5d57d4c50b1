//! What `doctor` found, as text (spec `cli-core` 12).

use ratchet_supervisor::doctor::{Check, Diagnosis, Severity, Status};

use super::page::{Page, Tone};

/// Draws every check with its remedy.
pub(crate) fn diagnosis(page: &mut Page, diagnosis: &Diagnosis) {
    for check in &diagnosis.checks {
        self::check(page, check);
    }
    page.gap();
    let failed =
        |check: &&Check| check.status == Status::Fail && check.severity == Severity::Required;
    match diagnosis.checks.iter().filter(failed).count() {
        0 => page.tone(Tone::Good, "Ready: everything that work needs is here."),
        1 => page.tone(Tone::Bad, "Not ready: 1 required check failed."),
        n => page.tone(Tone::Bad, format_args!("Not ready: {n} required checks failed.")),
    };
    page.end();
}

/// Draws one check.
pub(crate) fn check(page: &mut Page, check: &Check) {
    let (tone, glyph) = match check.status {
        Status::Pass => (Tone::Good, "✓"),
        Status::Fail => (Tone::Bad, "✗"),
        Status::Info => (Tone::Dim, "ℹ"),
    };
    page.tone(tone, glyph).put(format_args!(" {}: {}", check.label, check.detail)).end();
    if let Some(remedy) = &check.remedy {
        page.tone(Tone::Dim, format_args!("    → {remedy}")).end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::page::Ink;
    use crate::schemas::assert_fits;

    // C-M21
    #[test]
    fn every_check_has_its_sign_and_what_did_not_pass_its_remedy() {
        let check = |status, severity, remedy: Option<&str>| Check {
            id: "agent",
            label: "Coding agent",
            status,
            severity,
            detail: "as it is".into(),
            remedy: remedy.map(str::to_owned),
        };
        let checks = vec![
            check(Status::Pass, Severity::Required, None),
            check(Status::Info, Severity::Optional, Some("git init")),
            check(Status::Fail, Severity::Required, Some("install one")),
        ];
        let found = Diagnosis { ok: false, checks };
        let mut page = Page::new(Ink::Plain);
        diagnosis(&mut page, &found);
        insta::assert_snapshot!(page.finish(), @r"
        ✓ Coding agent: as it is
        ℹ Coding agent: as it is
            → git init
        ✗ Coding agent: as it is
            → install one

        Not ready: 1 required check failed.
        ");
        assert_fits("doctor", &found);
    }
}
