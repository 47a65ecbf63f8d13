//! Brackets that are not closed, that close nothing, or that are closed by others. The parser would name the end of the text, and
//! the place where one of them was opened is what helps.

use super::Page;
use super::places::{place, within};
use super::tokens::{Kind, Token};

impl Page<'_> {
    /// Brackets that are not closed, or closed by others.
    pub(super) fn brackets(&self) -> Option<String> {
        let mut open: Vec<&Token<'_>> = Vec::new();
        for token in self.tokens.iter().filter(|token| token.kind == Kind::Mark) {
            let opening = match token.text {
                "(" | "[" | "{" => {
                    open.push(token);
                    continue;
                }
                ")" => "(",
                "]" => "[",
                "}" => "{",
                _ => continue,
            };
            match open.pop() {
                Some(bracket) if bracket.text == opening => {}
                Some(bracket) => {
                    let (line, column) = place(self.text, bracket.at);
                    let what = format!(
                        "the «{}» at line {line}, column {column} is not closed before the «{}»",
                        bracket.text, token.text
                    );
                    return self.placed(&what, token.at);
                }
                None => {
                    let (line, column) = place(self.text, token.at);
                    let within = within(self.text, token.at);
                    return Some(format!(
                        "the «{}» at line {line}, column {column} closes nothing{within}",
                        token.text
                    ));
                }
            }
        }
        let bracket = open.pop()?;
        let (line, column) = place(self.text, bracket.at);
        let within = within(self.text, bracket.at);
        Some(format!(
            "the «{}» at line {line}, column {column} is not closed{within}",
            bracket.text
        ))
    }
}
