//! `LastOpen`: the part of something that was opened last, kept for who reads the same part again.

/// One opened part with its number.
#[derive(Debug)]
pub(crate) struct LastOpen<T>(Option<(usize, T)>);

impl<T> LastOpen<T> {
    /// Nothing is open.
    pub(crate) fn nothing() -> Self {
        Self(None)
    }

    /// The part with this number, opened unless it is the one that is open.
    pub(crate) fn get(&mut self, number: usize, open: impl FnOnce() -> T) -> &mut T {
        if self.0.as_ref().is_some_and(|(last, _)| *last != number) {
            self.0 = None;
        }
        &mut self.0.get_or_insert_with(|| (number, open())).1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_opened_once_until_another_one_is() {
        let (mut last, mut opened) = (LastOpen::nothing(), Vec::new());
        for number in [3, 3, 5, 5, 3] {
            let part = last.get(number, || {
                opened.push(number);
                number * 10
            });
            assert_eq!(*part, number * 10);
        }
        assert_eq!(opened, [3, 5, 3]);
    }
}
