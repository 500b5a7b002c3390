//! Cards name the addresses of gRPC.

use oxikit_wire::a2a::{AgentCard, AgentInterface, Version, binding};

use crate::a2a::kit::app;

#[tokio::test]
async fn cards_list_the_grpc_interfaces_of_their_agent() {
    let app = app().await;
    let card = async |path: &str| -> AgentCard {
        let path = format!("{path}/.well-known/agent-card.json");
        serde_json::from_slice(&app.request("GET", &path, "", "").await.body).unwrap()
    };
    let address = app.address.to_string();
    let first = card("").await;
    for version in super::BOTH {
        let interface = first.interface(binding::GRPC, version).unwrap();
        assert_eq!(*interface, AgentInterface::new(&address, binding::GRPC, version));
    }
    assert_eq!(first.supported_interfaces[0].protocol_binding, binding::JSON_RPC);
    let second = card("/a2a/reply").await;
    let interface = second.interface(binding::GRPC, Version::V1_0).unwrap();
    assert_eq!((&interface.url, interface.tenant.as_deref()), (&address, Some("reply")));
    assert_eq!(second.interface(binding::GRPC, Version::V0_3), None, "0.3 has no tenants");
}
