//! `Chosen`: the values of IF and COALESCE, which come from several vectors, each for some of the rows.

use super::vector::{Item, Vector};

/// The values that are there; an error in other rows.
pub struct Chosen {
    /// Ids, 0 for an error.
    ids: Vec<u64>,
    /// The values in place of the ids, since a vector came that has none.
    items: Option<Vec<Item>>,
}

impl Chosen {
    /// An error in each of `count` rows.
    pub fn errors(count: usize) -> Self {
        Self {
            ids: vec![0; count],
            items: None,
        }
    }

    /// Whether each row is an error.
    pub fn errors_of_rows(&self) -> Vec<bool> {
        match &self.items {
            None => self.ids.iter().map(|&id| id == 0).collect(),
            Some(items) => {
                let is_error = |item: &Item| matches!(item, Item::Error | Item::Id(0));
                items.iter().map(is_error).collect()
            }
        }
    }

    /// Puts the values of a vector into rows: the first one into the first of them, and so on.
    pub fn put(&mut self, rows: &[u32], values: &Vector<'_>) {
        let have_ids = match values {
            Vector::Ids(_) | Vector::Truths(_) | Vector::Constant(_) | Vector::Error => true,
            Vector::Texts(_) | Vector::Numbers(_) | Vector::Items(_) => false,
        };
        let rows = rows.iter().enumerate();
        if have_ids && self.items.is_none() {
            rows.for_each(|(i, &row)| self.ids[row as usize] = values.get(i).known_id());
            return;
        }
        let ids = &self.ids;
        let items = self
            .items
            .get_or_insert_with(|| ids.iter().copied().map(Item::Id).collect());
        rows.for_each(|(i, &row)| items[row as usize] = values.get(i).to_item());
    }

    /// The values as a vector.
    pub fn into_vector<'v>(self) -> Vector<'v> {
        match self.items {
            None => Vector::Ids(self.ids.into()),
            Some(items) => Vector::Items(items),
        }
    }
}
