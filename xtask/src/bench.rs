//! `cargo xtask bench [NAME] [ARGS]`: micro benchmarks without having to know
//! which crate holds which.
//!
//! Benchmarks are started one target at a time, because `cargo bench` on a whole
//! package also starts the unit tests' harness, which refuses the options of
//! the benchmark programs.
//!
//! Cost: what the benchmarks take.

use serde_json::Value;

use crate::error::XtaskError;
use crate::workspace::Workspace;

/// Runs the benchmarks that the first option names, or all without one; the other
/// options go to the benchmark programs.
pub fn run(workspace: &Workspace, options: &[String]) -> Result<(), XtaskError> {
    let targets = bench_targets(&workspace.packages()?);
    let (selected, arguments) = match options.split_first() {
        Some((name, arguments)) if !name.starts_with('-') => (select(&targets, name), arguments),
        _ => (targets.iter().collect(), options),
    };
    if selected.is_empty() {
        let mut message = match options.first() {
            Some(name) => format!("no benchmark `{name}`"),
            None => "no benchmarks yet".to_owned(),
        };
        for (index, target) in targets.iter().enumerate() {
            let before = if index == 0 { "; there are: " } else { ", " };
            message.push_str(&format!("{before}{}/{}", target.package, target.name));
        }
        return Err(XtaskError::Usage { message });
    }
    for target in selected {
        let mut command = Workspace::cargo();
        command.args(["bench", "-p", &target.package, "--bench", &target.name]);
        command.arg("--").args(arguments);
        workspace.run(&mut command)?;
    }
    Ok(())
}

/// One benchmark program.
#[derive(Debug, PartialEq, Eq)]
struct BenchTarget {
    /// The package that holds it.
    package: String,
    /// Its name there.
    name: String,
}

/// Every benchmark program of the workspace.
fn bench_targets(packages: &[Value]) -> Vec<BenchTarget> {
    let mut found = Vec::new();
    for package in packages {
        let package_name = package["name"].as_str().unwrap_or_default();
        let targets = package["targets"].as_array().map_or(&[][..], Vec::as_slice);
        for target in targets {
            let kinds = target["kind"].as_array().map_or(&[][..], Vec::as_slice);
            if kinds.iter().any(|kind| kind == "bench") {
                found.push(BenchTarget {
                    package: package_name.to_owned(),
                    name: target["name"].as_str().unwrap_or_default().to_owned(),
                });
            }
        }
    }
    found
}

/// The targets that `name` means: a benchmark, a package, or a package without
/// the project's prefix.
fn select<'a>(targets: &'a [BenchTarget], name: &str) -> Vec<&'a BenchTarget> {
    let package = format!("basalt-{name}");
    targets
        .iter()
        .filter(|target| target.name == name || target.package == name || target.package == package)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn names_select_a_benchmark_or_a_package() {
        let targets = bench_targets(&[json!({
            "name": "basalt-rdf",
            "targets": [
                {"name": "basalt_rdf", "kind": ["lib"]},
                {"name": "tokenize", "kind": ["bench"]},
                {"name": "inline", "kind": ["bench"]}
            ]
        })]);
        assert_eq!(targets.len(), 2);
        assert_eq!(select(&targets, "tokenize"), [&targets[0]]);
        assert_eq!(select(&targets, "rdf").len(), 2);
        assert_eq!(select(&targets, "basalt-rdf").len(), 2);
        assert!(select(&targets, "joins").is_empty());
    }
}
