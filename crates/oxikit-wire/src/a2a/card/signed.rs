//! The texts that signatures of cards cover.

use serde::Deserialize;
use serde_json::Value;

use super::AgentCard;
use crate::canonical_json;

/// The member that a signature does not cover.
const SIGNATURES: &str = "signatures";
const REQUIREMENTS: &str = "securityRequirements";

/// The texts that a signature of this card may cover, without duplicates. None of them has the
/// signatures.
///
/// 1. The document as it is. Version 0.3 says no more.
/// 2. The members of version 1.0 with the presence rules of its proto file: required members are
///    there even if they are empty, others only if they are not the default.
/// 3. The second one without any `null`, empty text, list or object. The official libraries sign it.
///
/// A signer makes a signature for each, so that every reader finds one it can verify. A reader
/// accepts a signature of any, and uses what this text says: members that it does not have are
/// not signed.
///
/// ```
/// use oxikit_wire::a2a::signed_forms;
/// use serde_json::json;
///
/// let card = json!({ "name": "Coder", "description": "", "url": "https://example.com" });
/// let forms = signed_forms(&card).unwrap();
/// assert_eq!(forms[0], r#"{"description":"","name":"Coder","url":"https://example.com"}"#);
/// assert!(forms[1].contains(r#""description":"""#) && !forms[2].contains("description"));
/// ```
///
/// # Errors
///
/// If the document is not a card.
pub fn signed_forms(document: &Value) -> serde_json::Result<Vec<String>> {
    let card = AgentCard::deserialize(document)?;
    let mut whole = document.clone();
    if let Some(members) = whole.as_object_mut() {
        members.shift_remove(SIGNATURES);
    }
    let mut present = serde_json::to_value(of_version_1_0(card))?;
    drop_empty_scopes(&mut present);
    let full = without_empty(present.clone()).unwrap_or_else(|| Value::Object(Default::default()));
    let mut forms: Vec<String> = Vec::with_capacity(3);
    for form in [whole, present, full] {
        let text = canonical_json(&form);
        if !forms.contains(&text) {
            forms.push(text);
        }
    }
    Ok(forms)
}

/// The card without signatures and without what version 1.0 does not write.
fn of_version_1_0(mut card: AgentCard) -> AgentCard {
    card.signatures.clear();
    card.capabilities.state_transition_history = None;
    for scheme in card.security_schemes.values_mut() {
        scheme.drop_defaults();
    }
    card
}

/// Leaves out empty lists of scopes, which are not required.
fn drop_empty_scopes(card: &mut Value) {
    let drop_in = |requirements: Option<&mut Value>| {
        let requirements = requirements.and_then(Value::as_array_mut).into_iter().flatten();
        let schemes = requirements.filter_map(|it| it.get_mut("schemes")?.as_object_mut());
        for scopes in schemes.flat_map(|schemes| schemes.values_mut()) {
            if let Some(scopes) = scopes.as_object_mut() {
                scopes.retain(|_, list| list.as_array().is_none_or(|list| !list.is_empty()));
            }
        }
    };
    drop_in(card.get_mut(REQUIREMENTS));
    for skill in card.get_mut("skills").and_then(Value::as_array_mut).into_iter().flatten() {
        drop_in(skill.get_mut(REQUIREMENTS));
    }
}

/// `None` if nothing is left.
fn without_empty(value: Value) -> Option<Value> {
    match value {
        Value::String(text) => (!text.is_empty()).then_some(Value::String(text)),
        Value::Array(items) => {
            let items: Vec<_> = items.into_iter().filter_map(without_empty).collect();
            (!items.is_empty()).then_some(Value::Array(items))
        }
        Value::Object(members) => {
            let members = members.into_iter();
            let members: crate::JsonObject =
                members.filter_map(|(name, member)| Some((name, without_empty(member)?))).collect();
            (!members.is_empty()).then_some(Value::Object(members))
        }
        Value::Null => None,
        other => Some(other),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_card_of_both_versions_has_three_forms() {
        let card = json!({
            "protocolVersion": "0.3.0", "url": "https://a.example", "name": "A", "description": "",
            "version": "1", "capabilities": { "stateTransitionHistory": true, "streaming": false },
            "supportedInterfaces": [{ "url": "https://a.example", "protocolBinding": "JSONRPC", "protocolVersion": "1.0" }],
            "securitySchemes": { "key": { "apiKeySecurityScheme": { "location": "header", "name": "X" } } },
            "securityRequirements": [{ "schemes": { "key": { "list": [] } } }],
            "defaultInputModes": [], "defaultOutputModes": [], "skills": [],
            "signatures": [{ "protected": "e30", "signature": "AA" }],
        });
        let forms = signed_forms(&card).unwrap();
        assert!(forms.iter().all(|form| !form.contains("signatures")), "{forms:?}");
        let [whole, present, full] = &forms[..] else { panic!("{forms:?}") };
        assert!(whole.contains("protocolVersion\":\"0.3.0") && whole.contains("History"));
        assert!(!present.contains("0.3.0") && !present.contains("History"), "{present}");
        assert!(
            present.contains(r#""skills":[]"#) && present.contains(r#"{"schemes":{"key":{}}}"#)
        );
        assert_eq!(
            full,
            "{\"capabilities\":{\"streaming\":false},\"name\":\"A\",\"securitySchemes\":{\"key\":\
             {\"apiKeySecurityScheme\":{\"location\":\"header\",\"name\":\"X\"}}},\
             \"supportedInterfaces\":[{\"protocolBinding\":\"JSONRPC\",\"protocolVersion\":\"1.0\",\
             \"url\":\"https://a.example\"}],\"version\":\"1\"}"
        );
    }
}
