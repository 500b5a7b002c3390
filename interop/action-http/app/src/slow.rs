//! A flow that takes its time and remembers when it was cancelled.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use oxikit::prelude::*;

use crate::failures::Tick;

/// When the runs with these tags were cancelled, in milliseconds since 1970.
static CANCELLED: LazyLock<Mutex<HashMap<String, u64>>> = LazyLock::new(Mutex::default);

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Slow {
    tag: String,
    n: u32,
    delay: u64,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Finished {
    finished: bool,
}

pub(crate) async fn slow(input: Slow, _: Context, out: Emitter<Tick>) -> Result<Finished> {
    let mut watch = Watch { tag: input.tag, is_finished: false };
    for k in 0..input.n {
        tokio::time::sleep(Duration::from_millis(input.delay)).await;
        out.send(Tick { k }).await?;
    }
    watch.is_finished = true;
    Ok(Finished { finished: true })
}

/// When the run with this tag was cancelled, or `null`.
pub(crate) async fn cancelled(tag: String) -> Result<Option<u64>> {
    Ok(CANCELLED.lock().unwrap_or_else(PoisonError::into_inner).get(&tag).copied())
}

/// A cancelled flow is dropped; this is how it notices.
struct Watch {
    tag: String,
    is_finished: bool,
}

impl Drop for Watch {
    fn drop(&mut self) {
        if self.is_finished {
            return;
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
        let tag = std::mem::take(&mut self.tag);
        CANCELLED.lock().unwrap_or_else(PoisonError::into_inner).insert(tag, now);
    }
}
