//! How rows are parted among morsels.

use super::*;

#[test]
fn rows_are_taken_out() {
    let set: RoaringBitmap = [1, 4, 5, 9, 70_000].into_iter().collect();
    let mut rows = vec![2, 4, 5, 6, 9, 10, 70_000];
    assert_eq!(take_out(&mut rows, &set), [4, 5, 9, 70_000]);
    assert_eq!(rows, [2, 6, 10]);
    assert_eq!(take_out(&mut rows, &set), [0; 0]);
    assert_eq!(take_out(&mut Vec::new(), &set), [0; 0]);
}

/// Each kind of morsel, of so many rows.
fn morsels(rows: u32) -> Vec<Morsel> {
    let range = Morsel::Range {
        table_idx: 2,
        rows: 70_000..70_000 + rows,
    };
    let table_idx = 3;
    let listed = |step: usize| (0..).step_by(step).take(rows as usize).collect();
    vec![
        range,
        Morsel::Rows {
            table_idx,
            rows: listed(2),
            satisfied: Some(1),
        },
        Morsel::Changed {
            table_idx,
            rows: listed(3),
        },
        Morsel::New {
            rows: listed(5),
            graph: TermId(7),
        },
        Morsel::General((0..u64::from(rows)).map(TermId::resource).collect()),
    ]
}

/// What is read, one by one, and all else that a morsel says.
fn read(morsel: &Morsel) -> Vec<String> {
    let each = |rows: &[u32], of: String| rows.iter().map(|row| format!("{row} {of}")).collect();
    match morsel {
        Morsel::Range { table_idx, rows } => each(
            &rows.clone().collect::<Vec<u32>>(),
            format!("range {table_idx}"),
        ),
        Morsel::Rows {
            table_idx,
            rows,
            satisfied,
        } => each(rows, format!("rows {table_idx} {satisfied:?}")),
        Morsel::Changed { table_idx, rows } => each(rows, format!("changed {table_idx}")),
        Morsel::New { rows, graph } => each(rows, format!("new {graph:?}")),
        Morsel::General(subjects) => subjects.iter().map(|s| format!("{s:?}")).collect(),
    }
}

#[test]
fn morsels_that_are_cut_are_the_same_rows() {
    let all = |list: &[Morsel]| list.iter().flat_map(read).collect::<Vec<String>>();
    for (rows, rows_max) in [(0, 1), (1, 1), (1, 9), (7, 3), (9, 3), (20, 1)] {
        let mut cut = Vec::new();
        for morsel in morsels(rows) {
            morsel.cut_into(rows_max, &mut cut);
        }
        assert_eq!(all(&cut), all(&morsels(rows)), "{rows} by {rows_max}");
        assert!(cut.iter().all(|morsel| morsel.rows() <= rows_max));
    }
}

#[test]
fn few_rows_are_shared_by_what_they_lead_to() {
    let shared = |kept: usize, leads_to: f64, threads: usize| {
        let mut morsels = Morsels {
            list: morsels(2_000).into_iter().take(kept).collect(),
            share_rows: None,
            next: AtomicUsize::new(0),
        };
        let options = ExecOptions {
            threads,
            dealt_rows_min: 1_000,
            ..ExecOptions::default()
        };
        morsels.share_for(leads_to, &options);
        (morsels.share_rows, morsels.len())
    };
    // Each thread gets some, as many as lead to enough.
    assert_eq!(shared(2, 1e6, 2), (Some(500), 8));
    assert_eq!(shared(2, 16_000.0, 3), (Some(500), 8));
    assert_eq!(shared(5, 1e6, 2), (Some(1_250), 10));
    // No fan-out, one thread, one morsel.
    assert_eq!(shared(2, 15_000.0, 2), (None, 2));
    assert_eq!(shared(2, 1e6, 1), (None, 2));
    assert_eq!(shared(1, 1e6, 2), (None, 1));
}
