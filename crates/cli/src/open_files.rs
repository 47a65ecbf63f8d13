//! How many files the process may have open.
//!
//! Sorts, groups and joins beyond a query's memory keep some hundred temporary files open each, and a connection is one as well. The
//! system lets a process have few unless it asks (often 1,024, for programs that number files in a fixed array), and many if it does.

use rustix::process::{Resource, getrlimit, setrlimit};

/// Asks for as many as the system allows without being told otherwise.
pub fn raise_limit() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // Where that is refused the limit is as it was.
    let _ = setrlimit(Resource::Nofile, limit);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_what_the_system_allows() {
        let mut lower = getrlimit(Resource::Nofile);
        lower.current = lower.current.map(|files| files.min(512));
        setrlimit(Resource::Nofile, lower).expect("less is never refused");
        raise_limit();
        let limit = getrlimit(Resource::Nofile);
        assert_eq!(limit.current, limit.maximum);
    }
}
