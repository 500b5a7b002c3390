//! The routes of documents.

use axum::routing::{delete, get, post, put};
use oxikit_http::api::{Nothing, official};
use oxikit_wire::prompts as wire;

use super::super::documents::{self, IdQuery, IdVersionQuery, SuggestionQuery, VersionQuery};
use super::super::{directories, expansion};
use super::{CHANGES, FINDS, Table, act, change, read, remove};

pub(crate) const ROUTES: Table = &[
    read("/api/prompts/all", "listPrompts", "All prompts", || get(documents::list))
        .answers::<Vec<wire::Document>>(),
    act("/api/prompts", "createPrompt", "Makes a prompt", || post(documents::create))
        .takes::<wire::NewDocument>()
        .fails(CHANGES)
        .creates()
        .answers::<wire::Document>(),
    official("POST", "/api/prompts/", || post(documents::create)),
    read("/api/prompts/{id}", "getPrompt", "One prompt", || get(documents::get))
        .query::<VersionQuery>()
        .fails(FINDS)
        .answers::<wire::Document>(),
    change("/api/prompts/{id}", "updatePrompt", "Changes a prompt", || put(documents::update))
        .takes::<wire::DocumentChange>()
        .fails(CHANGES)
        .answers::<wire::Document>(),
    remove("/api/prompts/{id}", "deletePrompt", "Deletes a prompt; its history stays", || {
        delete(documents::delete)
    })
    .fails(CHANGES)
    .answers::<wire::Deleted>(),
    read("/api/prompts/document", "getDocument", "One prompt or fragment", || get(documents::get))
        .query::<IdVersionQuery>()
        .fails(FINDS)
        .answers::<wire::Document>(),
    change("/api/prompts/document", "updateDocument", "Changes a prompt or fragment", || {
        put(documents::update)
    })
    .query::<IdQuery>()
    .takes::<wire::DocumentChange>()
    .fails(CHANGES)
    .answers::<wire::Document>(),
    remove("/api/prompts/document", "deleteDocument", "Deletes a prompt or fragment", || {
        delete(documents::delete)
    })
    .query::<IdQuery>()
    .fails(CHANGES)
    .answers::<wire::Deleted>(),
    read("/api/prompts/fragments", "listFragments", "All fragments", || get(documents::list))
        .answers::<Vec<wire::Document>>(),
    official("GET", "/api/prompts/fragments/", || get(documents::list)),
    act("/api/prompts/fragments", "createFragment", "Makes a fragment", || post(documents::create))
        .takes::<wire::NewDocument>()
        .fails(CHANGES)
        .creates()
        .answers::<wire::Document>(),
    official("POST", "/api/prompts/fragments/", || post(documents::create)),
    read("/api/prompts/fragments/{id}", "getFragment", "One fragment", || get(documents::get))
        .query::<VersionQuery>()
        .fails(FINDS)
        .answers::<wire::Document>(),
    change("/api/prompts/fragments/{id}", "updateFragment", "Changes a fragment", || {
        put(documents::update)
    })
    .takes::<wire::DocumentChange>()
    .fails(CHANGES)
    .answers::<wire::Document>(),
    remove(
        "/api/prompts/fragments/{id}",
        "deleteFragment",
        "Deletes a fragment; its history stays",
        || delete(documents::delete),
    )
    .fails(CHANGES)
    .answers::<wire::Deleted>(),
    act("/api/prompts/rename", "renameDocument", "Gives a document another id", || {
        post(documents::rename)
    })
    .takes::<wire::Rename>()
    .fails(CHANGES)
    .answers::<wire::Renamed>(),
    act("/api/prompts/reload", "reloadPrompts", "Reads all files again", || {
        post(directories::reload_all)
    })
    .takes::<Nothing>()
    .fails(&[500, 503])
    .answers::<wire::Reloaded>(),
    act("/api/prompts/fragments/reload", "reloadFragments", "Reads all files again", || {
        post(directories::reload_all)
    })
    .takes::<Nothing>()
    .fails(&[500, 503])
    .answers::<wire::Reloaded>(),
    read("/api/prompts/check_exists/{id}", "checkExists", "Whether an id is in use", || {
        get(documents::check_exists)
    })
    .answers::<wire::Existence>(),
    read(
        "/api/prompts/search_suggestions",
        "suggestNames",
        "Names for completion after `[[`",
        || get(documents::suggestions),
    )
    .query::<SuggestionQuery>()
    .answers::<Vec<wire::Suggestion>>(),
    read("/api/prompts/{id}/referenced_by", "getReferences", "Documents that include it", || {
        get(documents::referenced_by)
    })
    .answers::<Vec<wire::Reference>>(),
    read("/api/prompts/referenced_by", "getReferencesById", "Documents that include it", || {
        get(documents::referenced_by)
    })
    .query::<IdQuery>()
    .answers::<Vec<wire::Reference>>(),
    read("/api/prompts/{id}/render", "renderPrompt", "It with its inclusions replaced", || {
        get(expansion::render)
    })
    .fails(FINDS)
    .answers::<wire::Rendered>(),
    read("/api/prompts/render", "renderPromptById", "It with its inclusions replaced", || {
        get(expansion::render)
    })
    .query::<IdQuery>()
    .fails(FINDS)
    .answers::<wire::Rendered>(),
];
