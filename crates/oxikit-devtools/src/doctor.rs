//! The checks of `oxikit doctor` for the API. The server does not know how the project is examined: the
//! command line implements [`Doctor`], so that the command and the page show the same findings.

use std::fmt;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Serialize;

/// Examines the project.
#[async_trait]
pub trait Doctor: fmt::Debug + Send + Sync {
    /// Runs all checks. It may take seconds: databases are read.
    async fn examine(&self) -> Vec<Finding>;
}

/// The result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Nothing is wrong.
    Good,
    /// This may be a cause.
    Suspicious,
    /// This is a cause.
    Bad,
}

/// The finding of one check, and how to fix it.
///
/// ```
/// use oxikit_devtools::{Finding, Verdict};
///
/// let finding = Finding::bad("tools", "no developer tools run", "start them: oxikit start");
/// assert_eq!(finding.verdict, Verdict::Bad);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct Finding {
    /// What was checked, such as `runtimes`.
    pub check: &'static str,
    /// The result.
    pub verdict: Verdict,
    /// What was found.
    pub detail: String,
    /// What to do, unless the result is good.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

impl Finding {
    /// Nothing is wrong.
    pub fn good(check: &'static str, detail: impl Into<String>) -> Self {
        Self { check, verdict: Verdict::Good, detail: detail.into(), fix: None }
    }

    /// This may be a cause.
    pub fn suspicious(
        check: &'static str,
        detail: impl Into<String>,
        fix: impl Into<String>,
    ) -> Self {
        let (detail, fix) = (detail.into(), Some(fix.into()));
        Self { check, verdict: Verdict::Suspicious, detail, fix }
    }

    /// This is a cause.
    pub fn bad(check: &'static str, detail: impl Into<String>, fix: impl Into<String>) -> Self {
        let (detail, fix) = (detail.into(), Some(fix.into()));
        Self { check, verdict: Verdict::Bad, detail, fix }
    }
}
