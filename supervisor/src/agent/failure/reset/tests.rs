//! What the agents were seen to say of a limit's end.

use super::*;

/// Monday.
const NOW: &str = "2026-11-30T22:00:00.000Z";

fn found(text: &str) -> Option<String> {
    let zone = TimeZone::get("Europe/Berlin").expect("the system knows zones");
    reset_in(text, Timestamp::parse(NOW).unwrap(), &zone).map(|at| at.to_string())
}

#[test]
fn every_form_that_was_seen_is_read() {
    for (said, resets) in [
        // Claude Code
        ("Claude AI usage limit reached|1796090400", "2026-12-01T02:00:00.000Z"),
        ("You've hit your limit · resets 10pm (America/New_York)", "2026-12-01T03:00:00.000Z"),
        (
            "You've hit your limit · resets Dec 3 at 4pm (America/Recife)",
            "2026-12-03T19:00:00.000Z",
        ),
        (
            "You've hit your session limit · resets 11:30pm (Europe/Berlin)",
            "2026-11-30T22:30:00.000Z",
        ),
        ("5-hour limit reached ∙ resets 2am", "2026-12-01T01:00:00.000Z"),
        ("You've hit your weekly limit · resets Jan 2, 3pm (UTC)", "2027-01-02T15:00:00.000Z"),
        // Codex
        (
            "You've hit your usage limit. Upgrade to Pro (https://x.example/pricing) or try again in 2 days 17 hours 14 minutes.",
            "2026-12-03T15:14:00.000Z",
        ),
        ("You've hit your usage limit. Try again in 5 minutes.", "2026-11-30T22:05:00.000Z"),
        ("You've hit your usage limit. Try again at 11:05 PM.", "2026-11-30T22:05:00.000Z"),
        ("…or try again at Dec 3rd, 2026 3:05 PM.", "2026-12-03T14:05:00.000Z"),
        (
            r#"{"type":"usage_limit_reached","plan_type":"plus","resets_at":1796090400,"resets_in_seconds":13872}"#,
            "2026-12-01T02:00:00.000Z",
        ),
        (r#"{"resets_in_seconds":60}"#, "2026-11-30T22:01:00.000Z"),
        (
            "Rate limit reached for x. Please try again in 11.5s. Visit y",
            "2026-11-30T22:00:11.500Z",
        ),
        // Gemini
        (
            "You have exhausted your capacity on this model. Your quota will reset after 8h44m7s.",
            "2026-12-01T06:44:07.000Z",
        ),
        (r#"[{"@type":"RetryInfo","retryDelay":"59s"}]"#, "2026-11-30T22:00:59.000Z"),
        ("Please retry in 35.2s.", "2026-11-30T22:00:35.200Z"),
        // Any
        ("429 Too Many Requests, retry-after: 3600", "2026-11-30T23:00:00.000Z"),
        ("limit; resets at 2026-12-01T03:00:00Z", "2026-12-01T03:00:00.000Z"),
    ] {
        assert_eq!(found(said).as_deref(), Some(resets), "{said}");
    }
}

#[test]
fn what_cannot_be_the_end_of_a_limit_is_none() {
    for said in [
        "",
        "exceeded retry limit, last status: 429 Too Many Requests",
        "Claude AI usage limit reached|1762952400",
        "usage limit reached|99999999999",
        "usage limit reached|",
        "resets",
        "the view resets at once, then 25pm",
        "try again at",
        "try again in a while",
        "try again in 900 days",
        "quota will reset after 0s",
        "resets 13pm",
        "resets Feb 31 at 4pm",
        "reset after 1e999 s and 99999999999999999999999999999999999999 days",
        "Ⓡesets 3pm",
    ] {
        assert_eq!(found(said), None, "{said}");
    }
}

#[test]
fn letters_that_grow_when_they_are_lowered_are_no_trouble() {
    assert_eq!(found("İİİİİİİİİİ resets"), None);
    assert!(found("İİ resets 2am").is_none_or(|at| at.ends_with("00.000Z")));
}
