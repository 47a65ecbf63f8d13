//! `Chosen`: the values of IF and COALESCE, which come from several vectors, each for some of the rows.

use super::vector::{Argument, Item, Truth, Vector};

/// The values that are there; an error in other rows.
pub enum Chosen {
    /// Ids, as long as all vectors have them.
    Ids(Vec<u64>),
    /// Values of any kind.
    Items(Vec<Item>),
}

impl Chosen {
    /// An error in each of `count` rows.
    pub fn errors(count: usize) -> Self {
        Self::Ids(vec![0; count])
    }

    /// Whether a row is an error.
    pub fn is_error(&self, row: usize) -> bool {
        match self {
            Self::Ids(ids) => ids[row] == 0,
            Self::Items(items) => matches!(items[row], Item::Error | Item::Id(0)),
        }
    }

    /// Puts the values of a vector into rows: the first one into the first of them, and so on.
    pub fn put(&mut self, rows: &[usize], values: &Vector<'_>) {
        if let Self::Ids(ids) = self {
            match values {
                Vector::Ids(of) => {
                    return rows
                        .iter()
                        .zip(of.iter())
                        .for_each(|(&row, id)| ids[row] = *id);
                }
                Vector::Truths(of) => {
                    let of = of.iter().copied().map(Truth::to_id);
                    return rows.iter().zip(of).for_each(|(&row, id)| ids[row] = id);
                }
                Vector::Constant(constant) => {
                    return rows.iter().for_each(|&row| ids[row] = constant.id);
                }
                Vector::Error => return rows.iter().for_each(|&row| ids[row] = 0),
                Vector::Texts(_) | Vector::Numbers(_) | Vector::Items(_) => {}
            }
        }
        let items = self.items();
        for (i, &row) in rows.iter().enumerate() {
            items[row] = values.get(i).to_item();
        }
    }

    /// The values as items from now on.
    fn items(&mut self) -> &mut [Item] {
        if let Self::Ids(ids) = self {
            let item = |&id: &u64| match id {
                0 => Item::Error,
                id => Argument::Id(id).to_item(),
            };
            *self = Self::Items(ids.iter().map(item).collect());
        }
        match self {
            Self::Items(items) => items,
            Self::Ids(_) => &mut [],
        }
    }

    /// The values as a vector.
    pub fn into_vector<'v>(self) -> Vector<'v> {
        match self {
            Self::Ids(ids) => Vector::Ids(ids.into()),
            Self::Items(items) => Vector::Items(items),
        }
    }
}
