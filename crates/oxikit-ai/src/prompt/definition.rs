//! A prompt that is ready to be rendered.

use std::sync::Arc;

use oxikit_core::ports::PromptOrigin;
use oxikit_core::{ActionContext, Context, Result, Schema, Status, StatusCode};
use oxikit_dotprompt::{Compiled, Error, ErrorKind, RenderInput};
use oxikit_wire::{GenerateActionOptions, JsonObject, Message, MiddlewareRef, OutputOptions, Role};
use serde_json::{Value, json};

/// A prompt that is ready to be rendered.
#[derive(Debug)]
pub(super) struct Definition {
    /// With the variant behind a dot.
    pub(super) name: String,
    pub(super) description: Option<String>,
    pub(super) input: Option<Schema>,
    pub(super) default_input: Option<JsonObject>,
    /// Metadata of both actions.
    pub(super) metadata: JsonObject,
    /// All but the messages.
    pub(super) options: GenerateActionOptions,
    pub(super) templates: Templates,
    /// What the spans of its calls record.
    pub(super) origin: PromptOrigin,
}

/// The templates, in the order of the messages they make.
#[derive(Debug, Default)]
pub(super) struct Templates {
    pub(super) system: Option<Compiled>,
    /// Puts the history in its place; without it, the history stands here.
    pub(super) messages: Option<Compiled>,
    pub(super) prompt: Option<Compiled>,
}

impl Templates {
    pub(super) fn all(&self) -> impl Iterator<Item = &Compiled> {
        [&self.system, &self.messages, &self.prompt].into_iter().flatten()
    }
}

impl Definition {
    /// A prompt file.
    pub(super) fn of_file(
        origin: PromptOrigin,
        name: &str,
        template: &str,
        compiled: Compiled,
    ) -> Result<Self> {
        let metadata = compiled.metadata().clone();
        let read = |key: &str| metadata.get(key).cloned().filter(|value| !value.is_null());
        let wrong = |key: &str, error: serde_json::Error| {
            Status::invalid_argument(format!(
                "prompt `{name}`: `{key}` is not as it should be: {error}"
            ))
        };
        let middleware: Option<Vec<MiddlewareRef>> = read("use")
            .map(serde_json::from_value)
            .transpose()
            .map_err(|error| wrong("use", error))?;
        let tool_choice = read("toolChoice")
            .map(serde_json::from_value)
            .transpose()
            .map_err(|error| wrong("toolChoice", error))?;
        let output = metadata.output.clone().map(|output| OutputOptions {
            format: output.format,
            json_schema: output.schema,
            ..OutputOptions::default()
        });
        let input = metadata.input.as_ref().and_then(|input| input.schema.clone());
        let options = GenerateActionOptions {
            model: metadata.model.clone(),
            config: (!metadata.config.is_empty()).then(|| Value::Object(metadata.config.clone())),
            tools: metadata.tools.clone(),
            tool_choice,
            output,
            max_turns: metadata.max_turns(),
            return_tool_requests: metadata.return_tool_requests(),
            middleware,
            ..GenerateActionOptions::default()
        };
        Ok(Self {
            name: name.to_owned(),
            description: metadata.description.clone(),
            input: input.map(Schema::from_json).transpose()?,
            default_input: metadata.default_input().cloned(),
            metadata: file_metadata(name, template, &compiled, &options),
            options,
            templates: Templates { messages: Some(compiled), ..Templates::default() },
            origin,
        })
    }

    /// Notes on a span which revision of the prompt it is about.
    pub(super) fn record_origin(&self, ctx: &Context) {
        for (key, value) in self.origin.attributes() {
            ctx.set_attribute(&key, value);
        }
    }

    /// The options of a generate call with this input.
    pub(super) fn render(
        &self,
        input: Value,
        context: &ActionContext,
        history: Vec<Arc<Message>>,
    ) -> Result<GenerateActionOptions> {
        let input = self.checked_input(input)?;
        let context = context.to_object();
        let render = |template: &Compiled, history: &[Arc<Message>]| {
            let mut data = RenderInput::new(&input).with_context(&context).with_messages(history);
            if let Some(docs) = &self.options.docs {
                data = data.with_docs(docs);
            }
            let rendered = template.render(&data).map_err(|error| broken(&self.name, error))?;
            Ok::<_, Status>(rendered.messages)
        };
        let mut messages = Vec::new();
        if let Some(system) = &self.templates.system {
            messages.push(one_message(&self.name, "system", Role::System, render(system, &[])?)?);
        }
        match &self.templates.messages {
            Some(template) => messages.extend(render(template, &history)?),
            None => messages.extend(history),
        }
        if let Some(prompt) = &self.templates.prompt {
            messages.push(one_message(&self.name, "prompt", Role::User, render(prompt, &[])?)?);
        }
        Ok(GenerateActionOptions { messages, ..self.options.clone() })
    }

    fn checked_input(&self, input: Value) -> Result<JsonObject> {
        let input = match input {
            Value::Null => JsonObject::new(),
            Value::Object(members) => members,
            _ => {
                let name = &self.name;
                return Err(Status::invalid_argument(format!(
                    "the input of prompt `{name}` is an object"
                )));
            }
        };
        let mut all = self.default_input.clone().unwrap_or_default();
        all.extend(input);
        let Some(schema) = &self.input else { return Ok(all) };
        let all = Value::Object(all);
        schema.validate(&all)?;
        match all {
            Value::Object(all) => Ok(all),
            _ => Ok(JsonObject::new()),
        }
    }
}

fn one_message(
    name: &str,
    place: &str,
    role: Role,
    mut messages: Vec<Arc<Message>>,
) -> Result<Arc<Message>> {
    match (messages.pop(), messages.is_empty()) {
        (Some(mut message), true) => {
            Arc::make_mut(&mut message).role = role;
            Ok(message)
        }
        _ => Err(Status::invalid_argument(format!(
            "the `{place}` template of prompt `{name}` has to make exactly one message; use `messages` for more"
        ))),
    }
}

/// Metadata in the form that the developer tools know from prompt files.
fn file_metadata(
    name: &str,
    template: &str,
    compiled: &Compiled,
    options: &GenerateActionOptions,
) -> JsonObject {
    let own = compiled.metadata().own_metadata().cloned();
    let (base, variant) = split_variant(name);
    let mut prompt = json!(compiled.metadata());
    if let Some(input) = prompt.get_mut("input").and_then(Value::as_object_mut) {
        input.retain(|key, _| key == "schema");
    }
    prompt["name"] = json!(base);
    if let Some(variant) = variant {
        prompt["variant"] = json!(variant);
    }
    prompt["template"] = json!(template);
    prompt["tools"] = json!(options.tools.clone().unwrap_or_default());
    prompt["toolDefs"] = json!([]);
    if let Some(middleware) = &options.middleware {
        prompt["use"] = json!(middleware);
    }
    if let Some(choice) = &options.tool_choice {
        prompt["toolChoice"] = json!(choice);
    }
    let mut metadata = JsonObject::from_iter([
        ("type".to_owned(), json!("prompt")),
        ("prompt".to_owned(), prompt),
    ]);
    if let Some(own) = own {
        metadata.insert("metadata".to_owned(), json!(own));
    }
    metadata
}

/// `sub/hello.formal` is the variant `formal` of `sub/hello`.
pub(super) fn split_variant(name: &str) -> (&str, Option<&str>) {
    let start = name.rfind('/').map_or(0, |slash| slash + 1);
    match name[start..].split_once('.') {
        Some((base, variant)) => (&name[..start + base.len()], Some(variant)),
        None => (name, None),
    }
}

/// The status of a broken prompt. It is not public, because its message quotes the template,
/// which belongs to the application and not to its clients.
pub(super) fn broken(name: &str, error: Error) -> Status {
    let code = match error.kind() {
        ErrorKind::Limit => StatusCode::ResourceExhausted,
        _ => StatusCode::InvalidArgument,
    };
    Status::new(code, format!("prompt `{name}`: {error}")).caused_by(error)
}
