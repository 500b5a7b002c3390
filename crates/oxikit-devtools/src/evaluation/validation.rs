//! Holds data against the input schema of an action.

use std::collections::BTreeMap;

use oxikit_core::{Schema, Status};
use oxikit_sql::ProjectStore;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::datasets::Datasets;
use super::request::ValidateRequest;
use super::target::model_input;
use crate::manager::Runtimes;
use crate::server::reply::status_of;

/// Whether all inputs fit, and what is wrong with those that do not: by the id of the
/// case if it is one of a data set, else by its place.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Validity {
    valid: bool,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    errors: BTreeMap<String, Value>,
}

/// Holds the inputs of a data set, or of the request, against the schema of an action.
pub(crate) async fn validate(
    store: &ProjectStore,
    runtimes: &Runtimes,
    request: ValidateRequest,
) -> Result<Validity, Status> {
    let ValidateRequest { data_source, action_ref, runtime_id } = request;
    let is_inline = data_source.is_inline();
    let (_, cases) = data_source.read(&Datasets::new(store)).await?;
    let list = runtimes.list_actions(runtime_id.as_deref()).await.map_err(status_of)?;
    let Some(action) = list.read(&action_ref).map_err(status_of)? else {
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

/// What is wrong with an input: `[{path, message}]`.
fn fits(schema: &Schema, action_ref: &str, input: Option<&RawValue>) -> Result<(), Value> {
    let whole = |message: &str| serde_json::json!([{"path": "(root)", "message": message}]);
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
