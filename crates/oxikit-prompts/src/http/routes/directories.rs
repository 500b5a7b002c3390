//! The routes of registered directories.

use axum::routing::{delete, get, post, put};
use oxikit_http::api::{Nothing, official};
use oxikit_wire::prompts as wire;

use super::super::directories;
use super::{DIRECTORY, Table, act, change, read, remove};

pub(crate) const ROUTES: Table = &[
    read("/api/prompts/directories/all", "listDirectories", "The registered directories", || {
        get(directories::list)
    })
    .answers::<Vec<wire::Directory>>(),
    act("/api/prompts/directories", "addDirectory", "Registers a directory", || {
        post(directories::add)
    })
    .takes::<wire::NewDirectory>()
    .fails(DIRECTORY)
    .answers::<wire::Directory>(),
    official("POST", "/api/prompts/directories/", || post(directories::add)),
    change("/api/prompts/directories/{path}", "updateDirectory", "Changes a directory", || {
        put(directories::update)
    })
    .takes::<wire::DirectoryChange>()
    .fails(DIRECTORY)
    .answers::<wire::Directory>(),
    remove(
        "/api/prompts/directories/{path}",
        "removeDirectory",
        "Ends the registration of a directory; its files stay",
        || delete(directories::remove),
    )
    .fails(DIRECTORY)
    .answers::<wire::DirectoryRemoved>(),
    act(
        "/api/prompts/directories/{path}/toggle",
        "toggleDirectory",
        "Lists the documents of a directory or not",
        || post(directories::toggle),
    )
    .takes::<wire::Toggle>()
    .fails(DIRECTORY)
    .answers::<wire::DirectoryToggled>(),
    act(
        "/api/prompts/directories/{path}/reload",
        "reloadDirectory",
        "Reads the files of a directory again",
        || post(directories::reload),
    )
    .takes::<Nothing>()
    .fails(DIRECTORY)
    .answers::<wire::Reloaded>(),
    read(
        "/api/prompts/directories/{path}/prompts",
        "listDirectoryPrompts",
        "The prompts of a directory",
        || get(directories::prompts),
    )
    .fails(DIRECTORY)
    .answers::<Vec<wire::Document>>(),
    act(
        "/api/prompts/filesystem/complete_path",
        "completePath",
        "Folders that begin so, below the allowed ones",
        || post(directories::complete_path),
    )
    .takes::<wire::CompletePath>()
    .answers::<wire::Completion>(),
];
