//! Comparisons of products and quotients of long decimals, by doubles that are known to be near enough.
//!
//! `(?price - ?mean) * (?price - ?mean) > 9 * ?variance`: means have 18 digits after the point, their products 36, which no machine word holds. Each side is
//! computed in doubles together with how far off it may be at most; only rows that this does not decide are computed with all digits.
//!
//! ```text
//! leaf      nearest double, off by half a unit in its last place
//! a + b     the offs added, and a rounding            a * b     |a| off(b) + |b| off(a) + off(a) off(b), and a rounding
//! a / b     (off(a) + |a / b| off(b)) / (|b| - off(b)), a rounding, and 10^-18 that are cut
//! ```
//!
//! Invariant: what it decides is what all digits say. Floats and doubles, errors, and divisors that may be zero are not decided. Cost: some
//! nanoseconds for each row and operator.

use super::arithmetic::Operator;
use super::comparison::CompareOp;
use super::evaluate::operand;
use super::kernel::Kernel;
use super::number_values::Values;
use super::numbers::READ_TOGETHER;
use super::vector::{Rows, Truth, Vector};
use crate::context::Context;
use crate::error::ExecError;
use crate::row_numbers::hash_row;
use crate::value::{Number, Reader, ShortNumber};
use basalt_rdf::TermId;
use basalt_rdf::term_id::tag;

/// What a double may be off by rounding, as a share of it, and something more.
const ROUNDING: f64 = 1.2e-16;
/// What is cut of a quotient.
const CUT: f64 = 1.1e-18;

/// A value, and how far it may be off at most; infinitely far where nothing is known.
#[derive(Clone, Copy, Debug)]
struct Estimate {
    value: f64,
    off: f64,
}

impl Estimate {
    const UNKNOWN: Self = Self {
        value: 0.0,
        off: f64::INFINITY,
    };

    /// The exact number nearest to which the double is.
    fn near(double: f64) -> Self {
        Self::new(double, 0.0)
    }

    fn new(value: f64, off: f64) -> Self {
        let off = off * (1.0 + 8.0 * f64::EPSILON) + value.abs() * ROUNDING + f64::MIN_POSITIVE;
        match value.is_finite() && off.is_finite() {
            true => Self { value, off },
            false => Self::UNKNOWN,
        }
    }

    fn apply(self, operator: Operator, other: Self) -> Self {
        let (a, b) = (self, other);
        match operator {
            Operator::Add => Self::new(a.value + b.value, a.off + b.off),
            Operator::Subtract => Self::new(a.value - b.value, a.off + b.off),
            Operator::Multiply => {
                let off = a.value.abs() * b.off + b.value.abs() * a.off + a.off * b.off;
                Self::new(a.value * b.value, off)
            }
            Operator::Divide => {
                let least = b.value.abs() - b.off;
                // An unknown divisor has none.
                if least.is_nan() || least <= 0.0 {
                    return Self::UNKNOWN;
                }
                let value = a.value / b.value;
                Self::new(value, (a.off + value.abs() * b.off) / least + CUT)
            }
        }
    }
}

/// Two sides compared, of which one is a product or quotient of long decimals; `exactly` compares the rows that estimates do not decide. `None` of other sides.
pub fn compare(
    op: CompareOp,
    (a, b): (&Kernel, &Kernel),
    rows: &Rows<'_>,
    cx: &Context,
    exactly: impl Fn(&Rows<'_>) -> Result<Vec<Truth>, ExecError>,
) -> Result<Option<Vec<Truth>>, ExecError> {
    let has_product = has_product(a) || has_product(b);
    if !has_product || !(has_long(a, rows) || has_long(b, rows)) {
        return Ok(None);
    }
    let reader = &mut Reader::new(cx);
    let (Some(left), Some(right)) = (estimates(a, rows, reader)?, estimates(b, rows, reader)?)
    else {
        return Ok(None);
    };
    let mut truths = Vec::with_capacity(rows.len());
    let mut undecided = Vec::new();
    for (row, (a, b)) in (0_u32..).zip(left.iter().zip(&right)) {
        let between = a.value - b.value;
        let is_decided = between.abs() > (a.off + b.off) * (1.0 + 8.0 * f64::EPSILON);
        if !is_decided {
            undecided.push(row);
        }
        truths.push(Some(op.accepts(between.total_cmp(&0.0))).into());
    }
    if !undecided.is_empty() {
        let positions = rows.positions(&undecided);
        let exact = exactly(&rows.at(&positions))?;
        for (row, truth) in undecided.into_iter().zip(exact) {
            truths[row as usize] = truth;
        }
    }
    Ok(Some(truths))
}

/// The kernel that is evaluated by value or by kind, if it is.
fn plain(kernel: &Kernel) -> &Kernel {
    match kernel {
        Kernel::ByValue(by_value) => plain(by_value.kernel()),
        Kernel::ByKind(by_kind) => plain(by_kind.kernel()),
        other => other,
    }
}

/// Whether digits grow.
fn has_product(kernel: &Kernel) -> bool {
    match plain(kernel) {
        Kernel::Arithmetic(Operator::Multiply | Operator::Divide, ..) => true,
        Kernel::Arithmetic(_, a, b) => has_product(a) || has_product(b),
        Kernel::Sign { argument, .. } => has_product(argument),
        _ => false,
    }
}

/// Whether some column has long numbers, as its first row tells.
fn has_long(kernel: &Kernel, rows: &Rows<'_>) -> bool {
    match plain(kernel) {
        Kernel::Arithmetic(_, a, b) => has_long(a, rows) || has_long(b, rows),
        Kernel::Sign { argument, .. } => has_long(argument, rows),
        Kernel::Column(column) => match rows.numbers(*column) {
            Some(numbers) => matches!(numbers.values(), Values::Units(_)),
            None => {
                let first = rows.column(*column).first().map(|&id| TermId(id).tag());
                matches!(first, Some(tag::LOCAL | tag::TYPED))
            }
        },
        _ => false,
    }
}

/// The estimates of a kernel in each row; `None` if it is not arithmetic on columns and constants.
fn estimates(
    kernel: &Kernel,
    rows: &Rows<'_>,
    reader: &mut Reader<'_>,
) -> Result<Option<Vec<Estimate>>, ExecError> {
    Ok(match plain(kernel) {
        Kernel::Arithmetic(operator, a, b) => {
            let (Some(a), Some(b)) = (estimates(a, rows, reader)?, estimates(b, rows, reader)?)
            else {
                return Ok(None);
            };
            let pairs = a.into_iter().zip(b);
            Some(pairs.map(|(a, b)| a.apply(*operator, b)).collect())
        }
        Kernel::Sign { negate, argument } => {
            let mut all = estimates(argument, rows, reader)?;
            if *negate {
                let each = all.iter_mut().flatten();
                each.for_each(|estimate| estimate.value = -estimate.value);
            }
            all
        }
        Kernel::Constant(constant) => {
            let estimate = constant.value.number().map_or(Estimate::UNKNOWN, of_number);
            Some(vec![estimate; rows.len()])
        }
        column @ Kernel::Column(_) => of_column(column, rows, reader)?,
        _ => None,
    })
}

fn of_column(
    kernel: &Kernel,
    rows: &Rows<'_>,
    reader: &mut Reader<'_>,
) -> Result<Option<Vec<Estimate>>, ExecError> {
    let cx = reader.context();
    Ok(match operand(kernel, rows, cx)? {
        Vector::Numbers(numbers) => {
            let each = (0..rows.len()).map(|row| numbers.get(row));
            Some(
                each.map(|number| number.map_or(Estimate::UNKNOWN, of_short))
                    .collect(),
            )
        }
        Vector::Ids(ids) => {
            let mut estimates = Vec::with_capacity(ids.len());
            // Those of groups come several times.
            let mut known = [(0, Estimate::UNKNOWN); READ_TOGETHER];
            for &id in ids.iter() {
                if let Some(short) = ShortNumber::of_id(id) {
                    estimates.push(of_short(short));
                    continue;
                }
                let (read, estimate) = &mut known[hash_row(&[id]) as usize % READ_TOGETHER];
                if *read != id {
                    *estimate = reader.number(id)?.map_or(Estimate::UNKNOWN, of_number);
                    *read = id;
                }
                estimates.push(*estimate);
            }
            Some(estimates)
        }
        _ => None,
    })
}

fn of_short(number: ShortNumber) -> Estimate {
    match number {
        ShortNumber::Floating { .. } => Estimate::UNKNOWN,
        number => match number.nearest_double() {
            Some(double) => Estimate::near(double),
            None => of_number(number.to_number()),
        },
    }
}

fn of_number(number: Number) -> Estimate {
    match number {
        Number::Float(_) | Number::Double(_) => Estimate::UNKNOWN,
        number => Estimate::near(number.to_double().into()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::evaluate::truths;
    use super::super::kernel::Constant;
    use super::super::tests::{context, id_of};
    use super::*;
    use crate::batch::Batch;
    use proptest::prelude::*;

    fn kernel(shape: u8, depth: u8, constant: &Constant) -> Kernel {
        let next = |shape: u8| Box::new(kernel(shape, depth.saturating_sub(1), constant));
        match (depth, shape % 8) {
            (0, shape) if shape < 3 => Kernel::Column(usize::from(shape)),
            (0, _) => Kernel::Constant(constant.clone()),
            (_, 0 | 1) => Kernel::Arithmetic(Operator::Multiply, next(shape / 8), next(shape / 3)),
            (_, 2) => Kernel::Arithmetic(Operator::Divide, next(shape / 8), next(shape / 5)),
            (_, 3 | 4) => Kernel::Arithmetic(Operator::Subtract, next(shape / 8), next(shape / 3)),
            (_, 5) => Kernel::Arithmetic(Operator::Add, next(shape / 8), next(shape / 3)),
            (_, 6) => Kernel::Sign {
                negate: true,
                argument: next(shape / 8),
            },
            _ => *next(shape / 8),
        }
    }

    fn number(kind: u8, digits: u32) -> String {
        let xsd = "http://www.w3.org/2001/XMLSchema#";
        let text = match kind % 8 {
            0 => return format!("\"{}\"^^<{xsd}integer>", digits % 7),
            1 => return format!("\"{digits}.5E0\"^^<{xsd}double>"),
            2 => return "\"x\"".to_owned(),
            3 => format!("{}.{digits:010}666666666666666666666666", digits % 3),
            4 => "0.333333333333333333".to_owned(),
            5 => format!("-{}.000000000000000000{digits}1", digits % 3),
            6 => format!("{digits}"),
            _ => "1.666666666666666667".to_owned(),
        };
        format!("\"{text}\"^^<{xsd}decimal>")
    }

    proptest! {
        #[test]
        fn what_is_decided_is_what_all_digits_say(
            (left, right) in (any::<u8>(), any::<u8>()),
            (left_depth, right_depth) in (1..4_u8, 0..4_u8),
            rows in prop::collection::vec([(0..8_u8, 0..50_u32), (0..8_u8, 0..50_u32), (3..6_u8, 0..50_u32)], 1..20),
            constant in (any::<u8>(), 0..9_u32),
        ) {
            let cx = context();
            let id = |(kind, digits): (u8, u32)| id_of(&number(kind, digits), &cx);
            let column = |at: usize| rows.iter().map(|row| id(row[at])).collect::<Vec<u64>>();
            let batch = Batch::from_vectors((0..3).map(column).collect(), rows.len());
            let constant = id(constant);
            let value = Reader::new(&cx).value(constant).expect("it can be read").expect("a value");
            let constant = Constant { id: constant, value };
            let (a, b) = (kernel(left, left_depth, &constant), kernel(right, right_depth, &constant));
            let rows = Rows::all(&batch);
            for op in [CompareOp::Less, CompareOp::LessOrEqual, CompareOp::Equal, CompareOp::Greater] {
                // Row by row, with all digits.
                let exactly = |rows: &Rows<'_>| {
                    let each = (0..rows.len()).map(|row| {
                        let position = [rows.position(row)];
                        let one = Rows::all(&batch).at(&position);
                        let (x, y) = (operand(&a, &one, &cx)?, operand(&b, &one, &cx)?);
                        op.apply(x.get(0), y.get(0), &mut Reader::new(&cx))
                    });
                    each.collect::<Result<Vec<Truth>, ExecError>>()
                };
                let expected = exactly(&rows).expect("terms");
                let estimated = compare(op, (&a, &b), &rows, &cx, exactly).expect("terms");
                if let Some(estimated) = estimated {
                    prop_assert_eq!(&estimated, &expected, "{:?}", op);
                }
                let compared = Kernel::Compare(
                    op,
                    Box::new(kernel(left, left_depth, &constant)),
                    Box::new(kernel(right, right_depth, &constant)),
                );
                prop_assert_eq!(truths(&compared, &rows, &cx).expect("terms"), expected);
            }
        }
    }
}
