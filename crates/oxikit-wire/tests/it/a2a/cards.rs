//! Agent cards.

use oxikit_wire::a2a::{
    AgentCard, AgentInterface, CardDocument, OAuthFlow, SecurityScheme, Version, binding, v0_3,
};
use serde_json::{Value, json};

use super::exchanges::{
    JSON_RPC_V0_3, JSON_RPC_V1_0, REST_V0_3, REST_V1_0, check_same, read, without_defaults,
};

fn card(json: Value) -> AgentCard {
    serde_json::from_value(json).unwrap()
}

fn written(card: &impl serde::Serialize) -> Value {
    serde_json::to_value(card).unwrap()
}

#[test]
fn recorded_cards_are_read_and_written_without_loss() {
    let files = JSON_RPC_V0_3.iter().chain(&JSON_RPC_V1_0).chain(&REST_V0_3).chain(&REST_V1_0);
    let mut counts = [0; 3];
    for exchange in files.flat_map(|file| read(file)) {
        let body = &exchange.responses[0];
        let recorded = body.get("result").unwrap_or(body);
        if recorded.get("skills").is_none() {
            continue;
        }
        let read = card(recorded.clone());
        let has = |member: &str| recorded.get(member).is_some();
        match (has("url"), has("supportedInterfaces")) {
            (true, false) => {
                counts[0] += 1;
                check_same(&exchange.case, recorded, &written(&v0_3::Out::new(&read)));
            }
            (false, _) => {
                counts[1] += 1;
                check_same(&exchange.case, recorded, &written(&read));
            }
            (true, true) => {
                counts[2] += 1;
                check_document(&exchange.case, recorded, &read);
            }
        }
    }
    assert_eq!(counts, [16, 2, 6]);
}

/// The documents of the 1.x servers differ from ours on purpose in three members.
fn check_document(case: &str, recorded: &Value, read: &AgentCard) {
    let mut recorded = without_defaults(recorded);
    let members = recorded.as_object_mut().unwrap();
    assert_eq!(members.insert("protocolVersion".to_owned(), json!("0.3.0")), Some(json!("0.3")));
    let main = json!({"url": members["url"], "transport": members["preferredTransport"]});
    let interfaces = members["additionalInterfaces"].as_array_mut().unwrap();
    assert!(!interfaces.contains(&main), "{case}");
    interfaces.insert(0, main);
    check_same(case, &recorded, &written(&CardDocument(read, Version::V0_3)));
}

/// A card of 0.3 with everything that it can say.
fn full_v0_3() -> Value {
    let flow = json!({"authorizationUrl": "https://a", "tokenUrl": "https://t",
        "refreshUrl": "https://r", "scopes": {"read": "may read"}});
    let credentials = json!({"tokenUrl": "https://t", "scopes": {}});
    json!({
        "protocolVersion": "0.3.0", "name": "Coder", "description": "Writes code",
        "url": "https://example.com/a2a", "preferredTransport": "JSONRPC",
        "additionalInterfaces": [{"url": "https://example.com/a2a", "transport": "JSONRPC"},
            {"url": "example.com:443", "transport": "GRPC"}],
        "iconUrl": "https://example.com/icon", "version": "1.2.3",
        "provider": {"organization": "Example", "url": "https://example.com"},
        "documentationUrl": "https://example.com/docs",
        "capabilities": {"streaming": true, "pushNotifications": true, "stateTransitionHistory": true,
            "extensions": [{"uri": "https://e", "description": "d", "required": true, "params": {"n": 1}}]},
        "securitySchemes": {
            "key": {"type": "apiKey", "in": "header", "name": "X-API-Key", "description": "d"},
            "bearer": {"type": "http", "scheme": "Bearer", "bearerFormat": "JWT"},
            "oauth": {"type": "oauth2", "oauth2MetadataUrl": "https://m",
                "flows": {"authorizationCode": flow, "clientCredentials": credentials}},
            "oidc": {"type": "openIdConnect", "openIdConnectUrl": "https://o"},
            "tls": {"type": "mutualTLS"}},
        "security": [{"key": []}, {"oauth": ["read"], "tls": []}],
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        "skills": [{"id": "s", "name": "n", "description": "d", "tags": ["t"], "examples": ["e"],
            "inputModes": ["a/b"], "outputModes": ["c/d"], "security": [{"oauth": ["read"]}]}],
        "supportsAuthenticatedExtendedCard": true,
        "signatures": [{"protected": "p", "signature": "s", "header": {"kid": "k"}}],
    })
}

#[test]
fn a_full_card_of_version_0_3_is_read_and_written_without_loss() {
    let read = card(full_v0_3());
    assert_eq!(written(&v0_3::Out::new(&read)), full_v0_3());
}

#[test]
fn a_full_card_of_version_1_0_is_read_and_written_without_loss() {
    let flow = json!({"deviceAuthorizationUrl": "https://d", "tokenUrl": "https://t",
        "scopes": {"read": "may read"}, "pkceRequired": true});
    let v1_0 = json!({
        "name": "Coder", "description": "Writes code", "version": "1.2.3",
        "supportedInterfaces": [
            {"url": "https://u", "protocolBinding": "JSONRPC", "protocolVersion": "1.0", "tenant": "t"},
            {"url": "https://u", "protocolBinding": "JSONRPC", "protocolVersion": "0.3"}],
        "capabilities": {"streaming": true, "extendedAgentCard": true},
        "securitySchemes": {
            "key": {"apiKeySecurityScheme": {"location": "cookie", "name": "k"}},
            "bearer": {"httpAuthSecurityScheme": {"scheme": "Bearer", "bearerFormat": "JWT"}},
            "oauth": {"oauth2SecurityScheme": {"flows": {"deviceCode": flow}}},
            "oidc": {"openIdConnectSecurityScheme": {"openIdConnectUrl": "https://o"}},
            "tls": {"mtlsSecurityScheme": {"description": "d"}}},
        "securityRequirements": [{"schemes": {"oauth": {"list": ["read"]}, "tls": {"list": []}}}],
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        "skills": [{"id": "s", "name": "n", "description": "d", "tags": ["t"],
            "securityRequirements": [{"schemes": {"key": {"list": []}}}]}],
        "signatures": [{"protected": "p", "signature": "s"}],
    });
    assert_eq!(written(&card(v1_0.clone())), v1_0);
}

#[test]
fn a_security_scheme_that_cannot_be_read_does_not_hide_the_card() {
    let internal =
        json!({"scheme": {"$case": "httpAuthSecurityScheme", "value": {"scheme": "Bearer"}}});
    let read = card(json!({
        "name": "Coder",
        "securitySchemes": {
            "tls": {"mtlsSecurityScheme": {}},
            "of the JavaScript server": internal,
            "of another version": {"walletSecurityScheme": {}}},
    }));
    assert_eq!(read.name, "Coder");
    assert_eq!(read.security_schemes.keys().collect::<Vec<_>>(), ["tls"]);
}

#[test]
fn one_document_is_read_by_clients_of_both_versions() {
    let mut both = card(full_v0_3());
    let v1_0 = AgentInterface::new("https://example.com/a2a", binding::JSON_RPC, Version::V1_0);
    both.supported_interfaces.insert(0, v1_0);
    let for_v0_3 = written(&CardDocument(&both, Version::V0_3));
    let for_v1_0 = written(&CardDocument(&both, Version::V1_0));
    for (name, member) in full_v0_3().as_object().unwrap() {
        if name == "capabilities" {
            assert_eq!(for_v0_3[name]["stateTransitionHistory"], true);
            assert_eq!(for_v0_3[name]["extendedAgentCard"], true);
        } else {
            assert_eq!(&for_v0_3[name], member, "{name}");
        }
    }
    for (name, member) in written(&both).as_object().unwrap() {
        assert_eq!(&for_v1_0[name], member, "{name}");
        let is_security =
            ["securitySchemes", "securityRequirements", "skills"].contains(&name.as_str());
        assert!(is_security || for_v0_3[name] == *member, "{name}");
    }
    assert_eq!(
        (&for_v1_0["url"], &for_v1_0["protocolVersion"]),
        (&for_v0_3["url"], &json!("0.3.0"))
    );
    assert_eq!(card(for_v0_3), both);
}

#[test]
fn an_agent_without_version_0_3_has_no_members_of_it() {
    let mut only = card(full_v0_3());
    only.supported_interfaces =
        vec![AgentInterface::new("https://u", binding::HTTP_JSON, Version::V1_0)];
    let document = written(&CardDocument(&only, Version::V1_0));
    assert_eq!((document.get("url"), document.get("protocolVersion")), (None, None));
}

#[test]
fn device_codes_are_left_out_of_version_0_3() {
    let mut with_code = card(full_v0_3());
    let Some(SecurityScheme::OAuth2 { flows, .. }) = with_code.security_schemes.get_mut("oauth")
    else {
        panic!("the card has a scheme of OAuth");
    };
    flows.device_code = Some(OAuthFlow::default());
    assert_eq!(written(&v0_3::Out::new(&with_code)), full_v0_3());
}

#[test]
fn the_http_binding_of_0_3_has_security_in_the_form_of_its_proto_file() {
    let json = written(&v0_3::Out::rest(&card(full_v0_3())));
    let key = json!({"apiKeySecurityScheme": {"description": "d", "location": "header", "name": "X-API-Key"}});
    assert_eq!(json["securitySchemes"]["key"], key);
    assert_eq!(json["security"][0], json!({"schemes": {"key": {"list": []}}}));
    let flows = &json["securitySchemes"]["oauth"]["oauth2SecurityScheme"]["flows"];
    assert_eq!(flows.as_object().unwrap().len(), 1, "its readers refuse a second flow: {flows}");
    assert_eq!(json["url"], "https://example.com/a2a");
}

#[test]
fn a_card_without_transports_is_one_of_json_rpc() {
    let read = card(json!({"name": "n", "url": "https://u"}));
    let interface = read.interface(binding::JSON_RPC, Version::V0_3).unwrap();
    assert_eq!(interface.url, "https://u");
    assert_eq!(read.interface(binding::JSON_RPC, Version::V1_0), None);
}

#[test]
fn a_security_scheme_without_a_type_or_a_member_of_it_is_refused() {
    for json in [
        json!({}),
        json!({"in": "header", "name": "k"}),
        json!({"type": "apiKey", "name": "k"}),
        json!({"type": "http"}),
        json!({"type": "openIdConnect"}),
        json!({"type": "other"}),
        json!({"httpAuthSecurityScheme": {}}),
    ] {
        assert!(serde_json::from_value::<SecurityScheme>(json.clone()).is_err(), "{json}");
    }
}
