//! Hides what may be a secret in argv tokens that are shown (spec `batch-manifest-and-settings` 9).
//!
//! A short secret that stands apart from a telling flag passes through: it looks like any other value.

const TELLING: [&str; 9] =
    ["token", "secret", "key", "password", "passwd", "pwd", "auth", "bearer", "credential"];

/// Gives the tokens with `***` in place of values that may be secret.
#[must_use]
pub fn redact_tokens(tokens: &[String]) -> Vec<String> {
    let mut after_telling_flag = false;
    let mut shown = Vec::with_capacity(tokens.len());
    for token in tokens {
        let hide_value = std::mem::take(&mut after_telling_flag);
        shown.push(match token.split_once('=') {
            Some((name, value)) if name.starts_with('-') => {
                if is_telling(name) || looks_secret(value) {
                    format!("{name}=***")
                } else {
                    token.clone()
                }
            }
            _ if token.starts_with('-') => {
                after_telling_flag = is_telling(token);
                token.clone()
            }
            _ if hide_value || looks_secret(token) => "***".to_owned(),
            _ => token.clone(),
        });
    }
    shown
}

fn is_telling(flag: &str) -> bool {
    let flag = flag.to_ascii_lowercase();
    TELLING.iter().any(|word| flag.contains(word))
}

fn looks_secret(value: &str) -> bool {
    value.len() >= 20
        && value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-./+=".contains(&byte))
}
