//! `Once`: what is worked out once for each question while a query is planned.
//!
//! Few different questions, each met again wherever its group is planned in another way or the arms of a union ask the same: so the
//! answers lie in a list, and questions are compared.

use crate::known_stars::Kept;
use std::cell::RefCell;

/// Answers by question; see the [module documentation](self).
#[derive(Debug)]
pub(crate) struct Once<Q, A>(RefCell<Vec<(Q, A)>>);

impl<Q, A> Default for Once<Q, A> {
    fn default() -> Self {
        Self(RefCell::default())
    }
}

impl<Q: Clone, A: Clone> Once<Q, A> {
    /// The answer to a question that is known by `is_asked`; else that which `make` gives, with the question, and which is kept.
    pub(crate) fn get(&self, is_asked: impl Fn(&Q) -> bool, make: impl FnOnce() -> (Q, A)) -> A {
        let find = |known: &(Q, A)| is_asked(&known.0).then(|| known.1.clone());
        let known = self.0.borrow().iter().find_map(find);
        known.unwrap_or_else(|| {
            // Nothing is borrowed here: working an answer out may ask other questions.
            let (question, answer) = make();
            self.0.borrow_mut().push((question, answer.clone()));
            answer
        })
    }

    /// As [`Self::get`]; where answers are kept for other queries too, it is looked for there before `answer` works it out.
    pub(crate) fn get_kept(
        &self,
        kept: Option<&Kept<Q, A>>,
        is_asked: impl Fn(&Q) -> bool,
        question: impl FnOnce() -> Q,
        answer: impl FnOnce() -> A,
    ) -> A {
        self.get(&is_asked, || {
            let question = question();
            let known = kept.and_then(|kept| kept.find(&is_asked));
            let answer = known.unwrap_or_else(|| {
                let answer = answer();
                if let Some(kept) = kept {
                    kept.tell(&question, &answer);
                }
                answer
            });
            (question, answer)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn each_question_is_worked_out_once() {
        let (once, made) = (Once::<u32, String>::default(), Cell::new(0));
        let ask = |question: u32| {
            let make = || {
                made.set(made.get() + 1);
                (question, question.to_string())
            };
            once.get(|known| *known == question, make)
        };
        assert_eq!([ask(1), ask(2), ask(1), ask(2)], ["1", "2", "1", "2"]);
        assert_eq!(made.get(), 2);
    }

    #[test]
    fn an_answer_that_is_kept_is_not_worked_out() {
        let kept = Kept::<u32, u32>::default();
        let ask = |answer: u32| {
            let once = Once::<u32, u32>::default();
            once.get_kept(Some(&kept), |known| *known == 1, || 1, || answer)
        };
        assert_eq!([ask(10), ask(20)], [10, 10]);
    }

    #[test]
    fn an_answer_may_need_others() {
        let once = Once::<u32, u32>::default();
        let inner = || once.get(|known| *known == 1, || (1, 10));
        assert_eq!(once.get(|known| *known == 2, || (2, inner() + 1)), 11);
        assert_eq!(inner(), 10);
    }
}
