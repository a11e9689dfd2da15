//! What an unquoted scalar is: YAML 1.2's core schema (chapter 10.3), so `y`, `on` and `no` are text.

use super::{node::Value, problem::YamlProblem, text::Text};

/// The value of an unquoted scalar that no value was rendered into.
///
/// # Errors
/// A number that YAML 1.1 and 1.2 read differently, or that JSON cannot hold.
pub(super) fn resolve(text: Text) -> Result<Value, YamlProblem> {
    match text.as_str() {
        "" | "~" | "null" | "Null" | "NULL" => return Ok(Value::Null),
        "true" | "True" | "TRUE" => return Ok(Value::Bool(true)),
        "false" | "False" | "FALSE" => return Ok(Value::Bool(false)),
        _ => {}
    }
    let written = text.as_str();
    let too_big = || YamlProblem::TooBig(written.to_owned());
    let digits = written.trim_start_matches(['+', '-']);
    let is_signed_once = written.len() - digits.len() <= 1;
    if let Some((radix, digits)) = prefixed(written) {
        return i64::from_str_radix(digits, radix).map(Value::Integer).map_err(|_| too_big());
    }
    if !is_signed_once || !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return Ok(Value::Text(text));
    }
    if digits.bytes().all(|b| b.is_ascii_digit()) {
        if digits.len() > 1 && digits.starts_with('0') {
            return Err(YamlProblem::LeadingZero(written.to_owned()));
        }
        return written.parse().map(Value::Integer).map_err(|_| too_big());
    }
    if matches!(digits, ".inf" | ".Inf" | ".INF") || matches!(written, ".nan" | ".NaN" | ".NAN") {
        return Err(YamlProblem::NotFinite(written.to_owned()));
    }
    // Rust's own syntax of numbers also has words, but those begin with neither a digit nor a dot.
    match written.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(Value::Float(number)),
        Ok(_) => Err(YamlProblem::NotFinite(written.to_owned())),
        Err(_) => Ok(Value::Text(text)),
    }
}

/// Radix and digits of `0x1F` and `0o17`.
fn prefixed(written: &str) -> Option<(u32, &str)> {
    let (radix, digits) = match (written.strip_prefix("0x"), written.strip_prefix("0o")) {
        (Some(digits), _) => (16, digits),
        (_, Some(digits)) => (8, digits),
        _ => return None,
    };
    (!digits.is_empty() && digits.chars().all(|c| c.is_digit(radix))).then_some((radix, digits))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::Origin;

    #[test]
    fn only_the_core_schema_resolves() {
        let text = |written: &str| {
            let mut text = Text::default();
            text.push(written, Origin::Literal);
            text
        };
        for (written, expected) in [
            ("null", Ok(Value::Null)),
            ("~", Ok(Value::Null)),
            ("true", Ok(Value::Bool(true))),
            ("FALSE", Ok(Value::Bool(false))),
            ("0", Ok(Value::Integer(0))),
            ("8558", Ok(Value::Integer(8558))),
            ("+7", Ok(Value::Integer(7))),
            ("-7", Ok(Value::Integer(-7))),
            ("0x1F", Ok(Value::Integer(31))),
            ("0o17", Ok(Value::Integer(15))),
            ("1e5", Ok(Value::Float(1e5))),
            (".5", Ok(Value::Float(0.5))),
            ("1.", Ok(Value::Float(1.0))),
            ("0123", Err(YamlProblem::LeadingZero("0123".to_owned()))),
            ("9223372036854775808", Err(YamlProblem::TooBig("9223372036854775808".to_owned()))),
            ("-.inf", Err(YamlProblem::NotFinite("-.inf".to_owned()))),
            ("1e999", Err(YamlProblem::NotFinite("1e999".to_owned()))),
        ] {
            assert_eq!(resolve(text(written)), expected, "of {written}");
        }
        for written in
            ["y", "yes", "on", "No", "nan", "inf", "infinity", "1_000", "--1", "1.2.3", "0x", "-", ".", "1:30"]
        {
            assert_eq!(resolve(text(written)), Ok(Value::Text(text(written))), "of {written}");
        }
    }
}
