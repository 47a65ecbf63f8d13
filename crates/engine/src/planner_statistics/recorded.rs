//! Questions of the planner about data, and the answers to them, as text and JSON.
//!
//! A question is a word and its parameters: ids as hexadecimal digits, tables as numbers, conditions by their predicate alone,
//! since a condition is code. Those with conditions or long lists of ids are asked again and again in the same words, and
//! their answers are taken in the order in which they were given; that goes right as long as the planner asks in the order of
//! the recording, which it does: it draws nothing at random.

use basalt_plan::physical::TableIdx;
use basalt_plan::statistics::{LinkOfWalk, Reached, RowTest, SampleOf, Sampled, StarEstimate};
use basalt_rdf::TermId;
use serde_json::{Value, json};

/// An answer as JSON, and back; `None` for what is no such answer.
pub(super) trait Answer: Sized {
    fn to_json(&self) -> Value;
    fn of_json(value: &Value) -> Option<Self>;
}

impl Answer for u64 {
    fn to_json(&self) -> Value {
        json!(self)
    }

    fn of_json(value: &Value) -> Option<Self> {
        value.as_u64()
    }
}

/// Numbers that are no integers are text, which gives back every bit.
impl Answer for f64 {
    fn to_json(&self) -> Value {
        // Integers below are exact in both forms.
        match self.fract() == 0.0 && (0.0..9e15).contains(self) {
            true => json!(*self as u64),
            false => json!(format!("{self:?}")),
        }
    }

    fn of_json(value: &Value) -> Option<Self> {
        match value {
            Value::String(text) => text.parse().ok(),
            _ => value.as_f64(),
        }
        .filter(|number: &f64| number.is_finite() && *number >= 0.0)
    }
}

impl Answer for TermId {
    fn to_json(&self) -> Value {
        json!(format!("{:016x}", self.0))
    }

    fn of_json(value: &Value) -> Option<Self> {
        u64::from_str_radix(value.as_str()?, 16).ok().map(TermId)
    }
}

impl Answer for TableIdx {
    fn to_json(&self) -> Value {
        json!(self.0)
    }

    fn of_json(value: &Value) -> Option<Self> {
        u32::try_from(value.as_u64()?).ok().map(TableIdx)
    }
}

impl<T: Answer> Answer for Option<T> {
    fn to_json(&self) -> Value {
        self.as_ref().map_or(Value::Null, T::to_json)
    }

    fn of_json(value: &Value) -> Option<Self> {
        match value {
            Value::Null => Some(None),
            value => T::of_json(value).map(Some),
        }
    }
}

impl<T: Answer> Answer for Vec<T> {
    fn to_json(&self) -> Value {
        self.iter().map(T::to_json).collect()
    }

    fn of_json(value: &Value) -> Option<Self> {
        value.as_array()?.iter().map(T::of_json).collect()
    }
}

impl<A: Answer, B: Answer> Answer for (A, B) {
    fn to_json(&self) -> Value {
        json!([self.0.to_json(), self.1.to_json()])
    }

    fn of_json(value: &Value) -> Option<Self> {
        match value.as_array()?.as_slice() {
            [a, b] => Some((A::of_json(a)?, B::of_json(b)?)),
            _ => None,
        }
    }
}

impl Answer for StarEstimate {
    fn to_json(&self) -> Value {
        (self.table, (self.subjects, self.solutions)).to_json()
    }

    fn of_json(value: &Value) -> Option<Self> {
        let (table, (subjects, solutions)) = Answer::of_json(value)?;
        Some(Self {
            table,
            subjects,
            solutions,
        })
    }
}

impl Answer for Sampled {
    fn to_json(&self) -> Value {
        json!({
            "population": self.population.to_json(),
            "tested": self.tested,
            "passed": self.passed.to_json(),
            "together": self.together.to_json(),
        })
    }

    fn of_json(value: &Value) -> Option<Self> {
        Some(Self {
            population: f64::of_json(value.get("population")?)?,
            tested: usize::try_from(value.get("tested")?.as_u64()?).ok()?,
            passed: Vec::of_json(value.get("passed")?)?,
            together: f64::of_json(value.get("together")?)?,
        })
    }
}

impl Answer for Reached {
    fn to_json(&self) -> Value {
        json!({ "nodes": self.nodes.to_json(), "all": self.is_all })
    }

    fn of_json(value: &Value) -> Option<Self> {
        Some(Self {
            nodes: f64::of_json(value.get("nodes")?)?,
            is_all: value.get("all")?.as_bool()?,
        })
    }
}

/// What is wrong with the answers to a question, if something is.
pub(super) fn check(question: &str, answers: &[Value], tables: usize) -> Result<(), String> {
    fn all<T: Answer>(answers: &[Value]) -> bool {
        answers.iter().all(|answer| T::of_json(answer).is_some())
    }
    let word = question.split(' ').next().unwrap_or_default();
    let are_right = match word {
        "term" => all::<Option<TermId>>(answers),
        "terms" => all::<Vec<TermId>>(answers),
        "objects" => all::<Option<u64>>(answers),
        "irregular-objects" => all::<u64>(answers),
        "table-of" => answers.iter().all(|answer| {
            let table = Option::<TableIdx>::of_json(answer);
            table.is_some_and(|table| table.is_none_or(|idx| (idx.0 as usize) < tables))
        }),
        "star" => answers.iter().all(|answer| {
            let stars = Option::<Vec<StarEstimate>>::of_json(answer);
            stars.is_some_and(|stars| {
                let mut idxs = stars.iter().flatten().filter_map(|star| star.table);
                idxs.all(|idx| (idx.0 as usize) < tables)
            })
        }),
        "sample" => all::<Option<Sampled>>(answers),
        "around" => all::<Option<(f64, f64)>>(answers),
        "partners" => all::<Option<f64>>(answers),
        "in-files" | "looked-up" | "irregular-quads" => all::<u64>(answers),
        "graph-share" => all::<f64>(answers),
        "graph-quads" => all::<Option<u64>>(answers),
        "added-links" => answers.iter().all(|answer| {
            let links = Vec::<(TableIdx, u64)>::of_json(answer);
            links.is_some_and(|links| links.iter().all(|(idx, _)| (idx.0 as usize) < tables))
        }),
        "with-objects" => all::<Option<Vec<f64>>>(answers),
        "rows" => all::<Option<(Vec<TermId>, f64)>>(answers),
        "irregular-subjects" => all::<Vec<(TermId, f64)>>(answers),
        "objects-of" => all::<Option<Vec<Vec<TermId>>>>(answers),
        "reached" => all::<Option<Reached>>(answers),
        "subjects-with" => all::<Option<Vec<TermId>>>(answers),
        _ => return Err(format!("'{question}' is no question of the planner")),
    };
    match are_right {
        true => Ok(()),
        false => Err(format!("the answer to '{question}' is of another kind")),
    }
}

fn id(id: TermId) -> String {
    format!("{:016x}", id.0)
}

fn ids<'a>(list: impl IntoIterator<Item = &'a TermId>) -> String {
    let list: Vec<String> = list.into_iter().map(|term| id(*term)).collect();
    list.join(",")
}

fn idxs(tables: &[TableIdx]) -> String {
    let tables: Vec<String> = tables.iter().map(|table| table.0.to_string()).collect();
    tables.join(",")
}

fn predicates(tests: &[RowTest<'_>]) -> String {
    ids(tests.iter().map(|test| &test.predicate))
}

fn rows(wanted: &SampleOf<'_>) -> String {
    let having = wanted
        .having
        .map(|(predicate, object)| ids([&predicate, &object]));
    format!(
        "table={} having={} tests={} counted={} rows={}",
        wanted.table.0,
        having.unwrap_or_default(),
        predicates(wanted.tests),
        ids(wanted.counted),
        wanted.rows_max
    )
}

/// The id of a term.
pub(super) fn term(term: &oxrdf::Term) -> String {
    format!("term {term}")
}

/// The ids of a term in all spellings.
pub(super) fn terms(term: &oxrdf::Term) -> String {
    format!("terms {term}")
}

/// Values of a column that are an object.
pub(super) fn objects(table: TableIdx, predicate: TermId, object: TermId) -> String {
    format!("objects table={} {}", table.0, ids([&predicate, &object]))
}

/// Irregular quads with an object.
pub(super) fn irregular_objects(predicate: TermId, object: TermId) -> String {
    format!("irregular-objects {}", ids([&predicate, &object]))
}

/// The table of a resource.
pub(super) fn table_of(resource: TermId) -> String {
    format!("table-of {}", id(resource))
}

/// Subjects of a star.
pub(super) fn star(required: &[TermId], counted: &[TermId], optional: &[TermId]) -> String {
    let [required, counted, optional] = [required, counted, optional].map(ids);
    format!("star required={required} counted={counted} optional={optional}")
}

/// Rows that are looked at.
pub(super) fn sample(wanted: &SampleOf<'_>) -> String {
    format!("sample {}", rows(wanted))
}

/// Partners of values.
pub(super) fn partners(from: (&[TableIdx], TermId), into: (&[TableIdx], TermId)) -> String {
    let cells = |(tables, predicate): (&[TableIdx], TermId)| {
        format!("tables={} {}", idxs(tables), id(predicate))
    };
    format!("partners {} {}", cells(from), cells(into))
}

/// Irregular quads of a predicate that stand in files.
pub(super) fn in_files(predicate: TermId) -> String {
    format!("in-files {}", id(predicate))
}

/// Quads of a predicate that are looked up one by one.
pub(super) fn looked_up(predicate: TermId) -> String {
    format!("looked-up {}", id(predicate))
}

/// Irregular quads of all predicates.
pub(super) fn irregular_quads() -> String {
    "irregular-quads".to_owned()
}

/// The share of a table's quads that are in a graph.
pub(super) fn graph_share(table: TableIdx, graph: TermId) -> String {
    format!("graph-share table={} {}", table.0, id(graph))
}

/// Quads of a graph.
pub(super) fn graph_quads(graph: TermId) -> String {
    format!("graph-quads {}", id(graph))
}

/// The only graph with quads, of these or of all.
pub(super) fn only_graph(among: Option<&[TermId]>) -> String {
    match among {
        Some(graphs) => format!("only-graph {}", ids(graphs)),
        None => "only-graph".to_owned(),
    }
}

/// Links of a predicate that were added.
pub(super) fn added_links(predicate: TermId) -> String {
    format!("added-links {}", id(predicate))
}

/// Rows spread over a table.
pub(super) fn spread_rows(
    table: TableIdx,
    having: Option<(TermId, TermId)>,
    rows_max: usize,
) -> String {
    let having = having.map(|(predicate, object)| ids([&predicate, &object]));
    let having = having.unwrap_or_default();
    format!("rows table={} having={having} rows={rows_max}", table.0)
}

/// Subjects of irregular quads.
pub(super) fn spread_irregular(predicate: TermId, object: Option<TermId>, max: usize) -> String {
    let object = object.map(id).unwrap_or_default();
    format!(
        "irregular-subjects {} object={object} subjects={max}",
        id(predicate)
    )
}

/// Objects of subjects.
pub(super) fn objects_of(predicate: TermId, subjects: &[TermId]) -> String {
    format!("objects-of {} subjects={}", id(predicate), subjects.len())
}

/// Subjects of numbered quads with objects.
pub(super) fn subjects_with(
    tables: &[TableIdx],
    predicate: TermId,
    wanted: &[(TermId, u64)],
) -> String {
    let (tables, count) = (idxs(tables), wanted.len());
    format!(
        "subjects-with tables={tables} {} quads={count}",
        id(predicate)
    )
}

/// Nodes that walks reach.
pub(super) fn reached(links: &[LinkOfWalk], start: TermId) -> String {
    let direction = |link: &LinkOfWalk| match link.is_inverse {
        true => "^",
        false => "",
    };
    let links = links.iter();
    let links: Vec<String> = links
        .map(|link| format!("{}{}", direction(link), id(link.predicate)))
        .collect();
    format!("reached links={} from {}", links.join("|"), id(start))
}

/// Quads with objects.
pub(super) fn with_objects(tables: &[TableIdx], predicate: TermId, objects: &[TermId]) -> String {
    let count = objects.len();
    format!(
        "with-objects tables={} {} objects={count}",
        idxs(tables),
        id(predicate)
    )
}
