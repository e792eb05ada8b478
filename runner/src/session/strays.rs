//! Processes that an earlier process of this runner left. The kernel should have killed them. This module ensures it
//! before their sessions are used again.

use std::{
    collections::BTreeSet,
    fs, thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// The time for the kernel to end the killed processes.
const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(10);

/// Kills all processes with these uids, which only this runner uses, and waits for their end. Returns the number that
/// still exist after the timeout. Blocks.
pub(crate) fn end_strays(uids: &BTreeSet<u32>) -> usize {
    let until = Instant::now() + PATIENCE;
    loop {
        let strays = if uids.is_empty() { Vec::new() } else { running_as(uids) };
        if strays.is_empty() || Instant::now() >= until {
            return strays.len();
        }
        for pid in strays {
            // A process that ended meanwhile needs no signal.
            if let Ok(process) = pidfd_open(pid, PidfdFlags::empty())
                && owner(pid).is_some_and(|uid| uids.contains(&uid))
            {
                let _ = pidfd_send_signal(&process, Signal::KILL);
            }
        }
        thread::sleep(PAUSE);
    }
}

fn running_as(uids: &BTreeSet<u32>) -> Vec<Pid> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok().and_then(Pid::from_raw))
        .filter(|pid| owner(*pid).is_some_and(|uid| uids.contains(&uid)))
        .collect()
}

/// Reads the effective uid from the process's status. The owner of its `/proc` directory is root if the process is not
/// dumpable.
fn owner(pid: Pid) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{}/status", pid.as_raw_nonzero())).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    let zombie = status.lines().any(|line| line.starts_with("State:\tZ"));
    if zombie { None } else { line.split_whitespace().nth(1)?.parse().ok() }
}
