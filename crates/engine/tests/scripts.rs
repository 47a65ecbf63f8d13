//! Golden scripts: data, query, rows and plan in one readable file each, under `tests/scripts`.
//!
//! `cargo xtask bless` rewrites the expected sections.

mod support;

use basalt_engine::{GraphFormat, QueryOptions};
use basalt_testkit::Answer;
use basalt_testkit::golden::{Mode, ScriptEngine, run_file};
use std::path::{Path, PathBuf};

#[derive(Default)]
struct Engine {
    database: Option<basalt_engine::Database>,
}

impl Engine {
    fn database(&mut self) -> &basalt_engine::Database {
        self.database
            .get_or_insert_with(basalt_engine::Database::in_memory)
    }
}

impl ScriptEngine for Engine {
    fn load(&mut self, trig: &str) -> Result<(), String> {
        let loaded = self.database().load_text(trig, GraphFormat::TriG);
        loaded.map(|_| ()).map_err(|error| error.to_string())
    }

    fn query(&mut self, text: &str) -> Result<Answer, String> {
        support::ask(self.database(), text, &QueryOptions::default())
    }

    fn explain(&mut self, text: &str) -> Result<String, String> {
        let prepared = self.database().prepare(text, &QueryOptions::default());
        prepared
            .map(|prepared| prepared.explain().to_text())
            .map_err(|error| error.to_string())
    }
}

fn script_files(folder: &Path, out: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(folder).expect("the scripts are there");
    for entry in entries {
        let path = entry.expect("a readable folder").path();
        if path.is_dir() {
            script_files(&path, out);
        } else if path
            .extension()
            .is_some_and(|extension| extension == "test")
        {
            out.push(path);
        }
    }
}

#[test]
fn golden_scripts_say_what_happens() {
    let mut files = Vec::new();
    script_files(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts"),
        &mut files,
    );
    files.sort();
    assert!(!files.is_empty(), "there are no scripts");
    let mut failures = Vec::new();
    for file in &files {
        let result = run_file(file, &mut Engine::default(), Mode::from_env());
        failures.extend(
            result
                .err()
                .map(|error| format!("{}: {error}", file.display())),
        );
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
