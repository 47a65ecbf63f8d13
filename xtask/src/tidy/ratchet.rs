//! The lengths that functions and files may have, and the exceptions, which
//! can only shrink: a ratchet.
//!
//! `xtask/tidy-exceptions.txt` has one exception per line: path, function (or
//! `(file)`), the length allowed, and the reason. Empty lines and lines that start
//! with `#` are comments.
//!
//! Invariant: an exception is exactly as generous as needed. One that is not
//! needed, or allows more than there is, is itself a finding.

use super::Finding;

/// Where the exceptions stand.
pub const FILE: &str = "xtask/tidy-exceptions.txt";

/// What an exception names when it is for a file as a whole.
pub const WHOLE_FILE: &str = "(file)";

/// One line of the exceptions.
struct Exception {
    /// The file it is for.
    path: String,
    /// The function it is for, or [`WHOLE_FILE`].
    item: String,
    /// The length it allows, in lines.
    line_count_max: usize,
    /// Its own line, from 1.
    line: usize,
    /// The greatest length met that needed it; 0 while none did.
    line_count_met: usize,
}

/// The exceptions, and which of them were needed.
pub struct Ratchet {
    /// In the order of the file.
    exceptions: Vec<Exception>,
}

impl Ratchet {
    /// Reads the exceptions; lines that cannot be read are findings.
    pub fn parse(text: &str, findings: &mut Vec<Finding>) -> Self {
        let mut exceptions = Vec::new();
        for (index, line) in text.lines().enumerate() {
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            let mut fields = line.split_whitespace();
            let (path, item) = (fields.next(), fields.next());
            let limit = fields.next().and_then(|limit| limit.parse().ok());
            match (path, item, limit, fields.next()) {
                (Some(path), Some(item), Some(line_count_max), Some(_reason)) => {
                    exceptions.push(Exception {
                        path: path.to_owned(),
                        item: item.to_owned(),
                        line_count_max,
                        line: index + 1,
                        line_count_met: 0,
                    });
                }
                _ => findings.push(Finding::new(
                    FILE,
                    index + 1,
                    "this exception is malformed, write `path function limit reason`",
                )),
            }
        }
        Self { exceptions }
    }

    /// Checks one length against the limit and the exceptions; gives back the
    /// length that is allowed where it is exceeded.
    pub fn exceeded(
        &mut self,
        path: &str,
        item: &str,
        line_count: usize,
        line_count_max: usize,
    ) -> Option<usize> {
        if line_count <= line_count_max {
            return None;
        }
        let exception = self
            .exceptions
            .iter_mut()
            .find(|exception| exception.path == path && exception.item == item);
        let Some(exception) = exception else {
            return Some(line_count_max);
        };
        exception.line_count_met = exception.line_count_met.max(line_count);
        (line_count > exception.line_count_max).then_some(exception.line_count_max)
    }

    /// Reports the exceptions that are not needed or too generous.
    pub fn finish(self, findings: &mut Vec<Finding>) {
        for exception in self.exceptions {
            let Exception { path, item, .. } = &exception;
            if exception.line_count_met == 0 {
                findings.push(Finding::new(
                    FILE,
                    exception.line,
                    format!("nothing needs the exception for `{item}` in {path}, delete it"),
                ));
            } else if exception.line_count_met < exception.line_count_max {
                findings.push(Finding::new(
                    FILE,
                    exception.line,
                    format!(
                        "the exception for `{item}` in {path} is too generous, lower it from {} to {}",
                        exception.line_count_max, exception.line_count_met
                    ),
                ));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings_after(text: &str, line_count: usize) -> (Option<usize>, Vec<Finding>) {
        let mut findings = Vec::new();
        let mut ratchet = Ratchet::parse(text, &mut findings);
        let exceeded = ratchet.exceeded("a.rs", "f", line_count, 70);
        ratchet.finish(&mut findings);
        (exceeded, findings)
    }

    #[test]
    fn an_exception_that_fits_is_silent() {
        let text = "# comment\n\na.rs f 80 a table of states reads best whole\n";
        assert_eq!(findings_after(text, 80), (None, vec![]));
    }

    #[test]
    fn too_long_is_too_long_with_and_without_exception() {
        assert_eq!(findings_after("", 71).0, Some(70));
        assert_eq!(findings_after("", 70).0, None);
        assert_eq!(findings_after("a.rs f 80 reason\n", 81).0, Some(80));
        assert_eq!(findings_after("b.rs f 80 reason\n", 75).0, Some(70));
    }

    #[test]
    fn an_exception_shrinks_with_its_function() {
        let (exceeded, findings) = findings_after("a.rs f 80 reason\n", 75);
        assert_eq!(exceeded, None);
        assert!(findings[0].message.contains("lower it from 80 to 75"));
        let (_, findings) = findings_after("a.rs f 80 reason\n", 60);
        assert!(findings[0].message.contains("delete it"));
    }

    #[test]
    fn an_exception_needs_a_reason() {
        let (_, findings) = findings_after("a.rs f 80\na.rs f many reason\n", 1);
        assert_eq!(findings.len(), 2);
        assert!(findings[0].message.contains("malformed"));
    }
}
