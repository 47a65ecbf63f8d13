//! Variables that BIND or SELECT gives a value where they have one already. The parser refuses them without saying which and
//! where, so the groups of the text are followed with the variables that each of them has.

use super::Page;
use super::tokens::{Kind, Token};
use crate::query_text::AGGREGATES;
use std::collections::HashSet;

/// Words that stand where solutions are grouped, beside aggregates.
const GROUPING: &[&str] = &["GROUP", "HAVING"];

/// A group that is open, or another bracket.
#[derive(Default)]
struct Scope<'a> {
    is_group: bool,
    /// Its variables are not those of the group around it.
    is_apart: bool,
    /// Its variables have no values from it.
    is_expression: bool,
    is_bind: bool,
    variables: HashSet<&'a str>,
    /// What the SELECT before it gives names to.
    selected: Vec<Token<'a>>,
}

impl<'a> Scope<'a> {
    /// A name that SELECT gives to a value and that has one in its group.
    fn selected_twice(&self) -> Option<Token<'a>> {
        let mut selected = self.selected.iter();
        let found = selected.find(|name| self.variables.contains(variable_name(name.text)));
        found.copied()
    }

    /// Takes over the variables of a bracket in it that is closed.
    fn take(&mut self, mut closed: Self) {
        if closed.is_apart || closed.is_expression {
            return;
        }
        // The smaller into the larger: so all of them are moved a few times only.
        if closed.variables.len() > self.variables.len() {
            std::mem::swap(&mut closed.variables, &mut self.variables);
        }
        self.variables.extend(closed.variables);
    }
}

impl<'a> Page<'a> {
    /// A variable that gets a value by BIND or SELECT where it has one already.
    pub(super) fn value_twice(&self) -> Option<String> {
        let mut scopes: Vec<Scope<'a>> = vec![Scope::default()];
        // The depth of a SELECT whose group has not begun, and the names it gives.
        let mut select: Option<usize> = None;
        let mut names: Vec<Token<'a>> = Vec::new();
        // Where there are groups a name may be that of a variable which is not there any more.
        let is_grouping =
            |token: &Token<'_>| token.is_one_of(GROUPING) || token.is_one_of(AGGREGATES);
        let is_grouped = self.tokens.iter().any(is_grouping);
        for (index, token) in self.tokens.iter().enumerate() {
            match (token.kind, token.text) {
                (Kind::Mark, "(" | "[" | "{") => {
                    let mut scope = self.scope(index, scopes.last()?);
                    if scope.is_group && select == Some(scopes.len()) {
                        scope.selected = std::mem::take(&mut names);
                        select = None;
                    }
                    scope.is_expression |= select == Some(scopes.len());
                    scopes.push(scope);
                }
                (Kind::Mark, ")" | "]" | "}") => {
                    let closed = scopes.pop()?;
                    if let Some(name) = closed.selected_twice().filter(|_| !is_grouped) {
                        let what = format!(
                            "«{}» has a value already where SELECT gives it one",
                            name.text
                        );
                        return self.placed(&what, name.at);
                    }
                    scopes.last_mut()?.take(closed);
                }
                (Kind::Variable, _) => {
                    let is_name = self.before(index).is_some_and(|word| word.is_word("AS"));
                    let is_selected = select.is_some_and(|select| select + 1 == scopes.len());
                    if is_name && is_selected {
                        names.push(*token);
                    } else if select != Some(scopes.len())
                        && self.takes_value_twice(index, *token, &mut scopes)?
                    {
                        let what = format!(
                            "«{}» has a value already where BIND gives it one",
                            token.text
                        );
                        return self.placed(&what, token.at);
                    }
                }
                (Kind::Word, word) if word.eq_ignore_ascii_case("SELECT") => {
                    select = Some(scopes.len());
                    names.clear();
                    // What a query within this group selects is not looked at.
                    let scope = scopes.last_mut()?;
                    scope.is_apart |= scope.is_group;
                }
                _ => {}
            }
        }
        None
    }

    /// Notes a variable, and whether it has a value already where BIND gives it one.
    fn takes_value_twice(
        &self,
        index: usize,
        token: Token<'a>,
        scopes: &mut [Scope<'a>],
    ) -> Option<bool> {
        let word = self.before(index);
        let (scope, around) = scopes.split_last_mut()?;
        if scope.is_bind && word.is_some_and(|word| word.is_word("AS")) {
            let group = around.last_mut()?;
            return Some(group.is_group && !group.variables.insert(variable_name(token.text)));
        }
        let is_used = word.is_some_and(|word| word.is_one_of(&["SERVICE", "FILTER"]));
        if !scope.is_expression && !is_used {
            scope.variables.insert(variable_name(token.text));
        }
        Some(false)
    }

    /// What a bracket opens.
    fn scope(&self, index: usize, around: &Scope<'_>) -> Scope<'a> {
        let before = self.before(index);
        let is_group = self.is_mark(index, "{");
        let is_after = |words: &[&str]| before.is_some_and(|token| token.is_one_of(words));
        let is_call = before.is_some_and(|token| matches!(token.kind, Kind::Name | Kind::Iri))
            && index
                .checked_sub(2)
                .and_then(|at| self.token(at))
                .is_some_and(|token| token.is_word("FILTER"));
        let is_bracket =
            before.is_some_and(|token| token.kind == Kind::Word) && !is_after(&["VALUES", "a"]);
        Scope {
            is_group,
            is_apart: is_after(&["EXISTS", "MINUS"]),
            is_expression: around.is_expression || !is_group && (is_call || is_bracket),
            is_bind: is_after(&["BIND"]),
            ..Scope::default()
        }
    }
}

/// The name of a variable.
fn variable_name(text: &str) -> &str {
    text.strip_prefix(['?', '$']).unwrap_or(text)
}
