//! GROUP BY, HAVING and aggregates of generated queries.

use super::scope::{Kind, Scope};
use super::{Generator, clauses, item};
use crate::query_tree::{Sort, Tree};

impl Generator {
    /// A grouped SELECT; afterwards the scope has the columns of the result.
    pub(super) fn grouped(&mut self, scope: &mut Scope, from: Tree, depth: usize) -> Tree {
        let mut inner = scope.inner();
        let body = self.group(&mut inner, depth);
        self.grouped_rows(scope, &inner, from, body)
    }

    /// Some grouped SELECTs of the same rows, joined or side by side.
    pub(super) fn grouped_alike(&mut self, scope: &mut Scope, depth: usize) -> Tree {
        let mut inner = scope.inner();
        let body = self.group(&mut inner, depth);
        // A label of a blank node may stand in one group only.
        let count = match body.to_string().contains("_:") {
            true => 1,
            false => 2 + self.random.below(2),
        };
        let groups = (0..count).map(|_| {
            let query = self.grouped_rows(scope, &inner, clauses(Vec::new()), body.clone());
            Tree::shape(Sort::Element, "{ □ }", vec![query])
        });
        let groups = groups.collect();
        let between = [" ", " UNION "][self.random.below(2)];
        Tree::shape(
            Sort::Element,
            "{ □ }",
            vec![Tree::list(Sort::Clause, between, 1, groups)],
        )
    }

    /// A grouped SELECT of rows with these variables.
    fn grouped_rows(&mut self, scope: &mut Scope, inner: &Scope, from: Tree, body: Tree) -> Tree {
        let mut columns = Vec::new();
        let mut keys = Vec::new();
        let mut names = Vec::new();
        if !self.random.chance(25) {
            for _ in 0..1 + self.random.below(5) / 4 {
                let (key, name, kind) = self.key(inner);
                if names.iter().any(|(other, _)| *other == name) {
                    continue;
                }
                columns.push(item(name.as_str()));
                keys.push(key);
                names.push((name, kind));
            }
        }
        for _ in 0..1 + self.random.below(2) {
            let aggregate = self.aggregate(inner, &names);
            let name = self.fresh();
            let text = format!("(□ AS {name})");
            columns.push(Tree::shape(Sort::Item, &text, vec![aggregate]));
            names.push((name, Kind::Number));
        }
        let mut tail = Vec::new();
        if !keys.is_empty() {
            let keys = Tree::list(Sort::Clause, " ", 1, keys);
            tail.push(Tree::shape(Sort::Item, "GROUP BY □", vec![keys]));
        }
        if self.random.chance(20) {
            let key_names = names.clone();
            let value = self.aggregate(inner, &key_names[..key_names.len() - 1]);
            let limit = self.random.below(4);
            let text = format!("HAVING(□ > {limit})");
            tail.push(Tree::shape(Sort::Item, &text, vec![value]));
        }
        if let Some((name, _)) = names.last()
            && self.random.chance(12)
        {
            tail.push(item(format!("ORDER BY DESC({name})")));
        }
        for (name, kind) in names {
            scope.add(&name, kind);
        }
        let columns = Tree::list(Sort::Clause, " ", 1, columns);
        Tree::shape(
            Sort::Clause,
            "SELECT □ □ WHERE { □ } □",
            vec![columns, from, body, clauses(tail)],
        )
    }

    /// A key of GROUP BY, the variable that has its value, and what that is.
    fn key(&mut self, scope: &Scope) -> (Tree, String, Kind) {
        let known: Vec<(String, Kind)> = scope
            .local()
            .map(|known| (known.name.clone(), known.kind))
            .collect();
        match self.random.pick(&known) {
            Some((name, kind)) if self.random.chance(75) => (item(name), name.clone(), *kind),
            _ => {
                let value = self.expression(scope, 1);
                let name = self.fresh();
                // The parser forgets the new name of a plain variable.
                let text = match value.to_string().starts_with('?') {
                    true => format!("(COALESCE(□) AS {name})"),
                    false => format!("(□ AS {name})"),
                };
                let key = Tree::shape(Sort::Item, &text, vec![value]);
                (key, name, Kind::Any)
            }
        }
    }

    /// A call of an aggregate, now and then in an expression.
    fn aggregate(&mut self, scope: &Scope, keys: &[(String, Kind)]) -> Tree {
        let distinct = ["", "DISTINCT "][usize::from(self.random.chance(30))];
        let names = scope.names();
        let any = match self.random.pick(&names) {
            Some(name) if self.random.chance(80) => Tree::leaf(Sort::Expression, name),
            _ => self.expression(scope, 1),
        };
        let call = |text: String, parts: Vec<Tree>| Tree::shape(Sort::Aggregate, &text, parts);
        match self.random.below(12) {
            0 => call(format!("COUNT({distinct}*)"), Vec::new()),
            1 | 2 => call(format!("SUM({distinct}□)"), vec![self.number(scope, 1)]),
            3 => call(format!("AVG({distinct}□)"), vec![self.number(scope, 1)]),
            4 => call("MIN(□)".to_owned(), vec![self.number(scope, 1)]),
            5 => call("MAX(□)".to_owned(), vec![self.number(scope, 1)]),
            6 => call(format!("MIN({distinct}□)"), vec![any]),
            7 => call(format!("MAX({distinct}□)"), vec![any]),
            // The order of concatenation is free, the length is not.
            8 => {
                let text = format!("STRLEN(GROUP_CONCAT({distinct}STR(□); SEPARATOR=\"|\"))");
                call(text, vec![any])
            }
            // All values of a group key are the same within its group.
            9 if !keys.is_empty() => {
                let key = &keys[self.random.below(keys.len())].0;
                match names.contains(key) {
                    true => call(format!("SAMPLE({key})"), Vec::new()),
                    false => call(format!("COUNT({distinct}□)"), vec![any]),
                }
            }
            10 => call(
                format!("SUM({distinct}□) / (COUNT(*) + 1)"),
                vec![self.number(scope, 1)],
            ),
            _ => call(format!("COUNT({distinct}□)"), vec![any]),
        }
    }
}
