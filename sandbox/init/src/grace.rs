//! The grace period of process 1 after its shell has ended, for processes that are about to end. An example is the
//! filter in `cmd > >(filter)`, which must still write the data that it has read.
//!
//! A process that is ready to run on a busy host gets its time, however long that takes. A process that waits for
//! another event does not get more time. The period is therefore bounded by the idle time and by the processor time
//! used. Pure: reads no clock and no process.

use std::time::Duration;

/// The idle time that ends the period.
const IDLE: Duration = Duration::from_millis(100);
/// The minimum number of observations without activity. If process 1 itself was delayed, it did not observe the
/// activity in the meantime.
const IDLE_LOOKS: u32 = 6;
/// The processor time that ends the period, in hundredths of a second.
const CPU_TICKS: u64 = 20;
/// The maximum length of the period.
const MOST: Duration = Duration::from_secs(5);

/// The observed state of the remaining processes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Look {
    /// Whether one of them runs, is ready to run, or waits for a disk.
    pub works: bool,
    /// The total processor time of all of them, in hundredths of a second.
    pub ticks: u64,
}

impl Look {
    /// Adds a process from the contents of its `/proc/PID/stat`. An unreadable process is not counted.
    #[must_use]
    pub fn with(self, stat: &str) -> Self {
        // The name in parentheses may contain any character. The state and other fields follow; fields 11 and 12
        // after the state hold the times.
        let Some((_, after)) = stat.rsplit_once(')') else { return self };
        let mut fields = after.split_ascii_whitespace();
        let works = matches!(fields.next(), Some("R" | "D"));
        let times = fields.skip(10).take(2).filter_map(|field| field.parse::<u64>().ok());
        Self { works: self.works || works, ticks: times.fold(self.ticks, u64::saturating_add) }
    }
}

/// The state of one grace period.
#[derive(Debug, Default)]
pub struct Grace {
    seen: Option<u64>,
    used: u64,
    idle_since: Duration,
    idle_looks: u32,
}

impl Grace {
    /// Evaluates an observation that was made `waited` after the shell's end. Returns whether to continue.
    pub fn goes_on(&mut self, look: Look, waited: Duration) -> bool {
        // A lower value than before means that a process has ended.
        let used = look.ticks.saturating_sub(self.seen.unwrap_or(look.ticks));
        self.seen = Some(look.ticks);
        self.used = self.used.saturating_add(used);
        if look.works || used > 0 {
            self.idle_since = waited;
            self.idle_looks = 0;
        } else {
            self.idle_looks = self.idle_looks.saturating_add(1);
        }
        let is_idle = waited.saturating_sub(self.idle_since) >= IDLE && self.idle_looks >= IDLE_LOOKS;
        !is_idle && self.used < CPU_TICKS && waited < MOST
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: Duration = Duration::from_millis(10);

    /// Returns the time that it waits, given a function for each observation.
    fn waits(mut look: impl FnMut(u32) -> Look) -> Duration {
        let (mut grace, mut number) = (Grace::default(), 0);
        while grace.goes_on(look(number), STEP * number) {
            number += 1;
        }
        STEP * number
    }

    #[test]
    fn what_waits_for_something_else_has_a_moment() {
        assert_eq!(waits(|_| Look::default()), IDLE);
    }

    #[test]
    fn what_is_ready_to_run_and_gets_no_processor_has_its_time() {
        let busy_until = 100;
        let found = waits(|number| Look { works: number < busy_until, ticks: 3 });
        assert_eq!(found, STEP * (busy_until - 1) + IDLE);
    }

    #[test]
    fn what_works_without_end_is_not_waited_for() {
        assert_eq!(waits(|number| Look { works: true, ticks: u64::from(number) }), STEP * 20);
        // Other threads work while the first thread of their process waits.
        assert_eq!(waits(|number| Look { works: false, ticks: u64::from(number) }), STEP * 20);
        assert_eq!(waits(|_| Look { works: true, ticks: 7 }), MOST, "a processor that is never available");
    }

    #[test]
    fn one_that_is_held_up_itself_looks_more_than_once() {
        let mut grace = Grace::default();
        assert!(grace.goes_on(Look::default(), Duration::ZERO));
        assert!(grace.goes_on(Look::default(), Duration::from_secs(1)));
    }

    #[test]
    fn a_process_is_read_as_the_kernel_writes_it() {
        let stat = "42 (a) R (b) S 1 42 42 0 -1 4194304 1 0 0 0 17 4 9 9 20 0 1 0 5";
        assert_eq!(Look::default().with(stat), Look { works: false, ticks: 21 });
        let runs = stat.replace(") S 1", ") R 1");
        assert_eq!(Look::default().with(stat).with(&runs), Look { works: true, ticks: 42 });
        assert_eq!(Look::default().with("42 (a"), Look::default());
        let own = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
        assert!(Look::default().with(&own).works, "{own}");
    }
}
