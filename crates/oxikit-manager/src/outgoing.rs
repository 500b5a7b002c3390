//! The JSON text of requests to runtimes. The counterpart for reading is `incoming`.

use std::convert::Infallible;

use oxikit_wire::rpc::frame;
use serde::Serialize;
use uuid::Uuid;

/// Initial capacity, in bytes, for a message without its parameters. Ids have up to 39 digits.
pub(crate) const FRAME_SIZE: usize = 160;

/// A new request id that cannot be guessed. It consists of digits only, because some
/// runtimes parse ids as numbers.
pub(crate) fn new_id() -> u128 {
    Uuid::new_v4().as_u128()
}

/// A request id as JSON text.
pub(crate) fn json_id(request: u128) -> String {
    format!("\"{request}\"")
}

/// A request whose parameters are JSON text.
pub(crate) fn request_text(request: u128, method: &str, params: Option<&str>) -> String {
    let (mut text, id) = (String::with_capacity(FRAME_SIZE), json_id(request));
    match params {
        None => frame::request_without_params(&mut text, &id, method),
        Some(params) => {
            let Ok(()) = frame::request(&mut text, &id, method, |text| {
                text.push_str(params);
                Ok::<_, Infallible>(())
            });
        }
    }
    text
}

/// Parameters as JSON text.
pub(crate) fn params_text(params: &impl Serialize) -> String {
    // Serialization of plain structs of text cannot fail.
    serde_json::to_string(params).unwrap_or_default()
}
