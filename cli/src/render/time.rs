//! Times and durations for people and programs.

use std::time::{Duration, SystemTime};

/// Formats a time as RFC 3339 in UTC with milliseconds. Returns `None` for an invalid time.
#[must_use]
pub fn rfc3339(at: Option<&prost_types::Timestamp>) -> Option<String> {
    system_time(at).map(|time| humantime::format_rfc3339_millis(time).to_string())
}

/// Formats the age of a time in one unit, such as `5 seconds ago`. A future time is shown as the current time.
#[must_use]
pub fn ago(at: Option<&prost_types::Timestamp>, now: SystemTime) -> String {
    let Some(at) = system_time(at) else {
        return "-".to_owned();
    };
    let seconds = now.duration_since(at).unwrap_or_default().as_secs();
    let (count, unit) = match seconds {
        0..60 => (seconds, "second"),
        60..3600 => (seconds / 60, "minute"),
        3600..86400 => (seconds / 3600, "hour"),
        _ => (seconds / 86400, "day"),
    };
    format!("{count} {unit}{} ago", if count == 1 { "" } else { "s" })
}

/// Converts a wire duration. Returns `None` for a negative one.
#[must_use]
pub fn duration(wire: Option<&prost_types::Duration>) -> Option<Duration> {
    Duration::try_from(*wire?).ok()
}

/// Formats a duration in seconds with three decimals, such as `0.042 s`.
#[must_use]
pub fn seconds(span: Duration) -> String {
    format!("{:.3} s", span.as_secs_f64())
}

/// Formats a duration for a person who waits: `42s`, `3m 07s`, `2h 05m`.
#[must_use]
pub fn short(span: Duration) -> String {
    let seconds = span.as_secs();
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m {:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h {:02}m", seconds / 3600, seconds / 60 % 60),
    }
}

fn system_time(at: Option<&prost_types::Timestamp>) -> Option<SystemTime> {
    SystemTime::try_from(*at?).ok().filter(|time| {
        // The format needs a four-digit year.
        time.duration_since(SystemTime::UNIX_EPOCH).is_ok_and(|since| since.as_secs() < 253_402_300_800)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> prost_types::Timestamp {
        prost_types::Timestamp { seconds, nanos: 0 }
    }

    #[test]
    fn who_waits_reads_two_units_at_most() {
        for (seconds, shown) in [(0, "0s"), (59, "59s"), (60, "1m 00s"), (3599, "59m 59s"), (7500, "2h 05m")]
        {
            assert_eq!(short(Duration::from_secs(seconds)), shown);
        }
    }

    #[test]
    fn any_time_can_be_shown() {
        assert_eq!(rfc3339(Some(&at(0))).unwrap(), "1970-01-01T00:00:00.000Z");
        for seconds in [i64::MIN, -1, 253_402_300_800, i64::MAX] {
            assert_eq!(rfc3339(Some(&at(seconds))), None);
        }
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(100_000);
        for (then, shown) in [
            (99_999, "1 second ago"),
            (99_000, "16 minutes ago"),
            (96_400, "1 hour ago"),
            (0, "1 day ago"),
            (200_000, "0 seconds ago"),
            (-5, "-"),
        ] {
            assert_eq!(ago(Some(&at(then)), now), shown);
        }
    }
}
