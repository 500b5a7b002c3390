//! Gemini's embedders.
//!
//! They are not called through rig, which asks every unknown model for 768 dimensions and
//! does not support `taskType` and `title`, without which the vectors of a retriever
//! are worse.

use bytes::Bytes;
use oxikit_ai::wire::{EmbedderInfo, JsonObject};
use oxikit_ai::{Result, Status};
use rig_core::error::ProviderError;
use rig_core::http_client::{HttpClientExt, Request};
use serde::Deserialize;
use serde_json::{Value, json};

use super::with_key;
use crate::provider::EmbedCall;

pub(super) const WELL_KNOWN: &str = "gemini-embedding-001";

/// Maximum number of texts in one request; Google refuses more.
const BATCH: usize = 100;

#[derive(Deserialize)]
struct Answer {
    embeddings: Vec<Vector>,
}

#[derive(Deserialize)]
struct Vector {
    values: Vec<f32>,
}

pub(super) fn info(model: &str) -> EmbedderInfo {
    EmbedderInfo {
        label: Some(format!("Google AI - {model}")),
        dimensions: (model == WELL_KNOWN).then_some(3072),
        supports: Some(JsonObject::from_iter([("input".to_owned(), json!(["text"]))])),
    }
}

pub(super) async fn embed(call: EmbedCall) -> Result<Vec<Vec<f32>>> {
    let mut vectors = Vec::with_capacity(call.texts.len());
    for texts in call.texts.chunks(BATCH) {
        vectors.extend(embed_batch(&call, texts).await?);
    }
    Ok(vectors)
}

async fn embed_batch(call: &EmbedCall, texts: &[String]) -> Result<Vec<Vec<f32>>> {
    let requests: Vec<Value> = texts.iter().map(|text| one(call, text)).collect();
    let (base_url, model) = (&call.link.base_url, &call.model);
    let request = Request::post(format!("{base_url}/v1beta/models/{model}:batchEmbedContents"))
        .header("content-type", "application/json")
        .body(Bytes::from(json!({ "requests": requests }).to_string()))
        .map_err(|_| Status::invalid_argument(format!("`{model}` is not a model's name")))?;
    let failure = |error| call.link.failure(ProviderError::from_transport_error(error));
    let response = with_key(&call.link).send::<Bytes, Bytes>(request).await.map_err(failure)?;
    let body = response.into_body().await.map_err(failure)?;
    let answer: Answer = serde_json::from_slice(&body)
        .map_err(|error| call.link.failure(ProviderError::from(error)))?;
    Ok(answer.embeddings.into_iter().map(|vector| vector.values).collect())
}

/// The request for one text. The options (`taskType`, `title`, `outputDimensionality`) are repeated
/// for each text.
fn one(call: &EmbedCall, text: &str) -> Value {
    let mut members = call.options.rest.clone();
    members.insert("model".to_owned(), format!("models/{}", call.model).into());
    members.insert("content".to_owned(), json!({"parts": [{"text": text}]}));
    Value::Object(members)
}
