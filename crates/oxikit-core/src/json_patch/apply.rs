//! Applies a patch to a document.
//!
//! Patches come from other processes. So every operation is bounded: in the depth that a document
//! may reach, and in the bytes that copies may add.

use oxikit_wire::{PatchKind, PatchOperation};
use serde_json::{Map, Value};

use super::is_reserved;
use crate::{Result, Status};

/// Maximum depth of the patched document. A patch that nests deeper is refused, as no JSON
/// reader accepts the result.
const MAX_DEPTH: usize = 128;
/// Maximum bytes that `copy` operations may add. Otherwise a few bytes of patch could double the
/// document again and again.
const MAX_COPIED_BYTES: usize = 16 << 20;

/// Applies the operations of a patch, one after another.
///
/// Like the official clients, it is lenient with a patch that does not quite fit: objects
/// that are missing on the way to a new member are made, and a `remove` or `replace` of a
/// value that does not exist changes nothing.
///
/// ```
/// use oxikit_core::json_patch::apply;
/// use serde_json::json;
///
/// let mut cart = json!({ "items": ["tea"] });
/// let patch = serde_json::from_value::<Vec<_>>(json!([
///     { "op": "add", "path": "/items/-", "value": "milk" },
///     { "op": "add", "path": "/price/total", "value": 7 },
///     { "op": "remove", "path": "/coupon" },
/// ]))?;
/// apply(&mut cart, &patch)?;
/// assert_eq!(cart, json!({ "items": ["tea", "milk"], "price": { "total": 7 } }));
/// # Ok::<(), oxikit_core::Status>(())
/// ```
///
/// # Errors
///
/// `INVALID_ARGUMENT` if this is not a valid patch, on a `test` that finds another value, on the
/// names `__proto__`, `prototype` and `constructor` in a path, and on a document that grows beyond
/// the limit. The changes before the one that failed stay.
pub fn apply(document: &mut Value, patch: &[PatchOperation]) -> Result<()> {
    let mut copied = 0;
    for operation in patch {
        apply_one(document, operation, &mut copied).map_err(|why| {
            Status::invalid_argument(format!("the patch of `{}` {why}", operation.path))
        })?;
    }
    Ok(())
}

/// The reason why an operation cannot be applied, worded to follow "the patch of `/path`".
type Refusal = &'static str;

fn apply_one(
    document: &mut Value,
    operation: &PatchOperation,
    copied: &mut usize,
) -> Result<(), Refusal> {
    let path = tokens(&operation.path)?;
    let source = || tokens(operation.from.as_deref().ok_or("has no `from`")?);
    // Official agents leave the value out when the state becomes undefined.
    let value = || operation.value.clone().unwrap_or_default();
    match operation.op {
        PatchKind::Add => add(document, &path, value()),
        PatchKind::Replace => replace(document, &path, value()),
        PatchKind::Remove => {
            remove(document, &path)?;
            Ok(())
        }
        PatchKind::Test => match find(document, &path)? {
            Some(found) if Some(&*found) == operation.value.as_ref() => Ok(()),
            _ => Err("tests for another value than is there"),
        },
        PatchKind::Copy => {
            let source = source()?;
            // The document itself is weighed once, with the first copy: patches without copies
            // cannot grow it beyond their own size, and need not pay for it.
            if *copied == 0 {
                *copied = weight(document);
            }
            let Some(found) = find(document, &source)? else { return Ok(()) };
            *copied = copied.saturating_add(weight(found));
            if *copied > MAX_COPIED_BYTES {
                return Err("copies more than a document may hold");
            }
            let value = found.clone();
            add(document, &path, value)
        }
        PatchKind::Move => {
            let source = source()?;
            if path.len() > source.len() && path.starts_with(&source) {
                return Err("moves a value into itself");
            }
            match remove(document, &source)? {
                Some(value) => add(document, &path, value),
                None => Ok(()),
            }
        }
    }
}

/// The tokens of a JSON Pointer (RFC 6901), unescaped.
fn tokens(pointer: &str) -> Result<Vec<String>, Refusal> {
    if pointer.is_empty() {
        return Ok(Vec::new());
    }
    let rest =
        pointer.strip_prefix('/').ok_or("is not a valid JSON Pointer: it must begin with `/`")?;
    let unescape = |token: &str| match token.contains('~') {
        // In this order: `~01` means `~1`, not `/`.
        true => token.replace("~1", "/").replace("~0", "~"),
        false => token.to_owned(),
    };
    let tokens: Vec<_> = rest.split('/').take(MAX_DEPTH + 1).map(unescape).collect();
    if tokens.len() > MAX_DEPTH {
        return Err("is too deep");
    }
    if tokens.iter().any(|token| is_reserved(token)) {
        return Err("names a member that is reserved");
    }
    Ok(tokens)
}

/// The value at this path, if it exists.
fn find<'a>(document: &'a mut Value, path: &[String]) -> Result<Option<&'a mut Value>, Refusal> {
    let mut place = document;
    for token in path {
        let below = match place {
            Value::Object(members) => members.get_mut(token),
            Value::Array(elements) => {
                let Some(index) = index(token)? else { return Ok(None) };
                elements.get_mut(index)
            }
            _ => None,
        };
        let Some(below) = below else { return Ok(None) };
        place = below;
    }
    Ok(Some(place))
}

/// The index of an element; `None` for `-`, the index behind the last element.
fn index(token: &str) -> Result<Option<usize>, Refusal> {
    match token {
        "-" => Ok(None),
        _ if token.bytes().all(|byte| byte.is_ascii_digit()) => {
            token.parse().map(Some).map_err(|_| "names an element that no list can have")
        }
        _ => Err("names a member of a list"),
    }
}

fn add(document: &mut Value, path: &[String], value: Value) -> Result<(), Refusal> {
    if !is_within(&value, MAX_DEPTH - path.len()) {
        return Err("makes the document too deep");
    }
    let Some((last, above)) = path.split_last() else {
        *document = value;
        return Ok(());
    };
    match parent(document, above)? {
        Value::Object(members) => {
            members.insert(last.clone(), value);
        }
        Value::Array(elements) => {
            // An index behind the end appends, as in the official clients.
            let index = index(last)?.unwrap_or(elements.len()).min(elements.len());
            elements.insert(index, value);
        }
        _ => return Err("adds to a value that has no members"),
    }
    Ok(())
}

/// The object or list that the new member is added to. Objects that are missing on the way are
/// made.
fn parent<'a>(document: &'a mut Value, path: &[String]) -> Result<&'a mut Value, Refusal> {
    let mut place = document;
    for token in path {
        make_object(place);
        place = match place {
            Value::Object(members) => members.entry(token).or_insert(Value::Null),
            Value::Array(elements) => match index(token)? {
                Some(index) => elements.get_mut(index),
                None => None,
            }
            .ok_or("goes through an element that is not there")?,
            _ => return Err("goes through a value that has no members"),
        };
    }
    make_object(place);
    Ok(place)
}

fn make_object(place: &mut Value) {
    if place.is_null() {
        *place = Value::Object(Map::new());
    }
}

fn replace(document: &mut Value, path: &[String], value: Value) -> Result<(), Refusal> {
    if !is_within(&value, MAX_DEPTH - path.len()) {
        return Err("makes the document too deep");
    }
    if let Some(place) = find(document, path)? {
        *place = value;
    }
    Ok(())
}

fn remove(document: &mut Value, path: &[String]) -> Result<Option<Value>, Refusal> {
    let Some((last, above)) = path.split_last() else { return Ok(Some(document.take())) };
    Ok(match find(document, above)? {
        // The other members keep their order.
        Some(Value::Object(members)) => members.shift_remove(last),
        Some(Value::Array(elements)) => {
            index(last)?.filter(|index| *index < elements.len()).map(|index| elements.remove(index))
        }
        _ => None,
    })
}

/// Whether lists and objects are nested at most `depth` levels. It stops at the first branch that
/// is deeper.
fn is_within(value: &Value, depth: usize) -> bool {
    let Some(below) = depth.checked_sub(1) else {
        return !matches!(value, Value::Array(_) | Value::Object(_));
    };
    match value {
        Value::Array(elements) => elements.iter().all(|value| is_within(value, below)),
        Value::Object(members) => members.values().all(|value| is_within(value, below)),
        _ => true,
    }
}

/// The approximate number of bytes that a value takes in memory.
fn weight(value: &Value) -> usize {
    let inner = match value {
        Value::String(text) => text.len(),
        Value::Array(elements) => elements.iter().map(weight).sum(),
        Value::Object(members) => {
            members.iter().map(|(name, value)| name.len() + weight(value)).sum()
        }
        _ => 0,
    };
    size_of::<Value>() + inner
}
