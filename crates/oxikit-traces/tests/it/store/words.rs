//! Search for words.

use proptest::prelude::*;
use serde_json::json;

use super::{child, folder, list, open, put, query, span};
use oxikit_traces::TraceStore;

async fn find(store: &TraceStore, text: &str) -> Vec<String> {
    list(store, &query(|query| query.text = Some(text.to_owned()))).await
}

#[tokio::test]
async fn words_are_found_in_names_values_and_errors() {
    let folder = folder();
    let store = open(&folder);
    let output =
        json!({"message": {"content": [{"text": "The quick-brown FOX_jumps, naïve Übung 42.5"}]}});
    let mut root = span(
        "t",
        "root",
        2000.0,
        json!({"genkit:output": output.to_string(), "list": ["deep", 7]}),
    );
    root["displayName"] = "checkout/cart".into();
    root["status"] = json!({"code": 2, "message": "ECONNRESET by peer"});
    put(&store, &root).await;
    put(&store, &child("t", "inner", 0.0, json!({"x": "runs"}))).await;
    put(&store, &span("u", "root", 2000.0, json!({"x": "东京タワー quick"}))).await;
    let check = async |text: &str, expected: &[&str]| {
        assert_eq!(find(&store, text).await, expected, "{text}")
    };
    check("fox", &["t"]).await;
    check("FOX jumps", &["t"]).await;
    check("fox_jumps", &["t"]).await;
    check("quick", &["u", "t"]).await;
    check("quick-brown", &["t"]).await;
    check("übung NAÏVE", &["t"]).await;
    check("42", &["t"]).await;
    check("deep 7", &["t"]).await;
    check("cart", &["t"]).await;
    check("econnreset", &["t"]).await;
    check("econn", &[]).await;
    check("econn*", &["t"]).await;
    check("quick fox", &["t"]).await;
    check("quick absent", &[]).await;
    check("京", &["u"]).await;
    check("タワー", &["u"]).await;
    check("runs", &[]).await;
    put(&store, &child("t", "inner", 2000.0, json!({"x": "runs"}))).await;
    check("runs", &["t"]).await;
    put(&store, &child("t", "inner", 2000.0, json!({"x": "changed"}))).await;
    check("runs", &[]).await;
    check("changed", &["t"]).await;
    for text in ["", " ", "*", "\"", "'", "--", "{}", "\0", "…"] {
        check(text, &[]).await;
    }
    assert!(store.delete("t").await.unwrap());
    check("fox", &[]).await;
    check("quick", &["u"]).await;
}

/// Words are kept in memory until they are in the index; another store has to read them from
/// the rows, and may have put them into the index meanwhile.
#[tokio::test]
async fn the_words_of_a_span_that_ends_again_replace_the_former_ones() {
    let folder = folder();
    let (store, other) = (open(&folder), open(&folder));
    let put_words = async |store: &TraceStore, id: &str, words: &str| {
        put(store, &span(id, "root", 2000.0, json!({"x": words}))).await;
    };
    put_words(&store, "a", "first").await;
    put_words(&store, "a", "second").await;
    assert_eq!((find(&store, "first").await, find(&store, "second").await.len()), (vec![], 1));
    put_words(&store, "a", "third").await;
    assert_eq!((find(&store, "second").await, find(&store, "third").await.len()), (vec![], 1));

    put_words(&store, "b", "fourth").await;
    assert_eq!(find(&other, "fourth").await, ["b"]);
    put_words(&other, "b", "fifth").await;
    assert_eq!((find(&store, "fourth").await, find(&store, "fifth").await.len()), (vec![], 1));
    // Its number is given again, by the other store, while this one keeps its words.
    put_words(&store, "c", "sixth").await;
    assert!(other.delete("c").await.unwrap());
    put_words(&other, "d", "seventh").await;
    assert_eq!((find(&store, "sixth").await, find(&store, "seventh").await.len()), (vec![], 1));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Whatever is typed is an answer, and every span is found by its own text.
    #[test]
    fn no_text_is_an_error(text in any::<String>(), more in "[\"*^:(){}a-zA-Z0-9+ 'NEAR AND OR NOT-]{0,40}") {
        let folder = folder();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let store = open(&folder);
            for value in [&text, &more] {
                put(&store, &span("t", "root", 2000.0, json!({"x": value}))).await;
                let found = find(&store, value).await;
                // A word may be too long to be one; then there may be none at all.
                let has_word = value.split(|c: char| !c.is_alphanumeric()).any(|word| (1..=40).contains(&word.len()));
                if has_word && !value.contains('*') {
                    assert_eq!(found, ["t"], "{value:?}");
                }
            }
        });
    }
}
