//! The routes of the history.

use axum::routing::{delete, get, post, put};
use oxikit_wire::prompts as wire;

use super::super::documents::IdQuery;
use super::super::history::{self, DiffQuery, HistoryQuery, IdDiffQuery, IdHistoryQuery};
use super::{CHANGES, READS, Table, act, change, read, remove};

pub(crate) const ROUTES: Table = &[
    read("/api/prompts/{id}/history", "listRevisions", "Its revisions, newest first", || {
        get(history::list)
    })
    .query::<HistoryQuery>()
    .fails(READS)
    .answers::<wire::RevisionList>(),
    read("/api/prompts/history", "listRevisionsById", "Its revisions, newest first", || {
        get(history::list)
    })
    .query::<IdHistoryQuery>()
    .fails(READS)
    .answers::<wire::RevisionList>(),
    read("/api/prompts/{id}/history/{rev}", "getRevision", "A revision with its text", || {
        get(history::get)
    })
    .fails(READS)
    .answers::<wire::RevisionText>(),
    read("/api/prompts/history/{rev}", "getRevisionById", "A revision with its text", || {
        get(history::get)
    })
    .query::<IdQuery>()
    .fails(READS)
    .answers::<wire::RevisionText>(),
    read("/api/prompts/{id}/diff", "compareRevisions", "The lines that differ", || {
        get(history::diff)
    })
    .query::<DiffQuery>()
    .fails(READS)
    .answers::<wire::RevisionDiff>(),
    read("/api/prompts/diff", "compareRevisionsById", "The lines that differ", || {
        get(history::diff)
    })
    .query::<IdDiffQuery>()
    .fails(READS)
    .answers::<wire::RevisionDiff>(),
    act("/api/prompts/{id}/restore", "restoreRevision", "Makes an old revision the newest", || {
        post(history::restore)
    })
    .takes::<wire::Restore>()
    .fails(CHANGES)
    .answers::<wire::Document>(),
    act("/api/prompts/restore", "restoreRevisionById", "Makes an old revision the newest", || {
        post(history::restore)
    })
    .query::<IdQuery>()
    .takes::<wire::Restore>()
    .fails(CHANGES)
    .answers::<wire::Document>(),
    act("/api/prompts/{id}/undelete", "undelete", "Brings a deleted document back", || {
        post(history::undelete)
    })
    .takes::<wire::Undelete>()
    .fails(CHANGES)
    .answers::<wire::Document>(),
    act("/api/prompts/undelete", "undeleteById", "Brings a deleted document back", || {
        post(history::undelete)
    })
    .query::<IdQuery>()
    .takes::<wire::Undelete>()
    .fails(CHANGES)
    .answers::<wire::Document>(),
    read("/api/prompts/{id}/labels", "listLabels", "Its labels", || get(history::labels))
        .fails(READS)
        .answers::<wire::LabelList>(),
    read("/api/prompts/labels", "listLabelsById", "Its labels", || get(history::labels))
        .query::<IdQuery>()
        .fails(READS)
        .answers::<wire::LabelList>(),
    change("/api/prompts/{id}/labels/{label}", "setLabel", "Sets a label to a revision", || {
        put(history::set_label)
    })
    .takes::<wire::SetLabel>()
    .fails(CHANGES)
    .answers::<wire::Label>(),
    change("/api/prompts/labels/{label}", "setLabelById", "Sets a label to a revision", || {
        put(history::set_label)
    })
    .query::<IdQuery>()
    .takes::<wire::SetLabel>()
    .fails(CHANGES)
    .answers::<wire::Label>(),
    remove("/api/prompts/{id}/labels/{label}", "removeLabel", "Removes a label", || {
        delete(history::remove_label)
    })
    .fails(CHANGES)
    .answers::<wire::Label>(),
    remove("/api/prompts/labels/{label}", "removeLabelById", "Removes a label", || {
        delete(history::remove_label)
    })
    .query::<IdQuery>()
    .fails(CHANGES)
    .answers::<wire::Label>(),
];
