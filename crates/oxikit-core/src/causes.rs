//! The causes of an error as text.

use std::error::Error;
use std::fmt;

/// The causes below an error, each behind `: `. HTTP clients leave them out of their own text.
///
/// ```
/// use oxikit_core::{Causes, Status};
///
/// let cause = std::io::Error::other("connection refused");
/// let error = Status::internal("the call failed").caused_by(cause);
/// assert_eq!(Causes(&error).to_string(), ": connection refused");
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Causes<'a>(pub &'a (dyn Error + 'static));

impl fmt::Display for Causes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut cause = self.0.source();
        while let Some(error) = cause {
            write!(f, ": {error}")?;
            cause = error.source();
        }
        Ok(())
    }
}
