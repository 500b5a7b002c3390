//! Tasks from their message to their end.

use serde_json::json;

use super::kit::{app, for_task, message, message_v0_3};

#[tokio::test]
async fn a_message_makes_a_task_that_is_completed() {
    let app = app().await;
    let task = app.send(message("hello")).await;
    assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED");
    assert_eq!(task["artifacts"][0]["parts"], json!([{ "text": "hello" }]));
    let received = &task["history"][0];
    assert_eq!((&received["taskId"], &received["contextId"]), (&task["id"], &task["contextId"]));
    assert_eq!(app.task(&task["id"]).await, task);
}

#[tokio::test]
async fn both_versions_see_the_same_task() {
    let app = app().await;
    let response = app.call("message/send", json!({ "message": message_v0_3("hello") })).await;
    let task = &response["result"];
    assert_eq!((&task["kind"], &task["status"]["state"]), (&json!("task"), &json!("completed")));
    assert_eq!(task["artifacts"][0]["parts"], json!([{ "kind": "text", "text": "hello" }]));
    let same = app.task(&task["id"]).await;
    assert_eq!(same["status"]["state"], "TASK_STATE_COMPLETED");
    assert_eq!(same["contextId"], task["contextId"]);
}

#[tokio::test]
async fn an_answer_goes_on_with_the_task_and_the_question_joins_the_history() {
    let app = app().await;
    let asked = app.send(message("ask")).await;
    assert_eq!(asked["status"]["state"], "TASK_STATE_INPUT_REQUIRED");
    assert_eq!(asked["status"]["message"]["parts"][0]["text"], "what next?");
    assert_eq!(asked["history"].as_array().unwrap().len(), 1);
    let done = app.send(for_task(message("this"), &asked)).await;
    assert_eq!((&done["id"], &done["contextId"]), (&asked["id"], &asked["contextId"]));
    assert_eq!(done["status"]["state"], "TASK_STATE_COMPLETED");
    let said = |index: usize| done["history"][index]["parts"][0]["text"].clone();
    assert_eq!([said(0), said(1), said(2)], ["ask", "what next?", "this"]);
}

#[tokio::test]
async fn a_client_need_not_wait() {
    let app = app().await;
    let task = app.begin(message("wait")).await;
    assert_eq!(task["status"]["state"], "TASK_STATE_SUBMITTED");
    app.gate.notify_one();
    let id = &task["id"];
    let mut stream = app.stream("tasks/resubscribe", json!({ "id": id }), "").await;
    while stream.next().await.is_some() {}
    assert_eq!(app.task(id).await["status"]["state"], "TASK_STATE_COMPLETED");
}

#[tokio::test]
async fn messages_behind_a_turn_that_ends_the_task_are_answered_by_its_end() {
    let app = app().await;
    let task = app.begin(message("wait")).await;
    let [second, third] = ["ask", "hello"].map(|text| for_task(message(text), &task));
    let (second, third, ()) = tokio::join!(app.send(second), app.send(third), async {
        app.received(&task, 3).await;
        app.gate.notify_one();
    });
    for task in [second, third] {
        assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED");
        assert!(task.get("artifacts").is_none(), "neither was given to the agent: {task}");
    }
}

#[tokio::test]
async fn each_caller_waits_for_its_own_turn() {
    let app = app().await;
    let asked = app.send(message("ask")).await;
    let first = app.send(for_task(message("wait and ask"), &asked));
    let second = async {
        app.received(&asked, 2).await;
        app.send(for_task(message("hello"), &asked)).await
    };
    let (first, second, ()) = tokio::join!(first, second, async {
        app.received(&asked, 3).await;
        app.gate.notify_one();
    });
    assert_eq!(first["status"]["state"], "TASK_STATE_INPUT_REQUIRED", "{first}");
    assert!(first.get("artifacts").is_none(), "the second turn had not begun: {first}");
    assert_eq!(second["status"]["state"], "TASK_STATE_COMPLETED", "{second}");
    assert_eq!(second["artifacts"][0]["parts"][0]["text"], "hello");
}

#[tokio::test]
async fn more_messages_than_may_wait_are_refused() {
    let app = app().await;
    let asked = app.send(message("ask")).await;
    let waiting = app.begin(for_task(message("wait"), &asked)).await;
    assert_eq!(waiting["status"]["state"], "TASK_STATE_WORKING");
    for _ in 0..8 {
        let more = app.begin(for_task(message("more"), &asked)).await;
        assert_eq!(more["status"]["state"], "TASK_STATE_WORKING");
    }
    let params = json!({ "message": for_task(message("too many"), &asked) });
    let refused = app.call("SendMessage", params).await;
    assert_eq!(refused["error"]["code"], -32004, "{refused}");
    app.gate.notify_one();
}

#[tokio::test]
async fn a_canceled_task_stays_canceled_and_its_work_is_dropped() {
    let app = app().await;
    let task = app.begin(message("wait")).await;
    let params = json!({ "id": task["id"] });
    let canceled = app.call("CancelTask", params.clone()).await;
    assert_eq!(canceled["result"]["status"]["state"], "TASK_STATE_CANCELED");
    app.gate.notify_one();
    assert_eq!(app.task(&task["id"]).await["status"]["state"], "TASK_STATE_CANCELED");
    // Twice is right in 1.0, and an error in 0.3.
    let again = app.call("CancelTask", params.clone()).await;
    assert_eq!(again["result"]["status"]["state"], "TASK_STATE_CANCELED");
    let again = app.call("tasks/cancel", params).await;
    assert_eq!(again["error"]["code"], -32002);
}

#[tokio::test]
async fn failures_are_tasks_whose_text_is_meant_for_clients() {
    let app = app().await;
    for (text, shown) in [("fail", None), ("panic", None), ("fail publicly", Some("no such city"))]
    {
        let task = app.send(message(text)).await;
        assert_eq!(task["status"]["state"], "TASK_STATE_FAILED", "{task}");
        assert!(!task.to_string().contains("secret of the house"), "{task}");
        assert!(!task.to_string().contains("a bug"), "{task}");
        if let Some(shown) = shown {
            assert_eq!(task["status"]["message"]["parts"][0]["text"], shown);
        }
    }
    let rejected = app.send(message("reject")).await;
    assert_eq!(rejected["status"]["state"], "TASK_STATE_REJECTED");
}

#[tokio::test]
async fn events_after_the_end_are_dropped() {
    let app = app().await;
    let task = app.send(message("after the end")).await;
    assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED");
    assert_eq!(app.task(&task["id"]).await, task);
}

#[tokio::test]
async fn an_agent_may_answer_without_a_task() {
    let app = app().await;
    let params = json!({ "message": message("hi") });
    let response = app.call_agent("reply", "SendMessage", params).await;
    let reply = &response["result"]["message"];
    assert_eq!(
        (&reply["role"], &reply["parts"][0]["text"]),
        (&json!("ROLE_AGENT"), &json!("re: hi"))
    );
    assert!(reply.get("taskId").is_none());
    let params = json!({ "message": message_v0_3("task") });
    let response = app.call_agent("reply", "message/send", params).await;
    assert_eq!(response["result"]["status"]["state"], "completed");
}

#[tokio::test]
async fn tasks_are_listed_page_by_page() {
    let app = app().await;
    for text in ["one", "ask", "three"] {
        app.send(message(text)).await;
    }
    let page = app.call("ListTasks", json!({ "pageSize": 2 })).await["result"].clone();
    assert_eq!((&page["totalSize"], &page["pageSize"]), (&json!(3), &json!(2)));
    assert_eq!(page["tasks"].as_array().unwrap().len(), 2);
    assert!(page["tasks"][0].get("artifacts").is_none());
    let token = &page["nextPageToken"];
    let params = json!({ "pageSize": 2, "pageToken": token, "includeArtifacts": true });
    let rest = app.call("ListTasks", params).await["result"].clone();
    assert_eq!(rest["tasks"][0]["artifacts"][0]["parts"][0]["text"], "one");
    assert_eq!(rest["nextPageToken"], "");
    let params = json!({ "status": "TASK_STATE_INPUT_REQUIRED" });
    assert_eq!(app.call("ListTasks", params).await["result"]["totalSize"], 1);
}
