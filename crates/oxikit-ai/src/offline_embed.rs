//! An embedder that needs no model: it hashes words.

use oxikit_core::Result;
use oxikit_wire::EmbedRequest;

use crate::Embedder;

/// Number of dimensions of the vectors.
const DIMENSIONS: u32 = 256;

/// The embedder `offline/embed`, for examples and tests without a network.
///
/// It counts words, each at a place that the word's hash says, and knows nothing
/// of what they mean: texts are alike if they share words, and only then. Upper
/// and lower case are the same; "tea" and "teas" are not.
///
/// ```
/// use oxikit::{Oxikit, offline_embedder};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> oxikit::Result<()> {
/// let ai = Oxikit::builder().build()?;
/// let embedder = ai.define_embedder(offline_embedder());
/// assert_eq!(ai.embed(&embedder, "Green tea").await?, ai.embed(&embedder, "tea, GREEN!").await?);
/// # Ok(()) }
/// ```
pub fn offline_embedder() -> Embedder {
    Embedder::builder("offline/embed")
        .label("Offline: hashes words")
        .dimensions(DIMENSIONS)
        .handler(|request: EmbedRequest| async move {
            let embed = |document: &oxikit_wire::Document| embed(&document.to_text());
            Ok(request.input.iter().map(embed).collect::<Vec<_>>()) as Result<_>
        })
}

fn embed(text: &str) -> Vec<f32> {
    let mut vector = vec![0.0; DIMENSIONS as usize];
    let words = text.split(|letter: char| !letter.is_alphanumeric());
    for word in words.filter(|word| !word.is_empty()) {
        let hash = hash(&word.to_lowercase());
        let place = (hash % u64::from(DIMENSIONS)) as usize;
        // Half of the words count down, so that two words at one place are as
        // likely to cancel out as to add up.
        let sign = if hash >> 63 == 0 { 1.0 } else { -1.0 };
        vector[place] += sign;
    }
    vector
}

/// FNV-1a: the same on every machine and in every version.
fn hash(word: &str) -> u64 {
    word.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
