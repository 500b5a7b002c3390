//! The `#[tool]` attribute of oxikit. Use it as `oxikit::tool`.

mod tool;

use proc_macro::TokenStream;

/// Makes a tool of a documented async function.
///
/// The function's name becomes the tool's name, its doc comment the description,
/// and every parameter a property of the input schema; a doc comment on a
/// parameter describes it to the model. A parameter of type `Context` is handed
/// over and not asked for. In place of the function there is one without
/// parameters that makes the `Tool`.
///
/// `#[tool(name = "getWeather")]` gives another name, `description = "…"` another
/// description.
#[proc_macro_attribute]
pub fn tool(options: TokenStream, function: TokenStream) -> TokenStream {
    tool::expand(options.into(), function.into())
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}
