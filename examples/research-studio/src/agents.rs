//! The eight agents. Each has a folder with its definition, its prompt and its tests.

use oxikit::prelude::*;
use oxikit::serve::a2a::A2aAgent;

use crate::App;
use crate::records::AgentName;

macro_rules! agents {
    ($($module:ident),*) => {
        $(pub mod $module {
            mod agent;
            #[cfg(test)]
            mod tests;
            pub use agent::*;
        })*
    };
}

#[cfg(test)]
mod testing;

agents!(
    orchestrator,
    planning,
    web_research,
    academic_research,
    news_research,
    data_analysis,
    coder,
    content_editor
);

/// Defines an agent in the application.
///
/// # Errors
///
/// If its prompt is broken.
pub fn define(app: &App, agent: AgentName) -> Result<A2aAgent> {
    match agent {
        AgentName::Orchestrator => orchestrator::define(app),
        AgentName::Planning => planning::define(app),
        AgentName::WebResearch => web_research::define(app),
        AgentName::AcademicResearch => academic_research::define(app),
        AgentName::NewsResearch => news_research::define(app),
        AgentName::DataAnalysis => data_analysis::define(app),
        AgentName::Coder => coder::define(app),
        AgentName::ContentEditor => content_editor::define(app),
    }
}
