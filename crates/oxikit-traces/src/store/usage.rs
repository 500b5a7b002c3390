//! Token usage and cost of model calls.
//!
//! Genkit's runtimes report the usage in the output of a model; other programs use the attributes
//! that OpenTelemetry defines. A cost that is reported is kept, others are computed from
//! configured prices.

use std::collections::HashMap;

use oxikit_wire::attribute;
use oxikit_wire::trace::RawMembers;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::members::{shown, text_of};

/// Tokens, and their cost if it is known: of one span, or the sums of a trace.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TokenUsage {
    /// Tokens of the requests.
    pub input_tokens: i64,
    /// Tokens of the answers.
    pub output_tokens: i64,
    /// All tokens. Can exceed the sum of the other two, by tokens for reasoning.
    pub total_tokens: i64,
    /// The cost that the runtime reports, or else computed by [`ModelPrice`]. The currency
    /// is that of the configured prices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
}

impl TokenUsage {
    /// Adds the usage of a span to the sums of its trace.
    pub(super) fn add(&mut self, other: &Self) {
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.total_tokens = self.total_tokens.saturating_add(other.total_tokens);
        if let Some(cost) = other.cost {
            self.cost = Some(self.cost.unwrap_or_default() + cost);
        }
    }

    /// Removes the usage of a span that is replaced.
    pub(super) fn subtract(&mut self, other: &Self) {
        self.input_tokens = self.input_tokens.saturating_sub(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_sub(other.output_tokens);
        self.total_tokens = self.total_tokens.saturating_sub(other.total_tokens);
        if let (Some(all), Some(cost)) = (self.cost, other.cost) {
            self.cost = Some(all - cost);
        }
    }

    /// The usage of these counts. Without a total it is the sum of the other two.
    fn new(input: Option<f64>, output: Option<f64>, total: Option<f64>) -> Self {
        let input_tokens = whole(input);
        let output_tokens = whole(output);
        let total_tokens =
            total.map_or(input_tokens.saturating_add(output_tokens), |n| whole(Some(n)));
        Self { input_tokens, output_tokens, total_tokens, cost: None }
    }
}

/// The price of a model per million tokens, in the currency of the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelPrice {
    /// Price of input tokens.
    pub input: f64,
    /// Price of output tokens, including those for reasoning.
    pub output: f64,
}

impl ModelPrice {
    /// The cost of this usage. Tokens that are neither input nor output, such as those for
    /// reasoning, cost as much as output.
    fn cost(&self, usage: &TokenUsage) -> f64 {
        // The total includes tokens for reasoning, which some models do not count as output.
        let answered =
            usage.total_tokens.saturating_sub(usage.input_tokens).max(usage.output_tokens);
        (usage.input_tokens as f64 * self.input + answered as f64 * self.output) / 1e6
    }
}

/// The prices of models, by their names.
pub(super) type Prices = HashMap<String, ModelPrice>;

/// An invalid count is 0, so that one bad span does not spoil a sum.
fn whole(count: Option<f64>) -> i64 {
    count.filter(|count| (0.0..1e15).contains(count)).map_or(0, |count| count as i64)
}

/// The part of a model's output that is read.
#[derive(Deserialize)]
struct Output<'a> {
    #[serde(borrow, default)]
    usage: Option<&'a RawValue>,
}

/// The usage as Genkit's models report it.
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

/// Further values that a plugin reports.
#[derive(Deserialize)]
struct Custom {
    #[serde(default)]
    cost: Option<f64>,
}

/// The usage of a span: of Genkit's models by their output, and of others by the attributes that
/// OpenTelemetry defines. `None` if the span has neither, or they cannot be read.
pub(super) fn usage_of(
    attributes: &RawMembers<'_>,
    subtype: Option<&str>,
    prices: &Prices,
) -> Option<TokenUsage> {
    let (mut usage, names) = if subtype == Some("model") {
        (usage_of_model(attributes)?, &[attribute::NAME][..])
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

/// The usage in the output of a Genkit model.
fn usage_of_model(attributes: &RawMembers<'_>) -> Option<TokenUsage> {
    let output = text_of(attributes.get(attribute::OUTPUT)?)?;
    let output: Output<'_> = serde_json::from_str(&output).ok()?;
    let usage: Usage = serde_json::from_str(output.usage?.get()).ok()?;
    let tokens = TokenUsage::new(usage.input_tokens, usage.output_tokens, usage.total_tokens);
    let cost = usage.cost.or_else(|| usage.custom?.cost);
    Some(TokenUsage { cost, ..tokens })
}

/// The usage in attributes of OpenTelemetry's conventions for generative AI.
fn usage_of_telemetry(attributes: &RawMembers<'_>) -> Option<TokenUsage> {
    let number = |name| shown(attributes.get(name)?).parse::<f64>().ok();
    let input = number("gen_ai.usage.input_tokens");
    let output = number("gen_ai.usage.output_tokens");
    (input.is_some() || output.is_some()).then(|| TokenUsage::new(input, output, None))
}
