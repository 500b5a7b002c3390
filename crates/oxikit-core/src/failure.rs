//! Failures at the edge of an application: one line in the log, and what the caller
//! reads. Every server calls [`Registry::report_failure`] once for each failed call.

use serde_json::json;

use crate::{OutgoingStatus, Registry, Status, StatusCode, TraceId, redact};

/// Maximum number of bytes of an error in a log line. The rest is cut off.
const MAX_ERROR: usize = 8 * 1024;

/// The `tracing` target of the log line, by which applications filter it.
const TARGET: &str = "oxikit::failure";

impl Registry {
    /// Logs why a call failed, and returns the part of the failure that its caller may read.
    ///
    /// Call this once where a failure leaves the application, such as in a server. The
    /// line has the target `oxikit::failure` and the fields `action`, `trace_id` (if the
    /// action ran), `code` and `error`, which is the message with its hint and causes,
    /// without secrets. The level depends on the cause:
    ///
    /// - `ERROR`: a failure of this application. The caller does not read its message
    ///   (the status is not public), or its code is a 5xx.
    /// - `WARN`: a public 5xx that tells the caller when to try again, such as a server
    ///   that is busy or shutting down.
    /// - `DEBUG`: a mistake of the caller, who has received the message, and cancelled calls.
    ///
    /// ```
    /// use oxikit_core::{Registry, Status};
    ///
    /// let registry = Registry::default();
    /// let status = Status::internal("cannot reach db-7.internal");
    /// let outgoing = registry.report_failure("/flow/order", None, &status);
    /// assert_eq!(outgoing.message, "Internal error");
    /// ```
    pub fn report_failure(
        &self,
        action: &str,
        trace_id: Option<TraceId>,
        status: &Status,
    ) -> OutgoingStatus {
        log(action, trace_id, status);
        match self.shows_failures() && !status.is_public() {
            true => shown(status, trace_id),
            false => status.outgoing(),
        }
    }
}

/// Writes the line. A disabled level costs nothing.
fn log(action: &str, trace_id: Option<TraceId>, status: &Status) {
    macro_rules! line {
        ($level:ident) => {
            tracing::$level!(
                target: TARGET,
                action,
                trace_id = trace_id.map(|id| id.to_string()),
                code = status.code().name(),
                // A text, not `%`: formatters escape its line breaks.
                error = error_text(status).as_str(),
                "a call failed"
            )
        };
    }
    match Severity::of(status) {
        Severity::Own => line!(error),
        Severity::Temporary => line!(warn),
        Severity::Caller => line!(debug),
    }
}

/// The cause of a failure, which decides the level of its log line.
#[derive(Debug, PartialEq)]
enum Severity {
    /// A defect of the application or of something it depends on: logged as an error.
    Own,
    /// A condition that passes, such as an overload: logged as a warning.
    Temporary,
    /// A mistake of the caller, or a cancellation: logged for debugging only.
    Caller,
}

impl Severity {
    fn of(status: &Status) -> Self {
        let is_server_error = status.code().http() >= 500;
        match status.code() {
            StatusCode::Cancelled => Self::Caller,
            _ if !status.is_public() => Self::Own,
            _ if is_server_error && status.retry_after().is_some() => Self::Temporary,
            _ if is_server_error => Self::Own,
            _ => Self::Caller,
        }
    }
}

/// The message with its hint and causes as one line, without secrets.
fn error_text(status: &Status) -> String {
    let report = status.report().replace("\ncaused by: ", "; caused by: ");
    let mut text = redact::text(&report).into_owned();
    if text.len() > MAX_ERROR {
        text.truncate(text.floor_char_boundary(MAX_ERROR));
        text.push_str("… [cut]");
    }
    text
}

/// A failure that is not public as a developer reads it, with [`Registry::show_failures`]. Its
/// `details` are those of the reflection protocol.
fn shown(status: &Status, trace_id: Option<TraceId>) -> OutgoingStatus {
    let covered = |text: &str| redact::text(text).into_owned();
    OutgoingStatus {
        status: status.code(),
        message: covered(status.message()),
        details: Some(json!({
            "stack": covered(&status.report()),
            "traceId": trace_id.map(|id| id.to_string()),
        })),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_level_tells_whose_mistake_it_was() {
        let busy = Status::public(StatusCode::Unavailable, "busy");
        let checks = [
            (Status::internal("x"), Severity::Own),
            (Status::new(StatusCode::NotFound, "x"), Severity::Own),
            (Status::new(StatusCode::Unavailable, "x"), Severity::Own),
            (busy.clone(), Severity::Own),
            (Status::public(StatusCode::DataLoss, "x"), Severity::Own),
            (busy.with_retry_after(Duration::from_secs(1)), Severity::Temporary),
            (Status::invalid_argument("x"), Severity::Caller),
            (Status::unauthenticated("x"), Severity::Caller),
            (Status::not_found("x"), Severity::Caller),
            (Status::cancelled(), Severity::Caller),
            (Status::new(StatusCode::Cancelled, "x"), Severity::Caller),
        ];
        for (status, expected) in checks {
            assert_eq!(Severity::of(&status), expected, "{status}");
        }
    }

    #[test]
    fn the_text_is_one_line_without_secrets_and_has_a_limit() {
        let cause = std::io::Error::other("refused by postgres://ada:hunter2@db/main");
        let status =
            Status::internal("cannot save").with_hint("start the database").caused_by(cause);
        assert_eq!(
            error_text(&status),
            "INTERNAL: cannot save (start the database); caused by: refused by \
             postgres://ada:<redacted>@db/main"
        );
        let long = error_text(&Status::internal("ä".repeat(MAX_ERROR)));
        assert!(long.len() < MAX_ERROR + 20 && long.ends_with("[cut]"));
    }

    #[test]
    fn only_a_developer_reads_the_whole_failure() {
        let registry = Registry::default();
        let status = Status::internal("db://ada:hunter2@host is away");
        assert_eq!(registry.report_failure("/flow/x", None, &status), status.outgoing());
        registry.show_failures();
        let shown = registry.report_failure("/flow/x", None, &status);
        assert_eq!(shown.message, "db://ada:<redacted>@host is away");
        assert_eq!(shown.details.unwrap()["stack"], "INTERNAL: db://ada:<redacted>@host is away");
        let public = Status::not_found("no order `7`");
        assert_eq!(registry.report_failure("/flow/x", None, &public), public.outgoing());
    }
}
