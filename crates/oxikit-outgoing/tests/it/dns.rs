//! Names whose addresses change, or are partly allowed.

use std::error::Error;

use oxikit_outgoing::{OutgoingError, OutgoingPolicy, Url};

use crate::peer::{Dns, PUBLIC, Peer, client};

fn assert_refused(error: &OutgoingError) {
    assert!(matches!(error, OutgoingError::Address { .. }), "{error:?}");
}

#[tokio::test]
async fn a_name_that_changes_between_check_and_connection_is_refused() {
    let canary = Peer::ok().await;
    for private in ["127.0.0.1", "::1", "0.0.0.0", "::ffff:127.0.0.1"] {
        let dns = Dns::new(&[&[PUBLIC], &[private]]);
        let client = client(OutgoingPolicy::default(), dns.clone());
        let url = canary.url("changing.example.com");
        client.check(&url).await.unwrap();
        assert_refused(&client.post(url.clone(), "{}").send().await.unwrap_err());
        assert_refused(&client.get(url.clone()).send().await.unwrap_err());
        assert_refused(&client.check(&url).await.unwrap_err());
        assert_eq!(dns.asked(), 4, "every use is resolved again");
    }
    assert_eq!(canary.connections().await, 0);
}

#[tokio::test]
async fn one_forbidden_address_forbids_the_name() {
    let canary = Peer::ok().await;
    for answer in [["127.0.0.1", PUBLIC], [PUBLIC, "127.0.0.1"], [PUBLIC, "::1"]] {
        let client = client(OutgoingPolicy::default(), Dns::new(&[&answer]));
        let url = canary.url("mixed.example.com");
        assert_refused(&client.check(&url).await.unwrap_err());
        assert_refused(&client.get(url).send().await.unwrap_err());
    }
    assert_eq!(canary.connections().await, 0);
}

#[tokio::test]
async fn a_connection_goes_to_the_address_that_was_checked() {
    let (allowed, canary) = (Peer::ok().await, Peer::ok().await);
    // A second DNS request for the same connection would be answered with the other address.
    let dns = Dns::new(&[&["127.0.0.1"], &["127.0.0.2"]]);
    let policy =
        OutgoingPolicy::default().allow_network("127.0.0.1".parse::<std::net::IpAddr>().unwrap());
    let client = client(policy, dns.clone());
    let response = client.get(allowed.url("changing.example.com")).send().await.unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(dns.asked(), 1);
    assert_refused(&client.get(canary.url("changing.example.com")).send().await.unwrap_err());
    assert_eq!((allowed.connections().await, canary.connections().await), (1, 0));
}

#[tokio::test]
async fn the_text_is_the_same_for_unknown_and_for_private_names() {
    let url = Url::parse("https://db.corp.example/").unwrap();
    let mut texts = Vec::new();
    for answers in [&[][..], &[&[][..]], &[&["10.1.2.3"][..]], &[&["127.0.0.1"][..]]] {
        let client = client(OutgoingPolicy::default(), Dns::new(answers));
        for error in [
            client.check(&url).await.unwrap_err(),
            client.get(url.clone()).send().await.unwrap_err(),
        ] {
            assert_refused(&error);
            assert!(error.source().is_some(), "the log has the details");
            texts.push(error.to_string());
        }
    }
    texts.dedup();
    assert_eq!(
        texts,
        ["`db.corp.example` has no address that may be used: the host must exist and be public"]
    );
}
