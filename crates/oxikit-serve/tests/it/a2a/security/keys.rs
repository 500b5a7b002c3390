//! API keys in a header, the query and a cookie.

use async_trait::async_trait;
use oxikit_core::Result;
use oxikit_serve::a2a::{A2aAgent, AgentExecutor, AgentSkill, TaskTurn, TaskUpdates};
use oxikit_serve::{AnyOf, ApiKey, Limits};
use serde_json::{Value, json};

use super::super::kit::{App, Reply, app_with, message};
use super::{Case, KEY, accepted, check, declared, denied, unknown};

#[tokio::test]
async fn a_key_in_a_header() {
    let auth = ApiKey::new("an-old-key").or(KEY).in_header("X-API-Key");
    let challenge = r#"ApiKey in="header", name="X-API-Key""#;
    let right = format!("x-api-key: {KEY}\r\n");
    let app = check(
        auth,
        &[
            accepted("the key", &right),
            accepted("the old key", "x-api-key: an-old-key\r\n"),
            unknown("no key", "", challenge),
            unknown("elsewhere", format!("authorization: Bearer {KEY}\r\n"), challenge),
            unknown("twice", format!("{right}{right}"), challenge),
            denied("a wrong key", "x-api-key: a-long-random-tex\r\n", None),
            denied("an empty key", "x-api-key: \r\n", None),
        ],
    )
    .await;
    let [old, new] = declared(&app).await;
    let description = "An API key.";
    assert_eq!(
        old,
        (
            json!({ "apiKey": { "type": "apiKey", "in": "header", "name": "X-API-Key", "description": description } }),
            json!([{ "apiKey": [] }]),
        )
    );
    assert_eq!(
        new,
        (
            json!({ "apiKey": { "apiKeySecurityScheme":
                { "location": "header", "name": "X-API-Key", "description": description } } }),
            json!([{ "schemes": { "apiKey": { "list": [] } } }]),
        )
    );
}

#[tokio::test]
async fn a_key_in_the_query() {
    let auth = ApiKey::new("a+long random/text").in_query("key");
    let with = |case: Case, query: &str| Case { query: query.to_owned(), ..case };
    let challenge = r#"ApiKey in="query", name="key""#;
    let app = check(
        auth,
        &[
            with(accepted("the key", ""), "?other=1&key=a%2Blong%20random%2Ftext"),
            unknown("no key", "", challenge),
            unknown("in a header", "key: a+long random/text\r\n", challenge),
            with(unknown("twice", "", challenge), "?key=a%2Blong%20random%2Ftext&key=x"),
            with(denied("a wrong key", "", None), "?key=x"),
        ],
    )
    .await;
    let [(schemes, _), _] = declared(&app).await;
    assert_eq!(
        (&schemes["apiKey"]["in"], &schemes["apiKey"]["name"]),
        (&json!("query"), &json!("key"))
    );
}

#[tokio::test]
async fn a_key_in_a_cookie() {
    let challenge = r#"ApiKey in="cookie", name="session""#;
    let app = check(
        ApiKey::new(KEY).in_cookie("session"),
        &[
            accepted("the key", format!("cookie: a=b; session={KEY}; c\r\n")),
            unknown("no cookie", "", challenge),
            unknown("another cookie", format!("cookie: sessions={KEY}\r\n"), challenge),
            unknown("twice", format!("cookie: session={KEY}; session=x\r\n"), challenge),
            denied("a wrong key", "cookie: session=x\r\n", None),
        ],
    )
    .await;
    let [_, (schemes, _)] = declared(&app).await;
    assert_eq!(schemes["apiKey"]["apiKeySecurityScheme"]["location"], "cookie");
}

#[tokio::test]
async fn wrong_keys_are_counted_wherever_they_are_sent() {
    let mut limits = Limits::default();
    limits.wrong_keys = 1;
    let auth = AnyOf::new(ApiKey::new(KEY).in_header("x-key")).or(ApiKey::new(KEY).in_query("key"));
    let app = app_with(|server| server.auth(auth).limits(limits)).await;
    let ask = async |path: &str, header: &str| app.request("GET", path, header, "").await.status;
    assert_eq!(ask("/a2a/script/tasks", "x-key: wrong\r\n").await, 403);
    assert_eq!(ask("/a2a/script/tasks?key=wrong", "").await, 429);
    assert_eq!(ask("/a2a/script/tasks", "").await, 401, "nothing was guessed");
    assert_eq!(ask(&format!("/a2a/script/tasks?key={KEY}"), "").await, 200);
}

async fn call(app: &App, agent: &str, key: &str, method: &str, params: Value) -> Value {
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let answer = app.raw(agent, &format!("x-key: {key}\r\n"), &body.to_string()).await;
    serde_json::from_slice(&answer.body).unwrap()
}

#[tokio::test]
async fn callers_with_keys_of_their_own_do_not_find_tasks_of_each_other() {
    let auth = ApiKey::new(KEY).caller("ada", "the-key-of-ada").caller("bob", "the-key-of-bob");
    let app = app_with(|server| server.auth(auth.in_header("x-key"))).await;
    let params = json!({ "message": message("hello") });
    let made = call(&app, "script", "the-key-of-ada", "SendMessage", params).await;
    let id = json!({ "id": made["result"]["task"]["id"] });
    for (key, code) in
        [("the-key-of-bob", json!(-32001)), (KEY, json!(-32001)), ("the-key-of-ada", Value::Null)]
    {
        let found = call(&app, "script", key, "GetTask", id.clone()).await;
        assert_eq!(found["error"]["code"], code, "{key}: {found}");
        let found = call(&app, "script", key, "tasks/get", id.clone()).await;
        assert_eq!(found["error"]["code"], code, "{key}: {found}");
    }
}

#[tokio::test]
async fn an_agent_demands_scopes_and_a_skill_is_shown_to_those_who_have_them() {
    let read = ApiKey::new("the-key-of-readers").scopes(["read"]).in_header("x-key");
    let write = ApiKey::new("the-key-of-writers").scopes(["read", "write"]).in_header("x-key");
    let nothing = ApiKey::new("the-key-of-others").in_header("x-key");
    let skill = AgentSkill {
        id: "write".to_owned(),
        security_requirements: serde_json::from_value(json!([{ "apiKey": ["write"] }])).unwrap(),
        ..AgentSkill::default()
    };
    let agent = A2aAgent::with_executor("scoped", Reply)
        .auth(AnyOf::new(read).or(write).or(nothing))
        .require_scope("read")
        .extended_skill(skill);
    let app = app_with(|server| server.a2a(agent)).await;
    for (key, skills) in [("the-key-of-readers", 1), ("the-key-of-writers", 2)] {
        let card = call(&app, "scoped", key, "GetExtendedAgentCard", json!({})).await;
        assert_eq!(card["result"]["skills"].as_array().unwrap().len(), skills, "{key} {card}");
        assert_eq!(
            card["result"]["securityRequirements"][0]["schemes"]["apiKey"]["list"],
            json!(["read"])
        );
    }
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": { "id": "no" } });
    let refused = app.raw("scoped", "x-key: the-key-of-others\r\n", &body.to_string()).await;
    assert_eq!(refused.status, 403);
    let challenge = r#"Bearer error="insufficient_scope", scope="read""#;
    assert_eq!(refused.header("www-authenticate"), Some(challenge));
}

/// Needs a scope for one of the things that it does.
struct Files;

#[async_trait]
impl AgentExecutor for Files {
    async fn execute(&self, turn: TaskTurn, updates: &mut TaskUpdates) -> Result<()> {
        if turn.message.text() == "delete" {
            turn.require_scope("files:delete")?;
        }
        updates.complete().await
    }
}

#[tokio::test]
async fn an_executor_demands_a_scope_for_what_it_is_about_to_do() {
    let reader = ApiKey::new("the-key-of-readers").in_header("x-key");
    let owner = ApiKey::new("the-key-of-owners").scopes(["files:delete"]).in_header("x-key");
    let agent = A2aAgent::with_executor("files", Files).auth(AnyOf::new(reader).or(owner));
    let app = app_with(|server| server.a2a(agent)).await;
    for (key, text, state) in [
        ("the-key-of-readers", "read", "TASK_STATE_COMPLETED"),
        ("the-key-of-readers", "delete", "TASK_STATE_FAILED"),
        ("the-key-of-owners", "delete", "TASK_STATE_COMPLETED"),
    ] {
        let params = json!({ "message": message(text) });
        let sent = call(&app, "files", key, "SendMessage", params).await;
        let status = &sent["result"]["task"]["status"];
        assert_eq!(status["state"], state, "{key} {text} {sent}");
        let is_told = status.to_string().contains("files:delete");
        assert_eq!(is_told, state == "TASK_STATE_FAILED", "{status}");
    }
}
