//! The time limit of a run. Time spent waiting for a processor does not count, so the result does not depend on the
//! load of the host.
//!
//! The clock must end every run, including a run that never gets a processor.

use std::time::{Duration, Instant};

use nix::unistd::Pid;

/// After the time limit, the run ends if all processes are waiting at this number of consecutive
/// checks.
const QUIET_LOOKS: u32 = 5;
/// The maximum time of a run that waits for a processor, as a multiple of its limit.
const MOST_TIMES: u32 = 20;
/// The kernel's unit of processor time.
const TICK: Duration = Duration::from_millis(10);

/// The clock of one run.
pub(super) struct Clock {
    begun: Instant,
    time: Duration,
    quiet: u32,
}

impl Clock {
    pub(super) fn new(time: Duration) -> Self {
        Self { begun: Instant::now(), time, quiet: 0 }
    }

    /// Returns whether the run is over. This requires that the time has passed. The processes must also have used that
    /// much processor time, or wait for something other than a processor.
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
    /// Whether it waits for something other than a processor or a disk.
    waits: bool,
    /// Processor time, including that of its children that have ended.
    used: Duration,
}

/// Reads the state of a process. Returns `None` if it has ended.
fn look(pid: Pid) -> Option<Seen> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The process name can contain any characters.
    let (_, rest) = stat.rsplit_once(") ")?;
    let fields: Vec<&str> = rest.split(' ').collect();
    let waits = !matches!(fields.first()?.chars().next()?, 'R' | 'D' | 't');
    let ticks = fields.get(11..15)?.iter().filter_map(|field| field.parse::<u32>().ok()).sum();
    Some(Seen { waits, used: TICK * ticks })
}
