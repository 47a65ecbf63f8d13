//! Understands what `cargo test` prints: which test program runs, how many of
//! its tests passed, how long it took. Used by `ci` for the totals and by
//! `w3c` for the counts per suite.
//!
//! The stable test harness prints no time per test, so times are per program.
//! libtest and libtest-mimic share the format of the `test result:` line.
//!
//! Cost: a few comparisons per line.

/// What the tests of one program came to.
#[derive(Debug, Clone, PartialEq)]
pub struct ProgramResult {
    /// The program, as `name (source)`.
    pub program: String,
    /// Tests that passed.
    pub passed_count: u64,
    /// Tests that failed.
    pub failed_count: u64,
    /// Wall time in seconds, as the program measured it.
    pub seconds: f64,
}

/// Collects the results of all programs of one `cargo test`.
#[derive(Debug, Default)]
pub struct TestOutput {
    /// The program that is running, as cargo announced it.
    running: String,
    /// The finished programs, in order.
    results: Vec<ProgramResult>,
}

impl TestOutput {
    /// Takes in one line of output.
    pub fn line(&mut self, line: &str) {
        if let Some(announced) = line.trim_start().strip_prefix("Running ") {
            self.running = program_name(announced);
        } else if let Some(crate_name) = line.trim_start().strip_prefix("Doc-tests ") {
            self.running = format!("{crate_name} (examples in docs)");
        } else if let Some(result) = line.strip_prefix("test result: ") {
            self.results.extend(parse_result(result).map(
                |(passed_count, failed_count, seconds)| ProgramResult {
                    program: self.running.clone(),
                    passed_count,
                    failed_count,
                    seconds,
                },
            ));
        }
    }

    /// Passed and failed tests over all programs.
    pub fn totals(&self) -> (u64, u64) {
        self.results
            .iter()
            .fold((0, 0), |(passed, failed), result| {
                (passed + result.passed_count, failed + result.failed_count)
            })
    }

    /// At most `count_max` programs that took longest, longest first.
    pub fn slowest(&self, count_max: usize) -> Vec<&ProgramResult> {
        let mut sorted: Vec<&ProgramResult> = self.results.iter().collect();
        sorted.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
        sorted.truncate(count_max);
        sorted
    }
}

/// `unittests src/lib.rs (target/debug/deps/x-0123abc)` to `x (src/lib.rs)`.
fn program_name(announced: &str) -> String {
    let Some((source, file)) = announced.split_once(" (") else {
        return announced.to_owned();
    };
    let file = file.trim_end_matches(')');
    let stem = file.rsplit(['/', '\\']).next().unwrap_or(file);
    let name = stem.rsplit_once('-').map_or(stem, |(name, _hash)| name);
    let source = source.strip_prefix("unittests ").unwrap_or(source);
    format!("{name} ({source})")
}

/// Reads `ok. 4 passed; 0 failed; ...; finished in 0.00s`.
fn parse_result(result: &str) -> Option<(u64, u64, f64)> {
    let (_verdict, counts) = result.split_once(". ")?;
    let mut passed_count = None;
    let mut failed_count = None;
    let mut seconds = 0.0;
    for part in counts.split("; ") {
        if let Some(number) = part.strip_suffix(" passed") {
            passed_count = number.parse().ok();
        } else if let Some(number) = part.strip_suffix(" failed") {
            failed_count = number.parse().ok();
        } else if let Some(time) = part.strip_prefix("finished in ") {
            seconds = time.trim_end_matches('s').parse().unwrap_or(0.0);
        }
    }
    Some((passed_count?, failed_count?, seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "\
   Compiling basalt-rdf v0.1.0
     Running unittests src/lib.rs (target/debug/deps/basalt_rdf-0a1b2c)

running 2 tests
test term_id::round_trip ... ok
test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.25s

     Running tests/w3c_rdf11.rs (target/debug/deps/w3c_rdf11-77)
test result: FAILED. 3 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.50s
   Doc-tests basalt_rdf
test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
";

    fn read(text: &str) -> TestOutput {
        let mut output = TestOutput::default();
        text.lines().for_each(|line| output.line(line));
        output
    }

    #[test]
    fn totals_sum_over_programs() {
        assert_eq!(read(OUTPUT).totals(), (5, 1));
        assert_eq!(read("").totals(), (0, 0));
    }

    #[test]
    fn programs_are_named_and_sorted_by_time() {
        let output = read(OUTPUT);
        let names: Vec<&str> = output
            .slowest(2)
            .iter()
            .map(|result| result.program.as_str())
            .collect();
        assert_eq!(
            names,
            ["w3c_rdf11 (tests/w3c_rdf11.rs)", "basalt_rdf (src/lib.rs)"]
        );
        assert_eq!(output.results[2].program, "basalt_rdf (examples in docs)");
    }

    #[test]
    fn lines_that_only_resemble_a_result_do_not_count() {
        let output = read("  test result: ok. 9 passed; 0 failed\ntest result: nonsense\n");
        assert_eq!(output.totals(), (0, 0));
    }
}
