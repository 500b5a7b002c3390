//! Providers below the generate loop.

use oxikit::{Action, ActionKind, Call, Oxikit};
use serde_json::{Value, json};

use crate::server::{Reply, Server};
use crate::support::*;

#[tokio::test]
async fn signatures_survive_the_rounds_of_the_generate_loop() {
    let answer = |part: Value| {
        Reply::json(json!({"candidates": [{"content": {"role": "model", "parts": [part]},
            "finishReason": "STOP", "index": 0}]}))
    };
    let server = Server::start([
        answer(json!({"functionCall": {"name": "weather", "args": {"city": "Oslo"}},
            "thoughtSignature": "c2ln"})),
        answer(json!({"text": "21 degrees."})),
    ])
    .await;
    let ai = Oxikit::builder().plugin(google_ai(&server)).build().unwrap();
    ai.registry().register(
        Action::builder(ActionKind::Tool, "weather")
            .description("Tells the weather.")
            .metadata("type", "tool")
            .handler(|_: Value| async { Ok(json!({"degrees": 21})) }),
    );
    let mut request = hello();
    request["model"] = json!("googleai/gemini-2.5-flash");
    request["tools"] = json!(["weather"]);
    let response = ai.registry().run("/util/generate", Call::new(request)).await.unwrap();
    let response: Value = response.parse().unwrap();
    assert_eq!(response["message"]["content"][0]["text"], "21 degrees.");

    let [_, second] = <[_; 2]>::try_from(server.seen()).unwrap();
    let contents = &second.body["contents"];
    assert_eq!(contents[1]["parts"][0]["thoughtSignature"], "c2ln");
    assert_eq!(contents[2]["parts"][0]["functionResponse"]["response"]["result"]["degrees"], 21);
}
