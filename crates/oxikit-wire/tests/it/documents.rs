use oxikit_wire::{
    Document, EmbedRequest, EmbedResponse, EmbedderInfo, IndexRequest, RankedDocument,
    RerankRequest, RerankResponse, RetrieveRequest, RetrieveResponse,
};

use crate::sample::{check_refuses, check_wire};

#[test]
fn documents_keep_their_notes() {
    check_wire::<Document>(
        r#"{"content":[{"text":"doc one"}],"metadata":{"ref":"R1","deep":{"a":[null]}}}"#,
    );
    check_wire::<Document>(r#"{"content":[]}"#);
    check_refuses::<Document>(r#"{"metadata":{}}"#);
}

#[test]
fn embedders_answer_with_vectors() {
    check_wire::<EmbedRequest>(r#"{"input":[{"content":[{"text":"a"}]}],"options":{"dim":2}}"#);
    check_wire::<EmbedResponse>(
        r#"{"embeddings":[{"embedding":[0.0,1.0,-0.25]},{"embedding":[],"metadata":{"part":1}}]}"#,
    );
    check_wire::<EmbedderInfo>(
        r#"{"dimensions":2,"label":"Echo","supports":{"input":["text"],"multilingual":true}}"#,
    );
    // Written without a point by JavaScript.
    let response: EmbedResponse =
        serde_json::from_str(r#"{"embeddings":[{"embedding":[0,1]}]}"#).unwrap();
    assert_eq!(response.embeddings[0].embedding, [0.0, 1.0]);
}

#[test]
fn retrievers_and_indexers_take_and_give_documents() {
    check_wire::<RetrieveRequest>(r#"{"query":{"content":[{"text":"q"}]},"options":{"k":3}}"#);
    check_wire::<RetrieveResponse>(r#"{"documents":[{"content":[{"text":"d"}]}]}"#);
    check_wire::<IndexRequest>(r#"{"documents":[{"content":[{"text":"d"}]}],"options":{}}"#);
}

#[test]
fn a_ranked_document_keeps_its_notes_beside_the_score() {
    check_wire::<RerankRequest>(
        r#"{"query":{"content":[{"text":"q"}]},"documents":[],"options":{"n":1}}"#,
    );
    check_wire::<RerankResponse>(
        r#"{"documents":[{"content":[{"text":"d"}],"metadata":{"score":0.5,"ref":"R1","deep":{"a":[1,null]},"none":null}}]}"#,
    );
    check_refuses::<RankedDocument>(r#"{"content":[],"metadata":{"ref":"R1"}}"#);
}
