//! A flow that fails with the error that its input describes.

use std::time::Duration;

use oxikit::prelude::*;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Failure {
    /// `user` for a public status with a text of its own; `plain`, `string` and
    /// `statusless` for what is none of the protocol's errors.
    kind: Option<String>,
    status: Option<String>,
    message: Option<String>,
    details: Option<Value>,
    /// Chunks to send before it fails.
    #[serde(default)]
    chunks: u32,
    /// Milliseconds between the last chunk and the failure.
    #[serde(default)]
    delay: u64,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Tick {
    pub(crate) k: u32,
}

pub(crate) async fn throwing(input: Failure, _: Context, out: Emitter<Tick>) -> Result<()> {
    for k in 0..input.chunks {
        out.send(Tick { k }).await?;
    }
    tokio::time::sleep(Duration::from_millis(input.delay)).await;
    Err(input.into_status())
}

impl Failure {
    fn into_status(self) -> Status {
        if matches!(self.kind.as_deref(), Some("plain" | "string" | "statusless")) {
            return Status::internal("a plain error, with the password hunter2");
        }
        let code = self.status.as_deref().and_then(code_of).unwrap_or(StatusCode::Internal);
        let status = Status::public(code, self.message.unwrap_or_else(|| "user msg".to_owned()));
        match self.details {
            Some(details) => status.with_details(details),
            None => status,
        }
    }
}

/// The code with this name.
pub(crate) fn code_of(name: &str) -> Option<StatusCode> {
    serde_json::from_value(name.into()).ok()
}
