//! Fairness between tenants: weighted virtual time for the queue, and a rate limit for starts. Pure functions that
//! the store, the services and the simulation in `benches/` share.
//!
//! Each placement advances the virtual time of its tenant. The advance is inversely proportional to the tenant's
//! weight. The tenant with the least virtual time is next. An idle tenant does not collect unlimited credit. Its
//! virtual time is at most [`CREDIT`] less than the largest one.

/// The cost of one placement for a tenant of weight 1, in units of virtual time.
pub const ONE: i64 = 1_000_000;
/// The maximum distance between a tenant and the tenant with the most virtual time: 16 placements of weight 1.
pub const CREDIT: i64 = 16 * ONE;
/// The maximum weight.
pub const WEIGHT_MOST: u32 = 1000;
/// The maximum rate of starts per second.
pub const PER_SECOND_MOST: u64 = SECOND.unsigned_abs();
/// The maximum number of bytes of one execution that count towards its tenant's daily quota. It bounds the effect of
/// a runner that reports a wrong size.
pub const OUTPUT_COUNTED_MOST: u64 = 1 << 30;
/// One second in microseconds.
const SECOND: i64 = 1_000_000;
/// One day in microseconds.
const DAY: i64 = 24 * 3600 * SECOND;

/// Returns the cost of one placement for a tenant of this weight.
#[must_use]
pub fn cost(weight: u32) -> i64 {
    ONE / i64::from(weight.clamp(1, WEIGHT_MOST))
}

/// Returns the effective virtual time of a tenant with `served`, if the largest value of any tenant is `head`.
#[must_use]
pub fn stands(served: i64, head: i64) -> i64 {
    served.max(head.saturating_sub(CREDIT))
}

/// Returns the virtual time of a tenant after one more placement.
#[must_use]
pub fn after(served: i64, head: i64, cost: i64) -> i64 {
    stands(served, head).saturating_add(cost)
}

/// Returns the new rate-limit state after a start at `now`. The tenant may start `per_second` executions per second,
/// and as many at once after a pause. All times are in microseconds.
///
/// # Errors
/// The time until a start is permitted.
pub fn paced(paced_to: i64, now: i64, per_second: u64) -> Result<i64, i64> {
    let gap = SECOND / i64::try_from(per_second.clamp(1, PER_SECOND_MOST)).unwrap_or(SECOND);
    // The clamp bounds the wait to one second if the clock was set back.
    let next = paced_to.clamp(now, now.saturating_add(SECOND)).saturating_add(gap);
    let ahead = next.saturating_sub(now);
    if ahead > SECOND { Err(ahead - SECOND) } else { Ok(next) }
}

/// Returns the number of days since 1970 and the time until the day ends. All times are in microseconds.
#[must_use]
pub fn day(now: i64) -> (i64, i64) {
    (now.div_euclid(DAY), DAY - now.rem_euclid(DAY))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Serves the tenant with the least virtual time, `times` times. Returns how often each tenant was served.
    fn serve(tenants: &mut [(i64, u32)], times: usize) -> Vec<usize> {
        let mut counts = vec![0; tenants.len()];
        for _ in 0..times {
            let head = tenants.iter().map(|(served, _)| *served).max().unwrap();
            let (index, next) =
                tenants.iter_mut().enumerate().min_by_key(|(_, (served, _))| stands(*served, head)).unwrap();
            next.0 = after(next.0, head, cost(next.1));
            counts[index] += 1;
        }
        counts
    }

    #[test]
    fn each_is_served_by_its_weight() {
        assert_eq!(serve(&mut [(0, 1), (0, 1)], 1000), [500, 500]);
        let counts = serve(&mut [(0, 1), (0, 3), (0, 6)], 10_000);
        assert!(counts[0].abs_diff(1000) <= 1 && counts[1].abs_diff(3000) <= 3, "{counts:?}");
    }

    #[test]
    fn who_was_away_is_served_first_but_is_not_owed_all_of_it() {
        let mut tenants = [(10_000 * ONE, 1), (0, 1)];
        let counts = serve(&mut tenants, 16);
        assert_eq!(counts, [0, 16], "a new tenant does not wait for a tenant with a long queue");
        assert_eq!(serve(&mut tenants, 1000), [500, 500]);
    }

    #[test]
    fn any_numbers_hold() {
        assert_eq!(cost(0), ONE);
        assert_eq!(cost(u32::MAX), ONE / 1000);
        assert_eq!(after(i64::MAX, i64::MAX, ONE), i64::MAX);
        assert_eq!(stands(0, i64::MIN), 0);
        assert_eq!(paced(i64::MAX, 0, u64::MAX), Err(1));
        assert_eq!(paced(i64::MIN, 0, 0), Ok(SECOND));
    }

    #[test]
    fn a_pace_allows_a_second_s_worth_at_once_and_then_one_at_a_time() {
        let mut pace = 0;
        for _ in 0..10 {
            pace = paced(pace, 5 * SECOND, 10).unwrap();
        }
        let wait = paced(pace, 5 * SECOND, 10).unwrap_err();
        assert_eq!(wait, SECOND / 10);
        pace = paced(pace, 5 * SECOND + wait, 10).unwrap();
        assert_eq!(paced(pace, 5 * SECOND + wait, 10), Err(wait));
        assert!(paced(pace, 60 * SECOND, 10).is_ok());
    }

    #[test]
    fn a_day_ends_at_midnight() {
        assert_eq!(day(0), (0, DAY));
        assert_eq!(day(DAY - 1), (0, 1));
        assert_eq!(day(DAY), (1, DAY));
    }
}
