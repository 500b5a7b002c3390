//! A route of an API, with its description for the OpenAPI document.

use axum::Router;
use axum::routing::MethodRouter;
use schemars::{JsonSchema, Schema, SchemaGenerator};

/// Makes the schema of a type, with what it refers to.
pub type Describe = fn(&mut SchemaGenerator) -> Schema;

/// One route. [`Draft`] makes it, once its response is described.
#[derive(Debug, Clone, Copy)]
pub struct Route<S> {
    /// Such as `GET`.
    pub method: &'static str,
    /// Such as `/api/v1/actions/{*key}`.
    pub path: &'static str,
    /// `None` for routes of the official tools, which are described by them.
    pub about: Option<About>,
    handler: fn() -> MethodRouter<S>,
}

/// The description of a route.
#[derive(Debug, Clone, Copy)]
pub struct About {
    /// The id of the operation, which generated clients use as its name.
    pub id: &'static str,
    /// The effect or result of the operation, in one line.
    pub summary: &'static str,
    /// The parameters of the query.
    pub query: Option<Describe>,
    /// The request body.
    pub body: Option<Describe>,
    /// The response, if it can be JSON.
    pub json: Option<Describe>,
    /// One event of the response, if it can be a stream.
    pub event: Option<Describe>,
    /// The HTTP status of a successful response.
    pub success: u16,
    /// Whether a response can name a trace in its headers.
    pub has_trace: bool,
    /// The errors that do not follow from the rest of the description.
    pub failures: Failures,
}

/// The errors that a route can answer with.
#[derive(Debug, Clone, Copy, Default)]
pub struct Failures {
    /// The thing that the path names may not exist.
    pub not_found: bool,
    /// The route calls a runtime, which can fail with any error.
    pub of_runtime: bool,
    /// The route reads or writes the store.
    pub of_store: bool,
    /// The route needs the application that the developer tools have started.
    pub of_app: bool,
    /// Further HTTP statuses.
    pub also: &'static [u16],
}

/// A route whose response is not described yet.
#[derive(Debug, Clone, Copy)]
pub struct Draft<S> {
    method: &'static str,
    path: &'static str,
    about: About,
    handler: fn() -> MethodRouter<S>,
}

/// Begins a route. The caller describes it and ends with [`Draft::answers`] or
/// [`Draft::streams`]; the documentation of [`api`](crate::api) has an example.
pub const fn route<S>(
    method: &'static str,
    path: &'static str,
    id: &'static str,
    summary: &'static str,
    handler: fn() -> MethodRouter<S>,
) -> Draft<S> {
    let failures =
        Failures { not_found: false, of_runtime: false, of_store: false, of_app: false, also: &[] };
    let about = About {
        id,
        summary,
        query: None,
        body: None,
        json: None,
        event: None,
        success: 200,
        has_trace: false,
        failures,
    };
    Draft { method, path, about, handler }
}

impl<S> Draft<S> {
    /// The route takes this query.
    pub const fn query<T: JsonSchema>(mut self) -> Self {
        self.about.query = Some(members_of::<T>);
        self
    }

    /// The route takes this body.
    pub const fn takes<T: JsonSchema>(mut self) -> Self {
        self.about.body = Some(describe::<T>);
        self
    }

    /// The route answers 404 if the thing that its path names does not exist.
    pub const fn finds(mut self) -> Self {
        self.about.failures.not_found = true;
        self
    }

    /// The route calls a runtime.
    pub const fn asks_runtime(mut self) -> Self {
        self.about.failures.of_runtime = true;
        self
    }

    /// The route reads or writes the store.
    pub const fn uses_store(mut self) -> Self {
        self.about.failures.of_store = true;
        self
    }

    /// The route needs the application that the developer tools have started.
    pub const fn needs_app(mut self) -> Self {
        self.about.failures.of_app = true;
        self
    }

    /// The route can also fail with these HTTP statuses.
    pub const fn fails(mut self, statuses: &'static [u16]) -> Self {
        self.about.failures.also = statuses;
        self
    }

    /// The route creates something: a successful response has the HTTP status 201.
    pub const fn creates(mut self) -> Self {
        self.about.success = 201;
        self
    }

    /// The response names the trace of a run in its headers.
    pub const fn names_trace(mut self) -> Self {
        self.about.has_trace = true;
        self
    }

    /// The route answers with this type as JSON.
    pub const fn answers<T: JsonSchema>(mut self) -> Route<S> {
        self.about.json = Some(describe::<T>);
        self.described()
    }

    /// The route answers with a stream of these events.
    pub const fn streams<T: JsonSchema>(mut self) -> Route<S> {
        self.about.event = Some(describe::<T>);
        self.described()
    }

    /// The route answers with JSON, or with a stream if the request asks for one.
    pub const fn answers_or_streams<T: JsonSchema, E: JsonSchema>(mut self) -> Route<S> {
        self.about.json = Some(describe::<T>);
        self.about.event = Some(describe::<E>);
        self.described()
    }

    const fn described(self) -> Route<S> {
        let Self { method, path, about, handler } = self;
        Route { method, path, about: Some(about), handler }
    }
}

/// A route of the official tools' API, without a description.
pub const fn official<S>(
    method: &'static str,
    path: &'static str,
    handler: fn() -> MethodRouter<S>,
) -> Route<S> {
    Route { method, path, about: None, handler }
}

fn describe<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

/// The schema of a type itself, not a reference to it.
fn members_of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    T::json_schema(generator)
}

/// Makes the router of these routes.
pub fn router<S: Clone + Send + Sync + 'static>(routes: &[Route<S>]) -> Router<S> {
    let add = |router: Router<S>, route: &Route<S>| router.route(route.path, (route.handler)());
    routes.iter().fold(Router::new(), add)
}
