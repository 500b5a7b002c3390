//! Embedders, retrievers, indexers, rerankers and the vector store in memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use oxikit::{
    Call, Document, EmbedRequest, EmbedResponse, Embedder, Embedding, IndexRequest, Oxikit,
    RankedDocument, RerankRequest, Result, RetrieveRequest, StatusCode, offline_embedder,
};
use serde_json::{Value, json};

fn app() -> Oxikit {
    let ai = Oxikit::builder().build().unwrap();
    ai.define_embedder(letters());
    ai
}

/// Counts a, b and c.
fn letters() -> Embedder {
    Embedder::builder("acme/letters").dimensions(3).label("Letters").handler(
        |request: EmbedRequest| async move {
            let count = |text: &str, letter: char| text.matches(letter).count() as f32;
            let embed = |text: String| ['a', 'b', 'c'].map(|letter| count(&text, letter)).to_vec();
            Ok(request.input.iter().map(|doc| embed(doc.to_text())).collect::<Vec<_>>())
        },
    )
}

fn texts(documents: &[Document]) -> Vec<String> {
    documents.iter().map(Document::to_text).collect()
}

#[tokio::test]
async fn an_embedder_is_listed_and_run_as_the_developer_tools_expect() -> Result<()> {
    let ai = app();
    let action = ai.registry().get("/embedder/acme/letters").unwrap();
    assert_eq!(
        json!(action.descriptor().metadata),
        json!({
            "type": "embedder",
            "info": { "label": "Letters", "dimensions": 3 },
            "embedder": {},
        })
    );
    let input = json!({ "input": [{ "content": [{ "text": "abba" }] }] });
    let output = action.run(Call::new(input)).await?.to_value()?;
    assert_eq!(output, json!({ "embeddings": [{ "embedding": [2.0, 2.0, 0.0] }] }));
    Ok(())
}

#[tokio::test]
async fn texts_and_documents_are_embedded_one_by_one_or_many_at_once() -> Result<()> {
    let ai = app();
    assert_eq!(ai.embed("acme/letters", "cab").await?, [1.0, 1.0, 1.0]);
    assert_eq!(ai.embed("acme/letters", Document::text("aa")).await?, [2.0, 0.0, 0.0]);
    let many = ai.embed_many("acme/letters", ["a", "b"]).await?;
    assert_eq!(many, [Embedding::from(vec![1.0, 0.0, 0.0]), Embedding::from(vec![0.0, 1.0, 0.0])]);
    Ok(())
}

#[tokio::test]
async fn options_reach_the_embedder_and_its_metadata_comes_back() -> Result<()> {
    let ai = Oxikit::builder().build().unwrap();
    let embedder =
        ai.define_embedder(Embedder::builder("opt").handler(|request: EmbedRequest| async move {
            let scale = request.options.and_then(|options| options["scale"].as_f64());
            let mut vector = Embedding::from(vec![scale.unwrap_or(1.0) as f32]);
            vector.metadata = json!({ "kind": "text" }).as_object().cloned();
            Ok(EmbedResponse { embeddings: vec![vector] })
        }));
    assert_eq!(ai.embed(&embedder, "x").options(json!({ "scale": 2 })).await?, [2.0]);
    let many = ai.embed_many(&embedder, ["x"]).options(json!({ "scale": 3 })).await?;
    assert_eq!(json!(many), json!([{ "embedding": [3.0], "metadata": { "kind": "text" } }]));
    Ok(())
}

#[tokio::test]
async fn an_unknown_name_is_not_found_and_the_developer_reads_which_there_are() {
    let ai = app();
    let status = ai.embed("acme/leters", "x").await.unwrap_err();
    assert_eq!(status.code(), StatusCode::NotFound);
    assert!(status.to_string().contains("did you mean `acme/letters`?"), "{status}");
    assert!(!status.outgoing().message.contains("acme/letters"), "{status}");

    let status = ai.retrieve("nowhere", "x").await.unwrap_err();
    assert_eq!(status.code(), StatusCode::NotFound);
    assert!(status.to_string().contains("none is defined"), "{status}");
    assert_eq!(ai.index("nowhere", ["x"]).await.unwrap_err().code(), StatusCode::NotFound);
    assert_eq!(ai.rerank("nowhere", "x", ["y"]).await.unwrap_err().code(), StatusCode::NotFound);
}

#[tokio::test]
async fn an_embedder_that_answers_too_many_vectors_is_an_error() {
    let ai = Oxikit::builder().build().unwrap();
    ai.define_embedder(
        Embedder::builder("two")
            .handler(|_: EmbedRequest| async { Ok(vec![vec![1.0_f32], vec![2.0]]) }),
    );
    let status = ai.embed("two", "x").await.unwrap_err();
    assert_eq!(
        status.message(),
        "embedder `two` answered 2 vectors for one document; `embed_many` takes as many as there are"
    );
}

#[tokio::test]
async fn k_and_options_reach_the_retriever_as_one_object() -> Result<()> {
    let ai = Oxikit::builder().build().unwrap();
    ai.define_retriever("echo", |request: RetrieveRequest| async move {
        Ok(vec![Document::text(json!(request).to_string())])
    });
    let check = async |call: oxikit::RetrieveCall, expected: Value| -> Result<()> {
        let request: Value = serde_json::from_str(&call.await?[0].to_text())?;
        assert_eq!(request["options"], expected);
        Ok(())
    };
    check(ai.retrieve("echo", "x"), Value::Null).await?;
    check(ai.retrieve("echo", "x").k(2), json!({ "k": 2 })).await?;
    let options = json!({ "where": "here", "k": 1 });
    check(ai.retrieve("echo", "x").options(options).k(2), json!({ "where": "here", "k": 2 }))
        .await?;

    let status = ai.retrieve("echo", "x").options("all").k(2).await.unwrap_err();
    assert_eq!(status.code(), StatusCode::InvalidArgument);
    Ok(())
}

#[tokio::test]
async fn an_indexer_takes_the_documents_and_a_reranker_orders_them() -> Result<()> {
    let ai = Oxikit::builder().build().unwrap();
    let seen = Arc::new(AtomicUsize::new(0));
    let counter = seen.clone();
    let indexer = ai.define_indexer("count", move |request: IndexRequest| {
        counter.fetch_add(request.documents.len(), Ordering::Relaxed);
        async { Ok(()) }
    });
    ai.index(&indexer, ["a", "b"]).await?;
    assert_eq!(seen.load(Ordering::Relaxed), 2);
    let listed = json!(indexer.action().descriptor().metadata);
    assert_eq!(listed, json!({ "type": "indexer", "indexer": {} }));

    let reranker = ai.define_reranker("longest", |request: RerankRequest| async move {
        let score = |document: &Document| document.to_text().len() as f64;
        let ranked = |document: Document| RankedDocument::new(document.clone(), score(&document));
        let mut ranked: Vec<_> = request.documents.into_iter().map(ranked).collect();
        ranked.sort_by(|a, b| b.score().total_cmp(&a.score()));
        Ok(ranked)
    });
    let documents = [Document::text("ab").with_metadata("id", 1), Document::text("abcd")];
    assert_eq!(
        json!(ai.rerank(&reranker, "x", documents).await?),
        json!([
            { "content": [{ "text": "abcd" }], "metadata": { "score": 4.0 } },
            { "content": [{ "text": "ab" }], "metadata": { "score": 2.0, "id": 1 } },
        ])
    );
    let listed = json!(reranker.action().descriptor().metadata);
    assert_eq!(listed, json!({ "type": "reranker", "reranker": {} }));
    Ok(())
}

#[tokio::test]
async fn the_vector_store_finds_the_three_nearest_by_default() -> Result<()> {
    let ai = app();
    let store = ai.define_memory_vector_store("docs", "acme/letters");
    assert!(ai.retrieve("docs", "a").await?.is_empty());
    ai.index(&store, ["aaa", "bbb", "ccc", "aab", "abc"]).await?;
    assert_eq!(store.len(), 5);
    assert_eq!(texts(&ai.retrieve(&store, "a").await?), ["aaa", "aab", "abc"]);
    assert_eq!(texts(&ai.retrieve(&store, "b").k(1).await?), ["bbb"]);
    assert_eq!(ai.retrieve(&store, "b").k(1000).await?.len(), 5);
    let near = ai.retrieve(&store, "c").options(json!({ "minScore": 0.9 })).await?;
    assert_eq!(near, [Document::text("ccc").with_metadata("score", 1.0)]);
    store.clear();
    assert!(store.is_empty());
    Ok(())
}

#[tokio::test]
async fn the_vector_store_lists_a_retriever_with_options_and_an_indexer() {
    let ai = app();
    let store = ai.define_memory_vector_store("docs", "acme/letters");
    let metadata = json!(store.retriever().action().descriptor().metadata);
    assert_eq!(metadata["type"], "retriever");
    assert_eq!(metadata["info"], json!({ "label": "docs (in memory)" }));
    let members = &metadata["retriever"]["customOptions"]["properties"];
    assert!(members["k"].is_object() && members["minScore"].is_object(), "{metadata}");
    assert!(ai.registry().get("/indexer/docs").is_some());
}

#[tokio::test]
async fn a_k_out_of_bounds_and_unknown_options_are_refused() {
    let ai = app();
    ai.define_memory_vector_store("docs", "acme/letters");
    let check = async |call: oxikit::RetrieveCall, expected: &str| {
        let status = call.await.unwrap_err();
        assert_eq!(status.code(), StatusCode::InvalidArgument);
        assert!(status.message().contains(expected), "{status}");
    };
    check(ai.retrieve("docs", "a").k(0), "`k` is 0; it can be 1 to 1000").await;
    check(ai.retrieve("docs", "a").k(1001), "`k` is 1001; it can be 1 to 1000").await;
    check(ai.retrieve("docs", "a").options(json!({ "k": "many" })), "do not fit").await;
}

#[tokio::test]
async fn a_batch_with_a_vector_of_another_length_is_refused_as_a_whole() -> Result<()> {
    let ai = Oxikit::builder().build().unwrap();
    ai.define_embedder(Embedder::builder("uneven").handler(|request: EmbedRequest| async move {
        let embed = |document: &Document| vec![1.0_f32; document.to_text().len()];
        Ok(request.input.iter().map(embed).collect::<Vec<_>>())
    }));
    let store = ai.define_memory_vector_store("docs", "uneven");
    ai.index("docs", ["ab"]).await?;
    let status = ai.index("docs", ["cd", "xyz"]).await.unwrap_err();
    assert_eq!(status.code(), StatusCode::FailedPrecondition);
    assert_eq!(
        status.message(),
        "vector store `docs` cannot use what embedder `uneven` answered: \
         a vector has 3 numbers, the others have 2"
    );
    assert_eq!(store.len(), 1);
    let status = ai.retrieve("docs", "xyz").await.unwrap_err();
    assert_eq!(status.code(), StatusCode::FailedPrecondition);
    Ok(())
}

#[tokio::test]
async fn many_documents_are_embedded_in_batches() -> Result<()> {
    let ai = Oxikit::builder().build().unwrap();
    let calls = Arc::new(AtomicUsize::new(0));
    let counter = calls.clone();
    ai.define_embedder(Embedder::builder("count").handler(move |request: EmbedRequest| {
        counter.fetch_add(1, Ordering::Relaxed);
        async move { Ok(vec![vec![1.0_f32, 2.0]; request.input.len()]) }
    }));
    let store = ai.define_memory_vector_store("docs", "count");
    ai.index("docs", (0..250).map(|n| n.to_string())).await?;
    assert_eq!((store.len(), calls.load(Ordering::Relaxed)), (250, 3));
    Ok(())
}

#[tokio::test]
async fn the_offline_embedder_likens_texts_that_share_words() -> Result<()> {
    let ai = Oxikit::builder().build().unwrap();
    let embedder = ai.define_embedder(offline_embedder());
    let store = ai.define_memory_vector_store("docs", &embedder);
    ai.index(&store, ["Green tea is brewed at 80 degrees.", "Coffee beans are roasted."]).await?;
    let found = ai.retrieve(&store, "how hot is green tea?").k(1).await?;
    assert_eq!(texts(&found), ["Green tea is brewed at 80 degrees."]);
    assert_eq!(ai.embed(&embedder, "").await?, vec![0.0; 256]);
    Ok(())
}
