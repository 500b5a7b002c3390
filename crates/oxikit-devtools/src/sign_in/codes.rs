//! One-time codes with which a browser signs in.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use subtle::ConstantTimeEq;
use uuid::Uuid;

/// Maximum number of open codes that were made on request. The oldest is dropped for a new one.
const MAX_OPEN: usize = 32;

/// The codes that can still be used.
#[derive(Debug, Default)]
pub(super) struct Codes(Mutex<Vec<Code>>);

struct Code {
    text: String,
    /// `None` if the code works until it is used.
    until: Option<Instant>,
}

impl Codes {
    /// A new code of 122 random bits.
    pub(super) fn add(&self, time: Option<Duration>) -> String {
        let text = Uuid::new_v4().simple().to_string();
        let mut codes = self.open();
        if codes.iter().filter(|code| code.until.is_some()).count() >= MAX_OPEN
            && let Some(oldest) = codes.iter().position(|code| code.until.is_some())
        {
            codes.remove(oldest);
        }
        codes.push(Code { text: text.clone(), until: time.map(|time| Instant::now() + time) });
        text
    }

    /// Whether this is an open code, which it then is no longer. The time of the comparison does not
    /// depend on the presented text.
    pub(super) fn take(&self, presented: &str) -> bool {
        let mut codes = self.open();
        let is_same = |code: &Code| bool::from(code.text.as_bytes().ct_eq(presented.as_bytes()));
        let matches: Vec<usize> =
            codes.iter().enumerate().filter(|(_, code)| is_same(code)).map(|(at, _)| at).collect();
        matches.first().map(|at| codes.remove(*at)).is_some()
    }

    /// The codes that have not expired.
    fn open(&self) -> MutexGuard<'_, Vec<Code>> {
        let mut codes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        codes.retain(|code| code.until.is_none_or(|until| Instant::now() < until));
        codes
    }
}

impl std::fmt::Debug for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Code([redacted])")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_works_once_and_in_its_time_and_the_printed_one_is_never_dropped() {
        let codes = Codes::default();
        let printed = codes.add(None);
        let expired = codes.add(Some(Duration::ZERO));
        assert!(!codes.take(&expired) && !codes.take(""));
        let first = codes.add(Some(Duration::from_secs(600)));
        let others: Vec<_> =
            (0..MAX_OPEN).map(|_| codes.add(Some(Duration::from_secs(600)))).collect();
        assert!(!codes.take(&first), "dropped for newer ones");
        assert!(others.iter().all(|code| codes.take(code) && !codes.take(code)));
        assert!(codes.take(&printed) && !codes.take(&printed));
    }
}
