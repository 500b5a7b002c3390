//! The delay after which a provider asks to retry.

use std::time::{Duration, SystemTime};

use reqwest::header::{HeaderMap, RETRY_AFTER};
use serde_json::Value;

/// The delay that an error answer asks for, by header or in its body.
pub(crate) fn retry_after(
    headers: Option<&HeaderMap>,
    body: &Value,
    now: SystemTime,
) -> Option<Duration> {
    headers.and_then(|headers| in_headers(headers, now)).or_else(|| in_body(body))
}

fn in_headers(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    // OpenAI sends this beside the standard header, which has only seconds.
    let milliseconds = text("retry-after-ms").and_then(|text| text.parse::<f64>().ok());
    if let Some(milliseconds) = milliseconds {
        return Duration::try_from_secs_f64(milliseconds / 1000.0).ok();
    }
    let text = text(RETRY_AFTER.as_str())?;
    if let Ok(seconds) = text.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let date = httpdate::parse_http_date(text).ok()?;
    // A date in the past means an immediate retry.
    Some(date.duration_since(now).unwrap_or_default())
}

/// Google's `RetryInfo`: `{"retryDelay": "34.5s"}` among the error's details.
fn in_body(body: &Value) -> Option<Duration> {
    let details = body.pointer("/error/details")?.as_array()?;
    let delay = details.iter().find_map(|detail| detail.get("retryDelay"))?;
    let seconds = delay.as_str()?.strip_suffix('s')?.parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderValue;
    use serde_json::json;

    use super::*;

    fn check(name: &'static str, value: &'static str, expected: Option<Duration>) {
        let now = httpdate::parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
        let mut headers = HeaderMap::new();
        headers.insert(name, HeaderValue::from_static(value));
        assert_eq!(retry_after(Some(&headers), &Value::Null, now), expected);
    }

    #[test]
    fn the_header_is_seconds_or_a_date() {
        check("retry-after", "7", Some(Duration::from_secs(7)));
        check("retry-after", "0.5", Some(Duration::from_millis(500)));
        check("retry-after-ms", "250", Some(Duration::from_millis(250)));
        check("retry-after", "Sun, 06 Nov 1994 08:50:07 GMT", Some(Duration::from_secs(30)));
        check("retry-after", "Sun, 06 Nov 1994 08:00:00 GMT", Some(Duration::ZERO));
        check("retry-after", "soon", None);
        check("retry-after", "-3", None);
    }

    #[test]
    fn google_says_it_in_the_body() {
        let body = json!({"error": {"details": [
            {"@type": "type.googleapis.com/google.rpc.Help"},
            {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"},
        ]}});
        let delay = retry_after(None, &body, SystemTime::UNIX_EPOCH);
        assert_eq!(delay, Some(Duration::from_millis(34_500)));
    }
}
