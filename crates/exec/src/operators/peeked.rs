//! `Peeked`: an input that can be asked whether it has rows before they are read.

use super::{BoxOperator, Operator};
use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;

/// An input, and its next batch if somebody has looked for it.
pub struct Peeked {
    input: BoxOperator,
    next: Option<Batch>,
}

impl Peeked {
    /// Nothing is read yet.
    pub fn new(input: BoxOperator) -> Self {
        Self { input, next: None }
    }

    /// Whether there are more rows; reads up to one batch, which comes next.
    pub fn has_rows(&mut self, cx: &Context) -> Result<bool, ExecError> {
        if self.next.is_none() {
            self.next = self.input.next(cx)?;
        }
        Ok(self.next.is_some())
    }
}

impl Operator for Peeked {
    fn next(&mut self, cx: &Context) -> Result<Option<Batch>, ExecError> {
        match self.next.take() {
            Some(batch) => Ok(Some(batch)),
            None => self.input.next(cx),
        }
    }
}
