//! The tools of the agents.

use oxikit::wire::Artifact;
use oxikit::{Context, Part, SessionExt, Status, Tool, ToolContext, interrupt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

pub(crate) const NAMES: [&str; 4] = ["getWeather", "confirm", "danger", "remember"];

pub(crate) fn all() -> [Tool; 4] {
    [get_weather(), confirm(), danger(), remember()]
}

#[derive(Deserialize, JsonSchema)]
struct City {
    #[expect(dead_code, reason = "the weather is the same everywhere")]
    city: String,
}

#[derive(Serialize, JsonSchema)]
struct Weather {
    #[serde(rename = "tempC")]
    temperature: u32,
}

fn get_weather() -> Tool {
    Tool::new("getWeather", "Gets weather", |_: City| async { Ok(Weather { temperature: 11 }) })
}

#[derive(Deserialize, JsonSchema)]
struct Question {
    #[expect(dead_code, reason = "for the one who is asked")]
    q: String,
}

fn confirm() -> Tool {
    Tool::interrupt::<Question>("confirm", "Asks the user")
}

#[derive(Deserialize, JsonSchema)]
struct Place {
    path: String,
}

fn danger() -> Tool {
    Tool::new("danger", "Deletes", |place: Place, ctx: Context| async move {
        let Some(resumed) = ctx.resumed() else {
            return Err(interrupt(json!({ "why": "needs approval" })));
        };
        Ok(format!("deleted {} ({resumed})", place.path))
    })
}

#[derive(Deserialize, JsonSchema)]
struct Note {
    k: String,
    v: Value,
}

/// Changes the custom state twice and makes an artifact.
fn remember() -> Tool {
    Tool::new("remember", "Remembers", |Note { k, v }: Note, ctx: Context| async move {
        let session = ctx.session().ok_or_else(|| Status::internal("there is no session"))?;
        let text = v.as_str().map_or_else(|| v.to_string(), str::to_owned);
        let name = k.clone();
        session.update(|state: &mut Map<String, Value>| state.insert(k, v)).await?;
        session
            .update(|state: &mut Map<String, Value>| {
                let count = state.get("n").and_then(Value::as_u64).unwrap_or_default();
                state.insert("n".to_owned(), json!(count + 1));
            })
            .await?;
        let parts = vec![Part::text(text)];
        session.add_artifact(Artifact { name: Some(name), parts, metadata: None }).await?;
        Ok("ok")
    })
}
