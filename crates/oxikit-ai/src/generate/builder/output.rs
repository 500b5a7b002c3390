//! The part of the builder that says which output is wanted.

use oxikit_core::Schema;
use oxikit_wire::{Instructions, OutputOptions};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::Generate;

impl<T> Generate<T> {
    /// Asks for an output of this type, and holds the model to its schema.
    ///
    /// ```
    /// # use oxikit::prelude::*;
    /// #[derive(Deserialize, JsonSchema)]
    /// struct Recipe {
    ///     title: String,
    ///     minutes: u32,
    /// }
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<()> {
    /// # let ai = Oxikit::builder().plugin(Offline).default_model("offline/demo").build()?;
    /// let recipe = ai.generate().prompt("A quick soup.").output::<Recipe>().await?.output()?;
    /// println!("{} in {} minutes", recipe.title, recipe.minutes);
    /// # Ok(()) }
    /// ```
    pub fn output<U: DeserializeOwned + JsonSchema>(mut self) -> Generate<U> {
        self.output_options().json_schema = Some(Schema::of::<U>().as_json().clone());
        self.retype()
    }

    /// Asks for an output of this JSON Schema, for schemas that are only known at run time.
    /// The output is read as a JSON value.
    pub fn output_schema(mut self, schema: Value) -> Self {
        self.output_options().json_schema = Some(schema);
        self
    }

    /// Asks for a format: `text`, `json`, `array`, `jsonl` or `enum`. With a schema the default
    /// is `json`. An `array` or `jsonl` can be read object by object while it streams; see
    /// [`GenerateStream::partial_output`](crate::GenerateStream::partial_output).
    pub fn output_format(mut self, format: impl Into<String>) -> Self {
        self.output_options().format = Some(format.into());
        self
    }

    /// Replaces the text that explains the format to the model, or leaves it out.
    pub fn output_instructions(mut self, instructions: Instructions) -> Self {
        self.output_options().instructions = Some(instructions);
        self
    }

    /// Makes the provider enforce the schema while the model generates, also where a prompt says
    /// otherwise. Models that cannot do so get the schema as instructions.
    pub fn constrained(mut self) -> Self {
        self.output_options().constrained = Some(true);
        self
    }

    /// Describes the schema to the model in the instructions only. The provider does not enforce
    /// it; the answer is still checked against it.
    pub fn unconstrained(mut self) -> Self {
        self.output_options().constrained = Some(false);
        self
    }

    fn output_options(&mut self) -> &mut OutputOptions {
        self.options.output.get_or_insert_default()
    }
}
