//! The REST API: every row of its table, with status codes and shapes.

use futures_util::future::join_all;
use oxikit_prompts::Submission;
use reqwest::Method;
use serde_json::{Value, json};

use crate::http_kit::{Kit, kit, kit_with, read, soon};

const JOKE: &str = "---\ndescription: Jokes\ntags: [fun]\n---\nTell a joke. [[tone]]";

async fn sample() -> Kit {
    kit(&[
        ("joke.md", JOKE),
        ("tone.md", "Be kind."),
        ("jokes/dad.md", "[[joke]]"),
        ("fragments/brief.md", "Be brief."),
    ])
    .await
}

/// The members of an object.
fn members(value: &Value) -> Vec<&str> {
    let mut names: Vec<_> = value.as_object().unwrap().keys().map(String::as_str).collect();
    names.sort_unstable();
    names
}

fn ids(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn documents_are_listed_and_read() {
    let kit = sample().await;
    let (status, all) = kit.get("/all").await;
    assert_eq!((status, ids(&all)), (200, vec!["dad", "joke", "tone"]));
    for path in ["/fragments/", "/fragments"] {
        let (status, fragments) = kit.get(path).await;
        assert_eq!((status, ids(&fragments)), (200, vec!["brief"]));
        assert!(fragments[0].get("prompt_type").is_none());
    }
    let (status, joke) = kit.get("/joke").await;
    assert_eq!(status, 200);
    let directory = kit.folder.path().join("prompts").canonicalize().unwrap();
    let expected = [
        ("id", json!("joke")),
        ("filename", json!("joke.md")),
        ("directory", json!(directory)),
        ("directory_name", json!("prompts")),
        ("content", json!("Tell a joke. [[tone]]")),
        ("description", json!("Jokes")),
        ("tags", json!(["fun"])),
        ("name", json!("joke")),
        ("display_name", json!("joke")),
        ("unique_id", json!("prompts/joke")),
        ("is_composite", json!(true)),
        ("directory_info", json!({"name": "prompts", "path": directory})),
        ("dependencies", json!([{"id": "tone", "is_missing": false}])),
        ("warnings", json!([])),
        ("kind", json!("prompt")),
        ("rev", json!(1)),
        ("labels", json!({})),
    ];
    for (name, value) in expected {
        assert_eq!(joke[name], value, "{name}");
    }
    assert!(joke["created_at"].as_str().unwrap().ends_with('Z'));
    // A fragment is not a prompt, and the other way round; the path without a kind takes both.
    assert_eq!(kit.get("/brief").await.0, 404);
    assert_eq!(kit.get("/fragments/joke").await.0, 404);
    assert_eq!(kit.get("/fragments/brief").await.1["content"], "Be brief.");
    for id in ["joke", "brief", "jokes/dad"] {
        let (status, document) = kit.get(&format!("/document?id={id}")).await;
        assert_eq!(status, 200, "{id}: {document}");
    }
    assert_eq!(kit.get("/jokes%2Fdad").await.1["id"], "dad");
    let (status, found) = kit.get("/joke?directory=prompts").await;
    assert_eq!((status, &found["id"]), (200, &json!("joke")));
    assert_eq!(kit.get("/joke?directory=elsewhere").await.0, 404);
}

#[tokio::test]
async fn unknown_things_are_not_found_in_the_form_of_prompt_manager() {
    let kit = sample().await;
    for (path, detail) in [
        ("/nope", "Prompt 'nope' not found"),
        ("/fragments/nope", "Fragment 'nope' not found"),
        ("/nope/render", "Prompt 'nope' not found"),
        ("/nope/history", "Prompt 'nope' not found"),
        ("/joke/history/99", "'joke' has no revision 99"),
        ("/joke?label=production", "'joke' has no revision production"),
        ("/directories/nope/prompts", "Directory 'nope' not found"),
        ("/templates", "there is nothing at this path"),
        ("/a/b/c/d", "there is nothing at this path"),
    ] {
        assert_eq!(kit.get(path).await, (404, json!({"detail": detail})), "{path}");
    }
    assert_eq!(kit.get("/nope/referenced_by").await, (200, json!([])));
    assert_eq!(kit.get("/check_exists/nope").await, (200, json!({"exists": false, "id": "nope"})));
    assert_eq!(kit.get("/check_exists/joke").await, (200, json!({"exists": true, "id": "joke"})));
    let (status, body) = kit.get("/document").await;
    assert_eq!((status, &body["detail"][0]["loc"]), (422, &json!(["query", "id"])));
}

#[tokio::test]
async fn an_ambiguous_id_is_409_with_the_candidates() {
    let kit = kit(&[("a/x.md", "1"), ("b/x.md", "2")]).await;
    let (status, body) = kit.get("/x").await;
    assert_eq!((status, &body["candidates"]), (409, &json!(["a/x", "b/x"])));
    assert!(body["detail"].as_str().unwrap().contains("a/x"), "{body}");
    assert_eq!(kit.get("/a%2Fx").await.1["content"], "1");
    assert_eq!(kit.get("/check_exists/x").await.1["exists"], true);
}

#[tokio::test]
async fn documents_are_made_with_201() {
    let kit = sample().await;
    let new = json!({"id": "new one", "content": "Hi", "directory": "prompts",
        "prompt_type": "system", "description": "d", "tags": ["t"], "author": "Ada"});
    let (status, made) = kit.post("", new.clone()).await;
    assert_eq!(
        (status, &made["id"], &made["prompt_type"]),
        (201, &json!("new_one"), &json!("system"))
    );
    assert!(made["sanitized_message"].is_string(), "{made}");
    assert!(kit.text("new_one.md").ends_with("Hi"));
    // With a slash, and by the name that newer clients send.
    let (status, made) = kit.post("/", json!({"name": "other"})).await;
    assert_eq!(
        (status, &made["content"], &made["sanitized_message"]),
        (201, &json!(""), &Value::Null)
    );
    let (status, made) =
        kit.post("/fragments/", json!({"id": "polite", "content": "Please"})).await;
    assert_eq!((status, &made["kind"]), (201, &json!("fragment")));
    assert_eq!(kit.get("/fragments/polite").await.1["content"], "Please");
    for (body, status) in [
        (new, 400),
        (json!({"id": "joke"}), 400),
        (json!({"id": "x", "directory": "/elsewhere"}), 400),
        (json!({"id": "all"}), 400),
        (json!({"id": "ws"}), 400),
        (json!({"id": "history"}), 400),
        (json!({"id": "../out"}), 400),
        (json!({"id": "/etc/passwd"}), 400),
        (json!({"id": "a\u{0}b"}), 400),
        (json!({"content": "x"}), 422),
        (json!({"id": " "}), 422),
        (json!({"id": 5}), 422),
        (json!({"id": "x", "prompt_type": "other"}), 422),
    ] {
        let (answered, error) = kit.post("", body.clone()).await;
        assert_eq!(answered, status, "{body}: {error}");
        assert_eq!(error["detail"].is_array(), status == 422, "{body}: {error}");
    }
    assert!(!kit.folder.path().join("out.md").exists());
}

#[tokio::test]
async fn a_change_reaches_the_file_and_open_sockets() {
    let kit = sample().await;
    let (_, mut socket) = kit.edit("joke").await;
    let (status, joke) =
        kit.put("/joke", json!({"content": "New [[tone]]", "author": "Ada"})).await;
    assert_eq!((status, &joke["content"], &joke["rev"]), (200, &json!("New [[tone]]"), &json!(2)));
    assert_eq!((&joke["description"], &joke["merged"]), (&json!("Jokes"), &json!(false)));
    let update = socket.expect("update").await;
    assert_eq!((&update["content"], &update["author"]), (&json!("New [[tone]]"), &json!("Ada")));
    let change = json!({"description": "", "tags": ["a", "b"], "prompt_type": "user"});
    let (status, joke) = kit.put("/document?id=joke", change).await;
    assert_eq!(
        (status, &joke["tags"], &joke["prompt_type"]),
        (200, &json!(["a", "b"]), &json!("user"))
    );
    let metadata = socket.expect("update_metadata").await;
    assert_eq!(metadata["tags"], json!(["a", "b"]));
    // `null` and absent members change nothing, and make no revision.
    for body in [json!({}), json!({"content": null, "tags": null})] {
        assert_eq!(kit.put("/joke", body).await.1["rev"], joke["rev"]);
    }
    assert_eq!(kit.put("/nope", json!({"content": "x"})).await.0, 404);
    assert_eq!(
        kit.put("/fragments/brief", json!({"content": "Brief!"})).await.1["content"],
        "Brief!"
    );
    assert_eq!(kit.put("/joke", json!({"content": 7})).await.0, 422);
}

#[tokio::test]
async fn if_match_with_an_old_tag_is_412_with_the_current_document() {
    let kit = sample().await;
    let put = |tag: &str, content: &str| {
        let request = kit.call(Method::PUT, "/api/prompts/joke").header("if-match", tag);
        read(request.json(&json!({"content": content})))
    };
    let response = soon(kit.call(Method::GET, "/api/prompts/joke").send()).await.unwrap();
    assert_eq!(response.headers()["etag"], "\"1\"");
    let (status, joke) = put("\"1\"", "two").await;
    assert_eq!((status, &joke["rev"]), (200, &json!(2)));
    let (status, refused) = put("\"1\"", "lost?").await;
    assert_eq!((status, &refused["document"]["content"]), (412, &json!("two")));
    assert!(refused["detail"].is_string());
    for tag in ["\"x\"", "1", "W/\"1\""] {
        assert_eq!(put(tag, "lost?").await.0, 412, "{tag}");
    }
    assert_eq!(put("\"7\", \"2\"", "three").await.0, 200);
    assert_eq!(put("*", "four").await.0, 200);
    assert_eq!(kit.get("/joke").await.1["content"], "four");
    // What was refused is in the history all the same.
    let (_, history) = kit.get("/joke/history").await;
    let refused = history["revisions"].as_array().unwrap().iter();
    let refused: Vec<_> = refused.filter(|revision| revision["kind"] == "refused").collect();
    assert_eq!(refused.len(), 4, "{history}");
    let text = kit.get(&format!("/joke/history/{}", refused[0]["rev"])).await.1;
    assert_eq!(text["content"], "lost?");
}

#[tokio::test]
async fn a_change_with_its_base_is_merged() {
    let kit = kit(&[("joke.md", "one two three")]).await;
    kit.put("/joke", json!({"content": "one 2 three"})).await;
    let change = json!({"content": "one two 3", "base_rev": 1, "op": "o1"});
    let (status, merged) = kit.put("/joke", change.clone()).await;
    assert_eq!(
        (status, &merged["content"], &merged["merged"]),
        (200, &json!("one 2 3"), &json!(true))
    );
    let (status, again) = kit.put("/joke", change).await;
    assert_eq!((status, &again["rev"]), (200, &merged["rev"]), "the same `op`");
    let conflict = json!({"content": "one zwei three", "base_rev": 1, "on_conflict": "reject"});
    let (status, refused) = kit.put("/joke", conflict).await;
    assert_eq!((status, &refused["document"]["content"]), (409, &json!("one 2 3")));
    let overlap = json!({"content": "one zwei three", "base_rev": 1});
    let (status, merged) = kit.put("/joke", overlap).await;
    assert_eq!((status, &merged["conflicts"][0]["stored"]), (200, &json!("2")), "{merged}");
}

#[tokio::test]
async fn a_deleted_document_returns_with_its_history() {
    let kit = sample().await;
    kit.put("/joke", json!({"content": "New"})).await;
    let (status, deleted) = kit.send(Method::DELETE, "/joke", json!({})).await;
    assert_eq!((status, &deleted["success"], &deleted["id"]), (200, &json!(true), &json!("joke")));
    assert!(deleted["message"].is_string() && !kit.file("joke.md").exists());
    assert_eq!(kit.get("/joke").await.0, 404);
    assert_eq!(read(kit.call(Method::DELETE, "/api/prompts/joke")).await.0, 404, "without a body");
    let (status, history) = kit.get("/joke/history").await;
    assert_eq!((status, &history["revisions"][0]["kind"]), (200, &json!("delete")), "{history}");
    assert_eq!(kit.get("/joke/history/2").await.1["content"], "New");
    let (status, joke) = kit.post("/joke/undelete", json!({"author": "Ada"})).await;
    assert_eq!((status, &joke["content"]), (200, &json!("New")));
    assert!(kit.file("joke.md").exists());
    assert_eq!(kit.post("/undelete?id=joke", json!({})).await.0, 409);
    assert_eq!(kit.post("/undelete?id=nope", json!({})).await.0, 404);
}

#[tokio::test]
async fn a_long_history_has_further_pages_of_the_largest_size() {
    let kit = kit(&[("a.md", "0")]).await;
    let changes = (1..=1000).map(|number| {
        let change = Submission::content(number.to_string());
        kit.server.prompts().submit("a", None, change)
    });
    assert!(join_all(changes).await.iter().all(Result::is_ok));
    let (_, newest) = kit.get("/a/history?limit=1000").await;
    assert_eq!((newest["revisions"].as_array().unwrap().len(), &newest["next"]), (1000, &json!(2)));
    let (_, rest) = kit.get("/a/history?limit=1000&before=2").await;
    assert_eq!((&rest["revisions"][0]["rev"], rest.get("next")), (&json!(1), None));
}

#[tokio::test]
async fn history_diff_restore_and_labels() {
    let kit = sample().await;
    kit.put("/joke", json!({"content": "Second\n"})).await;
    kit.put("/joke", json!({"content": "Third\n", "author": "Ada"})).await;
    let (_, history) = kit.get("/joke/history?limit=2").await;
    let revs = |history: &Value| -> Vec<Value> {
        history["revisions"].as_array().unwrap().iter().map(|it| it["rev"].clone()).collect()
    };
    assert_eq!((revs(&history), &history["next"]), (vec![json!(3), json!(2)], &json!(2)));
    assert_eq!((&history["rev"], &history["id"]), (&json!(3), &json!("joke")));
    assert_eq!(history["revisions"][0]["author"], "Ada");
    let (_, rest) = kit.get("/history?id=joke&before=2").await;
    assert_eq!((revs(&rest), rest.get("next"), &rest["rev"]), (vec![json!(1)], None, &json!(3)));
    assert_eq!(kit.get("/joke/history?limit=0").await.0, 422);
    let (_, revision) = kit.get("/joke/history/1").await;
    assert_eq!(
        (&revision["text"], &revision["content"]),
        (&json!(JOKE), &json!("Tell a joke. [[tone]]"))
    );
    assert_eq!(kit.get("/history/1?id=joke").await.1, revision);
    let (_, diff) = kit.get("/joke/diff?from=2&to=3").await;
    let changes: Vec<_> = diff["lines"].as_array().unwrap().iter().map(|it| &it["op"]).collect();
    assert!(changes.contains(&&json!("insert")) && changes.contains(&&json!("delete")), "{diff}");
    assert_eq!(kit.get("/diff?id=joke").await.1, diff, "the last change is the default");
    assert_eq!(kit.get("/joke/diff?to=1").await.0, 400, "nothing before the first");
    assert_eq!(kit.get("/joke/diff?from=1&to=9").await.0, 404);
    // Labels.
    let label = kit.put("/joke/labels/production", json!({"rev": 2})).await;
    assert_eq!(label, (200, json!({"id": "joke", "label": "production", "rev": 2})));
    let (_, labelled) = kit.get("/joke?label=production").await;
    assert_eq!((&labelled["content"], &labelled["rev"]), (&json!("Second\n"), &json!(2)));
    assert_eq!(kit.get("/joke?rev=1").await.1["rev"], 1);
    assert_eq!(
        kit.get("/joke/history/production").await.1["revision"]["labels"],
        json!(["production"])
    );
    assert_eq!(
        kit.get("/labels?id=joke").await.1,
        json!({"id": "joke", "labels": {"production": 2}})
    );
    assert_eq!(kit.get("/joke").await.1["labels"], json!({"production": 2}));
    assert_eq!(kit.put("/joke/labels/x", json!({"rev": 99})).await.0, 404);
    assert_eq!(kit.put("/joke/labels/5x", json!({"rev": 1})).await.0, 400);
    assert_eq!(kit.put("/joke/labels/x", json!({})).await.0, 422);
    let removed = kit.send(Method::DELETE, "/labels/production?id=joke", json!({})).await;
    assert_eq!(removed, (200, json!({"id": "joke", "label": "production"})));
    assert_eq!(kit.send(Method::DELETE, "/joke/labels/production", json!({})).await.0, 404);
    // Restoring makes a new revision.
    let (status, restored) = kit.post("/joke/restore", json!({"rev": 1})).await;
    assert_eq!((status, &restored["rev"]), (200, &json!(4)));
    assert_eq!(kit.text("joke.md"), JOKE);
    assert_eq!(kit.post("/restore?id=joke", json!({"rev": 77})).await.0, 404);
}

#[tokio::test]
async fn a_rename_never_overwrites() {
    let kit = sample().await;
    let rename = json!({"old_id": "tone", "new_id": "voice tone", "update_references": true});
    let (status, renamed) = kit.post("/rename", rename).await;
    assert_eq!((status, &renamed["new_id"]), (200, &json!("voice_tone")));
    assert_eq!((&renamed["old_id"], &renamed["success"]), (&json!("tone"), &json!(true)));
    assert_eq!(renamed["updated"], json!(["joke"]));
    assert!(renamed["sanitized_message"].is_string() && renamed["message"].is_string());
    assert!(kit.text("joke.md").contains("[[voice_tone]]"));
    let before = kit.text("joke.md");
    for (body, status) in [
        (json!({"old_id": "joke", "new_id": "voice_tone"}), 409),
        (json!({"old_id": "nope", "new_id": "x"}), 404),
        (json!({"old_id": "joke"}), 400),
        (json!({"new_id": "x"}), 400),
        (json!({"old_id": "joke", "new_id": "all"}), 400),
        (json!({"old_id": "joke", "new_id": "../x"}), 400),
        (json!({"old_id": "joke", "new_id": ["x"]}), 422),
    ] {
        let (answered, error) = kit.post("/rename", body.clone()).await;
        assert_eq!(answered, status, "{body}: {error}");
    }
    assert_eq!(kit.text("joke.md"), before);
    let by_name = json!({"old_id": "joke", "new_name": "jest", "content": "Hi", "tags": ["x"]});
    assert_eq!(kit.post("/rename", by_name).await.0, 200);
    let (_, jest) = kit.get("/jest").await;
    assert_eq!((&jest["content"], &jest["tags"]), (&json!("Hi"), &json!(["x"])));
}

#[tokio::test]
async fn names_references_and_reloading() {
    let kit = sample().await;
    let (status, suggestions) = kit.get("/search_suggestions?query=o&exclude=tone").await;
    assert_eq!((status, ids(&suggestions)), (200, vec!["joke"]));
    assert_eq!(members(&suggestions[0]), ["display_name", "id", "kind"]);
    assert_eq!(kit.get("/search_suggestions").await.1.as_array().unwrap().len(), 4);
    let (_, references) = kit.get("/tone/referenced_by").await;
    assert_eq!(ids(&references), ["dad", "joke"], "direct and indirect");
    assert_eq!(members(&references[0]), ["description", "directory", "id"]);
    assert_eq!(kit.get("/referenced_by?id=tone").await.1, references);
    std::fs::write(kit.file("fresh.md"), "x").unwrap();
    let (status, reloaded) = kit.post("/reload", json!({})).await;
    assert_eq!((status, &reloaded["count"], &reloaded["success"]), (200, &json!(4), &json!(true)));
    assert_eq!(kit.post("/fragments/reload", json!({})).await.1["count"], 1);
    for path in ["/reload", "/fragments/reload"] {
        assert_eq!(kit.post(path, json!([])).await.0, 422, "{path}");
    }
    assert_eq!(kit.get("/fresh").await.0, 200);
}

#[tokio::test]
async fn directories_are_registered_changed_and_removed() {
    let kit = sample().await;
    let more = kit.folder.path().join("more");
    std::fs::create_dir(&more).unwrap();
    std::fs::write(more.join("extra.md"), "x").unwrap();
    let more = more.canonicalize().unwrap();
    let path = more.to_str().unwrap();
    let (status, added) = kit.post("/directories", json!({"path": path, "description": "d"})).await;
    let expected = json!({"path": path, "name": "more", "description": "d", "enabled": true});
    assert_eq!((status, &added), (200, &expected));
    assert_eq!(kit.post("/directories", json!({"path": path})).await.0, 400, "twice");
    assert_eq!(kit.post("/directories", json!({"path": "/etc"})).await.0, 400);
    assert_eq!(kit.post("/directories", json!({})).await.0, 422);
    let (_, all) = kit.get("/directories/all").await;
    assert_eq!(all.as_array().unwrap().len(), 2);
    assert_eq!(all[1], expected);
    let encoded = path.replace('/', "%2F");
    let below = format!("/directories/{encoded}");
    assert_eq!(kit.put(&below, json!({"name": "extra texts"})).await.1["name"], "extra texts");
    assert_eq!(ids(&kit.get(&format!("{below}/prompts")).await.1), ["extra"]);
    let (status, reloaded) = kit.post(&format!("{below}/reload"), json!({})).await;
    assert_eq!((status, &reloaded["count"]), (200, &json!(1)));
    let (status, toggled) = kit.post(&format!("{below}/toggle"), json!({})).await;
    let expected = json!({"success": true, "path": path, "enabled": false, "affected_prompts": 1});
    assert_eq!((status, toggled), (200, expected));
    assert_eq!(kit.get("/extra").await.0, 404);
    let (_, toggled) = kit.post(&format!("{below}/toggle"), json!({"enabled": true})).await;
    assert_eq!((&toggled["enabled"], &toggled["affected_prompts"]), (&json!(true), &json!(1)));
    assert_eq!(kit.get("/extra").await.0, 200);
    let removed = kit.send(Method::DELETE, &below, json!({})).await;
    assert_eq!(removed, (200, json!({"success": true, "path": path})));
    assert!(more.join("extra.md").exists(), "files stay");
    for (method, path) in [
        (Method::PUT, "/directories/nope"),
        (Method::DELETE, "/directories/nope"),
        (Method::POST, "/directories/nope/toggle"),
        (Method::POST, "/directories/nope/reload"),
    ] {
        let (status, body) = kit.send(method, path, json!({})).await;
        assert_eq!(
            (status, body),
            (404, json!({"detail": "Directory 'nope' not found"})),
            "{path}"
        );
    }
    let root = kit.folder.path().canonicalize().unwrap();
    let partial = format!("{}/mo", root.display());
    let (status, completion) =
        kit.post("/filesystem/complete_path", json!({"partial_path": partial})).await;
    assert_eq!((status, &completion["is_directory"]), (200, &json!(true)), "{completion}");
    assert!(completion["completed_path"].as_str().unwrap().starts_with(path), "{completion}");
    let (_, outside) = kit.post("/filesystem/complete_path", json!({"partial_path": "/et"})).await;
    assert_eq!(outside["suggestions"], json!([]), "only below allowed roots");
}

#[tokio::test]
async fn a_server_that_is_read_only_refuses_changes() {
    let read_only = |mut options: oxikit_prompts::PromptsOptions| {
        options.is_read_only = true;
        options
    };
    let kit = kit_with(&[("joke.md", "x")], read_only, |server| server).await;
    assert_eq!(kit.get("/joke").await.0, 200);
    for (method, path, body) in [
        (Method::PUT, "/joke", json!({"content": "y"})),
        (Method::POST, "", json!({"id": "new"})),
        (Method::DELETE, "/joke", json!({})),
        (Method::POST, "/rename", json!({"old_id": "joke", "new_id": "x"})),
        (Method::POST, "/joke/restore", json!({"rev": 1})),
        (Method::PUT, "/joke/labels/x", json!({"rev": 1})),
    ] {
        let (status, error) = kit.send(method, path, body).await;
        assert_eq!(status, 403, "{path}: {error}");
        assert!(error["detail"].as_str().unwrap().contains("read-only"), "{error}");
    }
    let (_, mut socket) = kit.edit("joke").await;
    let status = socket.update("y").await;
    assert_eq!(
        (&status["success"], &status["error"]["code"]),
        (&json!(false), &json!("read_only"))
    );
    assert_eq!(kit.text("joke.md"), "x");
}

#[tokio::test]
async fn the_feed_reports_changes_and_continues_after_a_loss() {
    let kit = sample().await;
    let open = |last: Option<String>| {
        let mut request = kit.call(Method::GET, "/api/prompts/changes");
        if let Some(last) = last {
            request = request.header("last-event-id", last);
        }
        async { Events { response: soon(request.send()).await.unwrap(), text: String::new() } }
    };
    let mut events = open(None).await;
    assert_eq!(events.response.headers()["content-type"], "text/event-stream");
    kit.put("/joke", json!({"content": "New"})).await;
    let (id, event) = events.next().await;
    assert_eq!((&event["change"], &event["id"]), (&json!("updated"), &json!("joke")));
    assert_eq!((&event["rev"], &event["kind"]), (&json!(2), &json!("prompt")));
    drop(events);
    kit.post("", json!({"id": "fresh"})).await;
    kit.post("/rename", json!({"old_id": "fresh", "new_id": "ripe"})).await;
    kit.send(Method::DELETE, "/ripe", json!({})).await;
    let mut events = open(Some(id)).await;
    let mut seen = Vec::new();
    for _ in 0..3 {
        let event = events.next().await.1;
        seen.push((event["change"].clone(), event["id"].clone(), event["old_id"].clone()));
    }
    let expected = [
        (json!("created"), json!("fresh"), Value::Null),
        (json!("renamed"), json!("ripe"), json!("fresh")),
        (json!("deleted"), json!("ripe"), Value::Null),
    ];
    assert_eq!(seen, expected);
    // A position of another start of the server.
    let mut events = open(Some("other-5".to_owned())).await;
    assert_eq!(events.next().await.1, json!({"change": "reload"}));
    let ended = kit.get("/changes?seconds=0").await;
    assert_eq!(ended.0, 200);
}

/// The events of a stream.
struct Events {
    response: reqwest::Response,
    text: String,
}

impl Events {
    /// The position and the data of the next event.
    async fn next(&mut self) -> (String, Value) {
        loop {
            while let Some((block, rest)) = self.text.split_once("\n\n") {
                let line = |name: &str| block.lines().find_map(|line| line.strip_prefix(name));
                let found = line("id: ").zip(line("data: "));
                let found = found.map(|(id, data)| (id.to_owned(), serde_json::from_str(data)));
                self.text = rest.to_owned();
                if let Some((id, data)) = found {
                    return (id, data.unwrap());
                }
            }
            let chunk = soon(self.response.chunk()).await.unwrap().expect("the stream has ended");
            self.text.push_str(std::str::from_utf8(&chunk).unwrap());
        }
    }
}
