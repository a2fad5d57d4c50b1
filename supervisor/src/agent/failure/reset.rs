//! Finds in an agent's own words when a limit ends. The agents say it as a moment, as a time of day in some zone, or as a
//! stretch of time; the table of what was seen is in the tests.
//!
//! A moment that is past, or so far off that it must be misread, is none: then a person decides when to try again.

use jiff::civil::{Date, Time};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp as Moment, ToSpan as _};
use ratchet_engine::time::Timestamp;

/// The longest that an agent is believed to be out of use: a month and a bit.
const LONGEST: SignedDuration = SignedDuration::from_hours(40 * 24);

/// Words after which a stretch of time stands.
const STRETCHES: [&str; 8] = [
    "reset after",
    "resets in",
    "reset in",
    "try again in",
    "retry in",
    "retry after",
    "retry-after:",
    "retrydelay\":\"",
];

/// Words after which a time of day stands, with or without its day.
const CLOCKS: [&str; 4] = ["resets at", "reset at", "resets", "try again at"];

/// Finds the moment that a text names. `said_at` is when it was said, `zone` what the agent takes for local time.
#[must_use]
pub(super) fn reset_in(text: &str, said_at: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
    let now = Moment::from_millisecond(said_at.unix_ms()).ok()?;
    let lower = text.to_ascii_lowercase();
    let found = epoch(&lower)
        .or_else(|| stretch(&lower).and_then(|stretch| now.checked_add(stretch).ok()))
        .or_else(|| after(&lower, &CLOCKS).find_map(|(at, _)| clock(&text[at..], now, zone)))?;
    believable(found, now)
}

/// Takes a moment in seconds since 1970, unless it cannot be right.
#[must_use]
pub(super) fn reset_at(seconds: u64, said_at: Timestamp) -> Option<Timestamp> {
    let now = Moment::from_millisecond(said_at.unix_ms()).ok()?;
    believable(Moment::from_second(i64::try_from(seconds).ok()?).ok()?, now)
}

fn believable(found: Moment, now: Moment) -> Option<Timestamp> {
    let ahead = found.duration_since(now);
    let fits = ahead > SignedDuration::ZERO && ahead <= LONGEST;
    fits.then(|| Timestamp::from_unix_ms(found.as_millisecond()))
}

/// `limit reached|1762952400`, `"resets_at":1777936568`
fn epoch(lower: &str) -> Option<Moment> {
    let marks = ["limit reached|", "resets_at\":", "resetsat\":"];
    let (_, rest) = after(lower, &marks).next()?;
    Moment::from_second(digits(rest.trim_start())?.0).ok()
}

/// `8h44m7s`, `35.2s`, `2 days 17 hours 14 minutes`; a bare number is seconds.
fn stretch(lower: &str) -> Option<SignedDuration> {
    after(lower, &STRETCHES).find_map(|(_, rest)| stretch_at(rest)).or_else(|| {
        let (_, rest) = after(lower, &["resets_in_seconds\":"]).next()?;
        Some(SignedDuration::from_secs(digits(rest.trim_start())?.0))
    })
}

fn stretch_at(text: &str) -> Option<SignedDuration> {
    let mut rest = text.trim_start();
    let mut sum: Option<f64> = None;
    while let Some((number, after)) = number(rest) {
        let glued = after.starts_with(char::is_alphabetic);
        let after = after.trim_start();
        let unit: &str =
            &after[..after.len() - after.trim_start_matches(char::is_alphabetic).len()];
        let seconds = match unit {
            "ms" => 0.001,
            "s" | "sec" | "secs" | "second" | "seconds" => 1.0,
            "m" | "min" | "mins" | "minute" | "minutes" => 60.0,
            "h" | "hr" | "hrs" | "hour" | "hours" => 3600.0,
            "d" | "day" | "days" => 86_400.0,
            _ if sum.is_none() && !glued => {
                sum = Some(number);
                break;
            }
            _ => break,
        };
        sum = Some(sum.unwrap_or(0.0) + number * seconds);
        rest = after[unit.len()..].trim_start_matches([' ', ',']);
        rest = rest.strip_prefix("and ").unwrap_or(rest);
    }
    SignedDuration::try_from_secs_f64(sum?).ok()
}

/// `10pm (America/New_York)`, `Apr 23 at 4pm`, `Dec 3rd, 2026 3:05 PM`, `2026-12-01T03:00:00Z`
fn clock(text: &str, now: Moment, zone: &TimeZone) -> Option<Moment> {
    let mut words = text.split([' ', ',', '\u{a0}', '\u{202f}']).filter(|word| !word.is_empty());
    let mut day = Day::default();
    let time = loop {
        let word = words.next()?.trim_end_matches(['.', ';']);
        if let Ok(moment) = word.parse() {
            return Some(moment);
        }
        if let Some(time) = time_of_day(word, words.clone().next()) {
            break time;
        }
        if !day.take(word) {
            return None;
        }
    };
    let zone = named_zone(text).unwrap_or_else(|| zone.clone());
    day.with(time, now, &zone)
}

/// The parts of a date that were named.
#[derive(Default)]
struct Day {
    month: Option<i8>,
    day: Option<i8>,
    year: Option<i16>,
}

impl Day {
    /// Takes a word; says whether it belongs to a date.
    fn take(&mut self, word: &str) -> bool {
        const MONTHS: [&str; 12] =
            ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
        let lower = word.to_lowercase();
        if lower == "at" || lower == "on" {
            return true;
        }
        if let Some(month) = (1..).zip(MONTHS).find(|(_, month)| lower.starts_with(month)) {
            self.month = Some(month.0);
            return true;
        }
        let bare = lower.trim_end_matches(char::is_alphabetic);
        match (bare.len(), bare.parse::<i16>()) {
            (1 | 2, Ok(day @ 1..=31)) => self.day = i8::try_from(day).ok(),
            (4, Ok(year)) => self.year = Some(year),
            _ => return false,
        }
        true
    }

    /// Gives the next such moment.
    fn with(&self, time: Time, now: Moment, zone: &TimeZone) -> Option<Moment> {
        let today = zone.to_datetime(now).date();
        let moment = |date: Date| zone.to_timestamp(date.to_datetime(time)).ok();
        let (Some(month), Some(day)) = (self.month, self.day) else {
            let found = moment(today)?;
            return if found > now { Some(found) } else { moment(today.tomorrow().ok()?) };
        };
        let found = moment(Date::new(self.year.unwrap_or(today.year()), month, day).ok()?)?;
        let long_ago = found < now.checked_sub(24.hours()).ok()?;
        if self.year.is_none() && long_ago {
            return moment(Date::new(today.year() + 1, month, day).ok()?);
        }
        Some(found)
    }
}

/// `4pm`, `3:05 PM`, `11:30am`, `15:05`
fn time_of_day(word: &str, next: Option<&str>) -> Option<Time> {
    let lower = word.to_lowercase();
    let next = next.map(|next| next.to_lowercase().replace('.', "")).unwrap_or_default();
    let (figures, half) = match lower.strip_suffix("am").or(lower.strip_suffix("pm")) {
        Some(figures) => (figures, Some(lower.ends_with("pm"))),
        None if next == "am" || next == "pm" => (lower.as_str(), Some(next == "pm")),
        None => (lower.as_str(), None),
    };
    let (hour, minute) = figures.split_once(':').unwrap_or((figures, "0"));
    // A bare number is a day.
    if half.is_none() && !figures.contains(':') {
        return None;
    }
    let (hour, minute): (i8, i8) = (hour.parse().ok()?, minute.parse().ok()?);
    let hour = match half {
        Some(afternoon) if (1..=12).contains(&hour) => hour % 12 + if afternoon { 12 } else { 0 },
        Some(_) => return None,
        None => hour,
    };
    Time::new(hour, minute, 0, 0).ok()
}

/// `(America/New_York)`
fn named_zone(text: &str) -> Option<TimeZone> {
    let (_, rest) = text.split_once('(')?;
    TimeZone::get(rest.split_once(')')?.0).ok()
}

/// Gives what follows each of the marks, by mark and then by place, with its place.
fn after<'t>(lower: &'t str, marks: &'t [&str]) -> impl Iterator<Item = (usize, &'t str)> {
    marks.iter().flat_map(move |mark| {
        lower.match_indices(mark).map(move |(at, _)| (at + mark.len(), &lower[at + mark.len()..]))
    })
}

fn digits(text: &str) -> Option<(i64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    Some((text[..end].parse().ok()?, &text[end..]))
}

fn number(text: &str) -> Option<(f64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    Some((text[..end].parse().ok()?, &text[end..]))
}

#[cfg(test)]
mod tests;
