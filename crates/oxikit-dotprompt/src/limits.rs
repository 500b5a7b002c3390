//! Limits of size, nesting and work for templates.

/// Limits of parsing and rendering, so that no prompt can hang a server. A template that exceeds
/// one fails with [`ErrorKind::Limit`](crate::ErrorKind::Limit).
///
/// Time is limited by counting steps: a render that uses them all takes
/// well under a second.
///
/// ```
/// use oxikit_dotprompt::{Environment, ErrorKind, Limits, RenderInput};
///
/// let mut limits = Limits::default();
/// limits.output_bytes = 4;
/// let template = Environment::new().limits(limits).compile_template("too long")?;
/// let error = template.render_text(&RenderInput::default()).unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::Limit);
/// # Ok::<(), oxikit_dotprompt::Error>(())
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Limits {
    /// Maximum size of the source of a template or partial, in bytes. Default: 1 MiB.
    pub source_bytes: usize,
    /// Maximum number of blocks and partials that are nested while rendering. Default: 100.
    pub depth: usize,
    /// Maximum nesting of partials in partials. A partial that includes itself reaches it.
    /// Default: 10.
    pub partial_depth: usize,
    /// Maximum number of partials that one render runs, and that one prompt loads. Default: 10,000.
    pub partials: usize,
    /// Maximum size of the rendered pieces, in bytes. Default: 8 MiB.
    pub output_bytes: usize,
    /// Maximum number of statements, iterations and lookups of one render; copies of long values
    /// count as several. Default: 1,000,000.
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
