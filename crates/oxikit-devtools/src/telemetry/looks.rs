//! Runs that only look at something, such as a snapshot of a session. Their traces are
//! not kept: a list of traces shows what was run, and `latest` is what the user ran.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::Deserialize;

/// Runtimes may send the last spans of a run this long behind its answer. What comes
/// later is kept.
const LATE: Duration = Duration::from_secs(10);
/// Maximum number of traces that are known as looks. The oldest are forgotten.
const MAX_LOOKS: usize = 1024;

/// The traces of looks, by their ids. Clones are the same.
#[derive(Debug, Clone, Default)]
pub(crate) struct Looks(Arc<Mutex<VecDeque<(Instant, String)>>>);

impl Looks {
    /// From now on no span of this trace is taken.
    pub(crate) fn add(&self, trace_id: &str) {
        let mut looks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        looks.retain(|(_, known)| known != trace_id);
        looks.push_back((Instant::now(), trace_id.to_owned()));
        if looks.len() > MAX_LOOKS {
            looks.pop_front();
        }
    }

    /// Whether this is the trace of a look.
    pub(super) fn has(&self, trace_id: &str) -> bool {
        self.find(|look| look == trace_id)
    }

    /// Whether a post in Genkit's own form is of one. The text is read only if it has
    /// the id of a look somewhere.
    pub(super) fn is_post_of_one(&self, json: &str) -> bool {
        #[derive(Deserialize)]
        struct Post<'a> {
            #[serde(borrow, rename = "traceId")]
            trace_id: Cow<'a, str>,
        }
        // A list would do for serde, too.
        json.trim_ascii_start().starts_with('{')
            && self.find(|look| json.contains(look))
            && serde_json::from_str::<Post<'_>>(json).is_ok_and(|post| self.has(&post.trace_id))
    }

    fn find(&self, is_meant: impl Fn(&str) -> bool) -> bool {
        let mut looks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while looks.front().is_some_and(|(since, _)| since.elapsed() > LATE) {
            looks.pop_front();
        }
        looks.iter().any(|(_, look)| is_meant(look))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_posts_of_the_trace_itself_are_looks() {
        let looks = Looks::default();
        let post = r#"{"traceId":"0af7","spans":{}}"#;
        assert!(!looks.is_post_of_one(post));
        looks.add("0af7");
        assert!(looks.has("0af7") && looks.is_post_of_one(post));
        assert!(looks.clone().has("0af7"));
        for other in [r#"{"traceId":"1bf8","spans":{"note":"0af7"}}"#, "0af7", r#"["0af7"]"#] {
            assert!(!looks.is_post_of_one(other), "{other}");
        }
    }

    #[test]
    fn a_limited_number_is_known() {
        let looks = Looks::default();
        (0..=MAX_LOOKS).for_each(|number| looks.add(&number.to_string()));
        assert!(!looks.has("0") && looks.has("1") && looks.has(&MAX_LOOKS.to_string()));
    }
}
