//! The operations of an update: a mark between them, a WHERE after a template, no blank nodes in what is deleted, and no queries
//! among them. In a query nothing is looked for here.

use super::tokens::{Kind, Token};
use super::words::QUERY_WORDS;
use super::{Page, Wanted};

impl Page<'_> {
    /// Operations of an update without a mark between them, and queries among them.
    pub(super) fn operations(&self) -> Option<String> {
        if self.wanted == Wanted::Query {
            return None;
        }
        let mut depth: usize = 0;
        let mut in_delete = false;
        // INSERT or DELETE with a template, whose WHERE has not come.
        let mut open: Option<&Token<'_>> = None;
        for (index, token) in self.tokens.iter().enumerate() {
            if in_delete && (token.kind == Kind::Blank || token.is_mark("[")) {
                let what = "blank nodes cannot stand in what is deleted, since they name nothing; write a variable and DELETE … WHERE";
                return self.placed(what, token.at);
            }
            match token.text {
                "(" | "[" | "{" if token.kind == Kind::Mark => depth += 1,
                ")" | "]" | "}" if token.kind == Kind::Mark => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 {
                in_delete =
                    token.is_word("DELETE") || in_delete && token.is_one_of(&["DATA", "WHERE"]);
                let is_template =
                    token.is_one_of(&["INSERT", "DELETE"]) && self.is_mark(index + 1, "{");
                if is_template {
                    open = open.or(Some(token));
                } else if token.is_word("WHERE") {
                    open = None;
                } else if token.is_mark(";") && open.is_some() {
                    break;
                }
            }
            let Some(before) = self.before(index).filter(|_| depth == 0) else {
                continue;
            };
            if before.is_mark(";") && token.is_one_of(QUERY_WORDS) {
                let what = format!(
                    "«{}» begins a query, and no operation of an update",
                    token.text
                );
                return self.placed(&what, token.at);
            }
            let is_data = self
                .token(index + 1)
                .is_some_and(|next| next.is_word("DATA"));
            let begins = token.is_word("DELETE")
                || token.is_word("INSERT") && is_data
                || token.is_one_of(&[
                    "LOAD", "CLEAR", "DROP", "CREATE", "ADD", "MOVE", "COPY", "WITH",
                ]);
            if before.is_mark("}") && begins {
                let what = format!(
                    "a «;» is missing between two operations, before «{}»",
                    token.text
                );
                return self.placed(&what, token.at);
            }
        }
        let open = open?;
        let what = format!(
            "after {} {{…}} stands WHERE {{…}}; data without variables stands in {} DATA {{…}}",
            open.text, open.text
        );
        self.placed(&what, open.at)
    }
}
