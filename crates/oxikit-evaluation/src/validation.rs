//! Validates inputs against the input schema of an action, without running it. The developer
//! tools do so before an evaluation, since each run may cost money.

use std::collections::BTreeMap;
use std::sync::Arc;

use oxikit_core::ports::ProjectStore;
use oxikit_core::{Schema, Status};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::datasets::Datasets;
use super::request::ValidateRequest;
use super::target::model_input;
use oxikit_manager::Runtimes;

/// Whether all inputs match the schema, and the errors of those that do not: by the id of the
/// case for a data set, by the index for cases of the request.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Validity {
    valid: bool,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    errors: BTreeMap<String, Value>,
}

/// Validates the inputs of a data set, or of the request, against the schema of an action.
///
/// # Errors
///
/// If the cases cannot be read, the runtime cannot be reached, or it has no such action.
///
/// An action without an input schema accepts every input. For a model the input is the request
/// that an evaluation would send: a text counts as a user message.
pub async fn validate(
    store: &Arc<dyn ProjectStore>,
    runtimes: &Runtimes,
    request: ValidateRequest,
) -> Result<Validity, Status> {
    let ValidateRequest { data_source, action_ref, runtime_id } = request;
    let is_inline = data_source.is_inline();
    let (_, cases) = data_source.read(&Datasets::new(store)).await?;
    let list = runtimes.list_actions(runtime_id.as_deref()).await.map_err(Status::from)?;
    let Some(action) = list.read(&action_ref).map_err(Status::from)? else {
        return Err(Status::not_found(format!("the runtime has no action `{action_ref}`")));
    };
    let schema = action.input_schema.map(Schema::from_json).transpose()?;
    let mut errors = BTreeMap::new();
    for (place, case) in cases.iter().enumerate() {
        let Some(schema) = &schema else { break };
        if let Err(wrong) = fits(schema, &action_ref, case.input.as_deref()) {
            let name = if is_inline { place.to_string() } else { case.test_case_id.clone() };
            errors.insert(name, wrong);
        }
    }
    Ok(Validity { valid: errors.is_empty(), errors })
}

/// Validates one input. The error is a list of `{path, message}`, one for each member that does
/// not match.
fn fits(schema: &Schema, action_ref: &str, input: Option<&RawValue>) -> Result<(), Value> {
    let whole = |message: &str| serde_json::json!([{"path": "(root)", "message": message}]);
    // Declared here, so that the converted input lives as long as the reference to it.
    let of_model;
    let input = match action_ref.starts_with("/model/") {
        true => {
            of_model = model_input(input, None).map_err(|status| whole(status.message()))?;
            Some(&*of_model)
        }
        false => input,
    };
    let input = serde_json::from_str::<Value>(input.map_or("null", RawValue::get));
    let input = input.map_err(|error| whole(&error.to_string()))?;
    schema.validate(&input).map_err(|status| {
        let errors = status.details().and_then(|details| details.get("errors"));
        errors.cloned().unwrap_or_else(|| whole(status.message()))
    })
}
