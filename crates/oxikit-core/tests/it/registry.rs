//! All actions of an application.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use async_trait::async_trait;
use oxikit_core::{Action, ActionKind, ActionResolver, Call, Registry, Result, Status, StatusCode};
use oxikit_wire::ActionDescriptor;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

fn constant(kind: ActionKind, name: &str, answer: u32) -> Action {
    Action::builder(kind, name).handler(move |(): ()| async move { Ok(answer) })
}

async fn run(registry: &Registry, key: &str) -> Result<u32> {
    registry.run(key, Call::empty()).await?.parse()
}

#[tokio::test]
async fn an_action_is_found_by_its_key() {
    let registry = Registry::default();
    registry.register(constant(ActionKind::Flow, "a/b/c", 1));
    assert_eq!(run(&registry, "/flow/a/b/c").await.unwrap(), 1);
    for key in ["/tool/a/b/c", "/flow/a", "flow/a/b/c", "/weird/x", "/flow", "", "/"] {
        let status = run(&registry, key).await.unwrap_err();
        assert_eq!(status.code(), StatusCode::NotFound, "{key}");
        assert_eq!(status.message(), format!("action {key} not found"));
    }
}

#[tokio::test]
async fn the_latest_of_two_with_one_key_counts() {
    let registry = Registry::default();
    registry.register(constant(ActionKind::Flow, "x", 1));
    registry.clone().register(constant(ActionKind::Flow, "x", 2));
    assert_eq!(run(&registry, "/flow/x").await.unwrap(), 2);
    assert_eq!(registry.list().len(), 1);
    assert!(registry.remove("/flow/x").is_some());
    assert!(registry.get("/flow/x").is_none());
}

#[derive(Default)]
struct Provider {
    asked: AtomicUsize,
    cannot_list: bool,
}

#[async_trait]
impl ActionResolver for Provider {
    fn namespace(&self) -> &str {
        "prov"
    }

    async fn resolve(&self, kind: ActionKind, name: &str) -> Result<Option<Action>> {
        self.asked.fetch_add(1, SeqCst);
        match (kind, name) {
            (ActionKind::Model, "prov/broken") => Err(Status::internal("no answer")),
            (ActionKind::Model, "prov/none") => Ok(None),
            (ActionKind::Model, name) => Ok(Some(constant(kind, name, 7))),
            _ => Ok(None),
        }
    }

    async fn list(&self) -> Result<Vec<ActionDescriptor>> {
        if self.cannot_list {
            return Err(Status::internal("no answer"));
        }
        let name = |name: &str| ActionDescriptor {
            key: format!("/model/prov/{name}"),
            name: format!("prov/{name}"),
            ..ActionDescriptor::default()
        };
        Ok(vec![name("big"), name("small")])
    }
}

#[tokio::test]
async fn a_resolver_is_asked_once_for_its_own_names_only() {
    let registry = Registry::default();
    let provider = Arc::new(Provider::default());
    registry.add_resolver(provider.clone());
    for key in ["/model/other/x", "/model/prov", "/model/plain"] {
        assert_eq!(run(&registry, key).await.unwrap_err().code(), StatusCode::NotFound);
    }
    assert_eq!(provider.asked.load(SeqCst), 0);

    assert!(registry.get("/model/prov/big").is_none(), "nothing is made before it is wanted");
    for _ in 0..3 {
        assert_eq!(run(&registry, "/model/prov/big").await.unwrap(), 7);
    }
    assert_eq!(provider.asked.load(SeqCst), 1);

    assert_eq!(run(&registry, "/model/prov/none").await.unwrap_err().code(), StatusCode::NotFound);
    assert_eq!(
        run(&registry, "/model/prov/broken").await.unwrap_err().code(),
        StatusCode::Internal
    );
    assert_eq!(run(&registry, "/tool/prov/big").await.unwrap_err().code(), StatusCode::NotFound);
}

#[tokio::test]
async fn a_list_that_fails_does_not_hide_the_others() {
    let registry = Registry::default();
    registry.add_resolver(Arc::new(Provider { cannot_list: true, ..Provider::default() }));
    registry.add_resolver(Arc::new(Provider::default()));
    registry.register(constant(ActionKind::Model, "prov/big", 1));
    let listed = registry.list_resolvable().await;
    assert_eq!(listed.keys().collect::<Vec<_>>(), ["/model/prov/big", "/model/prov/small"]);
    // A registered action takes precedence over the list of a resolver.
    assert_eq!(listed["/model/prov/big"].action_type.as_deref(), Some("model"));
}

#[test]
fn values_are_kept_by_kind_and_name() {
    let registry = Registry::default();
    registry.set_value("defaultModel", "defaultModel", json!({"name":"echo/model"}));
    registry.set_value("middleware", "b", json!(2));
    registry.set_value("middleware", "a", json!(1));
    assert_eq!(registry.value("defaultModel", "defaultModel"), Some(json!({"name":"echo/model"})));
    assert_eq!(registry.value("middleware", "c"), None);
    let middleware = registry.values("middleware");
    assert_eq!(
        middleware.into_iter().collect::<Vec<_>>(),
        [("a".into(), json!(1)), ("b".into(), json!(2))]
    );
}

#[test]
fn an_application_has_one_state_of_a_type() {
    let registry = Registry::default();
    registry.state::<AtomicUsize>().store(5, SeqCst);
    assert_eq!(registry.clone().state::<AtomicUsize>().load(SeqCst), 5);
    assert_eq!(Registry::default().state::<AtomicUsize>().load(SeqCst), 0);
}

/// One `null`, and the official manager refuses the whole list.
#[tokio::test]
async fn the_listing_has_no_null_anywhere() {
    #[derive(Serialize, Deserialize, JsonSchema)]
    struct Input {
        /// With a default of none.
        #[serde(default)]
        name: Option<String>,
        #[serde(default)]
        count: Option<u32>,
    }
    let registry = Registry::default();
    registry.register(
        Action::builder(ActionKind::Flow, "x")
            .metadata("none", Value::Null)
            .metadata("label", "X")
            .handler(|input: Input| async move { Ok(input) }),
    );
    registry.register(constant(ActionKind::Tool, "y", 1));
    let listed = serde_json::to_string(&registry.list_resolvable().await).unwrap();
    // `null` is the name of a type in schemas.
    assert!(!listed.replace("\"null\"", "").contains("null"), "{listed}");
}

#[test]
fn a_descriptor_says_what_official_tools_look_for() {
    let action = Action::builder(ActionKind::Tool, "ns/add")
        .description("adds")
        .metadata("type", "tool")
        .handler(|(a, b): (i8, i8)| async move { Ok(a + b) });
    assert_eq!(
        serde_json::to_value(action.descriptor()).unwrap(),
        json!({
            "key":"/tool/ns/add","name":"ns/add","actionType":"tool","description":"adds",
            "inputSchema":{"type":"array","items":[{"type":"integer","minimum":-128,"maximum":127},
                {"type":"integer","minimum":-128,"maximum":127}],"minItems":2,"maxItems":2},
            "outputSchema":{"type":"integer","minimum":-128,"maximum":127},
            "metadata":{"type":"tool"},
        })
    );
}
