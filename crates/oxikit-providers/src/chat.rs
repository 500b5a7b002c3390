//! One call of a model: convert the request, send it, convert the answer.

use futures_util::StreamExt;
use oxikit_ai::wire::{GenerateRequest, GenerateResponse, GenerateResponseChunk};
use oxikit_ai::{Emitter, Result};
use rig_core::DynModel;
use rig_core::completion::{CompletionRequest, CompletionResponse};
use rig_core::error::ProviderError;
use rig_core::operation::Completion;

use crate::config::Config;
use crate::connection::Link;
use crate::provider::Provider;
use crate::{request, response};

/// Calls the model. The answer is streamed if the emitter has a reader. Dropping the future closes
/// the connection, by which providers notice that they can stop.
pub(crate) async fn answer(
    provider: &dyn Provider,
    model: &str,
    wanted: GenerateRequest,
    out: Emitter<GenerateResponseChunk>,
) -> Result<GenerateResponse> {
    let mut config = Config::parse(wanted.config.as_ref())?;
    let link = provider.connection().link(config.api_key.take())?;
    let chat = provider.chat(model, &link);
    let mut sent = request::convert(&wanted, &config, &*chat.target, provider.constrains())?;
    provider.configure(&mut config, request::wants_any_json(&wanted), &mut sent)?;

    let reply = if out.is_wanted() {
        stream(&chat.model, sent, &link, &out).await?
    } else {
        chat.model.call(sent).await
    };
    match reply {
        Ok(reply) => Ok(response::convert(reply)),
        // The provider refused to pass the prompt to the model. In Genkit that is an answer with
        // the finish reason `blocked`, from which the generate loop makes its own error.
        Err(error) if is_refusal(&error) => {
            let status = link.failure(error);
            Ok(response::blocked(status.message().to_owned()))
        }
        Err(error) => Err(link.failure(error)),
    }
}

/// Streams an answer: sends its parts as chunks, and returns the whole answer at the end. The
/// outer error ends the call as it is; the inner one may still be a refusal.
async fn stream(
    model: &DynModel<Completion>,
    request: CompletionRequest,
    link: &Link,
    out: &Emitter<GenerateResponseChunk>,
) -> Result<Result<CompletionResponse, ProviderError>> {
    let mut stream = match model.stream(request) {
        Ok(stream) => stream,
        Err(error) => return Err(link.failure(error)),
    };
    let mut chunks = response::Chunks::default();
    while let Some(item) = stream.next().await {
        let item = match item {
            Ok(item) => item,
            Err(error) => return Ok(Err(error)),
        };
        if let Some(part) = chunks.part(item) {
            out.send(GenerateResponseChunk::from(vec![part])).await?;
        }
    }
    Ok(stream.finish().await)
}

fn is_refusal(error: &ProviderError) -> bool {
    error.provider_response().is_some_and(|response| response.refusal)
}
