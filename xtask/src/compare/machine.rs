//! What the figures were measured on, for the head of a report.
//!
//! Cost: a few small files.

use std::fs;
use std::process::Command;

use super::measure;
use super::report::gigabytes;

/// Processor, cores, memory, kernel and day, as far as the machine tells.
pub fn describe() -> String {
    let mut facts = Vec::new();
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    let processor = proc_value("/proc/cpuinfo", "model name");
    facts.push(match processor {
        Some(name) => format!("{cores} cores ({name})"),
        None => format!("{cores} cores"),
    });
    if let Some(bytes) = proc_value("/proc/meminfo", "MemTotal").and_then(|text| kibibytes(&text)) {
        facts.push(format!("{} GB of memory", gigabytes(bytes)));
    }
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease");
    facts.push(match kernel {
        Ok(release) => format!("Linux {}", release.trim()),
        Err(_) => std::env::consts::OS.to_owned(),
    });
    if let Ok(day) = measure::output(Command::new("date").args(["-u", "+%Y-%m-%d"])) {
        facts.push(day.trim().to_owned());
    }
    facts.join(", ")
}

/// The first value of that name in a file of `name : value` lines.
fn proc_value(path: &str, name: &str) -> Option<String> {
    value(&fs::read_to_string(path).ok()?, name)
}

/// The same in a text.
fn value(text: &str, name: &str) -> Option<String> {
    text.lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(known, _)| known.trim() == name)
        .map(|(_, value)| value.trim().to_owned())
}

/// The bytes of a text such as `123 kB`.
fn kibibytes(text: &str) -> Option<u64> {
    let number: u64 = text.strip_suffix("kB")?.trim().parse().ok()?;
    Some(number * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_by_their_whole_name() {
        let text = "MemTotalX: 1 kB\nMemTotal:       24576000 kB\nMemFree: 2 kB\n";
        let memory = value(text, "MemTotal").expect("it is there");
        assert_eq!(kibibytes(&memory), Some(24_576_000 * 1024));
        assert_eq!(value(text, "Swap"), None);
        assert_eq!(kibibytes("many"), None);
    }
}
