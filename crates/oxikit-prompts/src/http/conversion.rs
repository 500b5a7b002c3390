//! Values of the library as JSON of the API.

use oxikit_wire::prompts as wire;
use serde_json::Value;

use crate::expand::Expansion;
use crate::text::{DiffLine, DiffOp};
use crate::wire_form;
use crate::{Directory, Document, Preview, Prompts, Reference};

/// A document as it is in lists.
pub(crate) fn document_json(document: &Document) -> wire::Document {
    let metadata = document.metadata();
    wire::Document {
        id: document.id.clone(),
        filename: document.path.clone(),
        directory: document.directory.display().to_string(),
        directory_name: document.directory_name.to_string(),
        content: document.content().to_owned(),
        description: metadata.description.clone(),
        prompt_type: document.prompt_type(),
        tags: metadata.tags.clone(),
        created_at: document.created_at_text(),
        updated_at: document.updated_at_text(),
        name: document.name().to_owned(),
        display_name: document.id.clone(),
        unique_id: format!("{}/{}", document.directory_name, document.path_without_extension()),
        is_composite: document.is_composite(),
        directory_info: None,
        dependencies: None,
        warnings: None,
        sanitized_message: None,
        kind: document.kind,
        rev: document.rev,
        hash: document.hash.clone(),
        is_dotprompt: document.is_dotprompt(),
        labels: None,
        merged: None,
        conflicts: None,
    }
}

/// A document as it is in the response for one document: with its directory, the documents that it
/// names, its labels, and what is wrong with it.
pub(crate) async fn whole_document_json(prompts: &Prompts, document: &Document) -> wire::Document {
    let dependency = |reference: Reference| wire::Dependency {
        is_missing: reference.document.is_none(),
        id: reference.document.map_or(reference.name, |document| document.id.clone()),
    };
    let expansion = prompts.expand(Some(document), document.content()).await;
    let own = document.source.warning().map(str::to_owned).into_iter();
    let own = own.chain(document.problem.clone());
    // Labels are an extra: a store that cannot be read now does not hide the document.
    let labels = prompts.labels(&document.id, Some(document.kind)).await.unwrap_or_default();
    wire::Document {
        directory_info: Some(wire::DirectoryInfo {
            name: document.directory_name.to_string(),
            path: document.directory.display().to_string(),
        }),
        dependencies: Some(prompts.references(document).into_iter().map(dependency).collect()),
        warnings: Some(own.chain(expansion.warnings).collect()),
        labels: Some(labels),
        ..document_json(document)
    }
}

/// A line of a comparison.
pub(crate) fn diff_line_json(line: DiffLine) -> wire::DiffLine {
    let op = match line.op {
        DiffOp::Same => wire::DiffOp::Same,
        DiffOp::Insert => wire::DiffOp::Insert,
        DiffOp::Delete => wire::DiffOp::Delete,
    };
    let words = line.words.into_iter().map(|(start, end)| (start as u64, end as u64)).collect();
    wire::DiffLine { op, text: line.text, words }
}

/// A text and its expansion.
pub(crate) fn expansion_json(content: String, expansion: Expansion) -> wire::Expansion {
    let expanded = wire_form::expanded(content, expansion, None);
    wire::Expansion {
        content: expanded.content,
        expanded: expanded.expanded,
        dependencies: expanded.dependencies,
        warnings: expanded.warnings,
        revs: expanded.revs.unwrap_or_default(),
        spans: expanded.spans.unwrap_or_default(),
        prompt_id: None,
        original_content: None,
        expanded_content: None,
    }
}

/// A preview as JSON. A template that cannot be rendered has its error in place of messages.
impl From<Preview> for wire::Preview {
    fn from(preview: Preview) -> Self {
        let Preview { document, expansion, rendered, variables } = preview;
        let (rendered, error) = match rendered {
            Ok(rendered) => (Some(rendered), None),
            Err(error) => (None, Some(error.to_string())),
        };
        let metadata = rendered.as_ref().map(|rendered| rendered.metadata.clone());
        let expansion = expansion_json(String::new(), expansion);
        Self {
            id: document.id.clone(),
            expanded: expansion.expanded,
            dependencies: expansion.dependencies,
            warnings: expansion.warnings,
            revs: expansion.revs,
            spans: expansion.spans,
            messages: rendered.map(|rendered| rendered.messages),
            model: metadata.as_ref().and_then(|metadata| metadata.model.clone()),
            config: metadata
                .filter(|metadata| !metadata.config.is_empty())
                .map(|metadata| Value::Object(metadata.config.clone())),
            variables: variables.into_iter().collect(),
            error,
        }
    }
}

/// A registered directory.
pub(crate) fn directory_json(directory: &Directory) -> wire::Directory {
    wire::Directory {
        path: directory.path.display().to_string(),
        name: directory.name.to_string(),
        description: directory.description.clone(),
        enabled: directory.enabled,
    }
}
