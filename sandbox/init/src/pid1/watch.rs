//! Counts the system calls that the filter refuses to a command.
//!
//! Must not change an answer: a watched call returns its error, whether it is counted or not. If the kernel cannot
//! notify this process, a filter without notifications returns the same errors. Must not write to anything that can
//! block, and must not lock: the thread that answers also receives the runner's messages.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use airlock_init::ledger::Ledger;
use airlock_init::refusal::{ARCH, Answer, MAX_WATCHED, WatchedCall, program};
use airlock_init::sys::notify::{Notification, add_filter, receive, refuse};
use airlock_init::wire::Step;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

use crate::failure::{AtStep, Failure};

/// The watched calls of a command.
pub(super) struct Watch {
    listener: OwnedFd,
    ledger: Ledger,
    /// The calls with the numbers of their refusals.
    calls: Vec<(WatchedCall, u64)>,
}

impl Watch {
    /// Adds the filter to this process. `None` if the kernel does not notify it; the calls are then refused and not
    /// counted.
    ///
    /// # Errors
    ///
    /// If neither form of the filter can be added. The command must then not start.
    pub(super) fn begin(calls: &[WatchedCall], ledger: Ledger) -> Result<Option<Self>, Failure> {
        if calls.len() > MAX_WATCHED {
            return Err(Failure::new(Step::Seccomp, "too many calls are watched"));
        }
        let seccomp = u32::try_from(libc::SYS_seccomp).at(Step::Seccomp)?;
        let program = |answer| program(ARCH, seccomp, calls, answer);
        let Ok(Some(listener)) = add_filter(&program(Answer::Notify), true) else {
            add_filter(&program(Answer::Refuse), false).at(Step::Seccomp)?;
            return Ok(None);
        };
        // A limit on file sizes can forbid it. The calls are then refused and not counted.
        let _ = ledger.begin();
        Ok(Some(Self { listener, ledger, calls: calls.iter().map(|call| (*call, 0)).collect() }))
    }

    /// Answers notifications until `control` is readable or closed. `control` has precedence, so that a command that
    /// makes many refused calls does not delay the runner's messages.
    ///
    /// # Errors
    ///
    /// If a notification cannot be received or answered. The caller must then drop this value. The kernel then answers
    /// all watched calls with ENOSYS.
    pub(super) fn answer_until(&mut self, control: BorrowedFd<'_>) -> Result<(), Errno> {
        loop {
            let waited_for = [control, self.listener.as_fd()];
            let mut ready = waited_for.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN));
            match poll(&mut ready, None) {
                Err(Errno::INTR) => continue,
                other => other?,
            };
            let [control, listener] = ready.map(|fd| fd.revents());
            if !control.is_empty() {
                return Ok(());
            }
            if listener.contains(PollFlags::IN) {
                self.answer()?;
            } else if !listener.is_empty() {
                return Err(Errno::PIPE);
            }
        }
    }

    fn answer(&mut self) -> Result<(), Errno> {
        let Notification { id, number } = match receive(self.listener.as_fd()) {
            // Its process has ended.
            Err(Errno::NOENT | Errno::INTR) => return Ok(()),
            other => other?,
        };
        let found = self.calls.iter_mut().enumerate().find(|(_, (call, _))| call.number == number);
        // The filter notifies of listed calls only.
        let Some((position, (call, count))) = found else { return Err(Errno::NOSYS) };
        *count = count.saturating_add(1);
        // Without a count, the call is still refused.
        let _ = self.ledger.set(position, *count);
        match refuse(self.listener.as_fd(), id, call.errno) {
            Err(Errno::NOENT | Errno::INTR) => Ok(()),
            other => other,
        }
    }
}
