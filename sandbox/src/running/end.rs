//! The end of a sandbox: first waits until all processes have ended, then compares the two reports.

use std::ffi::OsString;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::Duration;

use airlock_init::frame::{FrameError, recv_frame};
use airlock_init::sys::{Reaped, wait_for};
use airlock_init::wire::{End, Report, Status};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Signal, pidfd_send_signal};

use super::{Cause, Ended, PeakMemory, PeakSource, Waiter};
use crate::cgroup::{Cgroup, Usage};
use crate::seccomp;
use crate::status::{exit_code, read_rest};

impl Waiter {
    /// Waits until all processes of the sandbox have ended, and returns how it ended. Blocks. [`super::Control::ended`]
    /// returns a descriptor to poll.
    #[must_use]
    pub fn wait(mut self) -> Ended {
        let reaped = self.reap();
        let elapsed = self.started_at.elapsed();
        let report = self.last_report();
        let outside = match &self.status {
            Some(status) => exit_code(&read_rest(status.as_fd())),
            None => reaped.as_ref().map(|reaped| reaped.code),
        };
        let usage = self.handles.cgroup.as_ref().map_or(Ok(None), Cgroup::end);
        let (usage, stays) = match usage {
            Ok(usage) => (usage, None),
            Err(error) => (None, Some(error)),
        };
        let killer = Killer {
            caller: self.handles.killed.load(Ordering::SeqCst),
            kernel: usage.is_some_and(|usage| usage.oom_killed),
        };
        let cause = match (&reaped, stays) {
            (_, Some(error)) => self.failed("cgroup", &error.to_string()),
            (Some(_), None) => judge(report.as_ref(), outside, killer)
                .unwrap_or_else(|detail| self.failed("report", &detail)),
            (None, None) => self.failed("reap", "bubblewrap was reaped by another part of the process"),
        };
        let (user, system) = match (usage, reaped) {
            (Some(usage), _) => (usage.user, usage.system),
            (None, Some(reaped)) => (reaped.user, reaped.system),
            (None, None) => (Duration::ZERO, Duration::ZERO),
        };
        let trusted = report.filter(|_| matches!(cause, Cause::Exited(_) | Cause::Signaled { .. }));
        Ended {
            leftovers: trusted.as_ref().is_some_and(|end| end.leftovers),
            peak_memory: peak_memory(usage, trusted.as_ref()),
            cwd: trusted.and_then(|end| end.cwd).map(|path| PathBuf::from(OsString::from_vec(path))),
            refused_calls: self.ledger.as_ref().map(seccomp::refused).unwrap_or_default(),
            processes_refused: usage.map_or(0, |usage| usage.processes_refused),
            cause,
            user,
            system,
            elapsed,
        }
    }

    /// Waits for bubblewrap and then for process 1, the last process in the sandbox. If bubblewrap was killed, process
    /// 1 may still run.
    fn reap(&mut self) -> Option<Reaped> {
        self.waited = true;
        wait_readable(self.handles.child.as_fd());
        let reaped = wait_for(self.pid).ok();
        let _ = pidfd_send_signal(&self.handles.init, Signal::KILL);
        wait_readable(self.handles.init.as_fd());
        reaped
    }

    /// Returns the end that process 1 reported, if it did.
    fn last_report(&self) -> Option<End> {
        let socket = self.handles.socket.lock().unwrap_or_else(PoisonError::into_inner);
        socket.set_nonblocking(true).ok()?;
        match recv_frame(socket.as_fd()) {
            Ok((Report::Ended(end), _)) => Some(end),
            Ok(_) | Err(FrameError::Closed | FrameError::TimedOut) => None,
            Err(_) => None,
        }
    }

    fn failed(&self, step: &'static str, detail: &str) -> Cause {
        let said = read_rest(self.diagnostics.as_fd());
        let said = String::from_utf8_lossy(&said);
        let said = said.trim().replace('\n', "; ");
        let separator = if said.is_empty() { "" } else { ": " };
        Cause::SandboxFailed { step, detail: format!("{detail}{separator}{said}") }
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        if !self.waited {
            self.handles.kill();
            self.reap();
        }
    }
}

/// The cause of a kill of the sandbox from the host.
#[derive(Debug, Clone, Copy, Default)]
struct Killer {
    caller: bool,
    /// The kernel, because memory ran out.
    kernel: bool,
}

/// Returns the cgroup's count, or else that of process 1.
fn peak_memory(usage: Option<Usage>, report: Option<&End>) -> Option<PeakMemory> {
    let counted = usage.and_then(|usage| usage.peak_memory);
    let counted = counted.map(|bytes| PeakMemory { bytes, source: PeakSource::Cgroup });
    counted
        .or_else(|| report.map(|end| PeakMemory { bytes: end.peak_rss, source: PeakSource::LargestProcess }))
}

/// Compares the two reports. If they differ, there is no exit code.
fn judge(inside: Option<&End>, outside: Option<i32>, killer: Killer) -> Result<Cause, String> {
    match (inside, outside) {
        (Some(end), Some(code)) if i32::from(end.status.as_exit_code()) == code => Ok(match end.status {
            Status::Exited(code) => Cause::Exited(code),
            Status::Signaled { signal, core } => Cause::Signaled { signal, core },
        }),
        _ if killer.kernel => Ok(Cause::OomKilled),
        _ if killer.caller => Ok(Cause::Killed),
        (Some(end), Some(code)) => {
            Err(format!("process 1 reported code {}, bubblewrap {code}", end.status.as_exit_code()))
        }
        (None, Some(code)) => Err(format!("process 1 reported nothing, bubblewrap code {code}")),
        (_, None) => Err("bubblewrap reported nothing".to_owned()),
    }
}

fn wait_readable(fd: BorrowedFd<'_>) {
    let mut fds = [PollFd::from_borrowed_fd(fd, PollFlags::IN)];
    while poll(&mut fds, None) == Err(Errno::INTR) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALLER: Killer = Killer { caller: true, kernel: false };

    fn end(status: Status) -> End {
        End { status, leftovers: false, cwd: None, user_micros: 0, system_micros: 0, peak_rss: 0 }
    }

    #[test]
    fn agreement_is_the_cause() {
        assert_eq!(judge(Some(&end(Status::Exited(3))), Some(3), Killer::default()), Ok(Cause::Exited(3)));
        let signaled = end(Status::Signaled { signal: 15, core: false });
        let cause = Cause::Signaled { signal: 15, core: false };
        assert_eq!(judge(Some(&signaled), Some(143), Killer::default()), Ok(cause.clone()));
        assert_eq!(judge(Some(&signaled), Some(143), CALLER), Ok(cause));
    }

    #[test]
    fn disagreement_or_silence_is_never_success() {
        let success = end(Status::Exited(0));
        for outside in [Some(1), Some(137), Some(-1), None] {
            assert!(judge(Some(&success), outside, Killer::default()).is_err(), "{outside:?}");
            assert_eq!(judge(Some(&success), outside, CALLER), Ok(Cause::Killed));
        }
        assert!(judge(None, Some(0), Killer::default()).is_err());
        assert!(judge(None, None, Killer::default()).is_err());
        assert_eq!(judge(None, Some(0), CALLER), Ok(Cause::Killed));
    }

    #[test]
    fn the_kernels_end_for_want_of_memory_is_told_from_the_callers() {
        let both = Killer { caller: true, kernel: true };
        let kernel = Killer { caller: false, kernel: true };
        assert_eq!(judge(None, None, kernel), Ok(Cause::OomKilled));
        assert_eq!(judge(None, None, both), Ok(Cause::OomKilled));
        let success = end(Status::Exited(0));
        assert_eq!(judge(Some(&success), None, kernel), Ok(Cause::OomKilled));
    }
}
