//! Starts the developer tools beside a server, and gives them the agents API.
//!
//! The protocols of the tools are in `oxikit-reflection`. That crate does not know the agents
//! API of this one, so it gets it through the trait [`AgentsApi`].

use std::io;
use std::sync::Arc;

use async_trait::async_trait;
use axum::Router;
use oxikit_core::{ActionContext, Registry, Status};
use oxikit_http::{Limits, Shutdown};
use oxikit_reflection::{AgentsApi, DevConfig, DevTools, SessionRequest};
use oxikit_wire::rpc::{ForkSessionParams, SessionParams};
use oxikit_wire::{JsonObject, headers};
use percent_encoding::percent_decode_str;
use serde_json::value::{RawValue, to_raw_value};

use crate::agents_api::{self, Agent, Page};
use crate::app::App;
use crate::auth::{RequestInfo, context_from};
use crate::end::asked_to_end;

/// Turns the developer tools on if `GENKIT_ENV` is `dev`, and does nothing otherwise. Define
/// all actions before.
///
/// With `GENKIT_REFLECTION_V2_SERVER` the application registers with that manager; otherwise
/// it listens on this machine and writes a file below `.genkit/runtimes` that tells where.
/// See [`DevConfig::from_env`] for the variables.
///
/// [`Server::serve`](crate::Server::serve) and [`reflect`] call this themselves. An
/// application with a main loop of its own keeps the result:
///
/// ```no_run
/// # async fn example(ai: oxikit_core::Registry) -> std::io::Result<()> {
/// let dev_tools = oxikit_serve::dev_tools(&ai).await?; // after all actions are defined
/// // … what the application does …
/// if let Some(dev_tools) = dev_tools {
///     dev_tools.close().await;
/// }
/// # Ok(())
/// # }
/// ```
///
/// If the application has not set up [`tracing`], [`init_log`](crate::init_log) does it here.
///
/// # Errors
///
/// If an environment variable cannot be understood, or the port or the file cannot be used.
pub async fn dev_tools(app: &impl AsRef<Registry>) -> io::Result<Option<DevTools>> {
    let Some(config) = DevConfig::from_env()? else { return Ok(None) };
    crate::init_log();
    config.with_agents_api(dev_agents()).start(app).await.map(Some)
}

/// Lets the developer tools use an application that serves nothing else, until
/// the process is asked to end (Ctrl-C or SIGTERM).
///
/// Spans also go to the collector that OpenTelemetry's variables name, if they do.
///
/// ```no_run
/// use oxikit::prelude::*;
///
/// #[tokio::main]
/// async fn main() -> Result<()> {
///     let ai = Oxikit::builder().build()?;
///     ai.define_flow("greet", |name: String| async move { Ok(format!("Hello, {name}!")) });
///     Ok(oxikit_serve::reflect(&ai).await?)
/// }
/// ```
///
/// ```sh
/// genkit start -- cargo run
/// ```
///
/// # Errors
///
/// Those of [`dev_tools`]. It is also an error to call this without the tools, that is,
/// unless `GENKIT_ENV` is `dev`: the application would do nothing.
pub async fn reflect(app: &impl AsRef<Registry>) -> io::Result<()> {
    let Some(dev_tools) = dev_tools(app).await? else {
        return Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "the developer tools are off: start this program by `genkit start -- cargo run`, or set GENKIT_ENV=dev",
        ));
    };
    #[cfg(feature = "otlp")]
    crate::otlp::export(app.as_ref())?;
    asked_to_end().await;
    dev_tools.close().await;
    Ok(())
}

/// The REST API for agents, for [`DevConfig::with_agents_api`].
pub fn dev_agents() -> Arc<dyn AgentsApi> {
    Arc::new(DevAgents)
}

/// The agents of an application, as the developer tools see them: all of them, as any caller.
#[derive(Debug)]
struct DevAgents;

#[async_trait]
impl AgentsApi for DevAgents {
    fn routes(&self, registry: &Registry, limits: &Limits, shutdown: &Shutdown) -> Router {
        let provider = Arc::new(context_from(caller));
        let app = App::of_agents(registry, provider, limits.clone(), shutdown.clone());
        agents_api::routes().with_state(Arc::new(app))
    }

    /// Without a context the sessions are those of callers without a login.
    async fn answer(
        &self,
        registry: &Registry,
        request: SessionRequest,
    ) -> Result<Box<RawValue>, Status> {
        let find = |name: &str, context: Option<JsonObject>| {
            let context = context.map(ActionContext::from).unwrap_or_default();
            Agent::in_registry(registry, name, context)
        };
        let answer = match request {
            SessionRequest::List(mut asked) => {
                let agent = find(&asked.agent, asked.context.take())?;
                to_raw_value(&agents_api::list(&agent, Page::new(asked)?).await?)
            }
            SessionRequest::Get(SessionParams { agent, session_id, context }) => {
                to_raw_value(&agents_api::details(&find(&agent, context)?, &session_id).await?)
            }
            SessionRequest::Delete(SessionParams { agent, session_id, context }) => {
                to_raw_value(&agents_api::delete(&find(&agent, context)?, &session_id).await?)
            }
            SessionRequest::Fork(ForkSessionParams { agent, session_id, snapshot_id, context }) => {
                let (agent, snapshot) = (find(&agent, context)?, snapshot_id.as_deref());
                to_raw_value(&agents_api::fork(&agent, &session_id, snapshot).await?)
            }
        };
        Ok(answer?)
    }
}

/// The caller that the tools name in a header. The token has let them in, so they may act
/// as any caller.
fn caller(request: RequestInfo<'_>) -> Result<ActionContext, Status> {
    let Some(context) = request.header(headers::CONTEXT) else { return Ok(Default::default()) };
    let refuse =
        || Status::invalid_argument(format!("`{}` is not a JSON object", headers::CONTEXT));
    let text = percent_decode_str(context).decode_utf8().map_err(|_| refuse())?;
    let context: JsonObject = serde_json::from_str(&text).map_err(|_| refuse())?;
    Ok(context.into())
}
