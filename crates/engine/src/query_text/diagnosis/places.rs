//! Places in a text: lines and columns, and what a message quotes from there. They are told as editors count them, from one and by
//! characters, and what is quoted is cut, since a text may be one long line.

/// Characters of a line that a message shows.
pub(super) const LINE_SHOWN: usize = 120;

/// The bytes of a text from one place to another; nothing where these are no places in it.
pub(super) fn part(text: &str, from: usize, to: usize) -> &str {
    text.get(from..to).unwrap_or_default()
}

/// The byte of a line and a column, which count from one.
pub(super) fn byte_of(text: &str, line: usize, column: usize) -> Option<usize> {
    let start = match line.checked_sub(2) {
        None => 0,
        Some(breaks) => text.match_indices('\n').nth(breaks)?.0 + 1,
    };
    let rest = part(text, start, text.len());
    let mut places = rest.char_indices().map(|(at, _)| at).chain([rest.len()]);
    Some(start + places.nth(column.checked_sub(1)?)?)
}

/// The line and the column of a byte, which count from one.
pub(super) fn place(text: &str, at: usize) -> (usize, usize) {
    let before = part(text, 0, at);
    let line = before.matches('\n').count() + 1;
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    let column = part(before, start, before.len()).chars().count() + 1;
    (line, column)
}

pub(super) fn placed(text: &str, what: &str, at: usize) -> String {
    let (line, column) = place(text, at);
    let within = within(text, at);
    format!("{what}, at line {line}, column {column}{within}")
}

/// The line of a byte as the end of a message; nothing where there is nothing in it.
pub(super) fn within(text: &str, at: usize) -> String {
    match line_around(text, at) {
        line if line.is_empty() => line,
        line => format!(", in «{line}»"),
    }
}

/// The line of a byte, or what is around it there.
fn line_around(text: &str, at: usize) -> String {
    let before = part(text, 0, at);
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    let rest = part(text, start, text.len());
    let line = rest.split('\n').next().unwrap_or_default();
    let count = line.chars().count();
    let column = part(before, start, before.len()).chars().count();
    let skipped = column
        .saturating_sub(LINE_SHOWN / 2)
        .min(count.saturating_sub(LINE_SHOWN));
    let shown: String = line.chars().skip(skipped).take(LINE_SHOWN).collect();
    shown.trim().to_owned()
}

/// The beginning of what may be long, up to the end of its line.
pub(super) fn shortened(text: &str, length: usize) -> String {
    let line = text.split(['\n', '\r']).next().unwrap_or_default();
    match line.char_indices().nth(length) {
        Some((end, _)) => format!("{}…", part(line, 0, end)),
        None => line.to_owned(),
    }
}
