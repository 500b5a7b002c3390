//! The wall clock, in the unit that the tables use.

/// Milliseconds since 1970. Stores compute ages with it, and never an order: the clock of a
/// machine can be set back.
pub fn now_ms() -> i64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |now| i64::try_from(now.as_millis()).unwrap_or(i64::MAX))
}
