//! Inclusion and preview over HTTP: every case of the table, bounded in time and size.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::http_kit::kit;

#[tokio::test]
async fn every_case_of_inclusion_is_answered_as_the_table_says() {
    let mut files = vec![
        ("loop-a.md".to_owned(), "A [[loop-b]]".to_owned()),
        ("loop-b.md".to_owned(), "B [[loop-a]]".to_owned()),
        ("self.md".to_owned(), "S [[self]]".to_owned()),
        ("leaf.md".to_owned(), "leaf".to_owned()),
        ("left.md".to_owned(), "L [[leaf]]".to_owned()),
        ("right.md".to_owned(), "R [[leaf]]".to_owned()),
        ("diamond.md".to_owned(), "[[left]] [[right.md]] {{name}}".to_owned()),
        ("lost.md".to_owned(), "[[nobody]]".to_owned()),
    ];
    files
        .extend((0..12).map(|level| {
            (format!("level-{level}.md"), format!("{level} [[level-{}]]", level + 1))
        }));
    files.push(("level-12.md".to_owned(), "end".to_owned()));
    let files: Vec<_> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let kit = kit(&files).await;
    let expand = async |id: &str| {
        let (status, answer) = kit.post("/expand", json!({"prompt_id": id})).await;
        assert_eq!(status, 200, "{answer}");
        assert_eq!(answer["expanded"], answer["expanded_content"]);
        let texts = |name: &str| -> Vec<String> {
            let texts = answer[name].as_array().unwrap().iter();
            texts.map(|text| text.as_str().unwrap().to_owned()).collect()
        };
        let text = answer["expanded"].as_str().unwrap().to_owned();
        (text, texts("dependencies"), texts("warnings"))
    };
    let (text, dependencies, warnings) = expand("loop-a").await;
    assert!(
        text.contains("[[CIRCULAR DEPENDENCY: loop-a]]")
            || text.contains("[[SELF-REFERENCE: loop-a]]"),
        "{text}"
    );
    assert_eq!((dependencies, warnings.len()), (vec!["loop-b".to_owned()], 1));
    let (text, _, warnings) = expand("self").await;
    assert_eq!((text.as_str(), warnings.len()), ("S [[SELF-REFERENCE: self]]", 1));
    let (text, dependencies, warnings) = expand("diamond").await;
    assert_eq!(text, "L leaf R leaf {{name}}");
    assert_eq!(dependencies, ["left", "leaf", "right"]);
    assert!(warnings.is_empty(), "{warnings:?}");
    let (text, dependencies, warnings) = expand("lost").await;
    assert_eq!(
        (text.as_str(), dependencies.len(), warnings.len()),
        ("[[PROMPT NOT FOUND: nobody]]", 0, 1)
    );
    let (text, _, warnings) = expand("level-0").await;
    assert!(text.contains("[[level-") && !text.contains("end") && warnings.len() == 1, "{text}");
    // A draft, with a document as its root, and without one.
    let draft = json!({"content": "[[self]] [[leaf]]", "prompt_id": "self"});
    let (_, answer) = kit.post("/expand", draft).await;
    assert_eq!(answer["expanded"], "[[SELF-REFERENCE: self]] leaf");
    assert_eq!(answer["revs"], json!({"leaf": 1}));
    assert_eq!(answer["spans"], json!([{"start": 25, "end": 29, "id": "leaf"}]));
    assert!(answer.get("expanded_content").is_none());
    assert_eq!(kit.post("/expand", json!({"content": "[[leaf]]"})).await.1["expanded"], "leaf");
    assert_eq!(kit.post("/expand", json!({"prompt_id": "nope"})).await.0, 404);
    assert_eq!(kit.post("/expand", json!({})).await.0, 422);
    for path in ["/diamond/render", "/render?id=diamond"] {
        let (status, rendered) = kit.get(path).await;
        assert_eq!((status, &rendered["rendered"]), (200, &json!("L leaf R leaf {{name}}")));
        assert_eq!(rendered["original"], "[[left]] [[right.md]] {{name}}");
        assert!(rendered["prompt_type"].is_string(), "{rendered}");
    }
}

#[tokio::test]
async fn an_inclusion_bomb_is_stopped() {
    // Ten levels of ten inclusions each would be 10,000,000,000 texts.
    let mut files = Vec::new();
    for level in 0..10 {
        let mut text = String::new();
        for _ in 0..10 {
            write!(text, "[[bomb-{}]]", level + 1).unwrap();
        }
        files.push((format!("bomb-{level}.md"), text));
    }
    files.push(("bomb-10.md".to_owned(), "boom ".repeat(1000)));
    let files: Vec<_> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let kit = kit(&files).await;
    let started = Instant::now();
    let (status, answer) = kit.post("/expand", json!({"prompt_id": "bomb-0"})).await;
    assert_eq!(status, 200);
    assert!(!answer["warnings"].as_array().unwrap().is_empty());
    assert!(answer["expanded"].as_str().unwrap().len() <= 9 << 20);
    // Without optimisation, and beside other tests.
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    let (_, mut socket) = kit.edit("bomb-0").await;
    socket.send(json!({"action": "expand", "content": "[[bomb-0]]"})).await;
    assert!(!socket.expect("expanded").await["warnings"].as_array().unwrap().is_empty());
}

#[tokio::test]
async fn a_preview_shows_the_messages_that_a_model_would_get() {
    let prompt = "---\nmodel: demo/model\nconfig:\n  temperature: 0.5\n---\n\
        {{role \"system\"}}[[tone]]\n{{role \"user\"}}Tell a joke about {{topic}}.";
    let kit = kit(&[("joke.prompt", prompt), ("tone.md", "Be {{mood}}."), ("x.md", "x")]).await;
    let request = json!({"id": "joke", "variables": {"topic": "tea", "mood": "kind"}});
    let (status, preview) = kit.post("/preview", request).await;
    assert_eq!(status, 200, "{preview}");
    let messages = json!([
        {"role": "system", "content": [{"text": "Be kind.\n"}]},
        {"role": "user", "content": [{"text": "Tell a joke about tea."}]},
    ]);
    assert_eq!(preview["messages"], messages, "{preview}");
    assert_eq!(
        (&preview["model"], &preview["config"]),
        (&json!("demo/model"), &json!({"temperature": 0.5}))
    );
    assert_eq!(preview["dependencies"], json!(["tone"]));
    assert_eq!(preview["variables"], json!(["mood", "topic"]));
    assert!(preview["expanded"].as_str().unwrap().contains("Be {{mood}}."));
    // A draft that cannot be rendered is answered with its error.
    let (status, broken) = kit.post("/preview", json!({"id": "joke", "content": "{{#if"})).await;
    assert_eq!((status, broken["error"].is_string()), (200, true), "{broken}");
    assert!(broken.get("messages").is_none());
    assert_eq!(kit.post("/preview", json!({"id": "nope"})).await.0, 404);
    assert_eq!(kit.post("/preview", json!({"content": "x"})).await.0, 422);
}
