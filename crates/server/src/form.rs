//! `application/x-www-form-urlencoded`, as in query strings and forms, decoded strictly.
//!
//! Bytes that are no UTF-8 and broken escapes are errors, so that a query is never silently
//! another one. Cost: linear in the text.

/// The pairs of a form, in order; the message says what is wrong.
pub fn decode_form(text: &str) -> Result<Vec<(String, String)>, String> {
    let pairs = text.split('&').filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Ok((decode(name)?, decode(value)?))
        })
        .collect()
}

fn decode(text: &str) -> Result<String, String> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    // Termination: `at` grows in every round.
    while let Some(&byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'+' => out.push(b' '),
            b'%' => {
                let digits = bytes.get(at..at + 2).and_then(hex_byte);
                out.push(digits.ok_or_else(|| format!("'{text}' has a broken percent escape"))?);
                at += 2;
            }
            _ => out.push(byte),
        }
    }
    String::from_utf8(out).map_err(|_| format!("'{text}' is not UTF-8 when decoded"))
}

fn hex_byte(digits: &[u8]) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let value = digit(digits[0])? * 16 + digit(digits[1])?;
    u8::try_from(value).ok()
}
