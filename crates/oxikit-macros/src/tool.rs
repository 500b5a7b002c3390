//! The expansion of `#[tool]`.
//!
//! The function is moved unchanged, under the name `body`, into a new function that builds the
//! tool. Its parameters become the fields of a struct `Arguments`, from which serde reads the
//! input and schemars makes the schema. Errors point to the part of the function that is wrong.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::parse::Parser;
use syn::{
    Attribute, Error, Expr, ExprLit, FnArg, Ident, ItemFn, Lit, LitStr, Meta, Pat, PatType, Result,
    ReturnType, Type,
};

/// Expands the attribute. `options` are the tokens in its brackets.
///
/// # Errors
///
/// If the function cannot be a tool. The caller turns the error into a compiler error.
pub(crate) fn expand(options: TokenStream, function: TokenStream) -> Result<TokenStream> {
    let mut function: ItemFn = syn::parse2(function)?;
    let options = Options::parse(options)?;
    refuse_unsupported(&function)?;
    let parameters = take_parameters(&mut function)?;

    let docs = doc_text(&function.attrs);
    let description = options.description.map_or(docs, |text| text.value());
    if description.is_empty() {
        return Err(Error::new_spanned(
            &function.sig.ident,
            "the tool has no description for the model: add a doc comment, or `description = \"…\"`",
        ));
    }
    let tool_name = match options.name {
        Some(name) => name.value(),
        None => function.sig.ident.to_string(),
    };
    let read_only = options.is_read_only.then(|| quote!(.read_only()));
    let fields = parameters.iter().filter_map(Parameter::field);
    let arguments = parameters.iter().map(Parameter::argument);
    let call = quote!(body(#(#arguments),*).await);
    let answer =
        if returns_result(&function) { call } else { quote!(::core::result::Result::Ok(#call)) };

    // Doc comment, visibility and other attributes belong to the function that the application
    // calls; the inner one is private.
    let (attributes, visibility) = (std::mem::take(&mut function.attrs), function.vis.clone());
    let name = std::mem::replace(&mut function.sig.ident, format_ident!("body"));
    function.vis = syn::Visibility::Inherited;
    // The derives name their crates by path: the application need not depend on serde and schemars.
    // `_arguments` and `_context` may be unused, if the function has no such parameter.
    Ok(quote! {
        #(#attributes)*
        #visibility fn #name() -> ::oxikit::Tool {
            #[derive(::oxikit::__private::serde::Deserialize, ::oxikit::__private::schemars::JsonSchema)]
            #[serde(crate = "::oxikit::__private::serde")]
            #[schemars(crate = "::oxikit::__private::schemars")]
            struct Arguments {
                #(#fields,)*
            }

            #function

            ::oxikit::Tool::builder(#tool_name).description(#description)#read_only.handler(
                |_arguments: Arguments, _context: ::oxikit::Context| async move { #answer },
            )
        }
    })
}

/// The options in the brackets of the attribute.
#[derive(Default)]
struct Options {
    name: Option<LitStr>,
    description: Option<LitStr>,
    is_read_only: bool,
}

impl Options {
    fn parse(options: TokenStream) -> Result<Self> {
        let mut parsed = Self::default();
        let parser = syn::meta::parser(|meta| {
            if meta.path.is_ident("read_only") {
                parsed.is_read_only = true;
                return Ok(());
            }
            let slot = if meta.path.is_ident("name") {
                &mut parsed.name
            } else if meta.path.is_ident("description") {
                &mut parsed.description
            } else {
                let expected = "expected `name = \"…\"`, `description = \"…\"` or `read_only`";
                return Err(meta.error(expected));
            };
            *slot = Some(meta.value()?.parse()?);
            Ok(())
        });
        parser.parse2(options)?;
        Ok(parsed)
    }
}

/// A parameter of the function.
enum Parameter {
    /// Becomes a field of `Arguments` and so a property of the input schema.
    Property { name: Ident, ty: Box<Type>, attributes: Vec<Attribute> },
    /// Gets the context of the call.
    Context,
}

impl Parameter {
    /// The field of `Arguments`.
    fn field(&self) -> Option<TokenStream> {
        match self {
            Self::Property { name, ty, attributes } => Some(quote!(#(#attributes)* #name: #ty)),
            Self::Context => None,
        }
    }

    /// The expression that is passed to the function.
    fn argument(&self) -> TokenStream {
        match self {
            Self::Property { name, .. } => quote!(_arguments.#name),
            Self::Context => quote!(_context.clone()),
        }
    }
}

/// Rejects functions that are not `async` or are generic: `Arguments` has concrete types.
fn refuse_unsupported(function: &ItemFn) -> Result<()> {
    let signature = &function.sig;
    if signature.asyncness.is_none() {
        return Err(Error::new_spanned(signature.fn_token, "a tool is an `async fn`"));
    }
    if !signature.generics.params.is_empty() {
        return Err(Error::new_spanned(&signature.generics, "a tool cannot be generic"));
    }
    Ok(())
}

/// Takes the parameters. Their attributes are removed from the function, where the compiler would
/// reject them, and become those of the fields.
fn take_parameters(function: &mut ItemFn) -> Result<Vec<Parameter>> {
    function
        .sig
        .inputs
        .iter_mut()
        .map(|input| match input {
            FnArg::Typed(parameter) => take_parameter(parameter),
            FnArg::Receiver(receiver) => {
                Err(Error::new_spanned(receiver, "a tool is a free function, without `self`"))
            }
        })
        .collect()
}

/// Takes one parameter.
fn take_parameter(parameter: &mut PatType) -> Result<Parameter> {
    // A macro sees names and not types, so any type that is named `Context` counts as ours.
    if last_segment(&parameter.ty).is_some_and(|segment| segment == "Context") {
        return Ok(Parameter::Context);
    }
    if let Type::Reference(reference) = &*parameter.ty {
        return Err(Error::new_spanned(reference, owned_instead(&reference.elem)));
    }
    let Pat::Ident(pattern) = &*parameter.pat else {
        return Err(Error::new_spanned(
            &parameter.pat,
            "give the parameter a name: it names a property",
        ));
    };
    Ok(Parameter::Property {
        name: pattern.ident.clone(),
        ty: parameter.ty.clone(),
        attributes: std::mem::take(&mut parameter.attrs),
    })
}

/// The message for a parameter that is a reference, with the owned type to write instead.
fn owned_instead(borrowed: &Type) -> String {
    let owned = match borrowed {
        Type::Path(path) if path.path.is_ident("str") => "`String`".to_owned(),
        Type::Slice(slice) => {
            let element = &slice.elem;
            format!("`Vec<{}>`", quote!(#element))
        }
        other => format!("`{}`", quote!(#other)),
    };
    format!("the arguments of a tool are read from JSON and owned by it: take {owned} instead")
}

/// Whether the return type is named `Result`; other outputs are wrapped in `Ok`.
fn returns_result(function: &ItemFn) -> bool {
    match &function.sig.output {
        ReturnType::Type(_, ty) => last_segment(ty).is_some_and(|segment| segment == "Result"),
        ReturnType::Default => false,
    }
}

/// The last name of a path, such as `Result` of `oxikit::Result<String>`.
fn last_segment(ty: &Type) -> Option<&Ident> {
    match ty {
        Type::Path(path) => path.path.segments.last().map(|segment| &segment.ident),
        _ => None,
    }
}

/// The doc comment as one text, with its line breaks.
fn doc_text(attributes: &[Attribute]) -> String {
    let lines: Vec<String> = attributes.iter().filter_map(doc_line).collect();
    lines.join("\n").trim().to_owned()
}

/// One line of a doc comment, which the compiler passes as `#[doc = "…"]`; `None` for other
/// attributes.
fn doc_line(attribute: &Attribute) -> Option<String> {
    let Meta::NameValue(meta) = &attribute.meta else { return None };
    match &meta.value {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) if meta.path.is_ident("doc") => {
            Some(text.value().trim().to_owned())
        }
        _ => None,
    }
}
