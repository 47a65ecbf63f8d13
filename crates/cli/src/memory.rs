//! The memory of this process, where the system tells it (`/proc/self/status`).
//!
//! Resident memory counts mapped files too, so the peak is what a load needs at most, not what it must have.

use std::fs;

/// Bytes that are resident now.
pub fn resident_bytes() -> Option<u64> {
    read("VmRSS:")
}

/// The most bytes that were ever resident.
pub fn peak_bytes() -> Option<u64> {
    read("VmHWM:")
}

fn read(field: &str) -> Option<u64> {
    parse(&fs::read_to_string("/proc/self/status").ok()?, field)
}

/// The bytes of a line such as `VmRSS:     1234 kB`.
fn parse(status: &str, field: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(field))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim_end().parse().ok()?;
    kilobytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_file_is_read() {
        let status = "Name:\tbasalt\nVmHWM:\t    2048 kB\nVmRSS:\t    1024 kB\nVmX:\t7\n";
        assert_eq!(parse(status, "VmRSS:"), Some(1 << 20));
        assert_eq!(parse(status, "VmHWM:"), Some(2 << 20));
        assert_eq!(parse(status, "VmX:"), None);
        assert_eq!(parse(status, "VmSwap:"), None);
    }
}
