//! The part of a long conversation that a model gets.

use oxikit::Role;
use oxikit::middleware::{SummarizeHistory, TrimHistory};

use super::*;

fn texts(messages: &[Arc<Message>]) -> Vec<String> {
    messages.iter().map(|message| message.text()).collect()
}

#[tokio::test]
async fn a_trimmed_history_is_whole_in_the_session() {
    let (ai, script) = counting();
    let builder = Agent::builder("a").system("Count.").middleware(TrimHistory::to(3));
    let agent = ai.define_agent(builder.shared_store(store())).unwrap();
    let mut chat = agent.chat();
    for text in ["a", "b", "c"] {
        chat.send(text).await.unwrap();
    }
    assert_eq!(texts(&script.last_request().messages), ["Count.", "b", "two", "c"]);
    assert_eq!(texts(chat.messages()), ["a", "one", "b", "two", "c", "three"]);
}

#[tokio::test]
async fn no_tool_response_is_left_without_its_request() {
    /// Looks.
    #[tool]
    async fn look() -> String {
        "nothing".into()
    }
    let wants = || asks(vec![Part::tool_request("look", None, json!({}))]);
    let (ai, script) = app([wants(), says("one"), wants(), says("two")]);
    let builder = Agent::builder("a").tool(look()).middleware(TrimHistory::to(2));
    let agent = ai.define_agent(builder).unwrap();
    let mut chat = agent.chat();
    chat.send("a").await.unwrap();
    chat.send("b").await.unwrap();
    let roles: Vec<_> = script.last_request().messages.iter().map(|message| message.role).collect();
    // The last turn is longer than the limit; cutting it apart is worse.
    assert_eq!(roles, [Role::User, Role::Model, Role::Tool]);
}

#[tokio::test]
async fn a_summary_is_made_once_and_kept() {
    let (ai, script) = app(["one", "two", "they counted", "three", "four"].map(says));
    let builder = Agent::builder("a").middleware(SummarizeHistory::beyond(4).keep(1));
    let agent = ai.define_agent(builder.shared_store(store())).unwrap();
    let mut chat = agent.chat();
    chat.send("a").await.unwrap();
    chat.send("b").await.unwrap();
    let before = chat.snapshot_id().unwrap().to_owned();
    chat.send("c").await.unwrap();
    let summary = "Summary of the conversation until here:\nthey counted";
    assert_eq!(texts(&script.last_request().messages), [summary, "c"]);
    chat.refresh().await.unwrap();
    assert_eq!(texts(chat.messages()), [summary, "c", "three"]);
    chat.send("d").await.unwrap();
    assert_eq!(script.requests.lock().unwrap().len(), 5, "no second summary");
    let whole = agent.load_snapshot(before).await.unwrap();
    assert_eq!(texts(whole.messages()), ["a", "one", "b", "two"]);
}
