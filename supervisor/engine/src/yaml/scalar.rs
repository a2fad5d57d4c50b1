//! What a scalar means: the core schema of YAML 1.2, section 10.3.2, but a leading zero makes a text.

use super::Value;

/// Reads an unquoted scalar.
pub(super) fn plain(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        _ => number(text).map_or_else(|| Value::Text(text.to_owned()), Value::Number),
    }
}

fn number(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if !unsigned.starts_with(|first: char| first.is_ascii_digit() || first == '.') {
        return None;
    }
    if let Some(digits) = text.strip_prefix("0x") {
        return radix(digits, 16);
    }
    if let Some(digits) = text.strip_prefix("0o") {
        return radix(digits, 8);
    }
    match unsigned {
        ".inf" | ".Inf" | ".INF" if text.starts_with('-') => Some(f64::NEG_INFINITY),
        ".inf" | ".Inf" | ".INF" => Some(f64::INFINITY),
        ".nan" | ".NaN" | ".NAN" if unsigned.len() == text.len() => Some(f64::NAN),
        _ => decimal(text, unsigned),
    }
}

fn decimal(text: &str, unsigned: &str) -> Option<f64> {
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let exponent =
        exponent.map_or("0", |exponent| exponent.strip_prefix(['+', '-']).unwrap_or(exponent));
    let is_number = all_digits(whole)
        && all_digits(fraction)
        && !(whole.is_empty() && fraction.is_empty())
        && all_digits(exponent)
        && !exponent.is_empty();
    let has_leading_zero = whole.len() > 1 && whole.starts_with('0');
    if is_number && !has_leading_zero { text.parse().ok() } else { None }
}

fn all_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

fn radix(digits: &str, base: u32) -> Option<f64> {
    let mut value = 0.0;
    for digit in digits.chars() {
        value = value * f64::from(base) + f64::from(digit.to_digit(base)?);
    }
    (!digits.is_empty()).then_some(value)
}
