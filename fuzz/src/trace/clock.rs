//! When a run has had its time. What waits for a processor is not charged for it: on a
//! busy host a run sees and starts as much as on a free one.
//!
//! It must end every run: also one that a host never lets run.

use std::time::{Duration, Instant};

use nix::unistd::Pid;

/// So many looks one after the other, at each of which all processes wait for something,
/// are the end of a run that has had its time.
const QUIET_LOOKS: u32 = 5;
/// A run that waits for a processor may take at most this many times its limit.
const MOST_TIMES: u32 = 20;
/// The unit in which the kernel counts processor time.
const TICK: Duration = Duration::from_millis(10);

/// The time of one run.
pub(super) struct Clock {
    begun: Instant,
    time: Duration,
    quiet: u32,
}

impl Clock {
    pub(super) fn new(time: Duration) -> Self {
        Self { begun: Instant::now(), time, quiet: 0 }
    }

    /// Whether the time has passed, and the processes have used so much of a processor or
    /// wait for something else than one.
    pub(super) fn is_over<'a>(&mut self, processes: impl Iterator<Item = &'a Pid>) -> bool {
        let passed = self.begun.elapsed();
        if passed < self.time {
            return false;
        }
        let seen: Vec<Seen> = processes.filter_map(|pid| look(*pid)).collect();
        let is_quiet = seen.iter().all(|process| process.waits);
        self.quiet = if is_quiet { self.quiet + 1 } else { 0 };
        let used: Duration = seen.iter().map(|process| process.used).sum();
        self.quiet >= QUIET_LOOKS || used >= self.time || passed >= self.time * MOST_TIMES
    }
}

/// The state of a process, as the kernel reports it.
struct Seen {
    /// Whether it waits for something else than a processor or a disk.
    waits: bool,
    /// Processor time, with that of its children that have ended.
    used: Duration,
}

/// `None` where it has ended.
fn look(pid: Pid) -> Option<Seen> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // Its name may hold anything.
    let (_, rest) = stat.rsplit_once(") ")?;
    let fields: Vec<&str> = rest.split(' ').collect();
    let waits = !matches!(fields.first()?.chars().next()?, 'R' | 'D' | 't');
    let ticks = fields.get(11..15)?.iter().filter_map(|field| field.parse::<u32>().ok()).sum();
    Some(Seen { waits, used: TICK * ticks })
}
