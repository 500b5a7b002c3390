//! Sessions that traces tell of.

use oxikit_traces::{SeenSessionQuery, TraceError, TraceStore};
use serde_json::json;

use super::{folder, open, put, span};

/// A run of an agent for this session.
async fn turn(store: &TraceStore, trace: &str, agent: &str, session: &str, start: f64, end: f64) {
    let mut root = span(trace, "root", end, json!({"genkit:metadata:subtype": "agent"}));
    root["displayName"] = agent.into();
    root["startTime"] = start.into();
    root["attributes"]["genkit:metadata:agent:sessionId"] = session.into();
    put(store, &root).await;
}

fn of(agent: &str, change: impl FnOnce(&mut SeenSessionQuery)) -> SeenSessionQuery {
    let mut query = SeenSessionQuery::of(agent);
    change(&mut query);
    query
}

#[tokio::test]
async fn the_sessions_of_an_agent_are_listed_once_the_newest_first() {
    let folder = folder();
    let store = open(&folder);
    turn(&store, "a", "shop", "s", 1000.0, 1500.0).await;
    turn(&store, "b", "shop", "t", 2000.0, 2500.0).await;
    turn(&store, "c", "other", "u", 2000.0, 2500.0).await;
    turn(&store, "d", "shop", "s", 3000.0, 0.0).await;
    // A span below the agent is not a turn of it, and neither is a trace without a session.
    let mut companion = span("e", "root", 4000.0, json!({"genkit:metadata:subtype": "flow"}));
    companion["displayName"] = "shop".into();
    companion["attributes"]["genkit:metadata:agent:sessionId"] = "v".into();
    put(&store, &companion).await;
    let mut bare = span("f", "root", 4000.0, json!({"genkit:metadata:subtype": "agent"}));
    bare["displayName"] = "shop".into();
    put(&store, &bare).await;

    let page = store.sessions(&SeenSessionQuery::of("shop")).await.unwrap();
    let seen: Vec<_> = page
        .sessions
        .iter()
        .map(|it| (&*it.session_id, it.first_seen, it.last_seen, it.turns, it.is_running))
        .collect();
    assert_eq!(seen, [("s", 1000.0, 3000.0, 2, true), ("t", 2000.0, 2500.0, 1, false)]);
    assert_eq!(page.next, None);
    for (is_running, expected) in [(true, "s"), (false, "t")] {
        let query = of("shop", |query| query.is_running = Some(is_running));
        let page = store.sessions(&query).await.unwrap();
        let ids: Vec<_> = page.sessions.iter().map(|it| &*it.session_id).collect();
        assert_eq!(ids, [expected]);
    }
    assert_eq!(store.sessions(&SeenSessionQuery::of("nobody")).await.unwrap().sessions, []);
}

#[tokio::test]
async fn pages_of_sessions_neither_repeat_nor_leave_out_one() {
    let folder = folder();
    let store = open(&folder);
    for number in 0..25 {
        let session = format!("s{}", number % 10);
        turn(&store, &format!("t{number}"), "shop", &session, 1000.0, 2000.0).await;
    }
    let mut ids = Vec::new();
    let mut query = of("shop", |query| query.limit = 3);
    loop {
        let page = store.sessions(&query).await.unwrap();
        assert!(page.sessions.len() <= 3);
        ids.extend(page.sessions.into_iter().map(|it| it.session_id));
        query.after = page.next;
        if query.after.is_none() {
            break;
        }
    }
    assert_eq!(ids, ["s4", "s3", "s2", "s1", "s0", "s9", "s8", "s7", "s6", "s5"]);
    query.after = Some("elsewhere".to_owned());
    assert!(matches!(store.sessions(&query).await, Err(TraceError::Query(_))));
}
