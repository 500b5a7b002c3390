//! The `#[tool]` attribute of oxikit. Use it as `oxikit::tool`.
//!
//! The crate only writes code; the code that it writes uses `::oxikit`, so an application needs a
//! dependency of that name.

mod tool;

use proc_macro::TokenStream;

/// Makes a tool from a documented async function.
///
/// The attribute replaces the function by one of the same name without parameters, which returns
/// the `Tool`:
///
/// ```text
/// /// The weather in a city, today.
/// #[tool]
/// async fn weather(
///     /// The city's name.
///     city: String,
/// ) -> Result<String> { … }
///
/// ai.generate().prompt("Is it warm in Oslo?").tool(weather())
/// ```
///
/// | of the function | becomes |
/// | --- | --- |
/// | name | the name of the tool; another one by `#[tool(name = "getWeather")]` |
/// | doc comment | the description for the model; another one by `description = "…"` |
/// | parameter | a property of the input schema, required unless its type is an `Option` |
/// | doc comment or `#[serde(…)]` of a parameter | the same of the property |
/// | parameter of type `Context` | no property: it gets the context of the call |
/// | `#[tool(read_only)]` | the tool only reads; without it the tool counts as writing |
/// | return type | the output; an `Err` of a `Result` fails the tool call |
///
/// The types of parameters implement `Deserialize` and `JsonSchema`, the output `Serialize`.
///
/// # Errors
///
/// The code does not compile if the function is not `async`, is generic or has `self`, if a
/// parameter is a reference or has no name, or if there is no description. The message says what to
/// write instead.
#[proc_macro_attribute]
pub fn tool(options: TokenStream, function: TokenStream) -> TokenStream {
    tool::expand(options.into(), function.into())
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}
