//! From the planner's [`Expr`] to kernels: folds constants, recognises the fast forms, refuses unknown
//! functions.

use super::arithmetic::Operator;
use super::comparison::CompareOp;
use super::constant_set::ConstantSet;
use super::kernel::{Constant, Kernel};
use super::language_test::LanguageTest;
use super::numeric_cast::{CastOf, NumericCast};
use super::text_test::TextTest;
use super::vector::Rows;
use super::{call, evaluate, pattern};
use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;
use crate::operators::exists::Exists;
use crate::value::{Reader, Value};
use basalt_plan::physical::{Expr, Slot};
use basalt_rdf::term_view::XSD;
use spargebra::algebra::Function;

/// Compiles an expression for rows with these slots.
pub fn compile(expr: &Expr, schema: &[Slot], cx: &Context) -> Result<Kernel, ExecError> {
    let one = |expr: &Expr| compile(expr, schema, cx);
    let boxed = |expr: &Expr| one(expr).map(Box::new);
    let many = |list: &[Expr]| list.iter().map(one).collect::<Result<Vec<_>, _>>();
    let column = |slot: &Slot| schema.iter().position(|s| s == slot);
    let kernel = match expr {
        Expr::Slot(slot) => column(slot).map_or(Kernel::Error, Kernel::Column),
        Expr::Constant(constant) => {
            let id = constant
                .id
                .unwrap_or_else(|| cx.terms().intern_term(&constant.term));
            self::constant(id.0, cx)?
        }
        Expr::Or(list) => Kernel::Or(lightest_first(many(list)?)),
        Expr::And(list) => Kernel::And(lightest_first(many(list)?)),
        Expr::Not(inner) => Kernel::Not(boxed(inner)?),
        Expr::Equal(a, b) => comparison(CompareOp::Equal, one(a)?, one(b)?),
        Expr::Less(a, b) => comparison(CompareOp::Less, one(a)?, one(b)?),
        Expr::LessOrEqual(a, b) => comparison(CompareOp::LessOrEqual, one(a)?, one(b)?),
        Expr::SameTerm(a, b) => Kernel::SameTerm(boxed(a)?, boxed(b)?),
        Expr::In(needle, list) => membership(one(needle)?, many(list)?),
        Expr::Add(a, b) => Kernel::Arithmetic(Operator::Add, boxed(a)?, boxed(b)?),
        Expr::Subtract(a, b) => Kernel::Arithmetic(Operator::Subtract, boxed(a)?, boxed(b)?),
        Expr::Multiply(a, b) => Kernel::Arithmetic(Operator::Multiply, boxed(a)?, boxed(b)?),
        Expr::Divide(a, b) => Kernel::Arithmetic(Operator::Divide, boxed(a)?, boxed(b)?),
        Expr::UnaryPlus(a) => Kernel::Sign {
            negate: false,
            argument: boxed(a)?,
        },
        Expr::UnaryMinus(a) => Kernel::Sign {
            negate: true,
            argument: boxed(a)?,
        },
        Expr::If(a, b, c) => Kernel::If(boxed(a)?, boxed(b)?, boxed(c)?),
        Expr::Coalesce(list) => Kernel::Coalesce(many(list)?),
        Expr::Bound(slot) => match column(slot) {
            Some(column) => Kernel::Bound(column),
            None => self::constant(basalt_rdf::inline::encode_boolean(false).0, cx)?,
        },
        Expr::Call(function, arguments) => {
            call::check_supported(function)?;
            function_call(function, many(arguments)?)
        }
        Expr::EqualityKey(value) => Kernel::EqualityKey(boxed(value)?),
        Expr::Exists(node) => Kernel::Exists(Box::new(Exists::new(node, schema, cx))),
    };
    fold(kernel, cx)
}

/// Operands of `||` or `&&` in the order in which they are evaluated: what they give together does not depend on it, errors included
/// (SPARQL 1.1, section 17.2), and a later one is evaluated for the rows that are not decided yet.
fn lightest_first(mut list: Vec<Kernel>) -> Vec<Kernel> {
    list.sort_by_key(Kernel::weight);
    list
}

/// The kernel of a constant.
fn constant(id: u64, cx: &Context) -> Result<Kernel, ExecError> {
    let value = Reader::new(cx).value(id)?;
    Ok(value.map_or(Kernel::Error, |value| {
        Kernel::Constant(Constant { id, value })
    }))
}

/// Evaluates a kernel of constants now.
fn fold(kernel: Kernel, cx: &Context) -> Result<Kernel, ExecError> {
    let all = |list: &[Kernel]| list.iter().all(Kernel::is_constant);
    let is_foldable = match &kernel {
        Kernel::Or(list) | Kernel::And(list) | Kernel::Coalesce(list) => all(list),
        Kernel::In(needle, list) => needle.is_constant() && all(list),
        Kernel::Not(a) | Kernel::Sign { argument: a, .. } | Kernel::Text { text: a, .. } => {
            a.is_constant()
        }
        Kernel::SameTerm(a, b) | Kernel::Compare(_, a, b) | Kernel::Arithmetic(_, a, b) => {
            a.is_constant() && b.is_constant()
        }
        Kernel::If(a, b, c) => a.is_constant() && b.is_constant() && c.is_constant(),
        Kernel::Call(function, list) => call::is_deterministic(function) && all(list),
        _ => false,
    };
    if !is_foldable {
        return Ok(kernel);
    }
    let row = Batch::new(Vec::new(), 1);
    let ids = evaluate::evaluate(&kernel, &Rows::all(&row), cx)?.into_ids(1, cx);
    constant(ids[0], cx)
}

fn comparison(op: CompareOp, a: Kernel, b: Kernel) -> Kernel {
    let (op, a, b) = match a {
        Kernel::Constant(_) => (op.flipped(), b, a),
        a => (op, a, b),
    };
    match (a, b) {
        (Kernel::Column(column), Kernel::Constant(constant)) => Kernel::CompareConstant {
            column,
            op,
            constant,
        },
        // Of many texts the first characters tell.
        (
            Kernel::Call(Function::Str, list),
            Kernel::Constant(Constant {
                value: Value::String(text),
                ..
            }),
        ) => text_kernel(
            Kernel::Call(Function::Str, list),
            TextTest::order(op, &text),
        ),
        (a, b) if op == CompareOp::Equal => equality(a, b),
        (a, b) => Kernel::Compare(op, Box::new(a), Box::new(b)),
    }
}

/// `=`, with `lang(?x) = "en"` apart.
fn equality(a: Kernel, b: Kernel) -> Kernel {
    language_equality(&a, &b)
        .unwrap_or_else(|| Kernel::Compare(CompareOp::Equal, Box::new(a), Box::new(b)))
}

/// The fast form of `lang(?x) = "en"`, if the two are these.
fn language_equality(call: &Kernel, constant: &Kernel) -> Option<Kernel> {
    let (Kernel::Call(Function::Lang, list), Kernel::Constant(constant)) = (call, constant) else {
        return None;
    };
    match (list.as_slice(), &constant.value) {
        ([Kernel::Column(column)], Value::String(text)) => Some(Kernel::Language {
            column: *column,
            test: LanguageTest::Equals(text.clone()),
        }),
        _ => None,
    }
}

/// `IN`, with `lang(?x) IN ("en", ...)` apart.
fn membership(needle: Kernel, list: Vec<Kernel>) -> Kernel {
    let tests = list.iter().map(|item| language_equality(&needle, item));
    match tests.collect::<Option<Vec<_>>>() {
        // Of an empty list the needle alone tells whether it is an error.
        Some(tests) if !tests.is_empty() => return Kernel::Or(tests),
        _ => {}
    }
    let is_constant = |item: &Kernel| matches!(item, Kernel::Constant(_));
    if needle.is_constant() || !list.iter().all(is_constant) {
        return Kernel::In(Box::new(needle), list);
    }
    let constants = list.into_iter().filter_map(|item| match item {
        Kernel::Constant(constant) => Some(constant),
        _ => None,
    });
    let set = ConstantSet::new(constants.collect());
    Kernel::InConstants(Box::new(needle), Box::new(set))
}

/// A call, or the fast form of it.
fn function_call(function: &Function, mut arguments: Vec<Kernel>) -> Kernel {
    match (function, arguments.as_slice()) {
        (Function::BNode, [_]) => {
            return Kernel::LabelledBlank(Box::new(arguments.swap_remove(0)));
        }
        (Function::LangMatches, [Kernel::Call(Function::Lang, list), Kernel::Constant(range)]) => {
            if let ([Kernel::Column(column)], Value::String(range)) =
                (list.as_slice(), &range.value)
            {
                let test = LanguageTest::Matches(range.clone());
                return Kernel::Language {
                    column: *column,
                    test,
                };
            }
        }
        (function @ Function::Custom(_), [argument]) => {
            let cast = NumericCast::of(function);
            if let (Some(cast), Some((of, column))) = (cast, column_cast(argument)) {
                return Kernel::CastNumber { column, cast, of };
            }
        }
        (Function::Regex, [_, Kernel::Constant(pattern), flags @ ..]) => {
            let flags = match flags {
                [] => Some(""),
                [
                    Kernel::Constant(Constant {
                        value: Value::String(flags),
                        ..
                    }),
                ] => Some(flags.as_str()),
                _ => None,
            };
            if let (Value::String(pattern), Some(flags)) = (&pattern.value, flags) {
                let Some(regex) = pattern::compile_for_bytes(pattern, flags) else {
                    return Kernel::Error;
                };
                return text_kernel(arguments.swap_remove(0), TextTest::Pattern(regex));
            }
        }
        (_, [_, Kernel::Constant(part)]) => {
            if let Value::String(part) = &part.value
                && let Some(test) = TextTest::of(function, part)
            {
                return text_kernel(arguments.swap_remove(0), test);
            }
        }
        _ => {}
    }
    Kernel::Call(function.clone(), arguments)
}

/// The column that a cast reads, and what of it, if it reads one: the value, or the text that `STR` or a cast to `xsd:string` gives.
fn column_cast(argument: &Kernel) -> Option<(CastOf, usize)> {
    let (of, column) = match argument {
        Kernel::Call(function, list) => (text_of(function)?, list.first()?),
        column => (CastOf::Value, column),
    };
    match column {
        Kernel::Column(column) => Some((of, *column)),
        _ => None,
    }
}

/// Which text a function takes of its argument, if it is `STR` or a cast to `xsd:string`.
fn text_of(function: &Function) -> Option<CastOf> {
    match function {
        Function::Str => Some(CastOf::Written),
        Function::Custom(name) if name.as_str().strip_prefix(XSD) == Some("string") => {
            Some(CastOf::Canonical)
        }
        _ => None,
    }
}

fn text_kernel(text: Kernel, test: TextTest) -> Kernel {
    match text {
        Kernel::Call(Function::Str, mut list) if list.len() == 1 => Kernel::Text {
            text: Box::new(list.swap_remove(0)),
            of_str: true,
            test,
        },
        text => Kernel::Text {
            text: Box::new(text),
            of_str: false,
            test,
        },
    }
}
