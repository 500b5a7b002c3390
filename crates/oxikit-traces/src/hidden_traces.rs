//! Traces of runs that the developer tools make only to read something, such as a snapshot of a
//! session. They are not stored: a list of traces shows the runs of the user, and `latest` is
//! the last of them.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::Deserialize;

/// Time for which the spans of a hidden trace are dropped. Runtimes send the last spans of a run
/// shortly after its response; spans that come later than this are stored.
const HIDDEN_TIME: Duration = Duration::from_secs(10);
/// Maximum number of hidden traces. Beyond it the oldest are no longer hidden.
const MAX_HIDDEN: usize = 1024;

/// The ids of the traces whose spans are not stored. Clones share one list.
///
/// ```
/// use oxikit_traces::{HiddenTraces, TelemetryOptions};
///
/// let hidden = HiddenTraces::default();
/// let options = TelemetryOptions::default().with_hidden_traces(hidden.clone());
/// // Before the run starts, or as soon as its trace is known:
/// hidden.add("0af7651916cd43dd8448eb211c80319c");
/// # _ = options;
/// ```
#[derive(Debug, Clone, Default)]
pub struct HiddenTraces(Arc<Mutex<VecDeque<(Instant, String)>>>);

impl HiddenTraces {
    /// Hides a trace: from now on its spans are dropped when they arrive. Spans that were stored
    /// before are the caller's to delete.
    pub fn add(&self, trace_id: &str) {
        let mut hidden = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        hidden.retain(|(_, known)| known != trace_id);
        hidden.push_back((Instant::now(), trace_id.to_owned()));
        if hidden.len() > MAX_HIDDEN {
            hidden.pop_front();
        }
    }

    /// Whether this trace is hidden.
    pub(super) fn contains(&self, trace_id: &str) -> bool {
        self.find(|known| known == trace_id)
    }

    /// Whether a post in Genkit's own form belongs to a hidden trace. The JSON is parsed only if
    /// the id of a hidden trace occurs in it.
    pub(super) fn hides_post(&self, json: &str) -> bool {
        #[derive(Deserialize)]
        struct Post<'a> {
            #[serde(borrow, rename = "traceId")]
            trace_id: Cow<'a, str>,
        }
        // serde also reads a list into a struct.
        json.trim_ascii_start().starts_with('{')
            && self.find(|known| json.contains(known))
            && serde_json::from_str::<Post<'_>>(json)
                .is_ok_and(|post| self.contains(&post.trace_id))
    }

    /// Whether one of the hidden traces is meant. Expired ones are removed first.
    fn find(&self, is_meant: impl Fn(&str) -> bool) -> bool {
        let mut hidden = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while hidden.front().is_some_and(|(since, _)| since.elapsed() > HIDDEN_TIME) {
            hidden.pop_front();
        }
        hidden.iter().any(|(_, known)| is_meant(known))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_posts_of_the_trace_itself_are_hidden() {
        let hidden = HiddenTraces::default();
        let post = r#"{"traceId":"0af7","spans":{}}"#;
        assert!(!hidden.hides_post(post));
        hidden.add("0af7");
        assert!(hidden.contains("0af7") && hidden.hides_post(post));
        assert!(hidden.clone().contains("0af7"));
        for other in [r#"{"traceId":"1bf8","spans":{"note":"0af7"}}"#, "0af7", r#"["0af7"]"#] {
            assert!(!hidden.hides_post(other), "{other}");
        }
    }

    #[test]
    fn the_number_of_hidden_traces_is_limited() {
        let hidden = HiddenTraces::default();
        (0..=MAX_HIDDEN).for_each(|number| hidden.add(&number.to_string()));
        assert!(
            !hidden.contains("0")
                && hidden.contains("1")
                && hidden.contains(&MAX_HIDDEN.to_string())
        );
    }
}
