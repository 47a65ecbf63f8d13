//! The query texts, the parameters that each takes, and the mixes they are run in.
//!
//! Texts lie in `queries/`, one file each, with `${Name}` where a parameter goes: a spelling that
//! no SPARQL parser accepts, so a forgotten parameter cannot pass unnoticed. Query numbers are
//! those that BSBM reports have always used; with updates, the two updates are 1 and 2 and the
//! explore queries follow as 3 to 14.

use crate::draw::{PRODUCT_TYPE, Parameters};
use serde::{Deserialize, Serialize};

/// A set of queries with its mix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UseCase {
    /// Lookups of a shopper: 12 queries, 11 of them in the mix.
    Explore,
    /// Business intelligence: 8 analytic queries.
    Bi,
    /// Inserts and deletes (numbers 1 and 2), then the explore queries (3 to 14).
    ExploreAndUpdate,
}

/// What a query returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueryForm {
    /// Rows.
    Select,
    /// A graph.
    Graph,
    /// Nothing: it is an update.
    Update,
}

/// Which text of a query is asked. All of them mean the same; most queries have only one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Wording {
    /// As published.
    #[default]
    Published,
    /// Without what some stores misread: BI 5 does not group by a variable that is never bound.
    Portable,
}

impl Wording {
    /// The wording of a name as the command line spells it.
    pub fn from_name(name: &str) -> Option<Wording> {
        let all = [Wording::Published, Wording::Portable];
        all.into_iter().find(|wording| wording.name() == name)
    }

    /// The name as the command line spells it.
    pub fn name(self) -> &'static str {
        match self {
            Wording::Published => "published",
            Wording::Portable => "portable",
        }
    }
}

/// How a parameter is drawn.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    /// A leaf of the tree of product types.
    LeafType,
    /// A product type of a level drawn first, from this level down to the leaves.
    TypeFromLevel(usize),
    /// A feature that products of the leaf type drawn before can have, not drawn before.
    Feature,
    /// An integer to compare a numeric property with.
    Number,
    Product,
    Offer,
    Review,
    Producer,
    Country,
    /// Today, as an instant.
    Today,
    /// The first day of a month of four weeks, counted from a start drawn once per query.
    Month(u64),
    /// A word of a product label.
    Word,
}

struct Template {
    text: &'static str,
    form: QueryForm,
    slots: &'static [(&'static str, Kind)],
}

macro_rules! template {
    ($file:literal, $form:ident, [$($name:literal $kind:expr),*]) => {
        Template {
            text: include_str!(concat!("../queries/", $file)),
            form: QueryForm::$form,
            slots: &[$(($name, $kind)),*],
        }
    };
}

const EXPLORE: [Template; 12] = [
    template!("explore/01.rq", Select, ["ProductType" Kind::LeafType, "X" Kind::Number,
        "Feature1" Kind::Feature, "Feature2" Kind::Feature]),
    template!("explore/02.rq", Select, ["Product" Kind::Product]),
    template!("explore/03.rq", Select, ["ProductType" Kind::LeafType, "X" Kind::Number,
        "Y" Kind::Number, "Feature1" Kind::Feature, "Feature2" Kind::Feature]),
    template!("explore/04.rq", Select, ["ProductType" Kind::LeafType, "X" Kind::Number,
        "Y" Kind::Number, "Feature1" Kind::Feature, "Feature2" Kind::Feature,
        "Feature3" Kind::Feature]),
    template!("explore/05.rq", Select, ["Product" Kind::Product]),
    template!("explore/06.rq", Select, ["Word" Kind::Word]),
    template!("explore/07.rq", Select, ["Product" Kind::Product, "Today" Kind::Today]),
    template!("explore/08.rq", Select, ["Product" Kind::Product]),
    template!("explore/09.rq", Graph, ["Review" Kind::Review]),
    template!("explore/10.rq", Select, ["Product" Kind::Product, "Today" Kind::Today]),
    template!("explore/11.rq", Select, ["Offer" Kind::Offer]),
    template!("explore/12.rq", Graph, ["Offer" Kind::Offer]),
];

const BI: [Template; 8] = [
    template!("bi/01.rq", Select, ["Country1" Kind::Country, "Country2" Kind::Country]),
    template!("bi/02.rq", Select, ["Product" Kind::Product]),
    template!("bi/03.rq", Select, ["Month0" Kind::Month(0), "Month1" Kind::Month(1),
        "Month2" Kind::Month(2)]),
    template!("bi/04.rq", Select, ["ProductType" Kind::TypeFromLevel(1)]),
    template!("bi/05.rq", Select, ["ProductType" Kind::TypeFromLevel(1)]),
    template!("bi/06.rq", Select, ["Producer" Kind::Producer]),
    template!("bi/07.rq", Select, ["ProductType" Kind::TypeFromLevel(0),
        "Country" Kind::Country]),
    template!("bi/08.rq", Select, ["ProductType" Kind::TypeFromLevel(0)]),
];

/// BI 5 in the other wording.
const PORTABLE_BI_5: &str = include_str!("../queries/bi/05-portable.rq");

/// The triples of the insert come from the update file and are not drawn.
const UPDATES: [Template; 2] = [
    template!("update/01.ru", Update, []),
    template!("update/02.ru", Update, ["Offer" Kind::Offer]),
];

const EXPLORE_MIX: [u8; 25] = [
    1, 2, 2, 3, 2, 2, 4, 2, 2, 5, 7, 7, 5, 7, 7, 8, 9, 9, 8, 9, 9, 10, 10, 11, 12,
];
const BI_MIX: [u8; 15] = [1, 3, 2, 2, 4, 5, 5, 6, 5, 6, 6, 7, 8, 7, 6];
const UPDATE_MIX: [u8; 5] = [1, 2, 1, 2, 2];
const EXPLORE_AND_UPDATE_MIX: [u8; 30] = {
    let mut mix = [0; 30];
    let mut at = 0;
    while at < mix.len() {
        mix[at] = if at < UPDATE_MIX.len() {
            UPDATE_MIX[at]
        } else {
            EXPLORE_MIX[at - UPDATE_MIX.len()] + UPDATES.len() as u8
        };
        at += 1;
    }
    mix
};

/// The query numbers of one mix, in the order in which they are run.
pub fn mix(use_case: UseCase) -> &'static [u8] {
    match use_case {
        UseCase::Explore => &EXPLORE_MIX,
        UseCase::Bi => &BI_MIX,
        UseCase::ExploreAndUpdate => &EXPLORE_AND_UPDATE_MIX,
    }
}

/// The text of a query; nothing if there is no such number or if a parameter is missing.
///
/// The insert of [`UseCase::ExploreAndUpdate`] takes one parameter, `Triples`, that has to be set
/// from the update file; all others are drawn by [`crate::ParameterPool::draw`].
pub fn query_text(use_case: UseCase, number: u8, parameters: &Parameters) -> Option<String> {
    worded_text(use_case, number, Wording::Published, parameters)
}

/// The same in a wording.
pub fn worded_text(
    use_case: UseCase,
    number: u8,
    wording: Wording,
    parameters: &Parameters,
) -> Option<String> {
    let mut rest = match (use_case, number, wording) {
        (UseCase::Bi, 5, Wording::Portable) => PORTABLE_BI_5,
        _ => template(use_case, number)?.text,
    };
    let mut out = String::with_capacity(rest.len() + 256);
    while let Some(start) = rest.find("${") {
        let (before, placeholder) = rest.split_at(start);
        let (name, after) = placeholder[2..].split_once('}')?;
        out.push_str(before);
        parameters.get(name)?.push_to(&mut out);
        rest = after;
    }
    out.push_str(rest);
    Some(out)
}

pub(crate) fn slots(use_case: UseCase, number: u8) -> Option<&'static [(&'static str, Kind)]> {
    template(use_case, number).map(|template| template.slots)
}

fn template(use_case: UseCase, number: u8) -> Option<&'static Template> {
    let idx = usize::from(number).checked_sub(1)?;
    match use_case {
        UseCase::Explore => EXPLORE.get(idx),
        UseCase::Bi => BI.get(idx),
        UseCase::ExploreAndUpdate => match UPDATES.get(idx) {
            Some(update) => Some(update),
            None => EXPLORE.get(idx - UPDATES.len()),
        },
    }
}

impl UseCase {
    /// The use case of a name as the command line spells it.
    pub fn from_name(name: &str) -> Option<UseCase> {
        [UseCase::Explore, UseCase::Bi, UseCase::ExploreAndUpdate]
            .into_iter()
            .find(|use_case| use_case.name() == name)
    }

    /// The name as the command line spells it.
    pub fn name(self) -> &'static str {
        match self {
            UseCase::Explore => "explore",
            UseCase::Bi => "bi",
            UseCase::ExploreAndUpdate => "explore-and-update",
        }
    }

    /// The highest query number; all from 1 on exist.
    pub fn queries(self) -> u8 {
        let count = match self {
            UseCase::Explore => EXPLORE.len(),
            UseCase::Bi => BI.len(),
            UseCase::ExploreAndUpdate => UPDATES.len() + EXPLORE.len(),
        };
        count as u8
    }

    /// What a query returns; nothing if there is no such number.
    pub fn form(self, number: u8) -> Option<QueryForm> {
        template(self, number).map(|template| template.form)
    }

    /// Whether a query takes a product type of any level, so that it can be drilled down.
    pub fn can_drill_down(self, number: u8) -> bool {
        let slots = slots(self, number).unwrap_or_default();
        slots
            .iter()
            .any(|(name, kind)| *name == PRODUCT_TYPE && matches!(kind, Kind::TypeFromLevel(_)))
    }
}
