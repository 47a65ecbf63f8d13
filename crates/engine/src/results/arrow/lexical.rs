//! From lexical forms to the values of Arrow, and back to the form that a value stands for.
//!
//! Reading takes every form of the datatype that has an exact value; writing gives one form. Whoever reads
//! compares the two and keeps the text where they differ.

use basalt_rdf::inline::dates::{civil_from_days, days_from_civil};
use std::fmt::Write;

/// Digits that a decimal of 128 bits can surely hold.
const DECIMAL_DIGITS_MAX: usize = 38;

/// White space that XML Schema ignores around numbers, dates and booleans.
fn trim(lexical: &str) -> &str {
    lexical.trim_matches([' ', '\t', '\n', '\r'])
}

/// The value of an integer.
pub(super) fn integer(lexical: &str) -> Option<i64> {
    trim(lexical).parse().ok()
}

/// The value of a boolean.
pub(super) fn boolean(lexical: &str) -> Option<bool> {
    match trim(lexical) {
        "true" | "1" => Some(true),
        "false" | "0" => Some(false),
        _ => None,
    }
}

/// The value of a double or float.
pub(super) fn float<F: std::str::FromStr + From<f32>>(lexical: &str) -> Option<F> {
    match trim(lexical) {
        "INF" | "+INF" => Some(f32::INFINITY.into()),
        "-INF" => Some(f32::NEG_INFINITY.into()),
        "NaN" => Some(f32::NAN.into()),
        // The parser of Rust knows more words than XML Schema.
        text if text
            .bytes()
            .any(|b| b.is_ascii_alphabetic() && !matches!(b, b'e' | b'E')) =>
        {
            None
        }
        text => text.parse().ok(),
    }
}

/// How a column of doubles, floats or decimals writes its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// As XML Schema 1.1 prefers.
    Canonical,
    /// Doubles and floats without an exponent.
    Plain,
    /// Decimals with as many fraction digits as the column has.
    Fixed,
}

impl Style {
    /// The name in metadata.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Canonical => "canonical",
            Self::Plain => "plain",
            Self::Fixed => "fixed",
        }
    }
}

/// Appends a double or float; `plain` and `exponent` are its two forms by Rust.
fn push_float(out: &mut String, is_finite: bool, plain: &str, exponent: &str, style: Style) {
    match (is_finite, style) {
        (false, _) => out.push_str(match plain {
            "inf" => "INF",
            "-inf" => "-INF",
            _ => "NaN",
        }),
        (true, Style::Canonical) => {
            let (mantissa, power) = exponent.split_once('E').unwrap_or((exponent, "0"));
            out.push_str(mantissa);
            if !mantissa.contains('.') {
                out.push_str(".0");
            }
            out.push('E');
            out.push_str(power);
        }
        (true, Style::Plain | Style::Fixed) => out.push_str(plain),
    }
}

/// Appends a double.
pub(super) fn push_double(out: &mut String, value: f64, style: Style) {
    push_float(
        out,
        value.is_finite(),
        &value.to_string(),
        &format!("{value:E}"),
        style,
    );
}

/// Appends a float.
pub(super) fn push_single(out: &mut String, value: f32, style: Style) {
    push_float(
        out,
        value.is_finite(),
        &value.to_string(),
        &format!("{value:E}"),
        style,
    );
}

/// A decimal as sign, digits before and digits behind the point.
fn decimal_parts(lexical: &str) -> Option<(bool, &str, &str)> {
    let text = trim(lexical);
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let is_good = !(whole.is_empty() && fraction.is_empty())
        && [whole, fraction]
            .iter()
            .all(|part| part.bytes().all(|b| b.is_ascii_digit()));
    is_good.then(|| (text.starts_with('-'), whole, fraction))
}

/// The fraction digits as written.
pub(super) fn fraction_digits(lexical: &str) -> Option<usize> {
    Some(decimal_parts(lexical)?.2.len())
}

/// The value of a decimal, times ten to the power of `scale`; nothing if that is no whole number or too long.
pub(super) fn decimal(lexical: &str, scale: usize) -> Option<i128> {
    let (is_negative, whole, fraction) = decimal_parts(lexical)?;
    let (whole, fraction) = (
        whole.trim_start_matches('0'),
        fraction.trim_end_matches('0'),
    );
    if fraction.len() > scale || whole.len() + scale > DECIMAL_DIGITS_MAX {
        return None;
    }
    let digits = format!("0{whole}{fraction:0<scale$}");
    let mantissa: i128 = digits.parse().ok()?;
    Some(if is_negative { -mantissa } else { mantissa })
}

/// Appends a decimal.
pub(super) fn push_decimal(out: &mut String, mantissa: i128, scale: usize, style: Style) {
    if mantissa < 0 {
        out.push('-');
    }
    let digits = format!("{:0>width$}", mantissa.unsigned_abs(), width = scale + 1);
    let (whole, fraction) = digits.split_at(digits.len() - scale);
    let fraction = match style {
        Style::Fixed => fraction,
        Style::Canonical | Style::Plain => fraction.trim_end_matches('0'),
    };
    out.push_str(whole);
    if !fraction.is_empty() {
        out.push('.');
        out.push_str(fraction);
    }
}

/// So many digits as a number.
fn digits(text: &str, count: usize) -> Option<i64> {
    (text.len() == count && text.bytes().all(|b| b.is_ascii_digit()))
        .then(|| text.parse().ok())
        .flatten()
}

/// The day number of a date without a zone, of years with four digits.
pub(super) fn date(lexical: &str) -> Option<i32> {
    let text = trim(lexical);
    let mut parts = text.splitn(3, '-');
    let year = digits(parts.next()?, 4)?;
    let month = digits(parts.next()?, 2)?;
    let day = digits(parts.next()?, 2)?;
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let month_days = match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    let is_real = (1..=12).contains(&month) && (1..=month_days).contains(&day);
    is_real.then(|| days_from_civil(year, month as u8, day as u8) as i32)
}

/// Appends a date.
pub(super) fn push_date(out: &mut String, days: i32) {
    let (year, month, day) = civil_from_days(days.into());
    // Writing to a string cannot fail.
    let _ = write!(out, "{year:04}-{month:02}-{day:02}");
}

/// Whether a dateTime names a zone.
pub(super) fn has_zone(lexical: &str) -> bool {
    let time = lexical.split_once('T').map_or("", |(_, time)| time);
    time.contains(['Z', '+', '-'])
}

/// The microseconds of a dateTime since 1970, in UTC if it has a zone; nothing for 24:00 and finer seconds.
pub(super) fn date_time(lexical: &str) -> Option<i64> {
    let (day, rest) = trim(lexical).split_once('T')?;
    let zone_at = rest.find(['Z', '+', '-']).unwrap_or(rest.len());
    let (time, zone) = rest.split_at(zone_at);
    let (clock, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let mut parts = clock.splitn(3, ':');
    let hour = digits(parts.next()?, 2).filter(|hour| *hour < 24)?;
    let minute = digits(parts.next()?, 2).filter(|minute| *minute < 60)?;
    let second = digits(parts.next()?, 2).filter(|second| *second < 60)?;
    let is_fraction = !fraction.is_empty() && fraction.bytes().all(|b| b.is_ascii_digit());
    let significant = fraction.trim_end_matches('0');
    if !is_fraction || significant.len() > 6 {
        return None;
    }
    let micros: i64 = format!("{significant:0<6}").parse().ok()?;
    let offset_minutes = match zone {
        "" | "Z" => 0,
        _ => {
            let (hours, minutes) = zone[1..].split_once(':')?;
            let offset = digits(hours, 2)? * 60 + digits(minutes, 2).filter(|m| *m < 60)?;
            let sign = if zone.starts_with('-') { -1 } else { 1 };
            (offset <= 14 * 60).then_some(offset * sign)?
        }
    };
    let minutes = i64::from(date(day)?) * 1440 + hour * 60 + minute - offset_minutes;
    Some((minutes * 60 + second) * 1_000_000 + micros)
}

/// Appends a dateTime.
pub(super) fn push_date_time(out: &mut String, micros: i64, is_utc: bool) {
    let seconds = micros.div_euclid(1_000_000);
    let (year, month, day) = civil_from_days(seconds.div_euclid(86_400));
    let second = seconds.rem_euclid(86_400);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    // Writing to a string cannot fail.
    let _ = write!(
        out,
        "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}"
    );
    let fraction = micros.rem_euclid(1_000_000);
    if fraction > 0 {
        let digits = format!("{fraction:06}");
        let _ = write!(out, ".{}", digits.trim_end_matches('0'));
    }
    if is_utc {
        out.push('Z');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_go_there_and_back() {
        assert_eq!(date("1970-01-01"), Some(0));
        assert_eq!(date("2000-02-29"), Some(11_016));
        for bad in [
            "1900-02-29",
            "2001-13-01",
            "2001-04-31",
            "01-1-1",
            "2001-01-01Z",
            "-001-01-01",
        ] {
            assert_eq!(date(bad), None, "{bad}");
        }
        for days in (-719_162..2_932_896).step_by(97) {
            let mut text = String::new();
            push_date(&mut text, days);
            assert_eq!(date(&text), Some(days), "{text}");
        }
    }

    #[test]
    fn instants_go_there_and_back() {
        let texts = [
            "1969-12-31T23:59:59.999999Z",
            "2020-02-29T00:00:00.5Z",
            "0001-01-01T00:00:00Z",
            "2020-02-29T12:34:56",
        ];
        for text in texts {
            let mut again = String::new();
            push_date_time(
                &mut again,
                date_time(text).expect("a value"),
                has_zone(text),
            );
            assert_eq!(again, text);
        }
        assert_eq!(
            date_time("2020-01-01T01:00:00+01:00"),
            date_time("2020-01-01T00:00:00Z")
        );
        for bad in [
            "2020-01-01T24:00:00",
            "2020-01-01T00:00:00.0000001",
            "2020-01-01T00:00:00+15:00",
            "2020-01-01T0:0:0",
            "2020-01-01T00:00:00.",
            "2020-01-01T00:00:00+é0:00",
        ] {
            assert_eq!(date_time(bad), None, "{bad}");
        }
    }

    #[test]
    fn numbers_have_styles() {
        let mut out = String::new();
        push_double(&mut out, 1.0, Style::Canonical);
        push_double(&mut out, -2.5e-7, Style::Canonical);
        push_double(&mut out, 1.5, Style::Plain);
        push_single(&mut out, f32::NEG_INFINITY, Style::Plain);
        push_decimal(&mut out, -1250, 3, Style::Fixed);
        push_decimal(&mut out, -1250, 3, Style::Canonical);
        push_decimal(&mut out, 5000, 3, Style::Canonical);
        assert_eq!(out, "1.0E0-2.5E-71.5-INF-1.250-1.255");
        assert_eq!(decimal("-01.250", 2), Some(-125));
        assert_eq!(decimal("1.255", 2), None);
        assert_eq!(decimal(&"9".repeat(38), 0), Some(10_i128.pow(38) - 1));
        assert_eq!(decimal(&"9".repeat(38), 1), None);
        for bad in ["", ".", "+", "1e3", "1.2.3", "é"] {
            assert_eq!(decimal(bad, 2), None, "{bad}");
        }
        assert_eq!(float::<f64>("infinity"), None);
        assert_eq!(float::<f64>(" 1e3 "), Some(1000.0));
    }
}
