//! The source of prompts, with a scripted prompt manager.

use oxikit_client::{PromptManager, PromptSource, PromptText, StatusCode};

use crate::peer::{hang_up, peer, reply};

const EXPORT: &str = r#"{
    "label": "production",
    "prompts": [
        {"name": "footer", "kind": "fragment", "id": "_footer", "rev": 3, "source": "Bye"},
        {"name": "jokes/dad", "kind": "prompt", "id": "dad", "rev": 12, "source": "Be brief.",
         "fragments": {"brief": 2}, "later": "members that we do not know"}
    ]
}"#;

fn manager(address: std::net::SocketAddr) -> PromptManager {
    PromptManager::new(&format!("http://{address}/below/")).unwrap()
}

#[tokio::test]
async fn prompts_are_loaded_with_their_revisions() {
    let peer = peer([reply(200, [EXPORT])]).await;
    let manager = manager(peer.address).token("secret").unwrap().label("pro duction");
    let texts = manager.load().await.unwrap();
    let footer = PromptText::partial("footer", "Bye").with_id("_footer").with_revision(3);
    let dad = PromptText::prompt("jokes/dad", "Be brief.").with_id("dad").with_revision(12);
    assert_eq!(texts, [footer, dad.with_fragment("brief", 2)]);
    assert!(!format!("{manager:?}").contains("secret"));
    let request = &peer.requests().await[0];
    assert!(
        request.starts_with("GET /below/api/prompts/export?label=pro+duction HTTP/1.1"),
        "{request}"
    );
    assert!(request.contains("authorization: Bearer secret\r\n"), "{request}");
}

#[tokio::test]
async fn errors_of_the_manager_have_a_code() {
    let peer = peer([
        reply(401, [r#"{"detail": "a token is needed"}"#]),
        reply(200, ["{}"]),
        reply(503, [""]),
    ])
    .await;
    let manager = manager(peer.address);
    let status = manager.load().await.unwrap_err();
    assert_eq!(
        (status.code(), status.message()),
        (StatusCode::Unauthenticated, "a token is needed")
    );
    assert_eq!(manager.load().await.unwrap_err().code(), StatusCode::Internal);
    assert_eq!(manager.load().await.unwrap_err().code(), StatusCode::Unavailable);
    assert_eq!(manager.load().await.unwrap_err().code(), StatusCode::Unavailable);
    assert!(PromptManager::new("ftp://127.0.0.1").is_err());
    assert!(manager.token("two\nlines").is_err());
}

#[tokio::test]
async fn a_new_connection_and_every_event_are_changes() {
    let event = "event: change\ndata: {\"change\":\"updated\",\"id\":\"dad\"}\n\n";
    let peer = peer([
        reply(200, [": hello\n\n", event, &format!("{event}{event}")]),
        hang_up(),
        reply(200, [event]).then_silent(),
    ])
    .await;
    let manager = manager(peer.address);
    manager.changed().await.unwrap();
    manager.changed().await.unwrap();
    // The pieces may arrive together or not, so there are one or two further changes.
    let mut further = 0;
    let status = loop {
        match manager.changed().await {
            Ok(()) => further += 1,
            Err(status) => break status,
        }
    };
    assert!(further <= 2, "{further}");
    assert_eq!(status.code(), StatusCode::Unavailable, "{status}");
    assert!(manager.changed().await.is_err(), "the manager is away");
    manager.changed().await.unwrap();
    manager.changed().await.unwrap();
}
