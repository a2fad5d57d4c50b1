//! Why an agent failed, as far as its own words or its exit code tell.
//!
//! A hint for a person and for deciding when to try again, never a verdict: a step is judged by its report and the
//! tree. One table for each source, from what the real programs were seen to print.

use std::fmt;
use std::time::Duration;

use jiff::tz::TimeZone;
use ratchet_engine::outcome::{Cause, Told};
use ratchet_engine::time::Timestamp;

use self::reset::{reset_at, reset_in};
use super::Agent;

mod reset;

/// Why an agent failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// Nobody is logged in, or the key is refused.
    Login,
    /// There is no credit left.
    Credit,
    /// A usage or rate limit was reached.
    Limit {
        /// When it ends, in seconds since 1970, if the agent said so.
        resets_at: Option<u64>,
    },
    /// The model's name is unknown.
    Model,
    /// The model's provider has trouble.
    Provider,
    /// The provider could not be reached.
    Network,
    /// The agent's own limit of turns.
    Turns,
    /// The agent's own limit of cost.
    Budget,
    /// It was interrupted.
    Interrupted,
    /// Something else.
    Other,
}

impl Failure {
    /// Classifies the HTTP status that a provider answered with.
    #[must_use]
    pub fn from_status(status: u64) -> Self {
        match status {
            401 | 403 => Self::Login,
            402 => Self::Credit,
            404 => Self::Model,
            429 => Self::Limit { resets_at: None },
            500..=599 => Self::Provider,
            _ => Self::Other,
        }
    }

    /// Classifies an agent's error text: by a phrase it is known to use, else by the HTTP status in it.
    #[must_use]
    pub fn from_text(text: &str) -> Self {
        const PHRASES: [(&str, Failure); 21] = [
            ("credit balance", Failure::Credit),
            // A provider that is busy for everybody says so.
            ("not your usage limit", Failure::Provider),
            ("usage limit", Failure::Limit { resets_at: None }),
            ("rate limit", Failure::Limit { resets_at: None }),
            ("limit reached", Failure::Limit { resets_at: None }),
            ("hit your limit", Failure::Limit { resets_at: None }),
            ("hit your session limit", Failure::Limit { resets_at: None }),
            ("hit your weekly limit", Failure::Limit { resets_at: None }),
            ("exhausted your", Failure::Limit { resets_at: None }),
            ("resource_exhausted", Failure::Limit { resets_at: None }),
            ("quota exceeded", Failure::Limit { resets_at: None }),
            ("usage_limit_reached", Failure::Limit { resets_at: None }),
            ("not logged in", Failure::Login),
            ("/login", Failure::Login),
            ("invalid api key", Failure::Login),
            ("invalid key", Failure::Login),
            ("overloaded", Failure::Provider),
            ("connection refused", Failure::Network),
            ("econnrefused", Failure::Network),
            ("enotfound", Failure::Network),
            ("stream disconnected", Failure::Network),
        ];
        let lower = text.to_lowercase();
        let phrase = PHRASES.iter().find(|(phrase, _)| lower.contains(phrase));
        match phrase {
            Some((_, failure)) => *failure,
            None => status_in(&lower).map_or(Self::Other, Self::from_status),
        }
    }

    /// Gives what a step's outcome says of this. `words` are the agent's own, said at a moment in a zone.
    #[must_use]
    pub fn told(self, words: &str, said_at: Timestamp, zone: &TimeZone) -> Told {
        let retry_at = match self {
            Self::Limit { resets_at } => resets_at
                .and_then(|seconds| reset_at(seconds, said_at))
                .or_else(|| reset_in(words, said_at, zone)),
            _ => None,
        };
        let text = match self {
            Self::Limit { .. } => "limit reached".to_owned(),
            Self::Other => first_line(words).unwrap_or_else(|| self.to_string()),
            _ => self.to_string(),
        };
        Told { cause: self.cause(), text, retry_at }
    }

    fn cause(self) -> Cause {
        match self {
            Self::Login => Cause::Login,
            Self::Credit => Cause::Credit,
            Self::Limit { .. } => Cause::Quota,
            Self::Model => Cause::Model,
            Self::Provider => Cause::Provider,
            Self::Network => Cause::Network,
            Self::Turns | Self::Budget => Cause::AgentLimit,
            Self::Interrupted => Cause::Stopped,
            Self::Other => Cause::Crash,
        }
    }

    /// Classifies the code an agent exited with, on its own and not by a signal; `None` if the code says nothing.
    #[must_use]
    pub fn from_exit(agent: Agent, code: i32) -> Option<Self> {
        match agent {
            Agent::Gemini => from_gemini_exit(code),
            Agent::Claude | Agent::Codex | Agent::Cursor | Agent::Opencode => None,
        }
    }
}

/// Codes from 144 up are HTTP statuses of the 400s, modulo 256; of the 500s only those seen are told from others.
fn from_gemini_exit(code: i32) -> Option<Failure> {
    match code {
        41 => Some(Failure::Login),
        53 => Some(Failure::Turns),
        17 => Some(Failure::from_status(529)),
        144..=255 => Some(Failure::from_status(u64::from(code.unsigned_abs()) + 256)),
        _ => None,
    }
}

/// Gives the first line that says anything, cut, without the full stop.
fn first_line(words: &str) -> Option<String> {
    const MOST: usize = 200;
    let line = words.lines().map(str::trim).find(|line| !line.is_empty())?;
    Some(line.trim_end_matches('.').chars().take(MOST).collect())
}

/// Finds a number of three digits that follows `status`, `error` or `code` within a few characters.
fn status_in(lower: &str) -> Option<u64> {
    ["status", "error", "code"].into_iter().find_map(|word| {
        lower.match_indices(word).find_map(|(at, _)| {
            let after = &lower[at + word.len()..];
            let number = after.trim_start_matches(['"', ':', '=', ' ']);
            let digits: String = number.chars().take_while(char::is_ascii_digit).collect();
            let status = digits.parse().ok()?;
            (400..=599).contains(&status).then_some(status)
        })
    })
}

/// How an agent's process ended that may never have understood its arguments.
#[derive(Debug, Clone, Copy)]
pub struct EarlyEnd<'a> {
    /// The code it exited with, on its own.
    pub exit_code: i32,
    /// How long it ran while the machine was awake.
    pub ran: Duration,
    /// Its output held at least one event.
    pub saw_event: bool,
    /// The end of its standard error.
    pub stderr: &'a str,
}

const EARLY: Duration = Duration::from_secs(2);

/// Says, if it looks so, that the arguments do not fit the installed version: it ended at once, with code 1 or 2, and
/// without an event. Flags change from week to week and unknown ones are fatal in every agent.
#[must_use]
pub fn argument_mismatch(agent: Agent, end: &EarlyEnd<'_>) -> Option<String> {
    let early = end.ran <= EARLY && matches!(end.exit_code, 1 | 2) && !end.saw_event;
    if !early {
        return None;
    }
    let id = agent.id();
    let cause = match rejected_option(end.stderr) {
        Some(option) => format!("the installed {id} does not know the option '{option}'"),
        None => format!("the arguments may not fit the installed version of {id}"),
    };
    let mut text = format!(
        "{id} exited with code {} after {:.1} s without printing an event: {cause}. \
         Set the right ones with batch.agents.{id}.args in .ratchet/config.yaml, then resume.",
        end.exit_code,
        end.ran.as_secs_f64(),
    );
    let stderr = end.stderr.trim();
    if !stderr.is_empty() {
        text.push_str(" It said:\n");
        text.push_str(stderr);
    }
    Some(text)
}

/// Finds the option that an agent refused, where its error says so in the known form (decision OQ-45).
#[must_use]
pub fn rejected_option(stderr: &str) -> Option<&str> {
    let rest = stderr.split_once("unexpected argument '")?.1;
    rest.split_once("' found").map(|(option, _)| option).filter(|option| !option.contains('\n'))
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Limit { resets_at: Some(at) } => {
                let ms = i64::try_from(at.saturating_mul(1000)).unwrap_or(i64::MAX);
                let ends = Timestamp::from_unix_ms(ms);
                return write!(f, "a usage limit was reached; it ends at {ends}");
            }
            Self::Login => "not logged in, or the key was refused",
            Self::Credit => "no credit left",
            Self::Limit { resets_at: None } => "a usage limit was reached",
            Self::Model => "the model is unknown",
            Self::Provider => "the model's provider has trouble",
            Self::Network => "the model's provider cannot be reached",
            Self::Turns => "the agent's limit of turns was reached",
            Self::Budget => "the agent's budget was used up",
            Self::Interrupted => "interrupted",
            Self::Other => "failed",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_texts_are_classified() {
        let limit = Failure::Limit { resets_at: None };
        for (text, failure) in [
            ("exceeded retry limit, last status: 429 Too Many Requests", limit),
            ("Reconnecting... 1/5 (unexpected status 401 Unauthorized: x)", Failure::Login),
            ("[API Error: 404 model: x]", Failure::Model),
            ("API Error: 529 {}", Failure::Provider),
            (r#"[API Error: {"error":{"code":401,"message":"no"}}]"#, Failure::Login),
            ("Your credit balance is too low", Failure::Credit),
            ("You've hit your usage limit.", limit),
            ("You've hit your limit · resets 10pm (America/New_York)", limit),
            ("5-hour limit reached ∙ resets 2am", limit),
            ("You have exhausted your capacity on this model.", limit),
            ("Server is temporarily limiting requests (not your usage limit)", Failure::Provider),
            ("Not logged in · Please run /login", Failure::Login),
            ("status 12, status 4040, error", Failure::Other),
            ("", Failure::Other),
        ] {
            assert_eq!(Failure::from_text(text), failure, "{text}");
        }
    }

    #[test]
    fn a_limit_says_when_it_ends_if_that_is_known() {
        let known = Failure::Limit { resets_at: Some(1_800_000_000) }.to_string();
        assert_eq!(known, "a usage limit was reached; it ends at 2027-01-15T08:00:00.000Z");
        let never = Failure::Limit { resets_at: Some(u64::MAX) }.to_string();
        assert!(never.starts_with("a usage limit was reached"), "{never}");
    }

    #[test]
    fn geminis_exit_codes_are_statuses_not_signals() {
        let codes = [
            (145, Some(Failure::Login)),
            (173, Some(Failure::Limit { resets_at: None })),
            (244, Some(Failure::Provider)),
            (17, Some(Failure::Provider)),
            (41, Some(Failure::Login)),
            (53, Some(Failure::Turns)),
            (1, None),
            (-1, None),
        ];
        for (code, failure) in codes {
            assert_eq!(Failure::from_exit(Agent::Gemini, code), failure, "{code}");
        }
        assert_eq!(Failure::from_exit(Agent::Claude, 145), None);
    }

    #[test]
    fn an_outcome_is_told_in_a_few_words_and_until_when() {
        let now = Timestamp::from_unix_ms(1_800_000_000_000);
        let told = |failure: Failure, words: &str| failure.told(words, now, &TimeZone::UTC);
        let limit = told(Failure::Limit { resets_at: Some(1_800_000_060) }, "resets in 2 hours");
        assert_eq!((limit.cause, limit.text.as_str()), (Cause::Quota, "limit reached"));
        assert_eq!(limit.retry_at, Some(Timestamp::from_unix_ms(1_800_000_060_000)));
        let worded = told(Failure::Limit { resets_at: None }, "try again in 2 hours");
        assert_eq!(worded.retry_at, Some(Timestamp::from_unix_ms(1_800_007_200_000)));
        // A moment that has passed says nothing about the next one.
        let past = told(Failure::Limit { resets_at: Some(1_700_000_000) }, "limit");
        assert_eq!((past.cause, past.retry_at), (Cause::Quota, None));
        let login = told(Failure::Login, "try again in 2 hours");
        assert_eq!((login.cause, login.retry_at), (Cause::Login, None));
        let other = told(Failure::Other, "\n It broke.\nBadly.");
        assert_eq!((other.cause, other.text.as_str()), (Cause::Crash, "It broke"));
    }

    fn end(exit_code: i32, millis: u64, stderr: &str) -> EarlyEnd<'_> {
        EarlyEnd { exit_code, ran: Duration::from_millis(millis), saw_event: false, stderr }
    }

    #[test]
    fn an_early_end_without_an_event_names_the_setting() {
        let stderr = "error: unexpected argument '--full-auto' found\n";
        let text = argument_mismatch(Agent::Codex, &end(2, 300, stderr)).unwrap();
        for part in ["batch.agents.codex.args", "'--full-auto'", "code 2", "0.3 s"] {
            assert!(text.contains(part), "{text}");
        }
        assert!(
            argument_mismatch(Agent::Claude, &end(1, 2000, "")).unwrap().contains("may not fit")
        );
    }

    #[test]
    fn other_ends_are_no_mismatch() {
        for early in [end(0, 10, ""), end(3, 10, ""), end(1, 2001, ""), end(127, 10, "")] {
            assert_eq!(argument_mismatch(Agent::Claude, &early), None);
        }
        let spoke = EarlyEnd { saw_event: true, ..end(1, 10, "") };
        assert_eq!(argument_mismatch(Agent::Claude, &spoke), None);
    }

    #[test]
    fn only_the_exact_words_name_an_option() {
        assert_eq!(rejected_option("x unexpected argument '-a' found y"), Some("-a"));
        assert_eq!(rejected_option("unexpected argument '-a\n' found"), None);
        assert_eq!(rejected_option("unknown option -a"), None);
    }
}
