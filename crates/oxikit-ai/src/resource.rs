//! Resources: content that is read by its URI. A prompt refers to it by a resource part, which
//! is replaced by the content before the model gets the request.

mod template;

use std::collections::BTreeMap;
use std::sync::Arc;

use oxikit_core::{Action, ActionKind, Call, Context, Handler, Result, Status};
use oxikit_wire::{ActionDescriptor, JsonObject, Part};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::Oxikit;
use crate::answer::answering;
use template::Template;

/// Content that can be read by its URI. Cheap to clone. [`Oxikit::define_resource`] has an
/// example.
#[derive(Debug, Clone)]
pub struct Resource(Action);

impl Resource {
    /// Begins the definition of a resource with this one URI, such as `config://menu`.
    pub fn uri(uri: impl Into<String>) -> ResourceBuilder {
        ResourceBuilder::new(Address::Uri(uri.into()))
    }

    /// Begins the definition of a resource for all URIs of a form, such as
    /// `file://{path}`. A variable stands for one character or more, `/`
    /// included; the function finds it by [`ResourceRequest::variable`].
    ///
    /// ```
    /// use oxikit::Resource;
    ///
    /// assert!(Resource::template("orders://{customer}/{order}").is_ok());
    /// assert!(Resource::template("orders://{customer}{order}").is_err()); // ambiguous
    /// ```
    ///
    /// # Errors
    ///
    /// `INVALID_ARGUMENT` if the text is not such a template.
    pub fn template(template: impl Into<String>) -> Result<ResourceBuilder> {
        let text = template.into();
        let template = Template::parse(&text)?;
        Ok(ResourceBuilder::new(Address::Template(text, template)))
    }

    /// The name by which it is listed: its URI or template, unless it was given
    /// another.
    pub fn name(&self) -> &str {
        self.0.name()
    }

    /// The action behind it.
    pub fn action(&self) -> &Action {
        &self.0
    }
}

impl From<Resource> for Action {
    fn from(resource: Resource) -> Self {
        resource.0
    }
}

/// The request for the content of a resource.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ResourceRequest {
    /// The whole URI.
    pub uri: String,
    /// The values of the variables of the template.
    #[serde(skip)]
    variables: BTreeMap<String, String>,
}

impl ResourceRequest {
    /// The value of a variable of the template; empty if there is no such variable.
    ///
    /// It comes from the author of the URI: check it before a file is opened
    /// by it.
    pub fn variable(&self, name: &str) -> &str {
        self.variables.get(name).map_or("", String::as_str)
    }
}

/// The content of a resource.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ResourceContent {
    /// The parts that take the place of the resource part.
    pub content: Vec<Part>,
}

impl From<Vec<Part>> for ResourceContent {
    fn from(content: Vec<Part>) -> Self {
        Self { content }
    }
}

impl From<Part> for ResourceContent {
    fn from(part: Part) -> Self {
        Self { content: vec![part] }
    }
}

impl From<String> for ResourceContent {
    fn from(text: String) -> Self {
        Part::text(text).into()
    }
}

impl From<&str> for ResourceContent {
    fn from(text: &str) -> Self {
        Part::text(text).into()
    }
}

/// The URIs that a resource answers to: one, or all that match a template.
#[derive(Debug, Clone)]
enum Address {
    Uri(String),
    Template(String, Template),
}

impl Address {
    fn text(&self) -> &str {
        match self {
            Self::Uri(text) | Self::Template(text, _) => text,
        }
    }

    fn matches(&self, uri: &str) -> Option<BTreeMap<String, String>> {
        match self {
            Self::Uri(own) => (own == uri).then(BTreeMap::new),
            Self::Template(_, template) => template.matches(uri),
        }
    }

    /// The number of literal bytes that a URI must have; an exact URI is the most precise. Of
    /// several resources that match, the most precise one is used.
    fn precision(&self) -> usize {
        match self {
            Self::Uri(_) => usize::MAX,
            Self::Template(_, template) => template.literal_len(),
        }
    }

    /// As the developer tools read it.
    fn to_metadata(&self) -> Value {
        match self {
            Self::Uri(uri) => json!({ "uri": uri }),
            Self::Template(template, _) => json!({ "template": template }),
        }
    }

    fn from_descriptor(descriptor: &ActionDescriptor) -> Option<Self> {
        let resource = descriptor.metadata.as_ref()?.get("resource")?;
        let text = |key: &str| resource.get(key)?.as_str().map(ToOwned::to_owned);
        if let Some(uri) = text("uri") {
            return Some(Self::Uri(uri));
        }
        let template = text("template")?;
        let parsed = Template::parse(&template).ok()?;
        Some(Self::Template(template, parsed))
    }
}

/// The definition of a [`Resource`].
#[derive(Debug, Clone)]
#[must_use = "a resource is made by `handler`"]
pub struct ResourceBuilder {
    address: Address,
    name: Option<String>,
    description: Option<String>,
    metadata: JsonObject,
}

impl ResourceBuilder {
    fn new(address: Address) -> Self {
        Self { address, name: None, description: None, metadata: JsonObject::new() }
    }

    /// The name by which it is listed, instead of its URI or template.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets the description, for people and models.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Adds a member to the metadata of the resource's action.
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.metadata.insert(key.into(), value.into());
        self
    }

    /// Makes the resource. The function takes a [`ResourceRequest`], and if it
    /// wants it, the [`Context`]; it answers parts, one part, or a text.
    pub fn handler<H, Args>(self, function: H) -> Resource
    where
        H: Handler<Args, In = ResourceRequest>,
        H::Out: Into<ResourceContent>,
    {
        let name = self.name.unwrap_or_else(|| self.address.text().to_owned());
        let mut action = Action::builder(ActionKind::Resource, name)
            .metadata_from(self.metadata)
            .metadata("resource", self.address.to_metadata())
            .metadata("type", "resource")
            .metadata("dynamic", false);
        if let Some(description) = self.description {
            action = action.description(description);
        }
        let shared = Arc::new((answering::<_, _, ResourceContent>(function), self.address));
        let action = action.handler(move |mut request: ResourceRequest, ctx: Context| {
            let shared = shared.clone();
            async move {
                let (function, address) = &*shared;
                let Some(variables) = address.matches(&request.uri) else {
                    return Err(Status::invalid_argument(format!(
                        "`{}` is not a URI of the resource `{}`",
                        request.uri,
                        address.text()
                    )));
                };
                let uri = request.uri.clone();
                request.variables = variables;
                let mut content = function(request, ctx).await?;
                for part in &mut content.content {
                    note_origin(part, &uri, address);
                }
                Ok(content)
            }
        });
        Resource(action)
    }
}

/// Notes the origin of a part in its metadata. A part that comes from another resource keeps
/// that origin, and this one becomes its parent.
fn note_origin(part: &mut Part, uri: &str, address: &Address) {
    let mut origin = json!({ "uri": uri });
    if let Address::Template(template, _) = address {
        origin["template"] = json!(template);
    }
    let metadata = part.metadata.get_or_insert_default();
    match metadata.get_mut("resource") {
        Some(Value::Object(inner)) => {
            inner.entry("parent").or_insert(origin);
        }
        _ => {
            metadata.insert("resource".into(), origin);
        }
    }
}

impl Oxikit {
    /// Defines a resource. A prompt uses it by a part that names its URI,
    /// [`Part::resource`]; its content takes the place of that part.
    ///
    /// ```
    /// use oxikit::{Call, Oxikit, Resource, ResourceContent, ResourceRequest};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> oxikit::Result<()> {
    /// let ai = Oxikit::builder().build()?;
    /// let notes = ai.define_resource(
    ///     Resource::template("notes://{title}")?
    ///         .handler(|request: ResourceRequest| async move {
    ///             Ok(format!("What I know about {}", request.variable("title")))
    ///         }),
    /// );
    /// let request = serde_json::json!({ "uri": "notes://tea" });
    /// let read: ResourceContent = notes.action().run(Call::new(request)).await?.parse()?;
    /// assert_eq!(read.content[0].as_text(), Some("What I know about tea"));
    /// # Ok(()) }
    /// ```
    pub fn define_resource(&self, resource: Resource) -> Resource {
        self.registry().register(resource.0.clone());
        resource
    }

    /// The content of the resource with this URI; `NOT_FOUND` if there is none.
    ///
    /// A resource with exactly this URI is preferred, then the template that
    /// says most about it.
    pub(crate) async fn resolve_resource(&self, uri: &str) -> Result<Vec<Part>> {
        let action = match self.registered_resource(uri) {
            Some(action) => action,
            None => self.resolvable_resource(uri).await?,
        };
        let request = ResourceRequest { uri: uri.to_owned(), ..ResourceRequest::default() };
        let call = Call::new(request).in_registry(self.registry());
        let content: ResourceContent = action.run(call).await?.parse()?;
        Ok(content.content)
    }

    fn registered_resource(&self, uri: &str) -> Option<Action> {
        let actions = self.registry().list();
        let resources = actions.into_iter().filter(|action| action.kind() == ActionKind::Resource);
        best(resources, Action::descriptor, uri)
    }

    /// A resource that a plugin could make.
    async fn resolvable_resource(&self, uri: &str) -> Result<Action> {
        let resources = self.registry().list_resolvable().await;
        let resources =
            resources.into_values().filter(|resource| resource.key.starts_with("/resource/"));
        match best(resources, |resource| resource, uri) {
            Some(resource) => self.registry().resolve_key(&resource.key).await,
            None => Err(Status::not_found(format!("no resource has the URI `{uri}`"))),
        }
    }
}

/// The most precise of the resources that match a URI.
fn best<T>(
    resources: impl Iterator<Item = T>,
    descriptor: impl Fn(&T) -> &ActionDescriptor,
    uri: &str,
) -> Option<T> {
    let precision = |resource: &T| {
        let address = Address::from_descriptor(descriptor(resource))?;
        address.matches(uri).map(|_| address.precision())
    };
    resources
        .filter_map(|resource| Some((precision(&resource)?, resource)))
        .max_by_key(|(precision, _)| *precision)
        .map(|(_, resource)| resource)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn say(resource: ResourceBuilder, text: &'static str) -> Resource {
        resource.handler(move |_: ResourceRequest| async move { Ok(text) })
    }

    #[tokio::test]
    async fn the_resource_that_says_most_about_a_uri_is_meant() -> Result<()> {
        let ai = Oxikit::builder().build().unwrap();
        ai.define_resource(say(Resource::template("file://{path}")?, "any file"));
        ai.define_resource(say(Resource::template("file://docs/{path}")?, "a document"));
        ai.define_resource(say(Resource::uri("file://docs/index"), "the index"));
        for (uri, expected) in [
            ("file://a", "any file"),
            ("file://docs/a", "a document"),
            ("file://docs/index", "the index"),
        ] {
            let parts = ai.resolve_resource(uri).await?;
            assert_eq!(parts[0].as_text(), Some(expected), "{uri}");
        }
        let status = ai.resolve_resource("http://a").await.unwrap_err();
        assert_eq!(status.to_string(), "NOT_FOUND: no resource has the URI `http://a`");
        Ok(())
    }
}
