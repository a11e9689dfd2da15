//! The tokens that stand for text and values while handlebars renders.
//!
//! A token is wrapped in private-use characters, which handlebars passes on as any other character. None can be
//! forged: neither the template's text nor any value reaches handlebars' output except inside a token.

/// First character of a token.
const START: char = '\u{E000}';

/// Last character of a token.
const END: char = '\u{E001}';

/// One piece of handlebars' output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// White space of the template that handlebars left standing.
    Blank(String),
    /// Text of the template: the byte where it begins, and its length.
    Text(usize, usize),
    /// The next value comes from this mustache.
    Mustache(usize),
    /// A value.
    Value(String),
    /// An integer that was computed.
    Sum(i64),
}

/// The token of a run of the template's text.
pub(super) fn text(start: usize, length: usize) -> String {
    format!("{START}t{start},{length}{END}")
}

/// The token that goes before a mustache's value.
pub(super) fn mustache(index: usize) -> String {
    format!("{START}m{index}{END}")
}

/// The token of a value: its bytes in hexadecimal, so that nothing in it means anything to handlebars.
pub(super) fn value(text: &str) -> String {
    let mut token = String::with_capacity(2 * text.len() + 8);
    token.push(START);
    token.push('v');
    for byte in text.bytes() {
        for digit in [byte >> 4, byte & 15] {
            token.extend(char::from_digit(u32::from(digit), 16));
        }
    }
    token.push(END);
    token
}

/// The token of a computed integer.
pub(super) fn sum(number: i64) -> String {
    format!("{START}s{number}{END}")
}

/// Splits handlebars' output. None where it is no sequence of white space and tokens, which cannot happen as long as
/// every way to print passes through this module.
pub(super) fn split(output: &str) -> Option<Vec<Token>> {
    let mut tokens = Vec::new();
    let mut rest = output;
    while !rest.is_empty() {
        let start = rest.find(START).unwrap_or(rest.len());
        if start > 0 {
            let (blank, behind) = rest.split_at(start);
            if !blank.chars().all(|character| character.is_ascii_whitespace()) {
                return None;
            }
            tokens.push(Token::Blank(blank.to_owned()));
            rest = behind;
            continue;
        }
        let (token, behind) = rest[START.len_utf8()..].split_once(END)?;
        let (kind, body) = token.split_at_checked(1)?;
        tokens.push(match kind {
            "t" => {
                let (start, length) = body.split_once(',')?;
                Token::Text(start.parse().ok()?, length.parse().ok()?)
            }
            "m" => Token::Mustache(body.parse().ok()?),
            "v" => Token::Value(unhex(body)?),
            "s" => Token::Sum(body.parse().ok()?),
            _ => return None,
        });
        rest = behind;
    }
    Some(tokens)
}

fn unhex(digits: &str) -> Option<String> {
    if digits.len() % 2 == 1 {
        return None;
    }
    let digits: Vec<u8> = digits.chars().map(|digit| u8::try_from(digit.to_digit(16)?).ok()).collect::<Option<_>>()?;
    String::from_utf8(digits.chunks(2).map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | digit)).collect()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_split_as_they_were_made() {
        let odd = "ñ\n\u{E000}v61\u{E001}}}";
        let output = format!("  {}\n{}{}{}", text(3, 14), mustache(2), value(odd), sum(-7));
        let expected = [
            Token::Blank("  ".to_owned()),
            Token::Text(3, 14),
            Token::Blank("\n".to_owned()),
            Token::Mustache(2),
            Token::Value(odd.to_owned()),
            Token::Sum(-7),
        ];
        assert_eq!(split(&output).unwrap(), expected);
        assert_eq!(split(&value("")).unwrap(), [Token::Value(String::new())]);
        for unprotected in
            ["x", "a\u{E000}v61\u{E001}", "\u{E000}v6\u{E001}", "\u{E000}v61", "\u{E000}\u{E001}", "\u{E000}x1\u{E001}"]
        {
            assert_eq!(split(unprotected), None, "of {unprotected:?}");
        }
    }
}
