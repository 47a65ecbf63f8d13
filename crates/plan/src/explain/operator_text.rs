//! The line of an operator: what it does, to what, in the words of the query.
//!
//! Operator names are those of [`Op`]; tables and terms come from the caller's closures, variables
//! are `?name`.

use crate::alternative::Way;
use crate::join_ranges::join_ranges;
use crate::physical::{
    Aggregate, Constant, Domain, Endpoint, Expr, Graphs, GroupThrough, JoinKind, Node, Op,
    PartnerAggregate, PartnerFunction, PathPattern, Pattern, Plan, Position, QuadCount, RollUp,
    ServicePattern, Slot, SortKey, Star, StarAccess, StarEntry, TableIdx, Total,
};
use crate::rules::cut_early::find;
use crate::statistics::Statistics;
use basalt_rdf::TermId;

/// Tables of a star whose names are shown; of all of them, the JSON tells.
const TABLES_NAMED_MAX: usize = 16;

/// What names of slots, tables and terms are looked up in.
pub(super) struct Names<'a> {
    pub(super) plan: &'a Plan,
    pub(super) statistics: &'a dyn Statistics,
    pub(super) term: &'a dyn Fn(TermId) -> String,
}

impl Names<'_> {
    /// The operator with all that it was given.
    pub(super) fn operator(&self, op: &Op) -> String {
        match op {
            Op::Unit => "Unit".to_owned(),
            Op::Empty => "Empty".to_owned(),
            Op::Outer => "Outer".to_owned(),
            Op::Values { rows } => format!("Values {} rows", rows.len()),
            Op::StarScan { star, access } => {
                let access = self.scan_access(star, access);
                format!("StarScan by {access} {}", self.star(star))
            }
            Op::StarJoin {
                star, entry, kind, ..
            } => {
                let (kind, entry) = (kind_name(*kind), self.join_entry(star, *entry));
                format!("StarJoin{kind} by {entry} {}", self.star(star))
            }
            Op::PatternScan { pattern, filter } => format!(
                "PatternScan {}{}",
                self.pattern(pattern),
                self.condition(filter.as_ref())
            ),
            Op::PatternJoin {
                pattern,
                kind,
                filter,
                ..
            } => format!(
                "PatternJoin{} {}{}",
                kind_name(*kind),
                self.pattern(pattern),
                self.condition(filter.as_ref())
            ),
            Op::PathJoin {
                pattern, at_once, ..
            } => {
                let how = if *at_once { "at once " } else { "" };
                format!("PathJoin {how}{}", self.path(pattern))
            }
            Op::HashJoin { .. } => self.hash_join(op),
            Op::MergeJoin { key, .. } => format!("MergeJoin on {}", self.slot(*key)),
            Op::GraphNames { among: None } => "GraphNames".to_owned(),
            Op::GraphNames { among: Some(among) } => format!("GraphNames of {}", among.len()),
            Op::LateralJoin { .. } => "LateralJoin".to_owned(),
            other => self.modifier(other),
        }
    }

    fn hash_join(&self, op: &Op) -> String {
        let Op::HashJoin {
            keys,
            compatible,
            kind,
            filter,
            build_left,
            partners,
            nearest,
            ..
        } = op
        else {
            return String::new();
        };
        let mut text = format!("HashJoin{} on {}", kind_name(*kind), self.slots(keys));
        if !compatible.is_empty() {
            text.push_str(&format!(" compatible {}", self.slots(compatible)));
        }
        text.push_str(if *build_left {
            " build left"
        } else {
            " build right"
        });
        if let Some(found) = join_ranges(op) {
            let of = found.ranges.iter().flat_map(|range| &range.of);
            let of = of.map(|of| self.expr(of));
            let of: Vec<String> = of.collect();
            text.push_str(&format!(" in ranges of {}", of.join(", ")));
        }
        if let Some(nearest) = nearest {
            let end = nearest.end.name();
            text.push_str(&format!(" {end} {} alone", self.slot(nearest.slot)));
        }
        if !partners.is_empty() {
            let told = partners.iter().map(|own| self.partner(own));
            let told: Vec<String> = told.collect();
            text.push_str(&format!(" in sets of {}", told.join(", ")));
        }
        text + &self.condition(filter.as_ref())
    }

    fn modifier(&self, op: &Op) -> String {
        match op {
            Op::Minus { shared, .. } => format!("Minus on {}", self.slots(shared)),
            Op::Service {
                service,
                send,
                kind,
                filter,
                ..
            } => format!(
                "Service{} {}{}",
                kind_name(*kind),
                self.service(service, send),
                self.condition(filter.as_ref())
            ),
            Op::Filter { condition, .. } => format!("Filter {}", self.expr(condition)),
            Op::Extend { slot, expr, .. } => {
                format!("Extend {} := {}", self.slot(*slot), self.expr(expr))
            }
            Op::Project { .. } => "Project".to_owned(),
            Op::CountScan {
                pattern,
                key,
                counts,
            } => self.count_scan(pattern, *key, counts),
            Op::CountJoin {
                pattern,
                key,
                count,
                ..
            } => self.count_join(pattern, *key, *count),
            Op::Distinct { .. } => "Distinct".to_owned(),
            Op::PartialDistinct { .. } => "PartialDistinct".to_owned(),
            Op::OrderBy {
                keys,
                limit,
                cut_after,
                ..
            } => self.order_by(keys, *limit, *cut_after),
            Op::Slice { offset, limit, .. } => {
                let limit = limit.map_or("all".to_owned(), |limit| limit.to_string());
                format!("Slice offset {offset} limit {limit}")
            }
            Op::SlicePer {
                slot,
                offset,
                limit,
                ..
            } => {
                let limit = limit.map_or("all".to_owned(), |limit| limit.to_string());
                let slot = self.slot(*slot);
                format!("SlicePer {slot} offset {offset} limit {limit}")
            }
            Op::Group {
                keys, aggregates, ..
            } => format!(
                "Group by {}: {}",
                self.slots(keys),
                self.aggregates(aggregates)
            ),
            Op::GroupThrough(group) => self.group_through(group),
            Op::RollUp(group) => self.roll_up(group),
            Op::Spool { spool, .. } => format!("Spool {spool}"),
            _ => "Union".to_owned(),
        }
    }

    fn order_by(&self, keys: &[SortKey], limit: Option<usize>, cut_after: Option<usize>) -> String {
        let keys = keys.iter().map(|key| {
            let order = if key.descending { " desc" } else { "" };
            self.expr(&key.expr) + order
        });
        let keys: Vec<String> = keys.collect();
        let limit = limit.map_or(String::new(), |limit| format!(" first {limit}"));
        let cut = cut_after.and_then(|id| find(&self.plan.root, id));
        let cut = cut.map_or(String::new(), |node| {
            let text = self.operator(&node.op);
            let name = text.split(' ').next().unwrap_or_default();
            format!(" cut off after {name}")
        });
        format!("OrderBy {}{limit}{cut}", keys.join(", "))
    }

    fn group_through(&self, group: &GroupThrough) -> String {
        let less = if group.without.is_some() {
            "without"
        } else {
            "through"
        };
        let (keys, via) = (self.slots(&group.keys), self.slots(&group.via));
        let aggregates = self.aggregates(&group.aggregates);
        let parts = match group.total {
            Some(Total::Parts(_)) => " with its parts",
            _ => "",
        };
        let keys_too = match group.without {
            Some(Domain::Pairs) => " and keys",
            _ => "",
        };
        let shared = group.shared.map_or(String::new(), |number| {
            format!(" shared {number}{parts}{keys_too}")
        });
        format!("GroupThrough by {keys} {less} {via}{shared}: {aggregates}")
    }

    fn roll_up(&self, group: &RollUp) -> String {
        let keys: Vec<Slot> = group.keys.iter().map(|(slot, _)| *slot).collect();
        let added = group.aggregates.iter().map(|(slot, finer)| {
            let (slot, finer) = (self.slot(*slot), self.slot(*finer));
            format!("{slot} := {finer}")
        });
        let added: Vec<String> = added.collect();
        format!(
            "RollUp by {} of states {}: {}",
            self.slots(&keys),
            group.states,
            added.join(", ")
        )
    }

    fn aggregates(&self, aggregates: &[Aggregate]) -> String {
        let aggregates = aggregates.iter().map(|aggregate| {
            let distinct = if aggregate.distinct { "distinct " } else { "" };
            let argument = aggregate
                .argument
                .as_ref()
                .map_or("*".to_owned(), |e| self.expr(e));
            let function = &aggregate.function;
            format!(
                "{} := {function:?}({distinct}{argument})",
                self.slot(aggregate.slot)
            )
        });
        aggregates.collect::<Vec<_>>().join(", ")
    }

    fn count_join(&self, pattern: &Pattern, key: Slot, count: Slot) -> String {
        let (pattern, key, count) = (self.pattern(pattern), self.slot(key), self.slot(count));
        format!("CountJoin {pattern} by {key}: {count} := quads")
    }

    fn count_scan(&self, pattern: &Pattern, key: Option<Slot>, counts: &[QuadCount]) -> String {
        let by = key.map_or(String::new(), |key| format!(" by {}", self.slot(key)));
        let counts = counts.iter().map(|count| {
            let what = count.distinct.map_or("quads".to_owned(), |slot| {
                format!("distinct {}", self.slot(slot))
            });
            format!("{} := {what}", self.slot(count.slot))
        });
        let counts: Vec<String> = counts.collect();
        let colon = if counts.is_empty() { "" } else { ": " };
        let pattern = self.pattern(pattern);
        format!("CountScan {pattern}{by}{colon}{}", counts.join(", "))
    }

    fn star(&self, star: &Star) -> String {
        let tables = star
            .tables
            .iter()
            .map(|table| self.statistics.table_name(*table));
        let mut tables: Vec<String> = tables.collect();
        let unnamed = tables.len().saturating_sub(TABLES_NAMED_MAX);
        if unnamed > 1 {
            tables.truncate(TABLES_NAMED_MAX);
            tables.push(format!("{unnamed} more"));
        }
        let patterns = star.patterns.iter().map(|pattern| {
            let how = match (pattern.optional, pattern.any_value) {
                (true, _) => "optional ",
                (false, true) => "any ",
                (false, false) => "",
            };
            let predicate = (self.term)(pattern.predicate);
            format!("{how}{predicate} {}", self.position(pattern.object))
        });
        let patterns: Vec<String> = patterns.collect();
        let mut text = format!(
            "{} {{ {} }} in {}{}",
            self.position(star.subject),
            patterns.join("; "),
            if tables.is_empty() {
                "no table".to_owned()
            } else {
                tables.join(", ")
            },
            self.graphs(&star.graphs)
        );
        for filter in &star.filters {
            text.push_str(&format!(" if {}", self.expr(filter)));
        }
        text
    }

    /// By what the operator finds what it reads, where there is a choice.
    pub(super) fn access(&self, op: &Op) -> Option<String> {
        match op {
            Op::StarScan { star, access } => Some(self.scan_access(star, access)),
            Op::StarJoin { star, entry, .. } => Some(self.join_entry(star, *entry)),
            _ => None,
        }
    }

    /// The tables that can have clean rows for the operator's star; `None` if it reads no star.
    pub(super) fn tables(&self, op: &Op) -> Option<Vec<String>> {
        let (Op::StarScan { star, .. } | Op::StarJoin { star, .. }) = op else {
            return None;
        };
        let name = |table: &TableIdx| self.statistics.table_name(*table);
        Some(star.tables.iter().map(name).collect())
    }

    /// The columns of a star that key filters test, once for each filter.
    pub(super) fn reduced_by(&self, node: &Node) -> Vec<String> {
        if !matches!(node.op, Op::StarScan { .. } | Op::StarJoin { .. }) {
            return Vec::new();
        }
        let filters = node.key_filters.iter();
        filters
            .map(|filter| self.variable(filter.slot).to_owned())
            .collect()
    }

    /// A way that was not taken.
    pub(super) fn way(&self, way: Way) -> String {
        match way {
            Way::ScanRows => "StarScan by rows".to_owned(),
            Way::ScanObject(predicate) => format!("StarScan by object {}", (self.term)(predicate)),
            Way::StarSubject => "StarJoin by subject".to_owned(),
            Way::StarObject(predicate) => format!("StarJoin by object {}", (self.term)(predicate)),
            Way::StarGraph => "StarJoin by graph".to_owned(),
            Way::Pattern => "PatternJoin".to_owned(),
            Way::Count => "CountJoin".to_owned(),
            Way::Path => "PathJoin".to_owned(),
            Way::Hash => "HashJoin".to_owned(),
            Way::SeededHash => "HashJoin of what the left side needs".to_owned(),
            Way::Merge => "MergeJoin".to_owned(),
            Way::PerRow => "EXISTS for each row".to_owned(),
        }
    }

    fn scan_access(&self, star: &Star, access: &StarAccess) -> String {
        match access {
            StarAccess::Rows => "rows".to_owned(),
            StarAccess::Subject => "subject".to_owned(),
            StarAccess::Object { pattern_idx } => {
                format!("object {}", self.predicate_of(star, *pattern_idx))
            }
        }
    }

    fn join_entry(&self, star: &Star, entry: StarEntry) -> String {
        match entry {
            StarEntry::Subject => "subject".to_owned(),
            StarEntry::Object { pattern_idx } => {
                format!("object {}", self.predicate_of(star, pattern_idx))
            }
            StarEntry::Graph => "graph".to_owned(),
        }
    }

    fn predicate_of(&self, star: &Star, pattern_idx: usize) -> String {
        star.patterns
            .get(pattern_idx)
            .map_or(String::new(), |p| (self.term)(p.predicate))
    }

    fn pattern(&self, pattern: &Pattern) -> String {
        format!(
            "{} {} {}{}",
            self.position(pattern.subject),
            self.position(pattern.predicate),
            self.position(pattern.object),
            self.graphs(&pattern.graphs)
        )
    }

    fn path(&self, path: &PathPattern) -> String {
        let end = |endpoint: &Endpoint| match endpoint {
            Endpoint::Slot(slot) => self.slot(*slot),
            Endpoint::Constant(constant) => self.constant(constant),
        };
        let graphs = self.graphs(&path.graphs);
        format!(
            "{} {} {}{graphs}",
            end(&path.subject),
            path.path,
            end(&path.object)
        )
    }

    fn service(&self, service: &ServicePattern, send: &[Slot]) -> String {
        let endpoint = match &service.endpoint {
            Endpoint::Slot(slot) => self.slot(*slot),
            Endpoint::Constant(constant) => self.constant(constant),
        };
        let silent = if service.silent { "silent " } else { "" };
        let send = if send.is_empty() {
            "whole".to_owned()
        } else {
            format!("send {}", self.slots(send))
        };
        format!("{silent}{endpoint} {{ {} }} {send}", service.pattern)
    }

    fn graphs(&self, graphs: &Graphs) -> String {
        match graphs {
            Graphs::One(TermId::DEFAULT_GRAPH) => String::new(),
            Graphs::One(graph) => format!(" graph {}", (self.term)(*graph)),
            Graphs::Variable { slot, among: None } => format!(" graph {}", self.slot(*slot)),
            Graphs::Variable {
                slot,
                among: Some(among),
            } => {
                format!(" graph {} of {}", self.slot(*slot), among.len())
            }
            Graphs::Merge { among: None } => " merge of all graphs".to_owned(),
            Graphs::Merge { among: Some(among) } => format!(" merge of {} graphs", among.len()),
        }
    }

    fn position(&self, position: Position) -> String {
        match position {
            Position::Slot(slot) => self.slot(slot),
            Position::Id(id) => (self.term)(id),
        }
    }

    /// The name of a slot, without a question mark.
    pub(super) fn variable(&self, slot: Slot) -> &str {
        self.plan
            .variables
            .get(slot.0 as usize)
            .map_or("", |name| name.trim_start())
    }

    fn slot(&self, slot: Slot) -> String {
        format!("?{}", self.variable(slot))
    }

    fn slots(&self, slots: &[Slot]) -> String {
        let names: Vec<String> = slots.iter().map(|slot| self.slot(*slot)).collect();
        names.join(" ")
    }

    fn constant(&self, constant: &Constant) -> String {
        constant.term.to_string()
    }

    fn partner(&self, partner: &PartnerAggregate) -> String {
        let name = match partner.function {
            PartnerFunction::Count => "COUNT of partners",
            PartnerFunction::Rows => "COUNT",
            PartnerFunction::Least(_) => "MIN",
            PartnerFunction::Greatest(_) => "MAX",
            PartnerFunction::Sum(_) => "SUM",
        };
        let argument = partner.function.argument();
        let argument = argument.map_or(String::new(), |slot| format!(" {}", self.slot(slot)));
        format!("{} := {name}{argument}", self.slot(partner.slot))
    }

    fn condition(&self, filter: Option<&Expr>) -> String {
        filter.map_or(String::new(), |filter| format!(" if {}", self.expr(filter)))
    }

    fn list(&self, list: &[Expr], separator: &str) -> String {
        let parts: Vec<String> = list.iter().map(|e| self.expr(e)).collect();
        parts.join(separator)
    }

    fn expr(&self, expr: &Expr) -> String {
        let binary =
            |a: &Expr, sign: &str, b: &Expr| format!("({} {sign} {})", self.expr(a), self.expr(b));
        match expr {
            Expr::Slot(slot) => self.slot(*slot),
            Expr::Constant(constant) => self.constant(constant),
            Expr::Or(list) => format!("({})", self.list(list, " || ")),
            Expr::And(list) => format!("({})", self.list(list, " && ")),
            Expr::Not(a) => format!("!{}", self.expr(a)),
            Expr::Equal(a, b) => binary(a, "=", b),
            Expr::SameTerm(a, b) => format!("sameTerm({}, {})", self.expr(a), self.expr(b)),
            Expr::Less(a, b) => binary(a, "<", b),
            Expr::LessOrEqual(a, b) => binary(a, "<=", b),
            Expr::In(a, list) => format!("{} IN ({})", self.expr(a), self.list(list, ", ")),
            Expr::Add(a, b) => binary(a, "+", b),
            Expr::Subtract(a, b) => binary(a, "-", b),
            Expr::Multiply(a, b) => binary(a, "*", b),
            Expr::Divide(a, b) => binary(a, "/", b),
            Expr::UnaryPlus(a) => format!("+{}", self.expr(a)),
            Expr::UnaryMinus(a) => format!("-{}", self.expr(a)),
            Expr::If(a, b, c) => {
                format!("IF({}, {}, {})", self.expr(a), self.expr(b), self.expr(c))
            }
            Expr::Coalesce(list) => format!("COALESCE({})", self.list(list, ", ")),
            Expr::Bound(slot) => format!("BOUND({})", self.slot(*slot)),
            Expr::Call(function, list) => format!("{function}({})", self.list(list, ", ")),
            Expr::EqualityKey(a) => format!("equality_key({})", self.expr(a)),
            Expr::Exists(_) => "EXISTS".to_owned(),
        }
    }
}

fn kind_name(kind: JoinKind) -> &'static str {
    match kind {
        JoinKind::Inner => "",
        JoinKind::LeftOuter => " left outer",
        JoinKind::Semi => " semi",
        JoinKind::Anti => " anti",
    }
}

/// What a scan says of its key filters.
pub(super) fn reduced_by(columns: &[String]) -> String {
    if columns.is_empty() {
        return String::new();
    }
    let columns: Vec<String> = columns.iter().map(|name| format!("?{name}")).collect();
    format!(" reduced by {}", columns.join(" "))
}
