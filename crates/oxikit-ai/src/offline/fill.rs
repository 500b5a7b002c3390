//! Valid values for JSON Schemas, preferring what hints suggest.

mod merge;
mod pattern;
mod scalar;

use oxikit_core::Schema;
use serde_json::{Map, Value};

use super::hints::Hints;
use merge::merge;

/// From this depth on only what is needed is filled, so that recursive schemas
/// come to an end.
const PLENTY_DEPTH: usize = 5;
/// Maximum depth of generated values. A schema that needs more has no value.
const MAX_DEPTH: usize = 64;
/// Maximum number of values that one attempt generates.
const MAX_VALUES: usize = 5_000;

/// A value of this schema. Keywords that are not understood (`not`, look-around
/// in patterns) may make it an invalid one; all others are kept.
pub(super) fn fill(schema: &Value, hints: &Hints) -> Value {
    let checked = Schema::from_json(schema.clone());
    let is_valid = |value: &Value| match &checked {
        Ok(checked) => checked.validate(value).is_ok(),
        Err(_) => true,
    };
    let mut first = None;
    let mut was_endless = false;
    for plan in plans() {
        let hints = if plan.use_hints { hints.clone() } else { Hints::default() };
        let mut filler = Filler::new(schema, hints, plan);
        match filler.value(schema, "text", 0) {
            Some(value) if is_valid(&value) => return value,
            value => first = first.or(value),
        }
        // With everything and with little: a third attempt ends no sooner.
        let is_endless = filler.budget == 0;
        if is_endless && was_endless && !plan.optional {
            break;
        }
        was_endless |= is_endless;
    }
    first.unwrap_or(Value::Null)
}

/// The choices of one attempt to fill a schema.
#[derive(Debug, Clone, Copy)]
struct Plan {
    use_hints: bool,
    /// Whether optional members are filled, too.
    optional: bool,
    /// Which of several variants is tried first.
    variant: usize,
}

/// The attempts, best first. The later ones are for schemas whose parts depend
/// on each other.
fn plans() -> impl Iterator<Item = Plan> {
    let plan = |use_hints, optional, variant| Plan { use_hints, optional, variant };
    let others =
        (1..6).flat_map(move |variant| [plan(false, true, variant), plan(false, false, variant)]);
    [plan(true, true, 0), plan(false, true, 0), plan(true, false, 0), plan(false, false, 0)]
        .into_iter()
        .chain(others)
}

struct Filler<'s> {
    root: &'s Value,
    hints: Hints,
    plan: Plan,
    /// Number of values that may still be generated.
    budget: usize,
    /// Which item of a list is being filled, so that items differ.
    item: usize,
}

impl<'s> Filler<'s> {
    fn new(root: &'s Value, hints: Hints, plan: Plan) -> Self {
        Self { root, hints, plan, budget: MAX_VALUES, item: 0 }
    }

    /// A value of this schema for a member of this name; `None` if there is none
    /// or if it would not end.
    fn value(&mut self, schema: &Value, name: &str, depth: usize) -> Option<Value> {
        self.budget = self.budget.checked_sub(1)?;
        if depth > MAX_DEPTH {
            return None;
        }
        match schema {
            Value::Bool(true) => Some(Value::from(format!("sample {name}"))),
            Value::Object(schema) => self.keywords(schema, name, depth),
            _ => None,
        }
    }

    fn keywords(&mut self, schema: &Map<String, Value>, name: &str, depth: usize) -> Option<Value> {
        if let Some(reference) = schema.get("$ref") {
            let target = resolve(self.root, reference)?;
            return self.value(target, name, depth + 1);
        }
        let mut schema = schema.clone();
        if let Some(all) = schema.shift_remove("allOf") {
            for other in all.as_array()? {
                merge(&mut schema, &self.resolved(other)?);
            }
            return self.value(&Value::Object(schema), name, depth + 1);
        }
        if let Some(variants) = take_variants(&mut schema) {
            return self.variant(&schema, variants, name, depth);
        }
        if let Some(value) = schema.get("const") {
            return Some(value.clone());
        }
        if let Some(values) = schema.get("enum") {
            return self.one_of(values.as_array()?, &schema);
        }
        let is_plain = self.is_plain(depth);
        match type_of(&schema, is_plain)? {
            "object" => self.object(&schema, depth),
            "array" => self.array(&schema, name, depth),
            "string" => self.string(&schema, name),
            "integer" => self.number(&schema, true),
            "number" => self.number(&schema, false),
            "boolean" => Some(Value::from(self.boolean())),
            "null" => Some(Value::Null),
            _ => None,
        }
    }

    /// Whether only required members are filled at this depth.
    fn is_plain(&self, depth: usize) -> bool {
        !self.plan.optional || depth >= PLENTY_DEPTH
    }

    /// A schema without references at its top.
    fn resolved(&self, schema: &Value) -> Option<Map<String, Value>> {
        let mut schema = schema;
        for _ in 0..MAX_DEPTH {
            match schema {
                Value::Bool(true) => return Some(Map::new()),
                Value::Object(members) => match members.get("$ref") {
                    None => return Some(members.clone()),
                    Some(reference) => schema = resolve(self.root, reference)?,
                },
                _ => return None,
            }
        }
        None
    }

    /// A value of one of several variants of a schema.
    fn variant(
        &mut self,
        schema: &Map<String, Value>,
        variants: Vec<Value>,
        name: &str,
        depth: usize,
    ) -> Option<Value> {
        let mut variants: Vec<_> =
            variants.iter().filter_map(|variant| self.resolved(variant)).collect();
        if self.is_plain(depth) {
            variants.sort_by_cached_key(count_references);
        } else {
            variants.sort_by_key(|variant| variant.get("type").is_some_and(|one| one == "null"));
        }
        let first = self.plan.variant % variants.len().max(1);
        variants.rotate_left(first);
        variants.into_iter().find_map(|variant| {
            let mut merged = schema.clone();
            merge(&mut merged, &variant);
            self.value(&Value::Object(merged), name, depth + 1)
        })
    }

    /// Chooses one of these values: one that the hints mention, else the first.
    fn one_of(&self, values: &[Value], schema: &Map<String, Value>) -> Option<Value> {
        let types = types_of(schema);
        let fitting: Vec<_> = values
            .iter()
            .filter(|value| types.is_empty() || types.iter().any(|one| is_of_type(value, one)))
            .collect();
        let is_mentioned = |value: &&&Value| match value.as_str() {
            Some(text) => self.hints.mentions(text),
            None => self.hints.mentions(&value.to_string()),
        };
        let mentioned = fitting.iter().find(is_mentioned).filter(|_| self.item == 0);
        let value = mentioned.or_else(|| fitting.get(self.item % fitting.len().max(1)))?;
        Some((*value).clone())
    }

    fn object(&mut self, schema: &Map<String, Value>, depth: usize) -> Option<Value> {
        let is_plain = self.is_plain(depth);
        let empty = Map::new();
        let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&empty);
        let required: Vec<&str> = schema
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let min = count(schema, "minProperties").unwrap_or(0);
        let max = count(schema, "maxProperties").unwrap_or(usize::MAX);
        let mut members = Map::new();
        for (name, property) in properties {
            let is_required = required.contains(&name.as_str());
            let is_wanted = !is_plain || members.len() < min;
            // Those that are required have a place kept for them.
            let is_room = members.len() + missing(&required, &members) < max;
            if is_required || (is_wanted && is_room) {
                match self.value(property, name, depth + 1) {
                    Some(value) => _ = members.insert(name.clone(), value),
                    None if is_required => return None,
                    None => {}
                }
            }
        }
        for name in required {
            if !members.contains_key(name) {
                let other = additional(schema).unwrap_or(&Value::Bool(true));
                members.insert(name.to_owned(), self.value(other, name, depth + 1)?);
            }
        }
        let is_map = properties.is_empty() && additional(schema).is_some_and(Value::is_object);
        let wanted = if is_map && !is_plain { min.max(1) } else { min };
        self.add_members(schema, &mut members, wanted.min(max), depth)?;
        Some(Value::Object(members))
    }

    /// Adds members of free names until there are as many as wanted.
    fn add_members(
        &mut self,
        schema: &Map<String, Value>,
        members: &mut Map<String, Value>,
        wanted: usize,
        depth: usize,
    ) -> Option<()> {
        let by_pattern = schema
            .get("patternProperties")
            .and_then(Value::as_object)
            .and_then(|patterns| patterns.iter().next());
        let outer = self.item;
        self.item = 0;
        while members.len() < wanted {
            let (name, value) = match (additional(schema), by_pattern) {
                (Some(value), _) => {
                    let names = match schema.get("propertyNames") {
                        Some(Value::Object(names)) => names.clone(),
                        _ => Map::new(),
                    };
                    (self.string(&names, "key")?.as_str()?.to_owned(), value)
                }
                (None, Some((pattern, value))) => (pattern::sample(pattern, self.item + 1)?, value),
                (None, None) => return None,
            };
            let value = self.value(value, &name, depth + 1)?;
            members.insert(name, value);
            self.item += 1;
        }
        self.item = outer;
        Some(())
    }

    fn array(&mut self, schema: &Map<String, Value>, name: &str, depth: usize) -> Option<Value> {
        let fixed = match (schema.get("prefixItems"), schema.get("items")) {
            (Some(Value::Array(fixed)), _) | (None, Some(Value::Array(fixed))) => &fixed[..],
            _ => &[],
        };
        let rest = match (schema.get("items"), schema.get("additionalItems")) {
            (Some(Value::Array(_)), rest) | (rest, _) => rest,
        };
        let rest = self.with_contained(rest.unwrap_or(&Value::Bool(true)), schema);
        let min = count(schema, "minItems").unwrap_or(0);
        let max = count(schema, "maxItems").unwrap_or(usize::MAX);
        let min = min.max(usize::from(schema.contains_key("contains")));
        let plenty = if fixed.is_empty() { 1 } else { fixed.len() };
        let wanted = if self.is_plain(depth) { min } else { min.max(plenty) };
        let is_unique = schema.get("uniqueItems") == Some(&Value::Bool(true));

        let outer = self.item;
        let mut items = Vec::new();
        self.item = 0;
        while items.len() < wanted.min(max) {
            let item = fixed.get(items.len()).unwrap_or(&rest);
            match self.value(item, name, depth + 1) {
                // The budget ends the search for one more.
                Some(item) if is_unique && items.contains(&item) => {}
                Some(item) => items.push(item),
                None if items.len() < min => return None,
                None => break,
            }
            self.item += 1;
        }
        self.item = outer;
        Some(Value::Array(items))
    }

    /// The schema of items, so that each is one that the array must contain.
    fn with_contained(&self, items: &Value, schema: &Map<String, Value>) -> Value {
        let contained = schema.get("contains").and_then(|contains| self.resolved(contains));
        match (contained, self.resolved(items)) {
            (Some(contained), Some(mut both)) => {
                merge(&mut both, &contained);
                Value::Object(both)
            }
            _ => items.clone(),
        }
    }
}

/// The schema that a reference within the document stands for.
fn resolve<'s>(root: &'s Value, reference: &Value) -> Option<&'s Value> {
    root.pointer(reference.as_str()?.strip_prefix('#')?)
}

/// Takes the variants out of a schema that has some.
fn take_variants(schema: &mut Map<String, Value>) -> Option<Vec<Value>> {
    for keyword in ["anyOf", "oneOf"] {
        if let Some(variants) = schema.shift_remove(keyword) {
            return variants.as_array().cloned();
        }
    }
    let condition = schema.shift_remove("if")?;
    let [yes, no] =
        ["then", "else"].map(|keyword| schema.shift_remove(keyword).unwrap_or(Value::Bool(true)));
    Some(vec![serde_json::json!({ "allOf": [condition, yes] }), no])
}

/// The schema of additional members; `None` if they are not allowed.
fn additional(schema: &Map<String, Value>) -> Option<&Value> {
    match schema.get("additionalProperties") {
        Some(Value::Bool(false)) => None,
        Some(other) => Some(other),
        None => Some(&Value::Bool(true)),
    }
}

/// Number of required members that are missing.
fn missing(required: &[&str], members: &Map<String, Value>) -> usize {
    required.iter().filter(|name| !members.contains_key(**name)).count()
}

/// Number of references in a schema. Variants with fewer of them are tried first, since their
/// values are shorter.
fn count_references(schema: &Map<String, Value>) -> usize {
    fn count(value: &Value) -> usize {
        match value {
            Value::Object(members) => count_references(members),
            Value::Array(items) => items.iter().map(count).sum(),
            _ => 0,
        }
    }
    usize::from(schema.contains_key("$ref")) + schema.values().map(count).sum::<usize>()
}

fn count(schema: &Map<String, Value>, keyword: &str) -> Option<usize> {
    schema.get(keyword)?.as_f64().map(|count| count as usize)
}

fn types_of(schema: &Map<String, Value>) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(types)) => types.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

/// The type to fill: of several, the first that is not `null`, or `null` where
/// little is wanted. Without a type the keywords tell.
fn type_of(schema: &Map<String, Value>, is_plain: bool) -> Option<&str> {
    const TELLING: [(&str, &[&str]); 4] = [
        (
            "object",
            &[
                "properties",
                "required",
                "additionalProperties",
                "minProperties",
                "patternProperties",
                "propertyNames",
            ],
        ),
        ("array", &["items", "prefixItems", "minItems", "contains", "uniqueItems"]),
        ("number", &["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"]),
        ("string", &[]),
    ];
    let types = types_of(schema);
    if schema.contains_key("type") {
        let is_null = |one: &&&str| **one == "null";
        let null = types.iter().find(is_null);
        let other = types.iter().find(|one| !is_null(one));
        let chosen = if is_plain { null.or(other) } else { other.or(null) };
        return chosen.copied();
    }
    let tells = |keywords: &[&str]| keywords.iter().any(|keyword| schema.contains_key(*keyword));
    TELLING
        .iter()
        .find(|(name, keywords)| *name == "string" || tells(keywords))
        .map(|(name, _)| *name)
}

fn is_of_type(value: &Value, name: &str) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "boolean" => value.is_boolean(),
        _ => value.is_null(),
    }
}
