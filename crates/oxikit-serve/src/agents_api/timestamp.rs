//! Times of snapshots as numbers.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970 of an RFC 3339 time; 0 for what is none, as an odd row
/// must not spoil a list.
pub(super) fn epoch_millis(text: &str) -> u64 {
    parse(text).and_then(|millis| u64::try_from(millis).ok()).unwrap_or(0)
}

/// Whether the time is longer ago than this.
pub(super) fn is_older_than(text: &str, age: Duration) -> bool {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u128::from(epoch_millis(text)) + age.as_millis() < now.as_millis()
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
        assert!(is_older_than("2024-01-23T00:00:00.000Z", Duration::from_secs(60)));
        assert!(!is_older_than("2999-01-23T00:00:00.000Z", Duration::from_secs(60)));
    }
}
