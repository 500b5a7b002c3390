//! The parameters of a run, and their text on the wire. Only the members of the outer object are
//! parsed; their values are copied, so their size and depth do not matter.

use std::borrow::Cow;
use std::fmt;

use bytes::Bytes;
use oxikit_core::StatusCode;
use oxikit_wire::rpc::ErrorData;
use serde::Deserialize;
use serde::de::{MapAccess, Visitor};
use serde_json::value::RawValue;

use super::failure::failure;

/// A run to be started with [`Runtimes::run`](crate::Runtimes::run).
///
/// The parameters are those of `runAction` (`key`, `input`, `init`, `context`,
/// `telemetryLabels`, …) as JSON text. The manager forwards their values without parsing them.
///
/// ```
/// use oxikit_manager::RunSpec;
///
/// let spec = RunSpec::new(r#"{"key":"/flow/tellJoke","input":"tea"}"#).on("my-app").streaming();
/// assert!(spec.stream && !spec.stream_input);
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RunSpec {
    /// The id of the runtime; `None` selects the default one.
    pub runtime: Option<String>,
    /// The parameters: a JSON object with at least `key`. Other members than those of `runAction`
    /// are forwarded too; `stream` and `streamInput` are replaced by the fields below.
    pub params: Bytes,
    /// Whether the runtime sends chunks. Without it only the output arrives, also from an action
    /// that streams.
    pub stream: bool,
    /// Whether inputs are sent while the action runs, with
    /// [`RunHandle::send_input`](crate::RunHandle::send_input). Only runtimes that are connected by
    /// WebSocket (V2) support it; others fail with `FAILED_PRECONDITION`.
    pub stream_input: bool,
}

impl RunSpec {
    /// A run with these parameters on the default runtime, without chunks. The text is checked when
    /// the run is started, not here.
    pub fn new(params: impl Into<Bytes>) -> Self {
        Self { runtime: None, params: params.into(), stream: false, stream_input: false }
    }

    /// Selects the runtime with this id.
    pub fn on(mut self, runtime: impl Into<String>) -> Self {
        self.runtime = Some(runtime.into());
        self
    }

    /// Requests chunks.
    pub fn streaming(mut self) -> Self {
        self.stream = true;
        self
    }

    /// Announces inputs while the action runs, and requests chunks.
    ///
    /// ```
    /// use oxikit_manager::RunSpec;
    ///
    /// let spec = RunSpec::new(r#"{"key":"/agent/guide"}"#).bidi();
    /// assert!(spec.stream && spec.stream_input);
    /// ```
    pub fn bidi(mut self) -> Self {
        self.stream_input = true;
        self.streaming()
    }

    /// Appends the parameters, and after them the two flags if `with_flags`. Flags in `params`
    /// are replaced, because some runtimes reject an object with a repeated member.
    pub(crate) fn write_params(
        &self,
        text: &mut String,
        with_flags: bool,
    ) -> Result<(), ErrorData> {
        let members: Members<'_> = serde_json::from_slice(&self.params).map_err(|error| {
            failure(
                StatusCode::InvalidArgument,
                format!("the parameters of a run must be a JSON object with a `key`: {error}"),
            )
        })?;
        // The members are copied as text. Parsing them to values and back would be slow for large
        // inputs, and would change numbers that do not fit into an `f64`.
        text.reserve(self.params.len() + 48);
        let mut separator = '{';
        for (name, value) in members.0 {
            if matches!(name.as_ref(), "stream" | "streamInput") {
                continue;
            }
            text.push(separator);
            write_name(text, &name);
            text.push_str(value.get());
            separator = ',';
        }
        if with_flags {
            text.push(separator);
            text.push_str(if self.stream { r#""stream":true"# } else { r#""stream":false"# });
            text.push_str(if self.stream_input {
                r#","streamInput":true"#
            } else {
                r#","streamInput":false"#
            });
        } else if separator == '{' {
            text.push('{');
        }
        text.push('}');
        Ok(())
    }
}

/// Appends a member name and its colon. The name is escaped again, because it was parsed.
fn write_name(text: &mut String, name: &str) {
    let name = serde_json::to_string(name).unwrap_or_default();
    text.push_str(&name);
    text.push(':');
}

/// The members of an object, one level deep.
struct Members<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

/// A member's name, borrowed where it has no escapes.
#[derive(Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;

        impl<'de> Visitor<'de> for Object {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::with_capacity(6);
                while let Some((Name(name), value)) = map.next_entry()? {
                    members.push((name, value));
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(Object)
    }
}
