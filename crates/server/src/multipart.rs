//! `multipart/form-data` (RFC 7578), as far as a graph store needs it: the parts of a form as documents.
//!
//! Cost: one search for the boundary; the parts are slices of the body.

/// A part of a form.
#[derive(Debug, PartialEq, Eq)]
pub struct Part<'a> {
    /// The file name, or the name of the field, or nothing.
    pub name: String,
    /// The media type without parameters, in lower case.
    pub media_type: Option<String>,
    /// The content.
    pub body: &'a [u8],
}

/// The boundary that a `Content-Type` names.
pub fn boundary(content_type: &str) -> Option<&str> {
    parameter(content_type, "boundary").filter(|boundary| !boundary.is_empty())
}

/// The parts between the boundaries; the message says what is wrong.
pub fn parts<'a>(body: &'a [u8], boundary: &str) -> Result<Vec<Part<'a>>, String> {
    let mark = format!("--{boundary}");
    let mark = mark.as_bytes();
    let mut found = Vec::new();
    let mut at = next_mark(body, 0, mark)
        .ok_or("the form does not have its boundary")?
        .1;
    // Termination: every round goes on to a later boundary.
    while !body[at..].starts_with(b"--") {
        let start = line_end(body, at).ok_or("the form ends within a boundary")?;
        let (end, after) =
            next_mark(body, start, mark).ok_or("the form ends without its last boundary")?;
        found.push(part(&body[start..end])?);
        at = after;
    }
    Ok(found)
}

/// The next boundary that begins a line: where the content before it ends, and where it ends itself.
fn next_mark(body: &[u8], from: usize, mark: &[u8]) -> Option<(usize, usize)> {
    let mut at = from;
    // Termination: `at` grows in every round.
    loop {
        let found = at + body[at..].windows(mark.len()).position(|w| w == mark)?;
        match &body[from..found] {
            [before @ .., b'\r', b'\n'] | [before @ .., b'\n'] => {
                return Some((from + before.len(), found + mark.len()));
            }
            [] => return Some((found, found + mark.len())),
            _ => at = found + 1,
        }
    }
}

/// Where the line after this place begins.
fn line_end(body: &[u8], from: usize) -> Option<usize> {
    let end = body[from..].iter().position(|&byte| byte == b'\n')?;
    Some(from + end + 1)
}

/// Headers, an empty line, content.
fn part(bytes: &[u8]) -> Result<Part<'_>, String> {
    let mut part = Part {
        name: String::new(),
        media_type: None,
        body: &[],
    };
    let mut at = 0;
    // Termination: every round takes a line.
    while let Some(end) = line_end(bytes, at) {
        let line = std::str::from_utf8(&bytes[at..end]);
        let line = line.map_err(|_| "a header of a part is not UTF-8")?.trim();
        at = end;
        if line.is_empty() {
            part.body = &bytes[at..];
            return Ok(part);
        }
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        if name.eq_ignore_ascii_case("content-type") {
            let essence = value.split(';').next().unwrap_or_default();
            part.media_type = Some(essence.trim().to_ascii_lowercase());
        } else if name.eq_ignore_ascii_case("content-disposition") {
            let told = parameter(value, "filename").or_else(|| parameter(value, "name"));
            part.name = told.unwrap_or_default().to_owned();
        }
    }
    Err("a part ends within its headers".to_owned())
}

/// A parameter of a header's value, without quotes.
fn parameter<'a>(value: &'a str, wanted: &str) -> Option<&'a str> {
    unquoted_pieces(value).skip(1).find_map(|pair| {
        let (name, value) = pair.split_once('=')?;
        let is_wanted = name.trim().eq_ignore_ascii_case(wanted);
        is_wanted.then(|| value.trim().trim_matches('"'))
    })
}

/// What stands between the semicolons of a header's value; one in quotes separates nothing.
fn unquoted_pieces(value: &str) -> impl Iterator<Item = &str> {
    let mut is_quoted = false;
    let mut is_escaped = false;
    value.split(move |letter: char| {
        is_quoted ^= letter == '"' && !is_escaped;
        is_escaped = letter == '\\' && is_quoted && !is_escaped;
        letter == ';' && !is_quoted
    })
}

#[cfg(test)]
mod tests {
    use super::{Part, boundary, parameter, parts};

    #[test]
    fn parts_are_what_stands_between_boundaries_at_line_starts() {
        let form = b"before\r\n--b\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a.ttl\"\r\n\
            Content-Type: Text/Turtle; charset=utf-8\r\n\r\none --b\r\ntwo\r\n\r\n--b\r\n\r\n\r\n--b--\r\nafter";
        let expected = [
            Part {
                name: "a.ttl".to_owned(),
                media_type: Some("text/turtle".to_owned()),
                body: b"one --b\r\ntwo\r\n",
            },
            Part {
                name: String::new(),
                media_type: None,
                body: b"",
            },
        ];
        assert_eq!(parts(form, "b").as_deref(), Ok(&expected[..]));
        for broken in [
            "",
            "b",
            "--b",
            "--b\r\nx: y",
            "--b\r\nx: y\r\n\r\nz",
            "--b\r\nx\r\n--b--",
        ] {
            assert!(parts(broken.as_bytes(), "b").is_err(), "{broken:?}");
        }
        assert_eq!(parts(b"--b--", "b"), Ok(Vec::new()));
    }

    #[test]
    fn quotes_may_hold_semicolons_and_escaped_quotes() {
        let value = r#"form-data; name="x; y=1"; filename="a;b\";c.ttl"; y=2"#;
        assert_eq!(parameter(value, "name"), Some("x; y=1"));
        assert_eq!(parameter(value, "filename"), Some(r#"a;b\";c.ttl"#));
        assert_eq!(parameter(value, "y"), Some("2"));
        assert_eq!(parameter(r#"x; name="a"#, "name"), Some("a"));
        let form = b"--b\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a;b.ttl\"\r\n\
            \r\n\r\n--b--";
        let names: Option<Vec<String>> = parts(form, "b")
            .ok()
            .map(|parts| parts.into_iter().map(|part| part.name).collect());
        assert_eq!(names, Some(vec!["a;b.ttl".to_owned()]));
    }

    #[test]
    fn the_boundary_stands_in_the_media_type() {
        assert_eq!(
            boundary("multipart/form-data; charset=x; Boundary=\"a b\""),
            Some("a b")
        );
        assert_eq!(boundary("multipart/form-data"), None);
        assert_eq!(boundary("multipart/form-data; boundary="), None);
    }
}
