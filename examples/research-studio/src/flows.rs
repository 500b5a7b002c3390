//! The twelve flows over Action HTTP. Flows are for direct calls; conversations, and work that is
//! followed and canceled, are for the agents.

mod library;
mod research;
mod small;
mod work;

pub use library::{Answer, AskDocuments, IndexDocuments, Indexed};
pub use small::{Recipe, RecipeRequest, WeatherReport, WeatherRequest};
pub use work::{Analysis, AnalysisRequest, CodingRequest, EditingRequest};

use oxikit::Action;
use oxikit::prelude::*;

use crate::App;

/// A question to an agent.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Question {
    /// The question, in words.
    pub question: String,
}

/// Defines the flows. Prompts of agents that run elsewhere are defined too, because flows use them.
///
/// # Errors
///
/// If a prompt is broken.
pub fn define(app: &App) -> Result<Vec<Action>> {
    for (name, text) in PROMPTS {
        app.ai.define_prompt_text(name, text)?;
    }
    let mut flows = research::define(app);
    flows.extend(work::define(app));
    flows.extend(library::define(app));
    flows.extend(small::define(app)?);
    Ok(flows)
}

/// The prompts of the agents that flows call without a conversation.
const PROMPTS: [(&str, &str); 7] = [
    ("planning", include_str!("agents/planning/planning.prompt")),
    ("webResearch", include_str!("agents/web_research/web_research.prompt")),
    ("academicResearch", include_str!("agents/academic_research/academic_research.prompt")),
    ("newsResearch", include_str!("agents/news_research/news_research.prompt")),
    ("dataAnalysis", include_str!("agents/data_analysis/data_analysis.prompt")),
    ("coder", include_str!("agents/coder/coder.prompt")),
    ("contentEditor", include_str!("agents/content_editor/content_editor.prompt")),
];
