//! A duration as it is typed: `90s`, `5m`, `2h`, `500ms`; a bare number is seconds.

use std::time::Duration;

/// Reads a duration.
pub(crate) fn parse(text: &str) -> Result<Duration, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let ms_each = match unit {
        "ms" => 1,
        "" | "s" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return Err(NO_DURATION.to_owned()),
    };
    let number: u64 = number.parse().map_err(|_| NO_DURATION.to_owned())?;
    let ms = number.checked_mul(ms_each).ok_or_else(|| NO_DURATION.to_owned())?;
    Ok(Duration::from_millis(ms))
}

const NO_DURATION: &str = "a duration is a number and one of ms, s, m, h, such as 90s";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_a_number_and_a_unit() {
        let seconds = |text| parse(text).unwrap().as_secs_f64();
        assert_eq!([seconds("90s"), seconds("90"), seconds("5m")], [90.0, 90.0, 300.0]);
        assert_eq!([seconds("2h"), seconds("500ms"), seconds("0")], [7200.0, 0.5, 0.0]);
        for odd in ["", "s", "5x", "-1", "1.5s", "1 s", "99999999999999999h"] {
            assert!(parse(odd).is_err(), "{odd}");
        }
    }
}
