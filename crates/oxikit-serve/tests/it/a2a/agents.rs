//! Oxikit agents over A2A.

use std::sync::Arc;

use oxikit::Turn;
use oxikit::prelude::*;
use oxikit_core::ports::memory::{MemorySessions, MemoryTasks};
use oxikit_serve::a2a::A2aAgent;
use serde_json::{Value, json};

use super::kit::{App, for_task, message, serve};

fn offline() -> Oxikit {
    Oxikit::builder().plugin(Offline).default_model("offline/demo").build().unwrap()
}

/// Serves the agent at `/shop`.
async fn shop(ai: &Oxikit, agent: &Agent) -> App {
    let a2a = A2aAgent::new(agent).path("shop");
    serve(Arc::new(MemoryTasks::default()), ai.as_ref(), |server| server.a2a(a2a)).await
}

/// Sends a message to the agent; the task.
async fn send(app: &App, message: Value) -> Value {
    let params = json!({ "message": message });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params });
    let headers = "Content-Type: application/json\r\n";
    let answer = app.request("POST", "/shop/", headers, &body.to_string()).await;
    let response: Value = serde_json::from_slice(&answer.body).unwrap();
    response["result"]["task"].clone()
}

fn text(task: &Value) -> String {
    let parts = task["artifacts"][0]["parts"].as_array().unwrap();
    parts.iter().filter_map(|part| part["text"].as_str()).collect()
}

/// Clients know the end of the answer without a chunk that only says so.
#[tokio::test]
async fn the_last_chunk_of_an_answer_says_that_it_is_the_last() {
    let ai = offline();
    let agent = ai.define_agent(Agent::builder("shop").store(MemorySessions::default())).unwrap();
    let app = shop(&ai, &agent).await;
    let params = json!({ "message": message("Which tea is it?") });
    let body = json!({
        "jsonrpc": "2.0", "id": 1, "method": "SendStreamingMessage", "params": params,
    });
    let headers = "Content-Type: application/json\r\n";
    let answer = app.request("POST", "/shop/", headers, &body.to_string()).await;
    let answer = answer.text();
    let events = answer.lines().filter_map(|line| line.strip_prefix("data: "));
    let events: Vec<Value> = events.map(|event| serde_json::from_str(event).unwrap()).collect();
    let updates = events.iter().filter_map(|event| event["result"].get("artifactUpdate"));
    let updates: Vec<&Value> = updates.collect();
    assert!(updates.len() > 1, "{answer}");
    for (place, update) in updates.iter().enumerate() {
        assert_eq!(update["lastChunk"] == true, place + 1 == updates.len(), "{answer}");
        assert_ne!(update["artifact"]["parts"][0]["text"], "", "{answer}");
    }
}

/// A custom agent reports its progress, changes its state after its last chunk, and asks.
#[tokio::test]
async fn a_turn_reports_progress_and_asks() {
    let ai = offline();
    let turn = |turn: Turn<Vec<String>>| async move {
        if turn.data::<u32>() != Some(3) {
            return Ok(turn.ask("How many?"));
        }
        turn.progress("brewing").await?;
        turn.emit("three ").await?;
        turn.emit("cups").await?;
        turn.update(|orders| orders.push("tea".to_owned())).await?;
        Ok(turn.answer("three cups"))
    };
    let agent = Agent::builder("shop").store(MemorySessions::default()).turn(turn);
    let agent = ai.define_agent(agent).unwrap();
    let app = shop(&ai, &agent).await;
    let asked = send(&app, message("Tea, please.")).await;
    assert_eq!(asked["status"]["state"], "TASK_STATE_INPUT_REQUIRED", "{asked}");
    assert_eq!(asked["status"]["message"]["parts"], json!([{ "text": "How many?" }]));

    let mut answer = for_task(message(""), &asked);
    answer["parts"] = json!([{ "data": 3 }]);
    let params = json!({ "message": answer });
    let body = json!({
        "jsonrpc": "2.0", "id": 1, "method": "SendStreamingMessage", "params": params,
    });
    let headers = "Content-Type: application/json\r\n";
    let answer = app.request("POST", "/shop/", headers, &body.to_string()).await;
    let answer = answer.text();
    let events = answer.lines().filter_map(|line| line.strip_prefix("data: "));
    let seen: Vec<Value> = events
        .map(|event| serde_json::from_str::<Value>(event).unwrap()["result"].take())
        .filter_map(|event| match event.get("artifactUpdate") {
            Some(update) => {
                Some(json!([update["artifact"]["parts"][0]["text"], update["lastChunk"]]))
            }
            None => {
                let message = &event["statusUpdate"]["status"]["message"]["parts"][0]["text"];
                message.is_string().then(|| message.clone())
            }
        })
        .collect();
    assert_eq!(
        seen,
        [json!("brewing"), json!(["three ", null]), json!(["cups", true])],
        "{answer}"
    );
}

#[tokio::test]
async fn an_agent_answers_in_an_artifact_and_remembers_the_conversation() {
    let ai = offline();
    let agent = Agent::builder("shop").system("You sell tea.").store(MemorySessions::default());
    let agent = ai.define_agent(agent).unwrap();
    let app = shop(&ai, &agent).await;
    let first = send(&app, message("My name is Ada.")).await;
    assert_eq!(first["status"]["state"], "TASK_STATE_COMPLETED", "{first}");
    assert!(!text(&first).is_empty(), "{first}");
    let mut next = message("What did I say?");
    next["contextId"] = first["contextId"].clone();
    let second = send(&app, next).await;
    assert_eq!(second["contextId"], first["contextId"]);
    assert_ne!(second["id"], first["id"]);
    let session = first["contextId"].as_str().unwrap();
    let chat = agent.load_session(session).await.unwrap();
    assert_eq!(chat.messages().len(), 4, "{:?}", chat.messages());
}

#[tokio::test]
async fn a_tool_that_waits_for_a_person_is_answered_by_the_next_message() {
    let ai = offline();
    let pay = Tool::interrupt::<Value>("pay", "Pays an amount.");
    let agent = Agent::builder("shop").tool(pay).store(MemorySessions::default());
    let agent = ai.define_agent(agent).unwrap();
    let app = shop(&ai, &agent).await;
    let asked = send(&app, message("Please pay \"5\".")).await;
    assert_eq!(asked["status"]["state"], "TASK_STATE_INPUT_REQUIRED", "{asked}");
    let parts = asked["status"]["message"]["parts"].as_array().unwrap();
    let waiting = parts.iter().find_map(|part| part["data"]["interrupts"].as_array()).unwrap();
    assert_eq!(waiting[0]["name"], "pay");
    let text = parts[0]["text"].as_str().unwrap();
    assert!(text.starts_with("The agent waits for an answer to `pay`"), "{text}");
    let done = send(&app, for_task(message("I agree"), &asked)).await;
    assert_eq!(done["status"]["state"], "TASK_STATE_COMPLETED", "{done}");
}
