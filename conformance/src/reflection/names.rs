//! What is different at every run: ids, times, stacks, who the runtime is.

use std::collections::HashMap;

use serde_json::Value;

/// What stands in the recordings for the id of the runtime's process.
const RECORDED_PID: u32 = 4242;

/// Ids of the recording and those that stand for them in this run: the same one
/// everywhere.
#[derive(Default)]
pub(super) struct Names(HashMap<String, String>);

impl Names {
    /// Learns the ids of a frame from the recorded one.
    pub(super) fn learn(&mut self, recorded: &Value, ours: &Value) {
        match (recorded, ours) {
            (Value::String(recorded), Value::String(ours)) if is_id(recorded) && is_id(ours) => {
                self.0.entry(recorded.clone()).or_insert_with(|| ours.clone());
            }
            (Value::Array(recorded), Value::Array(ours)) => {
                recorded.iter().zip(ours).for_each(|(recorded, ours)| self.learn(recorded, ours));
            }
            (Value::Object(recorded), Value::Object(ours)) => {
                for (key, recorded) in recorded {
                    ours.get(key).into_iter().for_each(|ours| self.learn(recorded, ours));
                }
            }
            _ => {}
        }
    }

    /// A text of the recorded manager with the ids of this run.
    pub(super) fn translate(&self, text: &str) -> String {
        let replace =
            |text: String, (recorded, ours): (&String, &String)| text.replace(recorded, ours);
        self.0.iter().fold(text.to_owned(), replace)
    }

    /// Whether a plain value stands for the recorded one; `at` is its place.
    pub(super) fn same(&self, at: &str, recorded: &Value, ours: &Value) -> bool {
        match (recorded, ours) {
            (Value::Number(_), Value::Number(_)) if at.ends_with("/latencyMs") => true,
            (Value::Number(recorded), Value::Number(ours)) => {
                recorded.as_u64() == Some(RECORDED_PID.into())
                    && ours.as_u64() == Some(std::process::id().into())
                    || recorded.as_f64() == ours.as_f64()
            }
            (Value::String(recorded), Value::String(ours)) => self.same_text(recorded, ours),
            _ => recorded == ours,
        }
    }

    fn same_text(&self, recorded: &str, ours: &str) -> bool {
        match recorded {
            "<stack>" => !ours.is_empty(),
            "4242" => ours == std::process::id().to_string(),
            _ if recorded.starts_with("nodejs/") => ours.starts_with("rust/"),
            _ if is_id(recorded) => self.0.get(recorded).is_some_and(|known| known == ours),
            _ if is_time(recorded) => is_time(ours),
            _ => recorded == ours,
        }
    }
}

/// Whether it is the id of a trace, a span, a session or a snapshot.
pub(super) fn is_id(text: &str) -> bool {
    let is_hex = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
    match text.len() {
        16 | 32 => is_hex(text) && text != "f".repeat(32),
        36 => text.split('-').map(str::len).eq([8, 4, 4, 4, 12]) && is_hex(&text.replace('-', "")),
        _ => false,
    }
}

/// Whether it is a time such as `2026-11-15T06:16:02.629Z`.
fn is_time(text: &str) -> bool {
    let shape = |byte: u8| if byte.is_ascii_digit() { b'0' } else { byte };
    text.bytes().map(shape).eq(*b"0000-00-00T00:00:00.000Z")
}
