//! Query texts as trees of text with holes, so that they can be made smaller without knowing SPARQL.
//!
//! A [`Tree`] is a leaf of text, a shape whose holes are filled by other trees, or a list. Each has a
//! [`Sort`]: two trees of one sort can stand in each other's place. [`Tree::smaller`] lists everything
//! that is left when some part is dropped or replaced by a part of itself; whoever uses it throws away
//! what does not parse. That is all a shrinker needs, and a new production of the grammar brings
//! its own shrinking with it.
//!
//! Cost: `smaller` copies the tree once for each edit, so it is quadratic in a tree of some hundred nodes.

use std::fmt;

/// What a tree can stand for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sort {
    /// A whole query.
    Query,
    /// A part of a query that may be missing: a modifier, a dataset clause.
    Clause,
    /// The body of a group, without its braces.
    Group,
    /// One element of a group.
    Element,
    /// A property path.
    Path,
    /// An expression.
    Expression,
    /// A call of an aggregate; never in place of an expression, which would need a group around it.
    Aggregate,
    /// A column of SELECT, a key of ORDER BY, a row of VALUES, a triple of a template.
    Item,
}

/// A part of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tree {
    /// What it can stand for.
    sort: Sort,
    /// What it consists of.
    form: Form,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Form {
    /// Text as it is.
    Leaf(String),
    /// Pieces of text around other trees: one piece more than there are trees.
    Shape(Vec<String>, Vec<Tree>),
    /// Any number of trees, but not fewer than `least`.
    List {
        separator: &'static str,
        least: usize,
        items: Vec<Tree>,
    },
}

/// The mark of a hole in the text of a shape.
const HOLE: char = '\u{25a1}';

impl Tree {
    /// Text without parts.
    pub fn leaf(sort: Sort, text: impl Into<String>) -> Self {
        Self {
            sort,
            form: Form::Leaf(text.into()),
        }
    }

    /// Text with a hole `□` for each part.
    pub fn shape(sort: Sort, text: &str, parts: Vec<Tree>) -> Self {
        let texts: Vec<String> = text.split(HOLE).map(str::to_owned).collect();
        assert!(texts.len() == parts.len() + 1, "a part for each hole");
        Self {
            sort,
            form: Form::Shape(texts, parts),
        }
    }

    /// Parts of which all but `least` can be left out.
    pub fn list(sort: Sort, separator: &'static str, least: usize, items: Vec<Tree>) -> Self {
        Self {
            sort,
            form: Form::List {
                separator,
                least,
                items,
            },
        }
    }

    /// How much there is to read: the length of the text.
    pub fn size(&self) -> usize {
        self.to_string().len()
    }

    /// Everything that one edit makes of the tree and that is shorter, the shortest first.
    pub fn smaller(&self) -> Vec<Tree> {
        let size = self.size();
        let mut found: Vec<(usize, Tree)> = self
            .edits()
            .into_iter()
            .map(|tree| (tree.size(), tree))
            .filter(|(new_size, _)| *new_size < size)
            .collect();
        found.sort_by_key(|(new_size, _)| *new_size);
        found.dedup();
        found.into_iter().map(|(_, tree)| tree).collect()
    }

    fn edits(&self) -> Vec<Tree> {
        let mut found = Vec::new();
        if self.sort == Sort::Expression {
            for text in ["true", "1", "\"a\""] {
                found.push(Self::leaf(Sort::Expression, text));
            }
        }
        let mut same = Vec::new();
        self.parts_of_sort(self.sort, &mut same);
        found.extend(same.into_iter().cloned());
        match &self.form {
            Form::Leaf(_) => {}
            Form::Shape(texts, parts) => {
                for (index, part) in parts.iter().enumerate() {
                    for edited in part.edits() {
                        let mut parts = parts.clone();
                        parts[index] = edited;
                        found.push(Self {
                            sort: self.sort,
                            form: Form::Shape(texts.clone(), parts),
                        });
                    }
                }
            }
            Form::List { .. } => self.list_edits(&mut found),
        }
        found
    }

    fn list_edits(&self, found: &mut Vec<Tree>) {
        let Form::List {
            separator,
            least,
            items,
        } = &self.form
        else {
            return;
        };
        let rebuilt = |items: Vec<Tree>| Self::list(self.sort, separator, *least, items);
        // Halves, quarters… and at last single items are dropped.
        let mut width = items.len();
        while width > 0 {
            for start in (0..items.len()).step_by(width) {
                let mut kept = items.clone();
                kept.drain(start..(start + width).min(items.len()));
                if kept.len() >= *least {
                    found.push(rebuilt(kept));
                }
            }
            width /= 2;
        }
        for (index, item) in items.iter().enumerate() {
            // What a list inside an item holds takes the item's place: `OPTIONAL { a b }` becomes `a b`.
            let mut lists = Vec::new();
            item.parts_of_sort(self.sort, &mut lists);
            for list in lists {
                if let Form::List { items: inner, .. } = &list.form {
                    let mut spliced = items.clone();
                    spliced.splice(index..=index, inner.iter().cloned());
                    found.push(rebuilt(spliced));
                }
            }
            for edited in item.edits() {
                let mut items = items.clone();
                items[index] = edited;
                found.push(rebuilt(items));
            }
        }
    }

    /// The nearest trees of a sort below this one, on each way down.
    fn parts_of_sort<'a>(&'a self, sort: Sort, found: &mut Vec<&'a Tree>) {
        let parts = match &self.form {
            Form::Leaf(_) => return,
            Form::Shape(_, parts) => parts,
            Form::List { items, .. } => items,
        };
        for part in parts {
            if part.sort == sort {
                found.push(part);
            } else {
                part.parts_of_sort(sort, found);
            }
        }
    }
}

impl fmt::Display for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.form {
            Form::Leaf(text) => f.write_str(text),
            Form::Shape(texts, parts) => {
                for (index, text) in texts.iter().enumerate() {
                    f.write_str(text)?;
                    if let Some(part) = parts.get(index) {
                        part.fmt(f)?;
                    }
                }
                Ok(())
            }
            Form::List {
                separator, items, ..
            } => {
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        f.write_str(separator)?;
                    }
                    item.fmt(f)?;
                }
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Sort, Tree};

    fn element(text: &str) -> Tree {
        Tree::leaf(Sort::Element, text)
    }

    #[test]
    fn parts_are_dropped_replaced_by_their_like_and_spliced_into_lists() {
        let inner = Tree::list(Sort::Group, " ", 0, vec![element("b ."), element("c .")]);
        let optional = Tree::shape(Sort::Element, "OPTIONAL { □ }", vec![inner]);
        let group = Tree::list(Sort::Group, " ", 0, vec![element("a ."), optional]);
        assert_eq!(group.to_string(), "a . OPTIONAL { b . c . }");
        let texts: Vec<String> = group.smaller().iter().map(Tree::to_string).collect();
        for expected in ["", "a .", "a . b . c .", "a . OPTIONAL { b . }", "b . c ."] {
            assert!(
                texts.contains(&expected.to_owned()),
                "{expected}: {texts:?}"
            );
        }
        assert!(texts.iter().all(|text| text.len() < group.size()));
    }

    #[test]
    fn a_list_keeps_what_it_must_and_an_aggregate_stays_where_it_is() {
        let count = Tree::leaf(Sort::Aggregate, "COUNT(*)");
        let column = Tree::shape(Sort::Expression, "STR(□)", vec![count]);
        let columns = Tree::list(Sort::Clause, " ", 1, vec![column]);
        let texts: Vec<String> = columns.smaller().iter().map(Tree::to_string).collect();
        assert_eq!(texts, ["1", "\"a\"", "true"]);
    }
}
