//! Requests to forms of URLs that lead to this machine, to a private network or to a special
//! address.

use std::net::{Ipv4Addr, Ipv6Addr};

use oxikit_outgoing::{OutgoingClient, OutgoingError, OutgoingPolicy, Url};

use crate::peer::{Dns, Peer, client};
use crate::url_forms::{V4, V6, forms, notations};

fn is_refusal(error: &OutgoingError) -> bool {
    matches!(
        error,
        OutgoingError::Scheme | OutgoingError::Credentials | OutgoingError::Address { .. }
    )
}

#[tokio::test]
async fn no_form_of_a_url_reaches_the_canary() {
    let canary = Peer::ok().await;
    let client = client(OutgoingPolicy::default(), Dns::new(&[&["127.0.0.1"]]));
    let mut tried = 0;
    for form in forms(canary.port) {
        let Ok(url) = Url::parse(&form) else { continue };
        tried += 1;
        let results = [
            client.check(&url).await.err(),
            client.get(url.clone()).send().await.err(),
            client.post(url, "{}").send().await.err(),
        ];
        for result in results {
            let error = result.unwrap_or_else(|| panic!("{form:?} is not refused"));
            assert!(is_refusal(&error), "{form:?}: {error:?}");
        }
    }
    assert!(tried >= 1000, "only {tried} forms are URLs");
    assert_eq!(canary.connections().await, 0);
}

/// Shows that the forms would reach the canary if nothing were checked.
#[tokio::test]
async fn without_the_policy_the_forms_reach_the_canary() {
    let canary = Peer::ok().await;
    let policy = ["0.0.0.0/0", "::/0"].iter().fold(OutgoingPolicy::default(), |policy, all| {
        policy.allow_network(all.parse::<oxikit_outgoing::Network>().unwrap())
    });
    let client = client(policy, Dns::new(&[&["127.0.0.1"]]));
    let mut hosts = notations([127, 0, 0, 1]);
    hosts.extend(["localhost", "innocent.example.com", "[::ffff:127.0.0.1]"].map(str::to_owned));
    for host in &hosts {
        let response = get(&client, &canary.url(host)).await.unwrap();
        assert_eq!(response, "ok", "{host}");
    }
    assert_eq!(canary.connections().await, hosts.len());
}

#[tokio::test]
async fn a_name_with_an_address_of_any_special_kind_is_refused() {
    let canary = Peer::ok().await;
    let v4 = V4.iter().map(|address| Ipv4Addr::from(*address).to_string());
    let mapped = V4.iter().map(|address| Ipv4Addr::from(*address).to_ipv6_mapped().to_string());
    let v6 = V6.iter().map(|text| text.parse::<Ipv6Addr>().unwrap().to_string());
    let dns = Dns::new(&[]);
    let client = client(OutgoingPolicy::default(), dns.clone());
    let url = canary.url("innocent.example.com");
    for address in v4.chain(mapped).chain(v6) {
        dns.answer(&[&[&address]]);
        for error in [client.check(&url).await.err(), get(&client, &url).await.err()] {
            assert!(is_refusal(&error.unwrap()), "{address}");
        }
    }
    assert_eq!(canary.connections().await, 0);
}

async fn get(client: &OutgoingClient, url: &Url) -> Result<String, OutgoingError> {
    let response = client.get(url.clone()).send().await?;
    Ok(String::from_utf8(response.body().to_vec()).unwrap())
}
