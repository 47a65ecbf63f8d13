//! Whether two queries are the same but for names that the parser makes up.

use spargebra::Query;
use std::collections::HashMap;

/// Digits of a name that is made up: 128 bits in hexadecimal, without leading zeros.
const DIGITS_MIN: usize = 20;
const DIGITS_MAX: usize = 32;

/// Whether two queries are the same when blank nodes and variables without a name of their own are named alike.
pub fn is_same_query(one: &Query, other: &Query) -> bool {
    let (one, other) = (one.to_sse(), other.to_sse());
    let (mut ours, mut theirs) = (words(&one), words(&other));
    let (mut to_theirs, mut to_ours) = (HashMap::new(), HashMap::new());
    loop {
        let (our, their) = match (ours.next(), theirs.next()) {
            (None, None) => return true,
            (Some(our), Some(their)) => (our, their),
            _ => return false,
        };
        let are_same = if is_made_up(our) && is_made_up(their) {
            *to_theirs.entry(our).or_insert(their) == their
                && *to_ours.entry(their).or_insert(our) == our
        } else {
            our == their
        };
        if !are_same {
            return false;
        }
    }
}

/// Words and what is between them.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(|c: char| !c.is_ascii_alphanumeric())
        .flat_map(|piece| {
            let end = piece
                .trim_end_matches(|c: char| !c.is_ascii_alphanumeric())
                .len();
            [&piece[..end], &piece[end..]]
        })
}

fn is_made_up(word: &str) -> bool {
    (DIGITS_MIN..=DIGITS_MAX).contains(&word.len()) && word.bytes().all(|b| b.is_ascii_hexdigit())
}
