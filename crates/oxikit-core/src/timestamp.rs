//! Times as snapshots have them: RFC 3339, in UTC with milliseconds when we write
//! them, in any zone when we read them.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use oxikit_wire::SnapshotStatus;

/// How often detached work says that it is alive.
pub const HEARTBEAT: Duration = Duration::from_secs(30);
/// Detached work that has not been heard of for so long counts as lost.
pub const LOST_AFTER: Duration = Duration::from_secs(60);

/// Whether the work behind a snapshot has not been heard of for too long. One
/// without a heartbeat never had one.
pub fn is_lost(status: Option<SnapshotStatus>, heartbeat_at: Option<&str>) -> bool {
    status == Some(SnapshotStatus::Pending)
        && heartbeat_at.is_some_and(|beat| is_older_than(beat, LOST_AFTER))
}

/// Now, such as `2026-11-15T06:32:35.495Z`.
pub fn now() -> String {
    write(SystemTime::now())
}

/// Milliseconds since 1970 of a time; 0 for what is none, as an odd row must not
/// spoil a list.
pub fn epoch_millis(text: &str) -> u64 {
    parse(text).and_then(|millis| u64::try_from(millis).ok()).unwrap_or(0)
}

/// Whether the time is longer ago than this. What is no time is not.
fn is_older_than(text: &str, age: Duration) -> bool {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let limit = i64::try_from(now.saturating_sub(age).as_millis()).unwrap_or(i64::MAX);
    parse(text).is_some_and(|millis| millis < limit)
}

fn write(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (seconds, millis) = (since.as_secs(), since.subsec_millis());
    let (year, month, day) = date_of(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
}

/// The date of a day since 1970; see [`days_since_1970`].
fn date_of(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (year_of_era + era * 400 + u64::from(month <= 2), month, day)
}

fn parse(text: &str) -> Option<i64> {
    let (date, time) = text.split_once(['T', 't', ' '])?;
    let [year, month, day] = numbers(date, '-')?;
    let end = time.find(['Z', 'z', '+', '-'])?;
    let (time, zone) = time.split_at(end);
    let (time, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let [hour, minute, second] = numbers(time, ':')?;
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) || hour > 23 || minute > 59 {
        return None;
    }
    let offset = match zone {
        "Z" | "z" => 0,
        zone => {
            let (sign, clock) = zone.split_at(1);
            let [hours, minutes] = numbers(clock, ':')?;
            let offset = hours * 60 + minutes;
            if sign == "-" { -offset } else { offset }
        }
    };
    let digits = fraction.bytes().all(|byte| byte.is_ascii_digit()).then_some(fraction)?;
    let millis: i64 = format!("{digits:0<3}").get(..3)?.parse().ok()?;
    let minutes = (days_since_1970(year, month, day) * 24 + hour) * 60 + minute - offset;
    Some((minutes * 60 + second) * 1000 + millis)
}

fn numbers<const N: usize>(text: &str, separator: char) -> Option<[i64; N]> {
    let number = |part: &str| -> Option<i64> {
        let is_number = part.len() <= 4 && part.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| part.parse().ok()).flatten()
    };
    let numbers: Option<Vec<_>> = text.split(separator).map(number).collect();
    numbers?.try_into().ok()
}

/// Days of the Gregorian calendar. Years are counted from March, so that the day
/// that may be missing is the last one.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    let days_before_month = (153 * month + 2) / 5;
    year * 365 + leap_days + days_before_month + day - 719_469
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_to_the_millisecond_in_any_zone() {
        for (text, millis) in [
            ("1970-01-01T00:00:00Z", 0),
            ("1970-01-01T00:00:00.001Z", 1),
            ("2000-02-29T12:00:00.5Z", 951_825_600_500),
            ("2024-01-23T00:00:00.000Z", 1_705_968_000_000),
            ("2024-01-23T02:30:00.000+02:30", 1_705_968_000_000),
            ("2024-01-22T23:00:00-01:00", 1_705_968_000_000),
            ("2026-11-15T06:32:35.495123Z", 1_794_724_355_495),
            ("2100-03-01T00:00:00Z", 4_107_542_400_000),
        ] {
            assert_eq!(epoch_millis(text), millis, "{text}");
        }
        for odd in ["", "yesterday", "2024-01-23", "2024-13-01T00:00:00Z", "2024-01-01T00:00:0éZ"]
        {
            assert_eq!(epoch_millis(odd), 0, "{odd}");
        }
    }

    #[test]
    fn times_are_written_as_the_official_runtimes_do() {
        for millis in [0, 951_782_400_001, 1_794_724_355_495, 4_107_542_399_999, 4_107_542_400_000]
        {
            let text = write(UNIX_EPOCH + Duration::from_millis(millis));
            assert_eq!((epoch_millis(&text), text.len()), (millis, 24), "{text}");
        }
        let text = write(UNIX_EPOCH + Duration::from_millis(1_794_724_355_495));
        assert_eq!(text, "2026-11-15T06:32:35.495Z");
    }

    #[test]
    fn work_is_lost_when_it_is_pending_and_silent() {
        let long_ago = Some("2024-01-23T00:00:00.000Z");
        assert!(is_lost(Some(SnapshotStatus::Pending), long_ago));
        assert!(!is_lost(Some(SnapshotStatus::Completed), long_ago));
        for beat in [None, Some("soon"), Some(&*now()), Some("2999-01-23T00:00:00.000Z")] {
            assert!(!is_lost(Some(SnapshotStatus::Pending), beat), "{beat:?}");
        }
    }
}
