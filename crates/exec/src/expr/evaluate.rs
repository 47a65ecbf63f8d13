//! Evaluation of a kernel tree over rows, a column at a time.
//!
//! Logical forms look at a later argument only for the rows that it can still decide, which is what
//! their laziness in SPARQL means and saves work.

use super::annotation::Annotation;
use super::arithmetic::Operator;
use super::blended::{blended, known};
use super::calendar_comparison::compare_calendar;
use super::chosen::Chosen;
use super::comparison::{CompareOp, compare_column, compare_columns};
use super::date_arithmetic::compare_difference;
use super::kernel::Kernel;
use super::kind_test::KindTest;
use super::known_texts::{compare_texts, find_in_texts};
use super::nearest_comparison::compare_nearest;
use super::number_casts::cast;
use super::number_operators::Change;
use super::numbers::Numbers;
use super::numeric_cast::NumericCast;
use super::operand::Operand;
use super::products::{Products, Summed};
use super::vector::{Argument, Rows, Truth, Vector, each_row};
use super::{
    arithmetic, call, date_columns, equality_key, estimated_comparison, number_operators,
    string_function,
};
use crate::context::Context;
use crate::error::ExecError;
use crate::operators::exists::Exists;
use crate::selection::positions;
use crate::value::Reader;
use spargebra::algebra::Function;
use std::borrow::Cow;

/// The values of a kernel, one for each row.
pub fn evaluate<'a>(
    kernel: &'a Kernel,
    rows: &Rows<'a>,
    cx: &Context,
) -> Result<Vector<'a>, ExecError> {
    let count = rows.len();
    let reader = &mut Reader::new(cx);
    Ok(match kernel {
        Kernel::Error => Vector::Error,
        Kernel::Column(column) => Vector::Ids(rows.column(*column)),
        Kernel::Constant(constant) => Vector::Constant(constant),
        Kernel::Arithmetic(operator, a, b) => {
            let (a, b) = (operand(a, rows, cx)?, operand(b, rows, cx)?);
            return arithmetic::binary(*operator, &a, &b, count, reader);
        }
        Kernel::Sign { negate, argument } => {
            let argument = operand(argument, rows, cx)?;
            return arithmetic::sign(*negate, &argument, count, reader);
        }
        Kernel::If(condition, then, otherwise) => {
            return choose(condition, then, otherwise, rows, cx);
        }
        Kernel::Coalesce(list) => return coalesce(list, rows, cx),
        Kernel::Call(function, arguments) => {
            return called(function, arguments, rows, cx);
        }
        Kernel::LabelledBlank(label) => {
            let labels = evaluate(label, rows, cx)?;
            Vector::Items(call::labelled_blanks(&labels, rows, reader)?)
        }
        Kernel::EqualityKey(value) => {
            let values = operand(value, rows, cx)?;
            Vector::Ids(equality_key::column(&values, count, reader)?.into())
        }
        Kernel::ByValue(by_value) => match by_value.ids(rows, cx)? {
            Some(ids) => Vector::Ids(ids.into()),
            None => return evaluate(by_value.kernel(), rows, cx),
        },
        Kernel::ByKind(by_kind) => return by_kind.values(rows, cx),
        Kernel::CastNumber { column, cast, of } => {
            let ids = rows.column(*column);
            match cast.short_column(&ids, *of) {
                Some(casts) => Vector::Ids(casts.into()),
                None => return operand(kernel, rows, cx),
            }
        }
        _ => Vector::Truths(truths(kernel, rows, cx)?),
    })
}

/// The same for whoever reads numbers: those of casts and of computed columns are not made ids first.
pub fn operand<'a>(
    kernel: &'a Kernel,
    rows: &Rows<'a>,
    cx: &Context,
) -> Result<Vector<'a>, ExecError> {
    let (column, cast, of) = match kernel {
        Kernel::Column(column) => return Ok(rows.vector(*column)),
        Kernel::CastNumber { column, cast, of } => (column, cast, of),
        _ => return evaluate(kernel, rows, cx),
    };
    let ids = rows.column(*column);
    Ok(match cast.numbers(&ids, *of) {
        Some(numbers) => Vector::Numbers(Cow::Owned(numbers)),
        None => Vector::Items(cast.column(&ids, *of, &mut Reader::new(cx))?),
    })
}

/// The values of a function or cast of evaluated arguments.
fn called<'a>(
    function: &Function,
    arguments: &'a [Kernel],
    rows: &Rows<'a>,
    cx: &Context,
) -> Result<Vector<'a>, ExecError> {
    if let Some(truths) = find_in_texts(function, arguments, rows, cx)? {
        return Ok(Vector::Truths(truths));
    }
    let (count, reader) = (rows.len(), &mut Reader::new(cx));
    let (change, to) = (Change::of(function), NumericCast::of(function));
    let vectors = arguments
        .iter()
        .map(|argument| match change.is_some() || to.is_some() {
            true => operand(argument, rows, cx),
            false => evaluate(argument, rows, cx),
        })
        .collect::<Result<Vec<_>, _>>()?;
    if *function == Function::Rand {
        let numbers = Numbers::doubles(call::random_doubles(count));
        return Ok(Vector::Numbers(Cow::Owned(numbers)));
    }
    let [only] = vectors.as_slice() else {
        return call::column(function, &vectors, count, cx);
    };
    if let Vector::Ids(ids) = only
        && let Some(of_dates) = date_columns::column(function, ids, cx)?
    {
        return Ok(Vector::Ids(of_dates.into()));
    }
    if let Some(annotation) = Annotation::of(function) {
        return Ok(Vector::Ids(annotation.column(only, count, reader)?.into()));
    }
    if let Some(test) = KindTest::of(function) {
        return Ok(Vector::Truths(test.column(only, count, reader)?));
    }
    if let Some(change) = change
        && let Some(numbers) =
            Operand::of(only).and_then(|operand| number_operators::changed(&operand, change))
    {
        return Ok(Vector::Numbers(Cow::Owned(numbers)));
    }
    if let (Some(to), Vector::Numbers(_)) = (to, only)
        && let Some(numbers) = Operand::of(only).and_then(|operand| cast(&operand, to))
    {
        return Ok(Vector::Numbers(Cow::Owned(numbers)));
    }
    if *function == Function::StrLen {
        return Ok(Vector::Ids(
            string_function::lengths(only, count, reader)?.into(),
        ));
    }
    call::column(function, &vectors, count, cx)
}

/// The same for whoever asks only which rows it is true in: errors are false, so that what is joined by `&&` with one is not evaluated.
pub fn condition(kernel: &Kernel, rows: &Rows<'_>, cx: &Context) -> Result<Vec<Truth>, ExecError> {
    let mut truths = match kernel {
        Kernel::Or(list) => return connective(list, Truth::True, rows, cx, condition),
        Kernel::And(list) => return connective(list, Truth::False, rows, cx, condition),
        other => truths(other, rows, cx)?,
    };
    for truth in &mut truths {
        if *truth == Truth::Error {
            *truth = Truth::False;
        }
    }
    Ok(truths)
}

/// The effective boolean values of a kernel, one for each row.
pub fn truths(kernel: &Kernel, rows: &Rows<'_>, cx: &Context) -> Result<Vec<Truth>, ExecError> {
    let count = rows.len();
    let reader = &mut Reader::new(cx);
    match kernel {
        Kernel::Or(list) => connective(list, Truth::True, rows, cx, truths),
        Kernel::And(list) => connective(list, Truth::False, rows, cx, truths),
        Kernel::Not(inner) => Ok(truths(inner, rows, cx)?
            .into_iter()
            .map(Truth::negated)
            .collect()),
        Kernel::SameTerm(a, b) => {
            let (a, b) = (evaluate(a, rows, cx)?, evaluate(b, rows, cx)?);
            let (a, b) = (a.into_ids(count, cx), b.into_ids(count, cx));
            Ok(a.iter().zip(&b).map(|(&a, &b)| same_term(a, b)).collect())
        }
        Kernel::Compare(op, a, b) => compared(kernel, (*op, a, b), rows, cx),
        Kernel::In(needle, list) => is_in(needle, list, rows, cx),
        Kernel::InConstants(needle, set) => {
            let needles = evaluate(needle, rows, cx)?;
            set.column(&needles, count, reader)
        }
        Kernel::Bound(column) => {
            let ids = rows.column(*column);
            Ok(ids.iter().map(|&id| Some(id != 0).into()).collect())
        }
        Kernel::Exists(exists) => exists_rows(exists, rows, cx),
        Kernel::CompareConstant {
            column,
            op,
            constant,
        } => {
            if let Some(numbers) = rows.numbers(*column) {
                let (a, b) = (Vector::Numbers(numbers), Vector::Constant(constant));
                return compare(*op, &a, &b, count, reader);
            }
            compare_column(&rows.column(*column), *op, constant, reader)
        }
        Kernel::Language { column, test } => test.column(&rows.column(*column), reader),
        Kernel::Text { text, of_str, test } => {
            let text = evaluate(text, rows, cx)?;
            test.column(*of_str, &text, count, reader)
        }
        Kernel::ByValue(by_value) => match by_value.ids(rows, cx)? {
            Some(ids) => Vector::Ids(ids.into()).into_truths(count, cx),
            None => truths(by_value.kernel(), rows, cx),
        },
        Kernel::ByKind(by_kind) => by_kind.truths(rows, cx),
        // The kernels that give values; `evaluate` knows each of them.
        Kernel::Error
        | Kernel::Column(_)
        | Kernel::Constant(_)
        | Kernel::Arithmetic(..)
        | Kernel::Sign { .. }
        | Kernel::If(..)
        | Kernel::Coalesce(_)
        | Kernel::Call(..)
        | Kernel::LabelledBlank(_)
        | Kernel::EqualityKey(_)
        | Kernel::CastNumber { .. } => evaluate(kernel, rows, cx)?.into_truths(count, cx),
    }
}

/// The values of a kernel for whoever adds them up.
pub fn summands<'a>(
    kernel: &'a Kernel,
    rows: &Rows<'a>,
    cx: &Context,
) -> Result<Summed<'a>, ExecError> {
    match kernel {
        Kernel::Arithmetic(Operator::Multiply, a, b) => {
            let reader = &mut Reader::new(cx);
            let (a, b) = (operand(a, rows, cx)?, operand(b, rows, cx)?);
            Products::of_vectors(&a, &b, rows.len(), reader)
        }
        Kernel::ByKind(by_kind) => by_kind.summands(rows, cx),
        Kernel::ByValue(by_value) => match by_value.ids(rows, cx)? {
            Some(ids) => Ok(Summed::Vector(Vector::Ids(ids.into()))),
            None => summands(by_value.kernel(), rows, cx),
        },
        other => operand(other, rows, cx).map(Summed::Vector),
    }
}

/// A comparison of two kernels, which is `kernel`.
fn compared(
    kernel: &Kernel,
    (op, a, b): (CompareOp, &Kernel, &Kernel),
    rows: &Rows<'_>,
    cx: &Context,
) -> Result<Vec<Truth>, ExecError> {
    if let Some(truths) = compare_difference(op, a, b, rows) {
        return Ok(truths);
    }
    if let Some(truths) = compare_calendar(kernel, rows) {
        return Ok(truths);
    }
    if let Some(truths) = compare_texts(op, (a, b), rows, cx)? {
        return Ok(truths);
    }
    let exactly = |rows: &Rows<'_>| {
        let (a, b) = (operand(a, rows, cx)?, operand(b, rows, cx)?);
        compare(op, &a, &b, rows.len(), &mut Reader::new(cx))
    };
    match estimated_comparison::compare(op, (a, b), rows, cx, exactly)? {
        Some(truths) => Ok(truths),
        None => exactly(rows),
    }
}

/// Two vectors compared row by row.
fn compare(
    op: CompareOp,
    a: &Vector<'_>,
    b: &Vector<'_>,
    count: usize,
    reader: &mut Reader<'_>,
) -> Result<Vec<Truth>, ExecError> {
    let cx = reader.context();
    if let Some(truths) = number_operators::compare_vectors(op, a, b) {
        return Ok(truths);
    }
    if let Some(truths) = compare_nearest(op, a, b, count, reader)? {
        return Ok(truths);
    }
    if let Some(truths) = number_operators::compare_read(op, a, b, reader)? {
        return Ok(truths);
    }
    let mut known = Vec::new();
    if let (Vector::Ids(a), Vector::Ids(b)) = (a, b) {
        if let Some(truths) = compare_columns(a, b, op) {
            return Ok(truths);
        }
        known = op.between_made(a, b, cx);
    }
    let other = &mut Reader::new(cx);
    each_row(count, |row| match known.get(row) {
        Some(Some(truth)) => Ok(*truth),
        _ => op.apply_read(a.get(row), b.get(row), reader, other),
    })
}

fn same_term(a: u64, b: u64) -> Truth {
    if a == 0 || b == 0 {
        Truth::Error
    } else {
        Some(a == b).into()
    }
}

/// Rows for which something is still to be decided: their numbers in [`Rows`], and in the batch.
struct Open {
    rows: Vec<u32>,
    positions: Vec<u32>,
}

impl Open {
    /// The rows of whose states, of which each row has one, that is said.
    fn new<S: Copy>(rows: &Rows<'_>, states: &[S], is_open: impl Fn(S) -> bool) -> Self {
        let open = positions(states, is_open);
        Self {
            positions: rows.positions(&open),
            rows: open,
        }
    }
}

/// `||` with `decisive` true, `&&` with `decisive` false: a decisive argument decides, else an error
/// is an error.
fn connective(
    list: &[Kernel],
    decisive: Truth,
    rows: &Rows<'_>,
    cx: &Context,
    truths: fn(&Kernel, &Rows<'_>, &Context) -> Result<Vec<Truth>, ExecError>,
) -> Result<Vec<Truth>, ExecError> {
    let mut result = vec![decisive.negated(); rows.len()];
    for kernel in list {
        let is_open = |truth: Truth| truth != decisive;
        let count = result.iter().filter(|&&truth| is_open(truth)).count();
        if count == 0 {
            break;
        }
        // What is decided stays so, whatever a light kernel says of it.
        if kernel.is_light() && count >= rows.len() / 2 {
            let truths = truths(kernel, rows, cx)?;
            for (decided, truth) in result.iter_mut().zip(truths) {
                let changes = is_open(*decided) & (truth == decisive || truth == Truth::Error);
                *decided = if changes { truth } else { *decided };
            }
            continue;
        }
        let open = Open::new(rows, &result, is_open);
        let truths = truths(kernel, &rows.at(&open.positions), cx)?;
        for (row, truth) in open.rows.into_iter().zip(truths) {
            if truth == decisive || truth == Truth::Error {
                result[row as usize] = truth;
            }
        }
    }
    Ok(result)
}

/// `IF`: each branch only for the rows that take it.
fn choose<'v>(
    condition: &Kernel,
    then: &'v Kernel,
    otherwise: &'v Kernel,
    rows: &Rows<'v>,
    cx: &Context,
) -> Result<Vector<'v>, ExecError> {
    let truths = truths(condition, rows, cx)?;
    if then.is_light()
        && otherwise.is_light()
        && let (Some(then), Some(otherwise)) = (light(then, rows, cx)?, light(otherwise, rows, cx)?)
        && let Some(blended) = blended(&truths, &then, &otherwise)
    {
        return Ok(blended);
    }
    let mut result = Chosen::errors(rows.len());
    for (branch, taken) in [(then, Truth::True), (otherwise, Truth::False)] {
        let open = Open::new(rows, &truths, |truth| truth == taken);
        if open.rows.is_empty() {
            continue;
        }
        let narrowed = rows.at(&open.positions);
        result.put(&open.rows, &evaluate(branch, &narrowed, cx)?);
    }
    Ok(result.into_vector())
}

/// `COALESCE`: the first argument that is not an error.
fn coalesce<'v>(
    list: &'v [Kernel],
    rows: &Rows<'v>,
    cx: &Context,
) -> Result<Vector<'v>, ExecError> {
    if list.iter().all(Kernel::is_light)
        && let Some(blended) = first_known(list, rows, cx)?
    {
        return Ok(blended);
    }
    let mut result = Chosen::errors(rows.len());
    for kernel in list {
        let open = Open::new(rows, &result.errors_of_rows(), |is_error| is_error);
        if open.rows.is_empty() {
            break;
        }
        let narrowed = rows.at(&open.positions);
        result.put(&open.rows, &evaluate(kernel, &narrowed, cx)?);
    }
    Ok(result.into_vector())
}

/// The values of a light kernel; `None` of a cast that has to read texts.
fn light<'a>(
    kernel: &'a Kernel,
    rows: &Rows<'a>,
    cx: &Context,
) -> Result<Option<Vector<'a>>, ExecError> {
    if let Kernel::CastNumber { column, cast, of } = kernel {
        let numbers = cast.numbers(&rows.column(*column), *of);
        return Ok(numbers.map(|numbers| Vector::Numbers(Cow::Owned(numbers))));
    }
    operand(kernel, rows, cx).map(Some)
}

/// `COALESCE` of light kernels; `None` if they have no column.
fn first_known<'v>(
    list: &'v [Kernel],
    rows: &Rows<'v>,
    cx: &Context,
) -> Result<Option<Vector<'v>>, ExecError> {
    let mut kernels = list.iter();
    let first = kernels.next().unwrap_or(&Kernel::Error);
    let Some(mut result) = light(first, rows, cx)? else {
        return Ok(None);
    };
    for kernel in kernels {
        let Some(truths) = known(&result, rows.len()) else {
            return Ok(None);
        };
        if !truths.contains(&Truth::False) {
            break;
        }
        let next = light(kernel, rows, cx)?;
        match next.and_then(|next| blended(&truths, &result, &next)) {
            Some(both) => result = both,
            None => return Ok(None),
        }
    }
    Ok(Some(result))
}

/// `IN`: true if some `=` is true, else an error if some `=` is an error, else false.
fn is_in(
    needle: &Kernel,
    list: &[Kernel],
    rows: &Rows<'_>,
    cx: &Context,
) -> Result<Vec<Truth>, ExecError> {
    let needles = evaluate(needle, rows, cx)?;
    let reader = &mut Reader::new(cx);
    let start = |row| match needles.get(row) {
        Argument::Error => Truth::Error,
        _ => Truth::False,
    };
    let mut result: Vec<Truth> = (0..rows.len()).map(start).collect();
    for kernel in list {
        let errors = (0..rows.len()).map(|row| matches!(needles.get(row), Argument::Error));
        let states: Vec<(Truth, bool)> = result.iter().copied().zip(errors).collect();
        let open = Open::new(rows, &states, |(truth, is_error)| {
            truth != Truth::True && !is_error
        });
        if open.rows.is_empty() {
            break;
        }
        let narrowed = rows.at(&open.positions);
        let candidates = evaluate(kernel, &narrowed, cx)?;
        for (i, row) in open.rows.into_iter().enumerate() {
            let row = row as usize;
            match CompareOp::Equal.apply(needles.get(row), candidates.get(i), reader)? {
                Truth::False => {}
                decided => result[row] = decided,
            }
        }
    }
    Ok(result)
}

fn exists_rows(exists: &Exists, rows: &Rows<'_>, cx: &Context) -> Result<Vec<Truth>, ExecError> {
    let keys = exists.keys(rows.len(), |column| rows.column(column));
    let answers = exists.hold(&keys, cx)?.into_iter();
    Ok(answers.map(|holds| Some(holds).into()).collect())
}
