//! `ServicePolicy`: the endpoints that queries may ask.

/// The word for every endpoint in lists.
const ALL: &str = "all";

/// The endpoints that SERVICE may ask.
///
/// Not an endpoint that fails but one that may not be asked is an error with SILENT too: SILENT says that
/// a service may be down, and whether this installation asks it at all is not for the query to decide.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ServicePolicy {
    /// None.
    #[default]
    None,
    /// Every endpoint with an `http:` or `https:` IRI.
    All,
    /// Those on the list. An entry is an IRI, compared character by character, or the start of IRIs
    /// with `*` at its end. A start reaches at least to the slash after the host, so that it cannot
    /// stand for the beginning of another host's name; IRIs that go up in their path (`..`) match no start.
    List(Vec<String>),
}

impl ServicePolicy {
    /// The policy of a list as people write it: IRIs, starts of IRIs with `*`, or `all`; an empty
    /// list allows none.
    pub fn from_entries(entries: &[String]) -> Result<Self, String> {
        for entry in entries.iter().filter(|entry| *entry != ALL) {
            check_entry(entry)?;
        }
        if entries.iter().any(|entry| entry == ALL) {
            return Ok(Self::All);
        }
        Ok(match entries {
            [] => Self::None,
            some => Self::List(some.to_vec()),
        })
    }

    /// Whether an endpoint may be asked, and why not.
    pub fn check(&self, endpoint: &str) -> Result<(), String> {
        if rest_of_http(endpoint).is_none() {
            return Err(format!(
                "the service <{endpoint}> may not be asked: it is not an http: or https: IRI"
            ));
        }
        let is_allowed = match self {
            Self::None => false,
            Self::All => true,
            Self::List(entries) => entries.iter().any(|entry| allows(entry, endpoint)),
        };
        if is_allowed {
            return Ok(());
        }
        let why = match self {
            Self::None => "services are switched off",
            _ => "it is not on the list of allowed services",
        };
        Err(format!("the service <{endpoint}> may not be asked: {why}"))
    }
}

/// What follows `http://` or `https://`.
fn rest_of_http(iri: &str) -> Option<&str> {
    let (scheme, rest) = iri.split_once("://")?;
    let is_http = ["http", "https"]
        .iter()
        .any(|known| scheme.eq_ignore_ascii_case(known));
    is_http.then_some(rest)
}

fn check_entry(entry: &str) -> Result<(), String> {
    let expected =
        "expected an http: or https: IRI, the start of such IRIs ending in '*', or 'all'";
    let Some(rest) = rest_of_http(entry) else {
        return Err(format!("'{entry}' is no service: {expected}"));
    };
    match rest.split_once('*') {
        None => Ok(()),
        Some((start, ""))
            if start
                .split_once('/')
                .is_some_and(|(host, _)| !host.is_empty()) =>
        {
            Ok(())
        }
        Some((_, "")) => Err(format!(
            "'{entry}' would allow other hosts too: the '*' must come after the slash that ends the host"
        )),
        Some(_) => Err(format!("'{entry}' is no service: {expected}")),
    }
}

fn allows(entry: &str, endpoint: &str) -> bool {
    let Some(start) = entry.strip_suffix('*') else {
        return entry == endpoint;
    };
    endpoint.strip_prefix(start).is_some_and(|rest| {
        let rest = rest.to_ascii_lowercase();
        !rest.contains("..") && !rest.contains("%2e") && !rest.contains('\\')
    })
}

#[cfg(test)]
mod tests {
    use super::ServicePolicy;

    fn policy(entries: &[&str]) -> Result<ServicePolicy, String> {
        let entries: Vec<String> = entries.iter().map(|&entry| entry.to_owned()).collect();
        ServicePolicy::from_entries(&entries)
    }

    #[test]
    fn lists_are_read() {
        assert_eq!(policy(&[]), Ok(ServicePolicy::None));
        assert_eq!(policy(&["all"]), Ok(ServicePolicy::All));
        assert_eq!(policy(&["http://a/x", "all"]), Ok(ServicePolicy::All));
        for good in [
            "http://a/sparql",
            "https://a/*",
            "http://a:80/x*",
            "HTTP://a",
        ] {
            assert!(policy(&[good]).is_ok(), "{good}");
        }
        for bad in [
            "",
            "*",
            "a",
            "ftp://a/",
            "http://*",
            "http://a*",
            "http:///*",
            "http://a/*/b",
        ] {
            assert!(policy(&[bad]).is_err(), "{bad}");
        }
    }

    #[test]
    fn only_what_is_listed_is_allowed() {
        let list = policy(&["http://a/sparql", "https://b/data/*"]).expect("good entries");
        for allowed in ["http://a/sparql", "https://b/data/", "https://b/data/x?y=1"] {
            assert_eq!(list.check(allowed), Ok(()), "{allowed}");
        }
        for refused in [
            "http://a/sparql2",
            "http://A/sparql",
            "https://b/data",
            "http://b/data/x",
            "https://b/data/../secret",
            "https://b/data/%2E%2e/secret",
            "file:///etc/passwd",
        ] {
            assert!(list.check(refused).is_err(), "{refused}");
        }
    }

    #[test]
    fn none_and_all_are_what_they_say() {
        assert!(ServicePolicy::None.check("http://a/").is_err());
        assert_eq!(ServicePolicy::All.check("http://a/"), Ok(()));
        assert!(ServicePolicy::All.check("file:///a").is_err());
    }
}
