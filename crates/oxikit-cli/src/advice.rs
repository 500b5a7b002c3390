//! Advice for names that do not exist and for inputs that do not match the schema.

use oxikit_core::near::is_near;
use serde_json::Value;

use super::client::{Client, encoded};
use super::failure::Failure;
use super::run::{Call, Outcome, key_of};
use super::schema_text;

/// Maximum number of names in one piece of advice. Further ones are left out.
const MAX_NAMED: usize = 3;

/// A question with the known names that are similar to the requested one; `None` if none is.
pub(super) fn did_you_mean<'a>(
    asked: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    let near = known.into_iter().filter(|known| is_near(asked, known));
    question(near.map(str::to_owned).collect())
}

fn question(near: Vec<String>) -> Option<String> {
    let names: Vec<_> = near.iter().take(MAX_NAMED).map(|name| format!("`{name}`")).collect();
    (!names.is_empty()).then(|| format!("did you mean {}?", names.join(", ")))
}

/// The last part of a key.
fn name_of(key: &str) -> &str {
    key.rsplit('/').next().unwrap_or(key)
}

/// The kind of a key with its slashes, `/flow/`.
fn kind_of(key: &str) -> &str {
    let end = key.match_indices('/').nth(1).map_or(0, |(at, _)| at + 1);
    &key[..end]
}

/// The keys that are similar to the requested one. Keys of the same kind are preferred,
/// because an agent, its prompt and its companion actions have the same name.
fn near_keys(asked: &str, keys: &[&String]) -> Vec<String> {
    let is_similar = |key: &&&String| is_near(asked, key) || is_near(name_of(asked), name_of(key));
    let near: Vec<String> = keys.iter().filter(is_similar).map(|key| (**key).clone()).collect();
    let same: Vec<String> =
        near.iter().filter(|key| kind_of(key) == kind_of(asked)).cloned().collect();
    if same.is_empty() { near } else { same }
}

impl Client {
    /// One action of a runtime.
    pub(super) async fn action(&self, key: &str, runtime: Option<&str>) -> Result<Value, Failure> {
        let parts: Vec<_> =
            key.trim_start_matches('/').split('/').map(|part| encoded(part).to_string()).collect();
        let query = runtime.map(|id| format!("?runtime={}", encoded(id))).unwrap_or_default();
        match self.get(&format!("/api/v1/actions/{}{query}", parts.join("/"))).await {
            Err(failure) if failure.is_not_found() => {
                let failure = self.explain(failure, runtime).await;
                if !failure.is_not_found() {
                    return Err(failure);
                }
                let missing = Failure::failed("NOT_FOUND", format!("there is no action `{key}`"));
                Err(missing.with_advice(self.advise_key(key, runtime).await))
            }
            action => action,
        }
    }

    /// Advice for an action that does not exist; `None` if it exists.
    pub(super) async fn advise_key(&self, key: &str, runtime: Option<&str>) -> Option<String> {
        let query = runtime.map(|id| format!("?runtime={}", encoded(id))).unwrap_or_default();
        let list = self.get(&format!("/api/v1/actions{query}")).await.ok()?;
        let actions = list["actions"].as_object()?;
        if actions.contains_key(key) {
            return None;
        }
        // Similar names are more useful than the list, which may be long.
        let near = near_keys(key, &actions.keys().collect::<Vec<_>>());
        Some(question(near).unwrap_or_else(|| match kind_of(key) {
            "/flow/" => "`oxikit flow list` lists the existing ones".to_owned(),
            "/agent/" => "`oxikit agent list` lists the existing ones".to_owned(),
            _ => "`oxikit action list` lists the existing ones".to_owned(),
        }))
    }

    /// Advice for an agent that does not exist; `None` if it exists.
    pub(super) async fn advise_agent(&self, name: &str, runtime: Option<&str>) -> Option<String> {
        let advice = self.advise_key(&key_of("agent", name), runtime).await?;
        // The commands for agents take the name without the prefix `/agent/`.
        Some(advice.replace("`/agent/", "`"))
    }

    /// Adds a hint to the error of a run that was rejected before it began. A run with a
    /// trace has begun; its error comes from the code of the application.
    pub(super) async fn advise(&self, call: &Call, outcome: &mut Outcome) {
        let has_begun = outcome.trace_id.is_some();
        let Some(error) = outcome.error.as_mut().filter(|_| !has_begun) else { return };
        let runtime = call.runtime_id.as_deref();
        error.hint = match error.status.as_str() {
            "NOT_FOUND" => self.advise_key(&call.key, runtime).await,
            "INVALID_ARGUMENT" => {
                let Ok(action) = self.action(&call.key, runtime).await else { return };
                advise_input(&call.key, call.input.as_deref().map(|input| input.get()), &action)
            }
            _ => None,
        };
    }
}

/// A hint about the input that an action takes.
fn advise_input(key: &str, input: Option<&str>, action: &Value) -> Option<String> {
    let schema = action.get("inputSchema").filter(|schema| schema.is_object())?;
    let taken = schema_text::brief(schema);
    let show = format!("`oxikit action show {key}` shows the schema");
    Some(match input {
        None => format!("no input was given; `{key}` takes {taken}; {show}"),
        // A JSON number, `true`, `false` or `null`, most likely meant as text.
        Some(input) if schema_text::is_text(schema) && !input.starts_with(['{', '[', '"']) => {
            format!("`{key}` takes {taken}: to send {input} as one, write '\"{input}\"'")
        }
        Some(_) => format!("`{key}` takes {taken}; {show}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn near_names_are_asked_about() {
        let known = ["table-7", "table-8", "kitchen"];
        assert_eq!(did_you_mean("cable-9", known), None, "two letters of seven");
        for asked in ["table7", "tabel-7"] {
            assert_eq!(did_you_mean(asked, known).as_deref(), Some("did you mean `table-7`?"));
        }
        assert_eq!(did_you_mean("Kitchen", known).as_deref(), Some("did you mean `kitchen`?"));
        assert_eq!(did_you_mean("other", known), None);
    }

    #[test]
    fn keys_of_the_same_kind_come_first() {
        let keys = ["/agent/teashop", "/agent-abort/teashop", "/flow/hello"].map(str::to_owned);
        let keys: Vec<_> = keys.iter().collect();
        assert_eq!(near_keys("/agent/teashp", &keys), ["/agent/teashop"]);
        assert_eq!(near_keys("helo", &keys), ["/flow/hello"]);
        assert_eq!(near_keys("/tool/hello", &keys), ["/flow/hello"]);
        assert_eq!(near_keys("/flow/other", &keys), [""; 0]);
    }

    #[test]
    fn advice_fits_the_input() {
        let check = |input: Option<&str>, schema: Value, expected: &str| {
            let advice = advise_input("/flow/x", input, &json!({"inputSchema": schema})).unwrap();
            assert!(advice.contains(expected), "{advice}");
        };
        check(None, json!({"type": "string"}), "no input was given; `/flow/x` takes a text");
        check(Some("7"), json!({"type": "string"}), "to send 7 as one, write '\"7\"'");
        check(Some("{\"a\":1}"), json!({"type": "string"}), "takes a text; `oxikit action show");
        let object = json!({"type": "object", "properties": {"city": {"type": "string"}}});
        check(Some("7"), object, "takes {\"city\"?: text}; `oxikit action show /flow/x`");
        assert_eq!(advise_input("/flow/x", None, &json!({})), None);
    }
}
