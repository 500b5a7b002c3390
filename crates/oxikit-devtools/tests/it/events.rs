//! The feed of changes.

use oxikit_testing::manager::soon;
use oxikit_testing::tools::{Kit, kit};
use reqwest::{Method, Response};
use serde_json::{Value, json};

/// A reader of the feed.
struct Events {
    response: Response,
    text: String,
}

/// An event: id, name and data.
type Event = (String, String, Value);

impl Events {
    async fn open(kit: &Kit, last: Option<&str>) -> Self {
        let request = kit.call(Method::GET, "/api/v1/events");
        let request = match last {
            Some(last) => request.header("last-event-id", last),
            None => request,
        };
        Self { response: soon(request.send()).await.unwrap(), text: String::new() }
    }

    async fn next(&mut self) -> Event {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let member = |name: &str| {
                    let mut lines = event.lines();
                    lines.find_map(|line| line.strip_prefix(name)).unwrap_or_default().to_owned()
                };
                let (id, name) = (member("id: "), member("event: "));
                let data = serde_json::from_str(&member("data: ")).unwrap_or_default();
                self.text = rest.to_owned();
                return (id, name, data);
            }
            let chunk = soon(self.response.chunk()).await.unwrap().expect("the stream has ended");
            self.text.push_str(std::str::from_utf8(&chunk).unwrap());
        }
    }

    /// The next event of this name.
    async fn expect(&mut self, name: &str) -> Event {
        loop {
            let event = self.next().await;
            if event.1 == name {
                return event;
            }
        }
    }
}

/// A trace of one span, as a runtime sends it.
async fn send_trace(kit: &Kit, id: &str) {
    let trace = json!({"traceId": id, "spans": {"s1": {
        "spanId": "s1", "traceId": id, "startTime": 1, "endTime": 2, "attributes": {},
        "displayName": "greet", "spanKind": "INTERNAL", "instrumentationLibrary": {"name": "x"},
    }}});
    let url = format!("{}/api/traces", kit.server.urls().telemetry);
    assert_eq!(soon(kit.client.post(url).json(&trace).send()).await.unwrap().status(), 200);
}

#[tokio::test]
async fn the_feed_begins_with_the_present_state_and_has_every_change() {
    let kit = kit().await;
    let mut events = Events::open(&kit, None).await;
    let (_, name, hello) = events.next().await;
    assert!(name == "hello" && hello["start"].is_string(), "{name} {hello}");
    let (_, name, runtimes) = events.next().await;
    assert_eq!((&*name, &runtimes), ("runtimes", &json!({"runtimes": [], "current": null})));
    assert_eq!(events.next().await.1, "app");
    let _runtime = kit.runtime("one").await;
    assert_eq!(events.expect("runtimes").await.2["current"], "one");
    send_trace(&kit, "t1").await;
    let (_, _, traces) = events.expect("traces").await;
    assert_eq!(traces["count"], 1);
    assert_eq!(traces["traces"][0], kit.get("/api/v1/traces").await.1["traces"][0]);
    let dataset = json!({"datasetId": "set-of-x", "data": [{"input": 1}]});
    assert_eq!(kit.post("/api/v1/datasets", dataset).await.0, 200);
    assert_eq!(events.expect("datasets").await.2, json!({"id": "set-of-x"}));
}

#[tokio::test]
async fn a_reader_that_returns_gets_what_it_has_missed_or_is_told_of_a_gap() {
    let kit = kit().await;
    // A second reader keeps the feed followed.
    let mut other = Events::open(&kit, None).await;
    let mut events = Events::open(&kit, None).await;
    let (position, ..) = events.expect("app").await;
    drop(events);
    send_trace(&kit, "t1").await;
    other.expect("traces").await;
    let mut returned = Events::open(&kit, Some(&position)).await;
    assert_eq!(returned.expect("traces").await.2["traces"][0]["traceId"], "t1");
    let mut stranger = Events::open(&kit, Some("another-7")).await;
    stranger.expect("app").await;
    assert_eq!(stranger.next().await.1, "lagged");
}

#[tokio::test]
async fn many_changed_traces_are_one_event_without_summaries() {
    let kit = kit().await;
    let mut events = Events::open(&kit, None).await;
    events.expect("app").await;
    let traces: Vec<Value> = (0..120)
        .map(|number| {
            let id = format!("t{number}");
            json!({"traceId": id, "spans": {"s1": {
                "spanId": "s1", "traceId": id, "startTime": 1, "endTime": 2, "attributes": {},
                "displayName": "greet", "spanKind": "INTERNAL",
                "instrumentationLibrary": {"name": "x"},
            }}})
        })
        .collect();
    let url = format!("{}/api/traces", kit.server.urls().telemetry);
    assert_eq!(soon(kit.client.post(url).json(&traces).send()).await.unwrap().status(), 200);
    let mut count = 0;
    while count < 120 {
        let (_, _, data) = events.expect("traces").await;
        let summaries = data["traces"].as_array().unwrap().len() as u64;
        let changed = data["count"].as_u64().unwrap();
        assert!(summaries == 0 || summaries == changed && changed <= 50, "{data}");
        count += changed;
    }
}
