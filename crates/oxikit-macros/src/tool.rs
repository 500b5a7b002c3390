//! The expansion of `#[tool]`.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::parse::Parser;
use syn::{
    Attribute, Error, Expr, ExprLit, FnArg, Ident, ItemFn, Lit, LitStr, Meta, Pat, PatType, Result,
    ReturnType, Type,
};

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
            "a model has to be told what the tool does: add a doc comment, or `description = \"…\"`",
        ));
    }
    let tool_name = match options.name {
        Some(name) => name.value(),
        None => function.sig.ident.to_string(),
    };
    let fields = parameters.iter().filter_map(Parameter::field);
    let arguments = parameters.iter().map(Parameter::argument);
    let call = quote!(body(#(#arguments),*).await);
    let answer =
        if returns_result(&function) { call } else { quote!(::core::result::Result::Ok(#call)) };

    let (attributes, visibility) = (std::mem::take(&mut function.attrs), function.vis.clone());
    let name = std::mem::replace(&mut function.sig.ident, format_ident!("body"));
    function.vis = syn::Visibility::Inherited;
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

            ::oxikit::Tool::new(
                #tool_name,
                #description,
                |_arguments: Arguments, _context: ::oxikit::Context| async move { #answer },
            )
        }
    })
}

#[derive(Default)]
struct Options {
    name: Option<LitStr>,
    description: Option<LitStr>,
}

impl Options {
    fn parse(options: TokenStream) -> Result<Self> {
        let mut parsed = Self::default();
        let parser = syn::meta::parser(|meta| {
            let slot = if meta.path.is_ident("name") {
                &mut parsed.name
            } else if meta.path.is_ident("description") {
                &mut parsed.description
            } else {
                return Err(meta.error("expected `name = \"…\"` or `description = \"…\"`"));
            };
            *slot = Some(meta.value()?.parse()?);
            Ok(())
        });
        parser.parse2(options)?;
        Ok(parsed)
    }
}

enum Parameter {
    Property { name: Ident, ty: Box<Type>, attributes: Vec<Attribute> },
    Context,
}

impl Parameter {
    fn field(&self) -> Option<TokenStream> {
        match self {
            Self::Property { name, ty, attributes } => Some(quote!(#(#attributes)* #name: #ty)),
            Self::Context => None,
        }
    }

    fn argument(&self) -> TokenStream {
        match self {
            Self::Property { name, .. } => quote!(_arguments.#name),
            Self::Context => quote!(_context.clone()),
        }
    }
}

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

/// The parameters; their attributes move from the function to the schema.
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

fn take_parameter(parameter: &mut PatType) -> Result<Parameter> {
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

/// What to write instead of a reference.
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

fn returns_result(function: &ItemFn) -> bool {
    match &function.sig.output {
        ReturnType::Type(_, ty) => last_segment(ty).is_some_and(|segment| segment == "Result"),
        ReturnType::Default => false,
    }
}

fn last_segment(ty: &Type) -> Option<&Ident> {
    match ty {
        Type::Path(path) => path.path.segments.last().map(|segment| &segment.ident),
        _ => None,
    }
}

fn doc_text(attributes: &[Attribute]) -> String {
    let lines: Vec<String> = attributes.iter().filter_map(doc_line).collect();
    lines.join("\n").trim().to_owned()
}

fn doc_line(attribute: &Attribute) -> Option<String> {
    let Meta::NameValue(meta) = &attribute.meta else { return None };
    match &meta.value {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) if meta.path.is_ident("doc") => {
            Some(text.value().trim().to_owned())
        }
        _ => None,
    }
}
