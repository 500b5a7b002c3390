//! Times as snapshots have them.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Now, in UTC with milliseconds.
pub(super) fn now() -> String {
    rfc3339(SystemTime::now())
}

/// Such as `2026-11-15T06:32:35.495Z`.
pub(super) fn rfc3339(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (seconds, millis) = (since.as_secs(), since.subsec_millis());
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = civil(days);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
}

/// Whether a time is longer ago than this. One that cannot be read is not.
pub(super) fn is_older(time: &str, age: Duration) -> bool {
    // The format sorts like the times themselves.
    SystemTime::now().checked_sub(age).is_some_and(|limit| time < rfc3339(limit).as_str())
}

/// The date of a day since 1970, in the Gregorian calendar: years begin in March,
/// so that the leap day is the last.
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let era = days / 146_097;
    let of_era = days % 146_097;
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (year_of_era + era * 400 + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_the_official_runtimes_do() {
        let at = |millis| rfc3339(UNIX_EPOCH + Duration::from_millis(millis));
        assert_eq!(at(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(at(951_782_400_001), "2000-02-29T00:00:00.001Z");
        assert_eq!(at(1_794_724_355_495), "2026-11-15T06:32:35.495Z");
        assert_eq!(at(4_107_542_399_999), "2100-02-28T23:59:59.999Z");
        assert_eq!(at(4_107_542_400_000), "2100-03-01T00:00:00.000Z");
    }

    #[test]
    fn ages_are_told() {
        assert!(is_older("2020-01-01T00:00:00.000Z", Duration::from_secs(60)));
        assert!(!is_older(&now(), Duration::from_secs(60)));
        assert!(!is_older("soon", Duration::from_secs(60)));
    }
}
