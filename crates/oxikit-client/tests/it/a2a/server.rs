//! Against our own server, in all bindings and both versions.

use oxikit_client::a2a::{
    A2aReply, Binding, ErrorKind, ListTasksRequest, OutgoingMessage, PushConfig, StreamResponse,
    TaskState, Version, error_kind,
};

use super::kit::{WAYS, app, builder};

#[tokio::test]
async fn messages_are_answered() {
    let app = app().await;
    for &way in WAYS {
        let agent = app.client(way).await;
        assert_eq!((agent.binding(), agent.version()), way);
        assert_eq!(agent.card().name, "The Script!");
        let reply = agent.send("hello").await.unwrap();
        assert_eq!((reply.text().as_str(), reply.state()), ("hello", Some(TaskState::Completed)));
        let reply = agent.send("reply").await.unwrap();
        assert!(matches!(&reply, A2aReply::Message(message) if message.text() == "no task"));
    }
}

#[tokio::test]
async fn version_1_0_is_preferred_and_the_url_may_be_that_of_the_card() {
    let app = app().await;
    for url in [app.url(), app.url() + "/", app.url() + "/.well-known/agent-card.json"] {
        let agent = builder(&url).connect().await.unwrap();
        assert_eq!(agent.version(), Version::V1_0);
        assert_eq!(agent.send("hello").await.unwrap().text(), "hello");
    }
}

#[tokio::test]
async fn a_question_is_answered_in_the_same_task() {
    let app = app().await;
    for &way in WAYS {
        let agent = app.client(way).await;
        let asked = agent.send("ask").await.unwrap();
        assert_eq!(asked.state(), Some(TaskState::InputRequired));
        assert_eq!(asked.text(), "what next?");
        let answered = agent.send(OutgoingMessage::new("done").follow(&asked)).await.unwrap();
        assert_eq!(answered.task().unwrap().id, asked.task().unwrap().id);
        // The task has ended, so the next message is a new one in the same conversation.
        let next = agent.send(OutgoingMessage::new("more").follow(&answered)).await.unwrap();
        assert_ne!(next.task().unwrap().id, asked.task().unwrap().id);
        assert_eq!(next.context_id(), asked.context_id());
    }
}

#[tokio::test]
async fn events_are_streamed_and_merged() {
    let app = app().await;
    for &way in WAYS {
        let agent = app.client(way).await;
        app.gate.notify_one();
        let mut stream = agent.send_stream("chunks").await.unwrap();
        let first = stream.next().await.unwrap().unwrap();
        assert!(matches!(first, StreamResponse::Task(_)), "{first:?}");
        let mut chunks = 0;
        while let Some(event) = stream.next().await {
            chunks += usize::from(matches!(event.unwrap(), StreamResponse::ArtifactUpdate(_)));
        }
        assert_eq!(chunks, 3);
        let reply = stream.finish().await.unwrap();
        assert_eq!(reply.text(), "one two three");
        assert_eq!(reply.state(), Some(TaskState::Completed));
    }
}

#[tokio::test]
async fn streams_end_at_a_question_and_after_a_message() {
    let app = app().await;
    for &way in WAYS {
        let agent = app.client(way).await;
        let asked = agent.send_stream("ask").await.unwrap().finish().await.unwrap();
        assert_eq!(asked.state(), Some(TaskState::InputRequired));
        let replied = agent.send_stream("reply").await.unwrap().finish().await.unwrap();
        assert_eq!(replied.text(), "no task");
    }
}

#[tokio::test]
async fn a_task_that_runs_is_followed() {
    let app = app().await;
    for &way in WAYS {
        let agent = app.client(way).await;
        let begun = agent.send(OutgoingMessage::new("wait").return_immediately()).await.unwrap();
        let id = &begun.task().unwrap().id;
        let mut stream = agent.subscribe(id).await.unwrap();
        let first = stream.next().await.unwrap().unwrap();
        assert!(matches!(first, StreamResponse::Task(task) if task.id == *id));
        app.gate.notify_one();
        assert_eq!(stream.finish().await.unwrap().state(), Some(TaskState::Completed));
        let task = agent.get_task(id, Some(0)).await.unwrap();
        assert_eq!((task.status.state, task.history.len()), (TaskState::Completed, 0));
    }
}

#[tokio::test]
async fn tasks_are_canceled_and_listed() {
    let app = app().await;
    for &way in WAYS {
        let agent = app.client(way).await;
        let begun = agent.send(OutgoingMessage::new("wait").return_immediately()).await.unwrap();
        let id = &begun.task().unwrap().id;
        assert_eq!(agent.cancel(id).await.unwrap().status.state, TaskState::Canceled);
        let request = ListTasksRequest {
            context_id: begun.context_id().map(str::to_owned),
            ..ListTasksRequest::default()
        };
        let listed = agent.list_tasks(request).await;
        match way {
            (Binding::HttpJson, _) | (_, Version::V1_0) => {
                assert_eq!(listed.unwrap().tasks[0].id, *id);
            }
            (_, Version::V0_3) => {
                let kind = error_kind(&listed.unwrap_err());
                assert_eq!(kind, Some(ErrorKind::UnsupportedOperation));
            }
        }
    }
}

#[tokio::test]
async fn errors_have_the_code_of_the_protocol() {
    let app = app().await;
    for &way in WAYS {
        let agent = app.client(way).await;
        let unknown = agent.get_task("nowhere", None).await.unwrap_err();
        assert_eq!(error_kind(&unknown), Some(ErrorKind::TaskNotFound));
        assert_eq!(unknown.code(), oxikit_client::StatusCode::NotFound);
        assert_eq!(unknown.details().unwrap()["code"], -32001);
        let unknown = agent.subscribe("nowhere").await;
        let unknown = match unknown {
            Ok(stream) => stream.finish().await.unwrap_err(),
            Err(status) => status,
        };
        assert_eq!(error_kind(&unknown), Some(ErrorKind::TaskNotFound));
        let done = agent.send("hello").await.unwrap();
        let late = agent.cancel(&done.task().unwrap().id).await.unwrap_err();
        assert_eq!(error_kind(&late), Some(ErrorKind::TaskNotCancelable));
    }
}

#[tokio::test]
async fn webhooks_are_registered_and_removed() {
    let app = app().await;
    for &way in WAYS {
        let agent = app.client(way).await;
        let begun = agent.send(OutgoingMessage::new("wait").return_immediately()).await.unwrap();
        let task_id = &begun.task().unwrap().id;
        let config = |id: &str| PushConfig {
            task_id: Some(task_id.clone()),
            id: Some(id.to_owned()),
            url: "http://127.0.0.1:9/hook".to_owned(),
            token: Some("t".to_owned()),
            ..PushConfig::default()
        };
        let made = agent.set_push_config(config("a/1")).await.unwrap();
        assert_eq!((made.id.as_deref(), &made.task_id), (Some("a/1"), &Some(task_id.clone())));
        agent.set_push_config(config("b")).await.unwrap();
        let read = agent.get_push_config(task_id, "a/1").await.unwrap();
        assert_eq!((&*read.url, read.token.as_deref()), ("http://127.0.0.1:9/hook", Some("t")));
        assert_eq!(agent.list_push_configs(task_id).await.unwrap().len(), 2, "{way:?}");
        agent.delete_push_config(task_id, "a/1").await.unwrap();
        let left = agent.list_push_configs(task_id).await.unwrap();
        assert_eq!(left.iter().map(|it| it.id.as_deref()).collect::<Vec<_>>(), [Some("b")]);
        let gone = agent.get_push_config(task_id, "a/1").await.unwrap_err();
        assert_eq!(error_kind(&gone), Some(ErrorKind::TaskNotFound), "{way:?}");
        agent.cancel(task_id).await.unwrap();
    }
}

#[tokio::test]
async fn the_card_for_known_callers_is_read() {
    let app = app().await;
    for &way in WAYS {
        let agent = app.client(way).await;
        assert!(agent.card().skills.iter().all(|skill| skill.id != "secret"));
        let card = agent.extended_card().await.unwrap();
        assert_eq!(card.name, "The Script!");
        assert!(card.skills.iter().any(|skill| skill.id == "secret"), "{way:?}");
    }
}

#[tokio::test]
async fn ids_that_would_be_another_path_are_not_sent() {
    let app = app().await;
    for version in [Version::V0_3, Version::V1_0] {
        let agent = app.client((Binding::HttpJson, version)).await;
        for id in ["", ".", ".."] {
            let status = agent.get_task(id, None).await.unwrap_err();
            assert_eq!(status.code(), oxikit_client::StatusCode::InvalidArgument, "{id}");
        }
        // These name no operation, but a task that does not exist.
        for id in ["t:cancel", "a/b", "a?b#c", "%2e%2e", "\u{e4} "] {
            let status = agent.get_task(id, None).await.unwrap_err();
            assert_eq!(error_kind(&status), Some(ErrorKind::TaskNotFound), "{id}");
        }
    }
}
