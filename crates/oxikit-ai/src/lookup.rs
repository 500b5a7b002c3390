//! Finds an action by kind and name. The error of a missing one lists similar names.

use oxikit_core::near::is_near;
use oxikit_core::{Action, ActionKind, Registry, Result, Status};

/// Maximum number of names in a message. Further names are only counted.
const MAX_LISTED: usize = 8;

/// The action of this kind and name. A missing one is `NOT_FOUND`, with the nearest names, or
/// all of them, as the hint. A hint is for the developer and is not sent to clients.
pub(crate) async fn find(registry: &Registry, kind: ActionKind, name: &str) -> Result<Action> {
    match registry.resolve(kind, name).await? {
        Some(action) => Ok(action),
        None => Err(missing(registry, kind, name)),
    }
}

pub(crate) fn missing(registry: &Registry, kind: ActionKind, name: &str) -> Status {
    let actions = registry.list();
    let known: Vec<&str> =
        actions.iter().filter(|action| action.kind() == kind).map(Action::name).collect();
    let mut kind = kind.to_string();
    kind[..1].make_ascii_uppercase();
    Status::not_found(format!("{kind} '{name}' not found")).with_hint(advice(name, &known))
}

fn advice(name: &str, known: &[&str]) -> String {
    if known.is_empty() {
        return "none is defined: define it, or add the plugin that brings it".to_owned();
    }
    did_you_mean(name, known).unwrap_or_else(|| format!("defined are {}", quoted(known)))
}

/// The question "did you mean …?" with the similar names; `None` if no name is similar.
pub(crate) fn did_you_mean(name: &str, known: &[&str]) -> Option<String> {
    let near: Vec<&str> = known.iter().copied().filter(|known| is_near(name, known)).collect();
    (!near.is_empty()).then(|| format!("did you mean {}?", quoted(&near)))
}

fn quoted(names: &[&str]) -> String {
    let mut list: Vec<String> =
        names.iter().take(MAX_LISTED).map(|name| format!("`{name}`")).collect();
    if names.len() > MAX_LISTED {
        list.push(format!("{} more", names.len() - MAX_LISTED));
    }
    list.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_advice_names_what_was_probably_meant_or_all_there_is() {
        let check = |name, known: &[&str], expected| assert_eq!(advice(name, known), expected);
        check("acme/embed", &[], "none is defined: define it, or add the plugin that brings it");
        check("acme/embd", &["acme/embed", "other"], "did you mean `acme/embed`?");
        check("embed", &["acme/embed"], "did you mean `acme/embed`?");
        check("wholly-different", &["a", "b"], "defined are `a`, `b`");
        check(
            "zzz",
            &["a1", "b2", "c3", "d4", "e5", "f6", "g7", "h8", "i9"],
            "defined are `a1`, `b2`, `c3`, `d4`, `e5`, `f6`, `g7`, `h8`, 1 more",
        );
    }
}
