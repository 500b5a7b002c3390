//! Scopes: what a caller's credentials allow.

use oxikit_core::{ActionContext, Result, Status};
use serde_json::Value;

/// The claims of a token that list scopes: a text with spaces (RFC 8693), or a list.
const CLAIMS: [&str; 2] = ["scope", "scp"];

/// The scopes of a caller: those that its credentials were given on this server (`auth.scopes`),
/// and those of its token (`auth.token`, claims `scope` and `scp`).
pub(crate) fn scopes_of(caller: &ActionContext) -> Vec<&str> {
    let Some(auth) = caller.auth() else { return Vec::new() };
    let token = auth.get("token");
    let claims = CLAIMS.into_iter().filter_map(|claim| token?.get(claim));
    auth.get("scopes").into_iter().chain(claims).flat_map(texts).collect()
}

/// Refuses a caller that has not all of these scopes.
pub(crate) fn check_scopes(caller: &ActionContext, required: &[String]) -> Result<()> {
    let granted = scopes_of(caller);
    if required.iter().all(|scope| granted.contains(&scope.as_str())) {
        return Ok(());
    }
    // RFC 6749 has neither of these in scopes; they would end the text of the challenge.
    let required = required.join(" ").replace(['"', '\\'], "");
    Err(Status::permission_denied(format!("the credentials lack a scope of: {required}"))
        .with_challenge(format!("Bearer error=\"insufficient_scope\", scope=\"{required}\"")))
}

fn texts(claim: &Value) -> Vec<&str> {
    match claim {
        Value::String(text) => text.split_ascii_whitespace().collect(),
        Value::Array(items) => items.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn scopes_are_texts_or_lists() {
        for auth in [
            json!({ "token": { "scope": "read  write" } }),
            json!({ "token": { "scp": "read write" } }),
            json!({ "token": { "scp": ["read", "write", 7] } }),
            json!({ "token": { "scope": "read" }, "scopes": ["write"] }),
        ] {
            let caller = ActionContext::default().with("auth", auth.clone());
            let required = ["write".to_owned(), "read".to_owned()];
            assert!(check_scopes(&caller, &required).is_ok(), "{auth}");
            let refused = check_scopes(&caller, &["admin".to_owned()]).unwrap_err();
            let challenge = r#"Bearer error="insufficient_scope", scope="admin""#;
            assert_eq!(refused.challenge(), Some(challenge));
        }
        let none = ActionContext::default().with("auth", json!({ "token": { "scope": 7 } }));
        assert!(check_scopes(&none, &["7".to_owned()]).is_err());
        assert!(check_scopes(&none, &[]).is_ok());
    }
}
