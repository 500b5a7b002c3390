//! What is to be run.

use std::borrow::Cow;
use std::fmt;

use bytes::Bytes;
use oxikit_core::StatusCode;
use oxikit_wire::rpc::ErrorData;
use serde::Deserialize;
use serde::de::{MapAccess, Visitor};
use serde_json::value::RawValue;

use super::failure::failure;

/// One run to be started.
///
/// The parameters are those of `runAction` (`key`, `input`, `init`, `context`,
/// `telemetryLabels`, …) as JSON text: they are passed on and never read, but for
/// their names.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RunSpec {
    /// Which runtime; without one the default target.
    pub runtime: Option<String>,
    /// The parameters, a JSON object.
    pub params: Bytes,
    /// Whether chunks are wanted.
    pub stream: bool,
    /// Whether inputs are sent while it runs.
    pub stream_input: bool,
}

impl RunSpec {
    /// A run with these parameters, without chunks.
    pub fn new(params: impl Into<Bytes>) -> Self {
        Self { runtime: None, params: params.into(), stream: false, stream_input: false }
    }

    /// On this runtime.
    pub fn on(mut self, runtime: impl Into<String>) -> Self {
        self.runtime = Some(runtime.into());
        self
    }

    /// Chunks are wanted.
    pub fn streaming(mut self) -> Self {
        self.stream = true;
        self
    }

    /// Inputs are sent while it runs; chunks are wanted too.
    pub fn bidi(mut self) -> Self {
        self.stream_input = true;
        self.streaming()
    }

    /// Writes the parameters with the two flags behind them. Flags that are there
    /// already are replaced: a member that comes twice is refused by some runtimes.
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
