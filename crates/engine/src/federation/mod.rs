//! SERVICE and LOAD over HTTP: who may be asked, and the one place that asks.
//!
//! Execution knows a trait ([`ServiceClient`](basalt_exec::ServiceClient)); [`HttpServices`] implements it
//! with a blocking HTTP client. LOAD fetches documents with the same client. Nothing else in Basalt opens a
//! connection to anybody.
//!
//! Invariants: no request goes to an endpoint that the [`ServicePolicy`] does not allow, also not after a
//! redirect. A request carries the inner pattern of its SERVICE, which is shorter than the query it
//! stands in, so that a server that asks itself does so at most as often as SERVICE is nested in the text.

mod fetch;
mod http;
mod policy;

pub(crate) use fetch::{FetchError, fetch};
pub use http::HttpServices;
pub use policy::ServicePolicy;
