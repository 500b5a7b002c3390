//! Data analysis, coding and content editing.

use oxikit::Action;
use oxikit::prelude::*;

use crate::App;
use crate::agents::{coder, content_editor, data_analysis};
use crate::records::EditRequest;
use crate::research::checked;
use crate::tools::numbers::{Series, series_of};

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct AnalysisRequest {
    /// What to find out about the data.
    pub question: String,
    /// A table with commas, or a text with numbers.
    pub data: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Analysis {
    pub series: Vec<Series>,
    pub explanation: String,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct CodingRequest {
    /// What the program shall do.
    pub task: String,
    /// The language; by default that of the task, else Rust.
    #[serde(default)]
    pub language: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct EditingRequest {
    /// What to do with the text.
    pub task: String,
    pub text: String,
    /// A style, such as `friendly`.
    #[serde(default)]
    pub style: Option<String>,
}

pub(super) fn define(app: &App) -> Vec<Action> {
    let analysis =
        app.ai.define_flow("dataAnalysis", |input: AnalysisRequest, ctx: Context| async move {
            let series = series_of(&input.data);
            if series.is_empty() {
                return Err(Status::invalid_argument("the data contains no numbers"));
            }
            let question = checked(&input.question)?;
            let explanation = data_analysis::explanation(&ctx, question, &series).await?.text();
            Ok(Analysis { series, explanation })
        });
    let coding = app.ai.define_flow(
        "coding",
        |input: CodingRequest, ctx: Context, out: Emitter<String>| async move {
            let named = input.language.or(coder::language_of(&input.task).map(str::to_owned));
            let language = named.unwrap_or_else(|| "Rust".to_owned());
            let mut program = coder::program(&ctx, checked(&input.task)?, &language).stream();
            while let Some(chunk) = program.next().await {
                out.send(chunk?.to_text()).await?;
            }
            Ok(program.finish().await?.text())
        },
    );
    let editing =
        app.ai.define_flow("contentEditing", |input: EditingRequest, ctx: Context| async move {
            let question = checked(&input.task)?.to_owned();
            let request = EditRequest { question, sources: Vec::new(), notes: vec![input.text] };
            Ok(content_editor::article(&ctx, &request, input.style.as_deref()).await?.text())
        });
    vec![analysis.action().clone(), coding.action().clone(), editing.action().clone()]
}
