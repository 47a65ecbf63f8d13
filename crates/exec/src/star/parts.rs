//! `Part`: candidates that wait for those before them to be done.
//!
//! Several values of several patterns make a product, and a morsel or a batch of rows may have a very large one. So where repeating the
//! candidates for their values would make too many, they are cut into parts, which go through the other patterns one after the other.
//! Memory: the solutions of one part; the candidates and values of those that wait, which the cut makes no more of.

use super::matches::Matches;

/// Solutions that a part has at most, unless a single candidate has more: a column of them stays in the second cache, and its memory is that of
/// the part before. (A million and a half pairs of features of products: 15 ms in parts of 131,072, 5 ms in parts of 8,192 to 16,384.)
pub const SOLUTIONS_MAX: usize = 1 << 14;

/// What candidates have of a pattern with several values.
#[derive(Debug, Default)]
pub struct Lists {
    /// How many values each candidate has.
    pub counts: Vec<u32>,
    /// The values, one candidate after the other.
    pub values: Vec<u64>,
}

/// Candidates on their way; see the [module documentation](self).
#[derive(Debug, Default)]
pub struct Part {
    /// The row of each.
    pub rows: Vec<u32>,
    /// What is known of each.
    pub matches: Matches,
    /// What they have of the pattern that comes next.
    pub lists: Lists,
    /// The index of that pattern.
    pub pattern_idx: usize,
}

impl Part {
    /// Leaves the first candidates, which have at most `solutions_max` solutions with the next pattern, or a single one. The others are
    /// returned in such parts, the last first. Candidates without a value have one solution if the pattern is optional.
    pub fn cut(&mut self, optional: bool, solutions_max: usize) -> Vec<Self> {
        let mut starts = Vec::new();
        let (mut solutions, mut values) = (0, 0);
        for (position, &count) in self.lists.counts.iter().enumerate() {
            let count = count as usize;
            let more = count.max(usize::from(optional));
            if solutions > 0 && solutions + more > solutions_max {
                starts.push((position, values));
                solutions = 0;
            }
            solutions += more;
            values += count;
        }
        let starts = starts.into_iter().rev();
        let parts = starts.map(|(position, value)| Self {
            rows: self.rows.split_off(position),
            matches: self.matches.split_off(position),
            lists: Lists {
                counts: self.lists.counts.split_off(position),
                values: self.lists.values.split_off(value),
            },
            pattern_idx: self.pattern_idx,
        });
        parts.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(counts: &[u32]) -> Part {
        let rows: Vec<u32> = (0..counts.len() as u32).collect();
        let values = counts.iter().sum::<u32>();
        Part {
            matches: Matches {
                origin: rows.clone(),
                columns: vec![
                    rows.iter().map(|&row| u64::from(row) * 10).collect(),
                    Vec::new(),
                ],
            },
            rows,
            lists: Lists {
                counts: counts.to_vec(),
                values: (0..u64::from(values)).collect(),
            },
            pattern_idx: 3,
        }
    }

    #[test]
    fn parts_together_are_the_whole() {
        for counts in [
            &[][..],
            &[0, 0],
            &[5],
            &[1, 2, 3, 0, 9, 1, 0, 0, 4, 4],
            &[9, 9, 9],
        ] {
            for optional in [false, true] {
                for solutions_max in [1, 4, 7, 1000] {
                    let whole = part(counts);
                    let mut first = part(counts);
                    let mut parts = first.cut(optional, solutions_max);
                    parts.push(first);
                    let (mut all, mut values) = (Matches::new(2), Vec::new());
                    for part in parts.into_iter().rev() {
                        let solutions: usize = part
                            .lists
                            .counts
                            .iter()
                            .map(|&count| (count as usize).max(usize::from(optional)))
                            .sum();
                        let having = part.lists.counts.iter().filter(|&&c| c > 0 || optional);
                        assert!(solutions <= solutions_max || having.count() == 1);
                        assert_eq!(part.rows, part.matches.origin);
                        assert_eq!(part.rows.len(), part.lists.counts.len());
                        assert!(part.matches.columns[1].is_empty(), "not made yet");
                        assert_eq!(part.pattern_idx, 3);
                        all.append(part.matches);
                        values.extend(part.lists.values);
                    }
                    assert_eq!(all.origin, whole.matches.origin);
                    assert_eq!(all.columns, whole.matches.columns);
                    assert_eq!(values, whole.lists.values);
                }
            }
        }
    }
}
