//! JSON Schemas: derived from types, checked, and used to check values.
//!
//! Schemas also come from peers and from prompt files, so their size and the work that they can
//! cause are limited (see `cost`). Error messages are worded as in the official runtimes, because
//! clients show them.

use std::fmt;
use std::sync::{Arc, OnceLock};

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{ValidationError, Validator};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::Status;

mod cost;

use cost::{Cost, Explain};

/// Maximum bytes of a schema as JSON text. A larger one is refused.
const MAX_BYTES: usize = 256 * 1024;
/// Maximum levels of nesting of a schema. A deeper one is refused.
const MAX_DEPTH: usize = 64;
/// Maximum number of errors in a message. Further errors are only counted.
const MAX_ERRORS: usize = 20;
/// Maximum bytes of a path or a reason in a message. The rest is cut.
const MAX_TEXT: usize = 300;

/// A JSON Schema that values can be checked against.
///
/// Compiled on first use and shared by all clones. References to other
/// documents are refused: a schema never makes the process read a file or call
/// a host.
///
/// ```
/// use oxikit_core::Schema;
/// use serde_json::json;
///
/// #[derive(schemars::JsonSchema)]
/// struct Order {
///     item: String,
///     count: u32,
/// }
///
/// let schema = Schema::of::<Order>();
/// assert!(schema.validate(&json!({ "item": "tea", "count": 2 })).is_ok());
/// let error = schema.validate(&json!({ "item": "tea" })).unwrap_err();
/// assert!(error.message().contains("must have required property 'count'"));
/// # fn used(order: Order) -> (String, u32) { (order.item, order.count) }
/// ```
#[derive(Clone)]
pub struct Schema(Arc<Inner>);

struct Inner {
    json: Value,
    /// Whether a successful parse into the Rust type already proves the value.
    proven_by_type: bool,
    /// Whether there are places for members of any name, or for any JSON.
    has_free_parts: bool,
    compiled: OnceLock<Result<Compiled, String>>,
}

struct Compiled {
    validator: Validator,
    cost: Cost,
}

impl Schema {
    /// The schema of a Rust type: draft 7, without references where the type is not recursive.
    /// Doc comments of the type become descriptions.
    pub fn of<T: JsonSchema>() -> Self {
        let mut json = generate::<T>();
        let proven_by_type = is_proven_by_parse(&json);
        tidy(&mut json);
        Self::from_parts(json, proven_by_type)
    }

    /// A schema that is written by hand or sent by a peer. It is compiled here, so that a broken
    /// schema is reported when it is defined, and not by the first call.
    ///
    /// ```
    /// use oxikit_core::Schema;
    /// use serde_json::json;
    ///
    /// let percent = Schema::from_json(json!({ "type": "integer", "maximum": 100 }))?;
    /// assert!(percent.validate(&json!(7)).is_ok());
    /// assert!(Schema::from_json(json!({ "$ref": "https://example.com/x.json" })).is_err());
    /// # Ok::<(), oxikit_core::Status>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `INVALID_ARGUMENT` if the schema is too large, too deep or broken, or refers to another
    /// document.
    pub fn from_json(json: Value) -> Result<Self, Status> {
        let refuse = |why: String| Status::invalid_argument(format!("bad JSON schema: {why}"));
        if depth(&json, MAX_DEPTH) > MAX_DEPTH {
            return Err(refuse(format!("it is nested deeper than {MAX_DEPTH} levels")));
        }
        let bytes = serde_json::to_string(&json)?.len();
        if bytes > MAX_BYTES {
            return Err(refuse(format!("it has {bytes} bytes, {MAX_BYTES} are allowed")));
        }
        let schema = Self::from_parts(json, false);
        schema.compiled().map(drop).map_err(refuse)?;
        Ok(schema)
    }

    fn from_parts(json: Value, proven_by_type: bool) -> Self {
        let has_free_parts = has_free_parts(&json);
        let compiled = OnceLock::new();
        Self(Arc::new(Inner { json, proven_by_type, has_free_parts, compiled }))
    }

    /// The schema as JSON.
    pub fn as_json(&self) -> &Value {
        &self.0.json
    }

    /// Whether parsing into the type that this schema was derived from proves
    /// all that the schema says, so that the validator is not needed.
    pub(crate) fn is_proven_by_type(&self) -> bool {
        self.0.proven_by_type
    }

    /// Whether a value may have members of any name, or any JSON, somewhere in it.
    pub(crate) fn has_free_parts(&self) -> bool {
        self.0.has_free_parts
    }

    /// Checks a value. The error names each wrong place and what was expected there, up to 20
    /// places; of very large values and schemas only the first place, or none.
    ///
    /// # Errors
    ///
    /// `INVALID_ARGUMENT` if the value does not fit. Its details have the list of errors and the
    /// schema.
    pub fn validate(&self, value: &Value) -> Result<(), Status> {
        let Compiled { validator, cost } = self
            .compiled()
            .map_err(|why| Status::internal(format!("the schema cannot be used: {why}")))?;
        if validator.is_valid(value) {
            return Ok(());
        }
        let mut errors: Vec<_> = match cost.explain(value) {
            Explain::All => validator.iter_errors(value).map(|error| describe(&error)).collect(),
            Explain::First => validator.validate(value).err().iter().map(describe).collect(),
            Explain::Nothing => vec![("(root)".into(), "must match the schema".into())],
        };
        errors.dedup();
        Err(self.violation(errors))
    }

    fn compiled(&self) -> Result<&Compiled, String> {
        let compile = || {
            let cost = Cost::of(&self.0.json)?;
            let validator = jsonschema::options()
                .with_draft(jsonschema::Draft::Draft7)
                .build(&self.0.json)
                .map_err(|error| error.to_string())?;
            Ok(Compiled { validator, cost })
        };
        self.0.compiled.get_or_init(compile).as_ref().map_err(Clone::clone)
    }

    /// The status that reports these places, in the form official clients know.
    pub(crate) fn violation(&self, errors: Vec<(String, String)>) -> Status {
        let mut message = String::from("Schema validation failed. Parse Errors:\n");
        for (path, text) in errors.iter().take(MAX_ERRORS) {
            message.push_str(&format!("\n- {path}: {text}"));
        }
        if errors.len() > MAX_ERRORS {
            message.push_str(&format!("\n- and {} more", errors.len() - MAX_ERRORS));
        }
        let errors: Vec<Value> = errors
            .into_iter()
            .take(MAX_ERRORS)
            .map(|(path, message)| json!({ "path": path, "message": message }))
            .collect();
        Status::invalid_argument(message)
            .with_details(json!({ "errors": errors, "schema": self.0.json }))
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Schema({})", self.0.json)
    }
}

/// The schema of a type as models are given it: draft 7, without references
/// where the type is not recursive, and without formats that providers refuse.
pub fn model_schema_of<T: JsonSchema>() -> Value {
    Schema::of::<T>().as_json().clone()
}

fn generate<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft07().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    // The Rust name of the type means nothing to a model or a caller.
    schema.remove("title");
    schema.to_value()
}

/// Whether a condition holds for a schema and all schemas inside of it. The names of
/// properties are not taken for keywords, and plain values not for schemas.
fn all_schemas(schema: &Value, holds: &mut impl FnMut(&Map<String, Value>) -> bool) -> bool {
    let members = match schema {
        Value::Object(members) => members,
        Value::Array(items) => return items.iter().all(|item| all_schemas(item, holds)),
        _ => return true,
    };
    holds(members)
        && members.iter().all(|(keyword, member)| match keyword.as_str() {
            "default" | "enum" | "const" | "examples" => true,
            "properties" | "$defs" | "definitions" | "patternProperties" => {
                let named = member.as_object();
                named.is_none_or(|named| named.values().all(|member| all_schemas(member, holds)))
            }
            _ => all_schemas(member, holds),
        })
}

/// Whether a schema accepts members of any name, or any JSON, somewhere. In doubt the answer is
/// `true`, which only costs a second scan of the text.
fn has_free_parts(schema: &Value) -> bool {
    // Without one of these keywords, a schema accepts every value.
    const SAY_WHAT: [&str; 7] = ["type", "$ref", "enum", "const", "anyOf", "oneOf", "allOf"];
    let is_any = |schema: &Value| *schema == Value::Bool(true);
    let has_any = |member: Option<&Value>| match member {
        Some(Value::Array(schemas)) => schemas.iter().any(is_any),
        Some(schema) => is_any(schema),
        None => false,
    };
    let is_free = |members: &Map<String, Value>| {
        let properties = members.get("properties").and_then(Value::as_object);
        let is_object = match members.get("type") {
            Some(Value::Array(names)) => names.iter().any(|name| name == "object"),
            Some(name) => name == "object",
            None => false,
        };
        !SAY_WHAT.iter().any(|keyword| members.contains_key(*keyword))
            || members.get("additionalProperties").is_some_and(|more| *more != Value::Bool(false))
            || members.contains_key("patternProperties")
            || (is_object && properties.is_none())
            || properties.is_some_and(|named| named.values().any(is_any))
            || ["items", "anyOf", "oneOf", "allOf"].iter().any(|it| has_any(members.get(*it)))
    };
    is_any(schema) || !all_schemas(schema, &mut |members| !is_free(members))
}

/// Whether serde refuses everything that this derived schema refuses. Keywords
/// that only an attribute can have added (ranges, lengths, patterns, formats)
/// need the validator; the bounds of integer types and of tuples do not.
///
/// Three differences are not found, all harmless to code that gets a whole `T`: serde
/// also accepts a list for a struct inside of another value, `{"A":null}` for a
/// unit variant `"A"`, and everything that a `deserialize_with` of the type is lenient
/// about. And a schema that `#[schemars(with)]` or `extend` has made stricter by
/// `enum` or `const` looks like the type's own: pass such a schema to the builder's
/// `input_schema` instead, which is always checked.
fn is_proven_by_parse(schema: &Value) -> bool {
    const NEED_VALIDATOR: [&str; 14] = [
        "pattern",
        "minLength",
        "maxLength",
        "uniqueItems",
        "contains",
        "minProperties",
        "maxProperties",
        "multipleOf",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "not",
        "if",
        "propertyNames",
        "dependencies",
    ];
    all_schemas(schema, &mut |members| {
        // A tuple has as many items as schemas of items.
        let is_tuple = members.get("items").is_some_and(Value::is_array);
        let has_free_length =
            !members.contains_key("minItems") && !members.contains_key("maxItems");
        let has_text_format = members.contains_key("format") && !is_numeric(members);
        !NEED_VALIDATOR.iter().any(|keyword| members.contains_key(*keyword))
            && (is_tuple || has_free_length)
            && !has_text_format
            && has_natural_bounds(members)
    })
}

/// Whether the bounds are those of the integer type that the schema was derived from, which serde
/// checks itself.
fn has_natural_bounds(members: &Map<String, Value>) -> bool {
    let (minimum, maximum) = (members.get("minimum"), members.get("maximum"));
    if minimum.is_none() && maximum.is_none() {
        return true;
    }
    let natural: (Option<i64>, Option<i64>) = match members.get("format").and_then(Value::as_str) {
        Some("uint8") => (Some(0), Some(u8::MAX.into())),
        Some("uint16") => (Some(0), Some(u16::MAX.into())),
        Some("uint32" | "uint64" | "uint" | "uint128") => (Some(0), None),
        Some("int8") => (Some(i8::MIN.into()), Some(i8::MAX.into())),
        Some("int16") => (Some(i16::MIN.into()), Some(i16::MAX.into())),
        _ => return false,
    };
    minimum.is_none_or(|bound| bound.as_i64() == natural.0)
        && maximum.is_none_or(|bound| bound.as_i64() == natural.1)
}

/// Removes keywords that mean nothing or that providers refuse: Gemini and OpenAI's strict mode
/// do not accept formats such as `uint8` and `double`, and a default of `null` is the
/// same as no default.
fn tidy(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            if is_numeric(members) {
                members.shift_remove("format");
            }
            if members.get("default") == Some(&Value::Null) {
                members.shift_remove("default");
            }
            members.values_mut().for_each(tidy);
        }
        Value::Array(items) => items.iter_mut().for_each(tidy),
        _ => {}
    }
}

/// Whether the schema accepts only numbers, or numbers and `null`.
fn is_numeric(members: &Map<String, Value>) -> bool {
    let is_number = |name: &Value| name == "integer" || name == "number";
    match members.get("type") {
        Some(Value::Array(names)) => {
            names.iter().any(is_number)
                && names.iter().all(|name| is_number(name) || name == "null")
        }
        Some(name) => is_number(name),
        None => false,
    }
}

/// The nesting depth of a value. It stops below `limit`, so that the recursion is bounded.
fn depth(value: &Value, limit: usize) -> usize {
    if limit == 0 {
        return 1;
    }
    let deepest = match value {
        Value::Object(members) => members.values().map(|member| depth(member, limit - 1)).max(),
        Value::Array(items) => items.iter().map(|item| depth(item, limit - 1)).max(),
        _ => return 0,
    };
    1 + deepest.unwrap_or(0)
}

/// Path with dots and reason, worded as official runtimes word them.
fn describe(error: &ValidationError<'_>) -> (String, String) {
    let path = error.instance_path().as_str().trim_start_matches('/').replace('/', ".");
    let path = if path.is_empty() { "(root)".to_owned() } else { path };
    let text = match error.kind() {
        ValidationErrorKind::Type { kind } => format!("must be {}", type_names(kind)),
        ValidationErrorKind::Required { property } => match property.as_str() {
            Some(name) => format!("must have required property '{name}'"),
            None => error.masked().to_string(),
        },
        ValidationErrorKind::AdditionalProperties { unexpected } => {
            let names: Vec<_> = unexpected.iter().take(10).map(String::as_str).collect();
            format!("must NOT have additional properties ({})", names.join(", "))
        }
        ValidationErrorKind::Enum { options } => {
            format!("must be equal to one of the allowed values {options}")
        }
        ValidationErrorKind::Constant { expected_value } => {
            format!("must be equal to constant {expected_value}")
        }
        // Without the value: it may be the output of user code, and a secret.
        _ => error.masked().to_string(),
    };
    (cut(path), cut(text))
}

fn cut(mut text: String) -> String {
    if text.len() > MAX_TEXT {
        text.truncate(text.floor_char_boundary(MAX_TEXT));
        text.push('…');
    }
    text
}

fn type_names(kind: &TypeKind) -> String {
    match kind {
        TypeKind::Single(name) => name.to_string(),
        TypeKind::Multiple(names) => {
            names.iter().map(|name| name.to_string()).collect::<Vec<_>>().join(",")
        }
    }
}

#[cfg(test)]
mod tests {
    use oxikit_wire::{
        AgentInit, AgentInput, AgentOutput, AgentStreamChunk, GenerateActionOptions,
        GenerateRequest, GenerateResponse, GenerateResponseChunk, SessionSnapshot,
    };

    use super::*;

    /// Values between agents and models of one process are never turned into a tree.
    #[test]
    fn the_wire_types_prove_their_schemas() {
        let schemas = [
            Schema::of::<GenerateRequest>(),
            Schema::of::<GenerateResponse>(),
            Schema::of::<GenerateResponseChunk>(),
            Schema::of::<GenerateActionOptions>(),
            Schema::of::<AgentInit>(),
            Schema::of::<AgentInput>(),
            Schema::of::<AgentOutput>(),
            Schema::of::<AgentStreamChunk>(),
            Schema::of::<SessionSnapshot>(),
        ];
        for schema in schemas {
            assert!(schema.is_proven_by_type(), "{}", schema.as_json());
        }
    }

    #[test]
    fn types_with_maps_or_trees_have_free_parts_and_plain_ones_have_none() {
        #[derive(schemars::JsonSchema)]
        #[expect(dead_code, reason = "only its schema is used")]
        struct Plain {
            id: u128,
            kind: Option<Kind>,
            pairs: Vec<(String, f64)>,
            next: Option<Box<Plain>>,
        }
        #[derive(schemars::JsonSchema)]
        #[expect(dead_code, reason = "only its schema is used")]
        enum Kind {
            Small,
            Named(String),
            Sized { width: u8 },
        }
        #[derive(schemars::JsonSchema)]
        #[expect(dead_code, reason = "only its schema is used")]
        struct Deep {
            /// With a description.
            inner: Vec<Option<Value>>,
        }
        for schema in [Schema::of::<Plain>(), Schema::of::<Vec<String>>(), Schema::of::<bool>()] {
            assert!(!schema.has_free_parts(), "{schema:?}");
        }
        for schema in [
            Schema::of::<Deep>(),
            Schema::of::<Vec<Value>>(),
            Schema::of::<Option<Value>>(),
            Schema::of::<std::collections::BTreeMap<String, u8>>(),
            Schema::of::<Vec<Map<String, Value>>>(),
            Schema::of::<AgentInput>(),
            Schema::of::<GenerateRequest>(),
        ] {
            assert!(schema.has_free_parts(), "{schema:?}");
        }
    }

    #[test]
    fn a_property_may_bear_the_name_of_a_keyword() {
        let named = serde_json::json!({"properties": {"pattern": {"type": "string"}}});
        assert!(is_proven_by_parse(&named));
        let meant = serde_json::json!({"properties": {"pattern": {"pattern": "^a"}}});
        assert!(!is_proven_by_parse(&meant));
    }
}
