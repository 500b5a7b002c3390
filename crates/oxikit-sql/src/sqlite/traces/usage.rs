//! What a call of a model has used.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::members::{Members, shown, text_of};

/// Tokens, and what they cost if the runtime has said so.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TokenUsage {
    /// Tokens of the requests.
    pub input_tokens: i64,
    /// Tokens of the answers.
    pub output_tokens: i64,
    /// All of them; there may be more than the two others have, for thoughts.
    pub total_tokens: i64,
    /// As the runtime counts, or else by [`ModelPrice`]; one currency for all is up to
    /// whoever says the prices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
}

impl TokenUsage {
    pub(super) fn add(&mut self, other: &Self) {
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.total_tokens = self.total_tokens.saturating_add(other.total_tokens);
        if let Some(cost) = other.cost {
            self.cost = Some(self.cost.unwrap_or_default() + cost);
        }
    }

    pub(super) fn subtract(&mut self, other: &Self) {
        self.input_tokens = self.input_tokens.saturating_sub(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_sub(other.output_tokens);
        self.total_tokens = self.total_tokens.saturating_sub(other.total_tokens);
        if let (Some(all), Some(cost)) = (self.cost, other.cost) {
            self.cost = Some(all - cost);
        }
    }

    fn new(input: Option<f64>, output: Option<f64>, total: Option<f64>) -> Self {
        let input_tokens = whole(input);
        let output_tokens = whole(output);
        let total_tokens =
            total.map_or(input_tokens.saturating_add(output_tokens), |n| whole(Some(n)));
        Self { input_tokens, output_tokens, total_tokens, cost: None }
    }
}

/// What a model costs, for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelPrice {
    /// Of requests.
    pub input: f64,
    /// Of answers, and of thoughts.
    pub output: f64,
}

impl ModelPrice {
    fn cost(&self, usage: &TokenUsage) -> f64 {
        let answered =
            usage.total_tokens.saturating_sub(usage.input_tokens).max(usage.output_tokens);
        (usage.input_tokens as f64 * self.input + answered as f64 * self.output) / 1e6
    }
}

/// The prices of models, by their names.
pub(super) type Prices = HashMap<String, ModelPrice>;

/// A count that makes no sense is 0: a sum must not suffer from one bad span.
fn whole(count: Option<f64>) -> i64 {
    count.filter(|count| (0.0..1e15).contains(count)).map_or(0, |count| count as i64)
}

#[derive(Deserialize)]
struct Output<'a> {
    #[serde(borrow, default)]
    usage: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Usage {
    #[serde(default)]
    input_tokens: Option<f64>,
    #[serde(default)]
    output_tokens: Option<f64>,
    #[serde(default)]
    total_tokens: Option<f64>,
    #[serde(default)]
    cost: Option<f64>,
    #[serde(default)]
    custom: Option<Custom>,
}

#[derive(Deserialize)]
struct Custom {
    #[serde(default)]
    cost: Option<f64>,
}

/// The usage of a span: of Genkit's models, by their output, and of others, by the
/// attributes that OpenTelemetry has for it. What cannot be read is no usage.
pub(super) fn usage_of(
    attributes: &Members<'_>,
    subtype: Option<&str>,
    prices: &Prices,
) -> Option<TokenUsage> {
    let (mut usage, names) = if subtype == Some("model") {
        (usage_of_model(attributes)?, &["genkit:name"][..])
    } else {
        let names = &["gen_ai.response.model", "gen_ai.request.model"][..];
        (usage_of_telemetry(attributes)?, names)
    };
    if usage.cost.is_none() && !prices.is_empty() {
        let price = |name: &&str| prices.get(&*text_of(attributes.get(name)?)?);
        usage.cost = names.iter().find_map(price).map(|price| price.cost(&usage));
    }
    Some(usage)
}

fn usage_of_model(attributes: &Members<'_>) -> Option<TokenUsage> {
    let output = text_of(attributes.get("genkit:output")?)?;
    let output: Output<'_> = serde_json::from_str(&output).ok()?;
    let usage: Usage = serde_json::from_str(output.usage?.get()).ok()?;
    let tokens = TokenUsage::new(usage.input_tokens, usage.output_tokens, usage.total_tokens);
    let cost = usage.cost.or_else(|| usage.custom?.cost);
    Some(TokenUsage { cost, ..tokens })
}

fn usage_of_telemetry(attributes: &Members<'_>) -> Option<TokenUsage> {
    let number = |name| shown(attributes.get(name)?).parse::<f64>().ok();
    let input = number("gen_ai.usage.input_tokens");
    let output = number("gen_ai.usage.output_tokens");
    (input.is_some() || output.is_some()).then(|| TokenUsage::new(input, output, None))
}
