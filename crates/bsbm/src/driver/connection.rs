//! The connections of one client: one for queries, one for updates.

use super::options::{RunOptions, parse_endpoint};
use crate::answer::{ResultsFormat, accepted};
use crate::error::BsbmError;
use crate::http::{Answer, Client, Failure};
use crate::queries::QueryForm;

/// The connections.
pub(crate) struct Connections<'a> {
    queries: Client,
    updates: Client,
    options: &'a RunOptions,
}

impl<'a> Connections<'a> {
    /// Connections to the endpoints of a run; they are opened when they are needed.
    pub(crate) fn new(options: &'a RunOptions) -> Result<Connections<'a>, BsbmError> {
        let client =
            |url: &str| Ok::<_, BsbmError>(Client::new(parse_endpoint(url)?, options.timeout));
        Ok(Connections {
            queries: client(&options.endpoint)?,
            updates: client(options.update_url())?,
            options,
        })
    }

    /// Sends a query or an update. Updates name no graph and change the default graph, whatever
    /// graph is queried, unless a parameter of theirs says otherwise.
    pub(crate) fn send(&mut self, form: QueryForm, text: &str) -> Result<Answer, Failure> {
        match form {
            QueryForm::Update => {
                let more = self.options.update_parameters.iter();
                let more = more.map(|(name, value)| (name.as_str(), value.as_str()));
                let first = (self.options.update_field.as_str(), text);
                let fields: Vec<(&str, &str)> = std::iter::once(first).chain(more).collect();
                self.updates.post(&fields, accepted(form, self.format()))
            }
            QueryForm::Select | QueryForm::Graph => {
                let fields = [
                    ("query", Some(text)),
                    ("default-graph-uri", self.options.default_graph.as_deref()),
                ];
                self.post_query(&fields, form)
            }
        }
    }

    /// The form in which rows are asked for.
    pub(crate) fn format(&self) -> ResultsFormat {
        self.options.results_format
    }

    /// Asks about the default graph, where updates go.
    pub(crate) fn select_from_default(&mut self, text: &str) -> Result<Answer, Failure> {
        self.post_query(&[("query", Some(text))], QueryForm::Select)
    }

    fn post_query(
        &mut self,
        fields: &[(&str, Option<&str>)],
        form: QueryForm,
    ) -> Result<Answer, Failure> {
        let given: Vec<(&str, &str)> = fields
            .iter()
            .filter_map(|(name, value)| Some((*name, (*value)?)))
            .collect();
        self.queries.post(&given, accepted(form, self.format()))
    }
}
