//! Adds faults to correct notes, to test that the checker finds them.

use anyhow::{Context, Result, bail};

use super::super::notes::{Note, What};

/// Changes the notes as if the application had made this error once.
pub(super) fn plant(fault: &str, notes: &mut Vec<Note>) -> Result<()> {
    // The manager of the last answered run was not killed, so no exception applies.
    let is_answer = |note: &Note| matches!(note.what, What::Answer { failed: false, .. });
    let answer = notes.iter().rposition(is_answer).context("nothing was answered")?;
    let What::Answer { id, .. } = &notes[answer].what else { bail!("it is an answer") };
    let is_chunk = |note: &Note| matches!(&note.what, What::Chunk { id: its, .. } if its == id);
    let chunk = notes.iter().rposition(is_chunk).context("it has no chunk")?;
    match fault {
        "lost" => _ = notes.remove(answer),
        "gap" => _ = notes.remove(chunk),
        "doubled" => notes.insert(answer, notes[answer].clone()),
        "mixed" => {
            if let What::Answer { nonce, .. } = &mut notes[answer].what {
                nonce.push('0');
            }
        }
        _ => bail!("`{fault}` is not one of the faults lost, gap, doubled and mixed"),
    }
    Ok(())
}
