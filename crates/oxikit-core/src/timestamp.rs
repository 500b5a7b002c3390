//! The times of snapshots: RFC 3339, written in UTC with milliseconds, read in any zone.
//!
//! It also decides when detached work counts as lost. The clocks of all processes that share a
//! store must agree within a few seconds for that.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use oxikit_wire::SnapshotStatus;

/// Interval of the heartbeats of detached work: the process that does the work writes the time to
/// its snapshot this often.
pub const HEARTBEAT: Duration = Duration::from_secs(30);
/// Detached work without a heartbeat for this time counts as lost: its process has probably
/// ended. One missed heartbeat is tolerated.
pub const LOST_AFTER: Duration = Duration::from_secs(60);

/// The last time of the year 9999, in milliseconds since 1970.
const LAST_MILLISECOND: u64 = 253_402_300_799_999;

/// Where the numbers of a time are written, and with how many digits, from the year to the
/// milliseconds.
const PLACES: [(usize, usize); 7] = [(0, 4), (5, 2), (8, 2), (11, 2), (14, 2), (17, 2), (20, 3)];

/// Whether the work behind a snapshot has sent no heartbeat for longer than [`LOST_AFTER`].
///
/// A pending snapshot without any heartbeat is not lost: it was written by a runtime that does
/// not send heartbeats.
///
/// ```
/// use oxikit_core::timestamp;
/// use oxikit_wire::SnapshotStatus;
///
/// let pending = Some(SnapshotStatus::Pending);
/// assert!(timestamp::is_lost(pending, Some("2024-01-23T00:00:00Z")));
/// assert!(!timestamp::is_lost(pending, Some(&timestamp::now())));
/// assert!(!timestamp::is_lost(pending, None));
/// ```
pub fn is_lost(status: Option<SnapshotStatus>, heartbeat_at: Option<&str>) -> bool {
    status == Some(SnapshotStatus::Pending)
        && heartbeat_at.is_some_and(|beat| is_older_than(beat, LOST_AFTER))
}

/// The current time, such as `2026-11-15T06:32:35.495Z`.
pub fn now() -> String {
    write(SystemTime::now())
}

/// Milliseconds from 1970 to now.
///
/// ```
/// assert!(oxikit_core::timestamp::now_millis() > 1_700_000_000_000);
/// ```
pub fn now_millis() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_millis()).unwrap_or(i64::MAX)
}

/// Milliseconds from 1970 to this time. A text that is not a time gives 0: one damaged row must
/// not make a whole list fail.
///
/// ```
/// assert_eq!(oxikit_core::timestamp::epoch_millis("1970-01-01T01:00:01.5+01:00"), 1500);
/// ```
pub fn epoch_millis(text: &str) -> u64 {
    parse_millis(text).unwrap_or(0)
}

/// Milliseconds since 1970 of a time after that; `None` if the text is not such a time.
pub fn parse_millis(text: &str) -> Option<u64> {
    parse(text).and_then(|millis| u64::try_from(millis).ok())
}

/// The time this many milliseconds after the start of 1970, in the form of [`now`]; `None` after
/// the year 9999, which has no such form.
///
/// ```
/// let text = oxikit_core::timestamp::from_millis(1500);
/// assert_eq!(text.as_deref(), Some("1970-01-01T00:00:01.500Z"));
/// ```
pub fn from_millis(millis: u64) -> Option<String> {
    let is_in_range = millis <= LAST_MILLISECOND;
    is_in_range.then(|| write(UNIX_EPOCH + Duration::from_millis(millis)))
}

/// Whether the time is longer ago than `age`. `false` for a text that is not a time.
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
    // The digits are written without the formatter: every event of a task has such a time.
    let mut text = *b"0000-00-00T00:00:00.000Z";
    let digits = [year, month, day, hour, minute, second, millis.into()];
    for (number, (start, width)) in digits.into_iter().zip(PLACES) {
        let mut rest = number;
        for digit in text[start..start + width].iter_mut().rev() {
            *digit += (rest % 10) as u8;
            rest /= 10;
        }
    }
    str::from_utf8(&text).map(ToOwned::to_owned).unwrap_or_default()
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
    let millis = millis_of(fraction)?;
    let minutes = (days_since_1970(year, month, day) * 24 + hour) * 60 + minute - offset;
    Some((minutes * 60 + second) * 1000 + millis)
}

/// The first three digits of a fraction of a second; absent ones are zeros.
fn millis_of(fraction: &str) -> Option<i64> {
    let mut millis = 0;
    let mut digits = fraction.bytes();
    for _ in 0..3 {
        let digit = digits.next().unwrap_or(b'0');
        millis = millis * 10 + i64::from(digit.is_ascii_digit().then_some(digit - b'0')?);
    }
    digits.all(|digit| digit.is_ascii_digit()).then_some(millis)
}

/// Exactly this many numbers of at most four digits.
fn numbers<const N: usize>(text: &str, separator: char) -> Option<[i64; N]> {
    let number = |part: &str| -> Option<i64> {
        let is_number = part.len() <= 4 && part.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| part.parse().ok()).flatten()
    };
    let mut parts = text.split(separator);
    let mut numbers = [0; N];
    for place in &mut numbers {
        *place = number(parts.next()?)?;
    }
    parts.next().is_none().then_some(numbers)
}

/// Days from 1970 to a date of the Gregorian calendar. Years are counted from March, so that the
/// leap day is the last day of its year and shifts no other day.
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
        let last = from_millis(LAST_MILLISECOND);
        assert_eq!(last.as_deref(), Some("9999-12-31T23:59:59.999Z"));
        assert_eq!(from_millis(LAST_MILLISECOND + 1), None);
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
