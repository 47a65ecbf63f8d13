//! Whether two answers of rows are both right, as far as the query decides.
//!
//! Rows are compared as bags: numbers by value to five digits, since means of floats depend on
//! the order of summing, blank nodes as all alike, everything else to the letter. Where the query
//! has ORDER BY, the keys must come in the same sequence. Where LIMIT cuts between rows that tie,
//! either choice is right; such rows are told by their key, which is that of the row at the cut.
//! Cost: linear but for rows that differ in nothing but numbers, which are matched in pairs.

use super::recording::RecordedTerm;
use crate::answer::{XSD, is_numeric};
use crate::queries::UseCase;
use std::collections::BTreeMap;

/// The share by which equal numbers may differ.
const TOLERANCE: f64 = 1e-5;

pub(super) type Row = Vec<Option<RecordedTerm>>;

/// What a query says about the order and number of its rows.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Order {
    /// The variables that rows are sorted by, the first one first.
    keys: &'static [&'static str],
    /// Whether rows with equal keys are equal.
    is_total: bool,
    limit: Option<usize>,
    has_offset: bool,
    /// Whether the query leaves open what is right.
    is_open: bool,
}

/// How two answers compare.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Equal,
    /// They differ among ties only.
    Ties,
    /// They differ, and the query leaves open which is right.
    Open,
    /// They differ, in words.
    Differ(String),
}

const UNORDERED: Order = Order {
    keys: &[],
    is_total: false,
    limit: None,
    has_offset: false,
    is_open: false,
};

impl Order {
    const fn by(keys: &'static [&'static str], limit: usize) -> Order {
        Order {
            keys,
            limit: Some(limit),
            ..UNORDERED
        }
    }

    const fn total(keys: &'static [&'static str], limit: Option<usize>) -> Order {
        Order {
            keys,
            is_total: true,
            limit,
            ..UNORDERED
        }
    }

    const OPEN: Order = Order {
        is_open: true,
        ..UNORDERED
    };

    /// The order of a query.
    pub(super) fn of(use_case: UseCase, number: u8) -> Order {
        match (use_case, number) {
            (UseCase::Explore, 1 | 3) => Order::by(&["label"], 10),
            (UseCase::Explore, 4) => Order {
                has_offset: true,
                ..Order::by(&["label"], 10)
            },
            (UseCase::Explore, 5) => Order::by(&["label"], 5),
            (UseCase::Explore, 8) => Order::by(&["written"], 20),
            // What DESCRIBE describes is the engine's choice.
            (UseCase::Explore, 9) => Order::OPEN,
            (UseCase::Explore, 10) => Order::by(&["price"], 10),
            (UseCase::Explore, _) => UNORDERED,
            (UseCase::ExploreAndUpdate, 0..=2) => UNORDERED,
            (UseCase::ExploreAndUpdate, number) => Order::of(UseCase::Explore, number - 2),
            (UseCase::Bi, 1) => Order::total(&["reviews", "type"], Some(10)),
            (UseCase::Bi, 2) => Order::total(&["shared", "other"], Some(10)),
            (UseCase::Bi, 3) => Order::total(&["growth", "product"], Some(10)),
            (UseCase::Bi, 4) => Order::total(&["ratio", "feature"], Some(10)),
            (UseCase::Bi, 5) => Order::total(&["reviews", "country", "product"], None),
            // A subselect cuts among many ties, and does not show them.
            (UseCase::Bi, 7) => Order::OPEN,
            (UseCase::Bi, 8) => Order::total(&["share", "vendor"], Some(10)),
            (UseCase::Bi, _) => UNORDERED,
        }
    }

    /// What to say of a difference.
    pub(super) fn differ(&self, reason: String) -> Verdict {
        match self.is_open {
            true => Verdict::Open,
            false => Verdict::Differ(reason),
        }
    }

    /// Compares rows; both answers have these variables.
    pub(super) fn compare(
        &self,
        variables: &[String],
        reference: &[Row],
        tested: &[Row],
    ) -> Verdict {
        if reference.len() != tested.len() {
            return self.differ(format!(
                "{} rows instead of {}",
                tested.len(),
                reference.len()
            ));
        }
        let columns: Vec<usize> = self
            .keys
            .iter()
            .filter_map(|key| variables.iter().position(|name| name == key))
            .collect();
        let primary = columns.first().copied();
        let has_same_keys = |columns: &[usize]| {
            let mut pairs = reference.iter().zip(tested);
            pairs.all(|(a, b)| columns.iter().all(|c| is_same(&a[*c], &b[*c])))
        };
        let is_inexact = primary.is_some_and(|column| {
            let mut values = reference.iter().filter_map(|row| row[column].as_ref());
            values.any(|term| matches!(number_of(term), Some((_, IsInteger::No))))
        });
        let (missing, extra) = unmatched(reference, tested);
        let is_sequence_kept = has_same_keys(&columns);
        if missing.is_empty() && extra.is_empty() && is_sequence_kept {
            return Verdict::Equal;
        }
        // Where keys are means of floats, rows nearly tie that exact arithmetic would order.
        let can_tie = !self.is_total || is_inexact;
        let Some(primary) = primary.filter(|column| can_tie && has_same_keys(&[*column])) else {
            return self.differ(describe(variables, &missing, &extra));
        };
        let is_at_cut = |rows: &[Row], row: &Row| {
            let ties =
                |other: Option<&Row>| other.is_some_and(|o| is_same(&o[primary], &row[primary]));
            let is_full = self.limit.is_some_and(|limit| rows.len() >= limit);
            (is_full && ties(rows.last())) || (self.has_offset && ties(rows.first()))
        };
        let are_ties = missing.iter().all(|row| is_at_cut(reference, row))
            && extra.iter().all(|row| is_at_cut(tested, row));
        match are_ties {
            true => Verdict::Ties,
            false => self.differ(describe(variables, &missing, &extra)),
        }
    }
}

/// Says which rows are on one side only.
fn describe(variables: &[String], missing: &[&Row], extra: &[&Row]) -> String {
    let show = |row: &Row| {
        let cells = variables.iter().zip(row).map(|(name, term)| match term {
            Some(term) => format!("?{name}={}", term.value),
            None => format!("?{name} unbound"),
        });
        cells.collect::<Vec<_>>().join(" ")
    };
    match (missing.first(), extra.first()) {
        (None, None) => "the rows are the same in another order".to_owned(),
        (missing_row, extra_row) => {
            let mut text = format!("{} rows missing, {} too many", missing.len(), extra.len());
            if let Some(row) = missing_row {
                text.push_str(&format!("; missing: {}", show(row)));
            }
            if let Some(row) = extra_row {
                text.push_str(&format!("; too many: {}", show(row)));
            }
            text
        }
    }
}

/// The rows of each side without a partner on the other one.
fn unmatched<'a>(reference: &'a [Row], tested: &'a [Row]) -> (Vec<&'a Row>, Vec<&'a Row>) {
    let mut waiting: BTreeMap<String, Vec<&Row>> = BTreeMap::new();
    for row in tested {
        waiting.entry(exact_part(row)).or_default().push(row);
    }
    let mut missing = Vec::new();
    for row in reference {
        let candidates = waiting.get_mut(&exact_part(row));
        let partner = candidates.and_then(|rows| {
            let is_partner = |other: &&Row| row.iter().zip(*other).all(|(a, b)| is_same(a, b));
            let at = rows.iter().position(is_partner)?;
            Some(rows.swap_remove(at))
        });
        if partner.is_none() {
            missing.push(row);
        }
    }
    (missing, waiting.into_values().flatten().collect())
}

/// What of a row must be equal to the letter.
fn exact_part(row: &Row) -> String {
    let mut out = String::new();
    for cell in row {
        match cell {
            None => out.push('\u{1}'),
            Some(term) if number_of(term).is_some() => out.push('\u{2}'),
            Some(term) => {
                let parts = [Some(&term.kind), Some(&term.value)];
                for part in parts
                    .into_iter()
                    .chain([term.datatype.as_ref(), term.language.as_ref()])
                {
                    out.push_str(part.map_or("", String::as_str));
                    out.push('\u{3}');
                }
            }
        }
        out.push('\0');
    }
    out
}

fn is_same(one: &Option<RecordedTerm>, other: &Option<RecordedTerm>) -> bool {
    let (Some(one), Some(other)) = (one, other) else {
        return one.is_none() && other.is_none();
    };
    match (number_of(one), number_of(other)) {
        (Some((a, IsInteger::Yes)), Some((b, IsInteger::Yes))) => a == b,
        (Some((a, _)), Some((b, _))) => {
            a == b
                || (a - b).abs() <= TOLERANCE * a.abs().max(b.abs())
                || (a.is_nan() && b.is_nan())
        }
        (None, None) => one == other,
        _ => false,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum IsInteger {
    Yes,
    No,
}

/// The value of a number that is compared by value.
fn number_of(term: &RecordedTerm) -> Option<(f64, IsInteger)> {
    let local = term.datatype.as_ref()?.strip_prefix(XSD)?;
    if !is_numeric(local) {
        return None;
    }
    let value = term.value.trim().parse().ok()?;
    let is_integer = if local == "integer" {
        IsInteger::Yes
    } else {
        IsInteger::No
    };
    Some((value, is_integer))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DECIMAL: &str = "http://www.w3.org/2001/XMLSchema#decimal";
    const INTEGER: &str = "http://www.w3.org/2001/XMLSchema#integer";

    fn term(value: &str, datatype: Option<&str>) -> Option<RecordedTerm> {
        Some(RecordedTerm {
            kind: "literal".to_owned(),
            value: value.to_owned(),
            datatype: datatype.map(str::to_owned),
            language: None,
        })
    }

    /// Rows of ?label and ?product.
    fn labelled(rows: &[(&str, &str)]) -> Vec<Row> {
        let row = |(label, product): &(&str, &str)| vec![term(label, None), term(product, None)];
        rows.iter().map(row).collect()
    }

    /// Rows of ?product and ?growth.
    fn growing(rows: &[(&str, &str)], datatype: &str) -> Vec<Row> {
        let row = |(product, growth): &(&str, &str)| {
            vec![term(growth, Some(datatype)), term(product, None)]
        };
        rows.iter().map(row).collect()
    }

    fn names(names: [&str; 2]) -> Vec<String> {
        names.map(str::to_owned).to_vec()
    }

    fn compare_labelled(order: Order, a: &[(&str, &str)], b: &[(&str, &str)]) -> Verdict {
        order.compare(&names(["label", "product"]), &labelled(a), &labelled(b))
    }

    #[test]
    fn ties_at_the_cut_may_be_chosen_differently() {
        let order = Order::by(&["label"], 3);
        let reference = [("a", "1"), ("b", "2"), ("c", "3")];
        let same = |tested: &[(&str, &str)]| compare_labelled(order, &reference, tested);
        assert_eq!(same(&reference), Verdict::Equal);
        assert_eq!(same(&[("a", "1"), ("b", "2"), ("c", "9")]), Verdict::Ties);
        for wrong in [
            [("a", "1"), ("b", "9"), ("c", "3")],
            [("a", "1"), ("b", "2"), ("d", "3")],
            [("b", "2"), ("a", "1"), ("c", "3")],
        ] {
            assert!(matches!(same(&wrong), Verdict::Differ(_)), "{wrong:?}");
        }
        assert!(matches!(same(&reference[..2]), Verdict::Differ(_)));
        // Fewer rows than the limit: nothing was cut, so nothing ties.
        let short = compare_labelled(order, &reference[..2], &[("a", "1"), ("b", "9")]);
        assert!(matches!(short, Verdict::Differ(_)));
        // Rows with equal keys in another order are equal.
        let swapped = compare_labelled(order, &[("a", "1"), ("a", "2")], &[("a", "2"), ("a", "1")]);
        assert_eq!(swapped, Verdict::Equal);
    }

    #[test]
    fn an_offset_cuts_at_the_start_too() {
        let (reference, tested) = ([("a", "1"), ("b", "2")], [("a", "9"), ("b", "2")]);
        let order = Order::of(UseCase::Explore, 4);
        assert_eq!(compare_labelled(order, &reference, &tested), Verdict::Ties);
        let order = Order::of(UseCase::Explore, 1);
        let verdict = compare_labelled(order, &reference, &tested);
        assert!(matches!(verdict, Verdict::Differ(_)));
    }

    #[test]
    fn numbers_are_nearly_equal_and_integers_exactly() {
        let order = Order::of(UseCase::Bi, 3);
        let variables = names(["growth", "product"]);
        let compare = |a: &[(&str, &str)], b: &[(&str, &str)], datatype| {
            order.compare(&variables, &growing(a, datatype), &growing(b, datatype))
        };
        let (one, other) = ([("p", "1.000001"), ("q", "1")], [("p", "1"), ("q", "1.0")]);
        assert_eq!(compare(&one, &other, DECIMAL), Verdict::Equal);
        // Rows that tie but for rounding may change places, and are not the same if integers.
        let turned = [("q", "1.0"), ("p", "1")];
        assert_eq!(compare(&one, &turned, DECIMAL), Verdict::Ties);
        let far = [("p", "1.1"), ("q", "1")];
        assert!(matches!(compare(&one, &far, DECIMAL), Verdict::Differ(_)));
        let (one, turned) = ([("p", "1"), ("q", "1")], [("q", "1"), ("p", "1")]);
        let verdict = compare(&one, &turned, INTEGER);
        let reason = "the rows are the same in another order".to_owned();
        assert_eq!(verdict, Verdict::Differ(reason));
    }

    #[test]
    fn bags_count_repeats_and_gaps() {
        let one = labelled(&[("a", "1"), ("a", "1"), ("b", "2")]);
        let other = labelled(&[("a", "1"), ("b", "2"), ("b", "2")]);
        let (missing, extra) = unmatched(&one, &other);
        assert_eq!((missing, extra), (vec![&one[0]], vec![&one[2]]));
        let gap = vec![vec![None, term("1", None)]];
        let filled = labelled(&[("", "1")]);
        let (missing, _) = unmatched(&gap, &filled);
        assert_eq!(missing.len(), 1);
    }

    #[test]
    fn keys_are_variables_of_the_queries() {
        let pool = crate::ParameterPool::from_options(100, 1).expect("valid options");
        let draw = crate::Draw {
            seed: 1,
            mix: 0,
            position: 0,
        };
        for use_case in [UseCase::Explore, UseCase::Bi] {
            for number in 1..=use_case.queries() {
                let order = Order::of(use_case, number);
                let parameters = pool.draw(use_case, number, draw).expect("a valid number");
                let text = crate::query_text(use_case, number, &parameters).expect("complete");
                let select = text.lines().filter(|line| line.starts_with("SELECT"));
                let select: String = select.take(1).collect();
                for key in order.keys {
                    assert!(select.contains(&format!("?{key}")), "{key}: {select}");
                }
                let last_limit = text.lines().rfind(|line| line.starts_with("LIMIT "));
                let limit = last_limit.and_then(|line| line[6..].trim().parse().ok());
                assert_eq!(order.limit, limit, "{use_case:?} {number}");
                let is_ordered = text.lines().any(|line| line.starts_with("ORDER BY"));
                assert_eq!(!order.keys.is_empty(), is_ordered, "{use_case:?} {number}");
                let has_offset = text.lines().any(|line| line.starts_with("OFFSET"));
                assert_eq!(order.has_offset, has_offset);
            }
        }
    }
}
