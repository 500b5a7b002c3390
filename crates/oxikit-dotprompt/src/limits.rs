//! How much a template may cost.

/// Bounds on parsing and rendering, so that no prompt can hang a server.
///
/// Time is bounded by counting steps: a render that uses them all up takes
/// well under a second.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of a template's source.
    pub source_bytes: usize,
    /// Blocks and partials that may be open at once while rendering.
    pub depth: usize,
    /// Partials inside partials.
    pub partial_depth: usize,
    /// Partials in one render, however nested.
    pub partials: usize,
    /// Bytes of rendered text.
    pub output_bytes: usize,
    /// Statements, iterations and lookups of one render.
    pub steps: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            source_bytes: 1024 * 1024,
            depth: 100,
            partial_depth: 10,
            partials: 10_000,
            output_bytes: 8 * 1024 * 1024,
            steps: 1_000_000,
        }
    }
}
