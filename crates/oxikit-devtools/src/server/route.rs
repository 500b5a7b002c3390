//! A route of the API, and what the description of the API says of it.

use axum::Router;
use axum::routing::MethodRouter;
use schemars::{JsonSchema, Schema, SchemaGenerator};

/// Makes the schema of a type, with what it refers to.
pub(crate) type Describe = fn(&mut SchemaGenerator) -> Schema;

/// One route. Without a description there is no such value: see [`Draft`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Route<S> {
    /// Such as `GET`.
    pub(crate) method: &'static str,
    /// Such as `/api/v1/actions/{*key}`.
    pub(crate) path: &'static str,
    /// `None` for routes of the official tools, which are described by them.
    pub(crate) about: Option<About>,
    handler: fn() -> MethodRouter<S>,
}

/// What is said of a route.
#[derive(Debug, Clone, Copy)]
pub(crate) struct About {
    /// The name of the operation, which generated clients call it by.
    pub(crate) id: &'static str,
    /// What it does, in a line.
    pub(crate) summary: &'static str,
    /// The members of its query.
    pub(crate) query: Option<Describe>,
    /// Its body.
    pub(crate) body: Option<Describe>,
    /// What it answers as JSON.
    pub(crate) json: Option<Describe>,
    /// One event of what it answers as a stream.
    pub(crate) event: Option<Describe>,
    /// Whether an answer can name a trace.
    pub(crate) has_trace: bool,
    /// How it can fail besides what follows from the rest.
    pub(crate) failures: Failures,
}

/// How a route can fail.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Failures {
    /// What it asks for may not be there.
    pub(crate) not_found: bool,
    /// It asks a runtime, which may fail in every way.
    pub(crate) of_runtime: bool,
    /// It reads or writes what is kept.
    pub(crate) of_store: bool,
    /// It needs the application that the tools have started.
    pub(crate) of_app: bool,
}

/// A route whose answer is not described yet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Draft<S> {
    method: &'static str,
    path: &'static str,
    about: About,
    handler: fn() -> MethodRouter<S>,
}

/// A route of this method, to be described.
pub(crate) const fn route<S>(
    method: &'static str,
    path: &'static str,
    id: &'static str,
    summary: &'static str,
    handler: fn() -> MethodRouter<S>,
) -> Draft<S> {
    let failures = Failures { not_found: false, of_runtime: false, of_store: false, of_app: false };
    let about = About {
        id,
        summary,
        query: None,
        body: None,
        json: None,
        event: None,
        has_trace: false,
        failures,
    };
    Draft { method, path, about, handler }
}

impl<S> Draft<S> {
    /// It takes this query.
    pub(crate) const fn query<T: JsonSchema>(mut self) -> Self {
        self.about.query = Some(members_of::<T>);
        self
    }

    /// It takes this body.
    pub(crate) const fn takes<T: JsonSchema>(mut self) -> Self {
        self.about.body = Some(describe::<T>);
        self
    }

    /// What it names may not be there.
    pub(crate) const fn finds(mut self) -> Self {
        self.about.failures.not_found = true;
        self
    }

    /// It asks a runtime.
    pub(crate) const fn asks_runtime(mut self) -> Self {
        self.about.failures.of_runtime = true;
        self
    }

    /// It reads or writes the store.
    pub(crate) const fn uses_store(mut self) -> Self {
        self.about.failures.of_store = true;
        self
    }

    /// It needs the application.
    pub(crate) const fn needs_app(mut self) -> Self {
        self.about.failures.of_app = true;
        self
    }

    /// Its answer names the trace of a run.
    pub(crate) const fn names_trace(mut self) -> Self {
        self.about.has_trace = true;
        self
    }

    /// It answers with this as JSON.
    pub(crate) const fn answers<T: JsonSchema>(mut self) -> Route<S> {
        self.about.json = Some(describe::<T>);
        self.described()
    }

    /// It answers with events like this.
    pub(crate) const fn streams<T: JsonSchema>(mut self) -> Route<S> {
        self.about.event = Some(describe::<T>);
        self.described()
    }

    /// It answers with JSON, or with events if the request says so.
    pub(crate) const fn answers_or_streams<T: JsonSchema, E: JsonSchema>(mut self) -> Route<S> {
        self.about.json = Some(describe::<T>);
        self.about.event = Some(describe::<E>);
        self.described()
    }

    const fn described(self) -> Route<S> {
        let Self { method, path, about, handler } = self;
        Route { method, path, about: Some(about), handler }
    }
}

/// A route of the official tools: they describe it.
pub(crate) const fn official<S>(
    method: &'static str,
    path: &'static str,
    handler: fn() -> MethodRouter<S>,
) -> Route<S> {
    Route { method, path, about: None, handler }
}

fn describe<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

/// The members of a type, not a reference to it.
fn members_of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    T::json_schema(generator)
}

/// The router of these routes.
pub(crate) fn router<S: Clone + Send + Sync + 'static>(routes: &[Route<S>]) -> Router<S> {
    let add = |router: Router<S>, route: &Route<S>| router.route(route.path, (route.handler)());
    routes.iter().fold(Router::new(), add)
}
