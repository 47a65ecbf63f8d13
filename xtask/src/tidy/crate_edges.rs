//! Which crate may use which, and what every manifest must take over from the
//! workspace.
//!
//! The table below is the one of docs/architecture.md ("The house"): to allow an
//! edge, change both and say why in docs/decisions/.
//!
//! Invariant: the table lists every crate once, and only crates that exist.
//!
//! Cost: one `cargo metadata --no-deps`, done by the caller.

use serde_json::Value;

use super::Finding;
use crate::error::XtaskError;
use crate::workspace::Workspace;

/// A crate, the crates it may use, and those its tests and benches may use besides.
struct Row {
    /// The folder below `crates/`, which is the package's name without `basalt-`.
    name: &'static str,
    /// What the crate may depend on.
    may_use: &'static [&'static str],
    /// What its dev-dependencies may name besides.
    tests_may_use: &'static [&'static str],
}

/// The law of direction.
const TABLE: &[Row] = &[
    row("rdf", &[]),
    row("columns", &[]),
    row("store", &["rdf", "columns"]),
    row("shapes", &["rdf"]),
    row("loader", &["rdf", "columns", "shapes", "store"]),
    row("plan", &["rdf"]),
    row("exec", &["rdf", "columns", "plan", "store"]),
    Row {
        name: "engine",
        may_use: &[
            "rdf", "columns", "store", "shapes", "loader", "plan", "exec",
        ],
        tests_may_use: &["testkit", "bsbm"],
    },
    row("server", &["engine"]),
    row("bsbm", &["rdf"]),
    row("cli", &["engine", "server", "bsbm"]),
    row("testkit", &["rdf"]),
];

/// A row of a crate whose tests may use the test kit, as all may.
const fn row(name: &'static str, may_use: &'static [&'static str]) -> Row {
    Row {
        name,
        may_use,
        tests_may_use: &["testkit"],
    }
}

/// What each manifest must say, and where it is decided.
const INHERITED: &[(&str, &str)] = &[
    (
        "license.workspace=true",
        "a licence of its own is banned, use `license.workspace = true`",
    ),
    (
        "[lints]workspace=true",
        "lints of its own are banned, use `[lints] workspace = true`",
    ),
];

/// Checks every package of the workspace.
pub fn check(
    workspace: &Workspace,
    packages: &[Value],
    findings: &mut Vec<Finding>,
) -> Result<(), XtaskError> {
    for package in packages {
        let manifest = package["manifest_path"].as_str().unwrap_or_default();
        let Some(path) = workspace.relative(manifest) else {
            continue;
        };
        let text = workspace.text(&path)?.unwrap_or_default();
        check_package(package, &path, &text, findings);
    }
    let exists = |name: &str| {
        packages
            .iter()
            .any(|package| short_name(package) == Some(name))
    };
    for row in TABLE.iter().filter(|row| !exists(row.name)) {
        findings.push(Finding::new(
            "xtask/src/tidy/crate_edges.rs",
            1,
            format!("no crate `{}` exists, delete its row", row.name),
        ));
    }
    Ok(())
}

/// Checks one package, given its manifest.
fn check_package(package: &Value, path: &str, manifest: &str, findings: &mut Vec<Finding>) {
    let dense: String = manifest.split_whitespace().collect();
    for (line, message) in INHERITED {
        if !dense.contains(line) {
            findings.push(Finding::new(path, 1, *message));
        }
    }

    let name = package["name"].as_str().unwrap_or_default();
    let row = short_name(package).and_then(|short| TABLE.iter().find(|row| row.name == short));
    if row.is_none() && name != "xtask" {
        findings.push(Finding::new(
            path,
            1,
            format!("crate `{name}` is not in the table of docs/architecture.md, add it there and to xtask"),
        ));
        return;
    }
    let dependencies = package["dependencies"]
        .as_array()
        .map_or(&[][..], Vec::as_slice);
    for dependency in dependencies {
        // Only crates of the workspace have a path.
        let Some(used) = dependency["path"].as_str().and(short_name(dependency)) else {
            continue;
        };
        let in_tests = dependency["kind"] == "dev";
        let allowed = row.is_some_and(|row| {
            row.may_use.contains(&used) || (in_tests && row.tests_may_use.contains(&used))
        });
        if !allowed {
            let allowed = row.map_or(&[][..], |row| row.may_use).join(", ");
            let line = 1 + manifest
                .lines()
                .position(|line| line.starts_with(&format!("basalt-{used}")))
                .unwrap_or(0);
            findings.push(Finding::new(
                path,
                line,
                format!("the edge from `{name}` to `{used}` is banned, use only: {allowed}"),
            ));
        }
    }
}

/// The name of a package or dependency as the table has it.
fn short_name(package: &Value) -> Option<&str> {
    package["name"].as_str()?.strip_prefix("basalt-")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const MANIFEST: &str =
        "license.workspace = true\nbasalt-rdf = 1\nbasalt-store = 1\n[lints]\nworkspace = true\n";

    fn findings_of(name: &str, used: &str, kind: Option<&str>) -> Vec<Finding> {
        let package = json!({
            "name": name,
            "dependencies": [
                {"name": used, "kind": kind, "path": "crates/x"},
                {"name": "basalt-of-others", "kind": kind, "path": null},
                {"name": "serde", "kind": kind}
            ]
        });
        let mut findings = Vec::new();
        check_package(&package, "Cargo.toml", MANIFEST, &mut findings);
        findings
    }

    #[test]
    fn listed_edges_pass_and_others_name_their_line() {
        assert_eq!(findings_of("basalt-plan", "basalt-rdf", None), []);
        let findings = findings_of("basalt-plan", "basalt-store", None);
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].line, 3);
        assert!(findings[0].message.contains("`store` is banned"));
        assert_eq!(findings_of("xtask", "basalt-rdf", None).len(), 1);
    }

    #[test]
    fn the_test_kit_is_for_tests_only() {
        let dev = Some("dev");
        assert_eq!(findings_of("basalt-plan", "basalt-testkit", dev), []);
        assert_eq!(findings_of("basalt-plan", "basalt-testkit", None).len(), 1);
        assert_eq!(findings_of("basalt-engine", "basalt-bsbm", dev), []);
        assert_eq!(findings_of("basalt-engine", "basalt-bsbm", None).len(), 1);
        assert_eq!(findings_of("basalt-plan", "basalt-bsbm", dev).len(), 1);
    }

    #[test]
    fn unknown_crates_and_own_licences_are_found() {
        assert_eq!(findings_of("basalt-extra", "basalt-rdf", None).len(), 1);
        let mut findings = Vec::new();
        let package = json!({"name": "basalt-rdf", "dependencies": []});
        check_package(&package, "Cargo.toml", "license = \"MIT\"", &mut findings);
        assert_eq!(findings.len(), 2);
    }

    #[test]
    fn the_table_has_no_cycle() {
        let mut built: Vec<&str> = Vec::new();
        // Termination: each turn builds at least one crate or ends the test.
        while built.len() < TABLE.len() {
            let next = TABLE.iter().find(|row| {
                !built.contains(&row.name) && row.may_use.iter().all(|name| built.contains(name))
            });
            built.push(next.expect("some crate uses only crates built before").name);
        }
    }
}
