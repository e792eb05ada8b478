//! Processes the kernel's events for traced processes. It must leave no process behind, including
//! on errors.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::ptrace;
use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use super::clock::Clock;
use super::record::{Ended, Exec, GATE, Limits, Trace};

/// Reports when a child has an event.
pub(super) struct ChildSignals(SignalFd);

impl ChildSignals {
    pub(super) fn new() -> io::Result<Self> {
        let mut set = SigSet::empty();
        set.add(Signal::SIGCHLD);
        set.thread_block()?;
        Ok(Self(SignalFd::with_flags(&set, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)?))
    }

    /// Sleeps until there may be an event. A thread that does not block the signal can consume it,
    /// so that each sleep is short.
    fn wait(&self) -> io::Result<()> {
        const LONGEST_MILLIS: u16 = 4;
        let mut fds = [PollFd::new(self.0.as_fd(), PollFlags::POLLIN)];
        match poll(&mut fds, PollTimeout::from(LONGEST_MILLIS)) {
            Ok(_) | Err(Errno::EINTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Discards pending signals.
    fn drain(&self) -> io::Result<()> {
        while self.0.read_signal()?.is_some() {}
        Ok(())
    }
}

/// A traced process.
#[derive(Debug, Clone, Copy)]
struct Process {
    parent: Pid,
    /// The exec that it runs.
    image: Option<usize>,
}

struct Follower {
    main: Pid,
    alive: HashMap<Pid, Process>,
    /// Processes that stopped at their start, before the parent's event reported them.
    early: HashSet<Pid>,
    execs: Vec<Exec>,
    /// How the main program ended.
    ended: Option<Ended>,
    /// Why all processes are killed.
    killed: Option<Ended>,
    leftovers: bool,
}

/// Follows the process and all its descendants until none is left.
pub(super) fn follow(main: Pid, limits: &Limits, signals: &ChildSignals) -> io::Result<Trace> {
    let mut follower = Follower {
        main,
        alive: HashMap::from([(main, Process { parent: Pid::this(), image: None })]),
        early: HashSet::new(),
        execs: Vec::new(),
        ended: None,
        killed: None,
        leftovers: false,
    };
    let result = follower.until_none_is_left(limits, signals);
    if result.is_err() {
        follower.kill_all();
        // Reaps the killed processes. Other events do not matter anymore.
        while !matches!(waitpid(None, Some(WaitPidFlag::__WALL)), Err(Errno::ECHILD)) {}
    }
    result?;
    let ended = follower.killed.or(follower.ended).unwrap_or(Ended::TimedOut);
    Ok(Trace { execs: follower.execs, ended, leftovers: follower.leftovers })
}

impl Follower {
    fn until_none_is_left(&mut self, limits: &Limits, signals: &ChildSignals) -> io::Result<()> {
        let mut wall = Clock::new(limits.wall);
        let mut linger = None;
        while !self.alive.is_empty() || !self.early.is_empty() {
            signals.drain()?;
            self.all_events()?;
            if self.ended.is_some() && linger.is_none() {
                linger = Some(Clock::new(limits.linger));
            }
            if self.alive.is_empty() && self.early.is_empty() {
                break;
            }
            // Each clock is read every time, so that it observes every wait of its processes.
            let mut late = wall.is_over(self.alive.keys());
            late |= linger.as_mut().is_some_and(|clock| clock.is_over(self.alive.keys()));
            if late && linger.is_some() {
                self.leftovers = true;
                self.kill_all();
            } else if late {
                self.end_all(Ended::TimedOut);
            } else if self.alive.len() > limits.processes {
                self.end_all(Ended::TooManyProcesses);
            }
            signals.wait()?;
        }
        Ok(())
    }

    fn end_all(&mut self, why: Ended) {
        self.killed = self.killed.or(Some(why));
        self.kill_all();
    }

    fn kill_all(&self) {
        for pid in self.alive.keys().chain(&self.early) {
            // The process may have ended already.
            let _ = kill(*pid, Signal::SIGKILL);
        }
    }

    fn all_events(&mut self) -> io::Result<()> {
        loop {
            match waitpid(None, Some(WaitPidFlag::__WALL | WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::StillAlive) => return Ok(()),
                Err(Errno::ECHILD) => {
                    self.alive.clear();
                    self.early.clear();
                    return Ok(());
                }
                Err(Errno::EINTR) => {}
                Err(error) => return Err(error.into()),
                Ok(status) => self.event(status)?,
            }
        }
    }

    fn event(&mut self, status: WaitStatus) -> io::Result<()> {
        match status {
            WaitStatus::Exited(pid, code) => self.gone(pid, Ended::Exited(code)),
            WaitStatus::Signaled(pid, signal, _) => self.gone(pid, Ended::Signaled(signal as i32)),
            WaitStatus::Stopped(pid, signal) => resume(pid, Some(signal))?,
            WaitStatus::PtraceEvent(pid, _, event) => self.ptrace_event(pid, event)?,
            WaitStatus::PtraceSyscall(pid) => resume(pid, None)?,
            WaitStatus::Continued(_) | WaitStatus::StillAlive => {}
        }
        Ok(())
    }

    fn gone(&mut self, pid: Pid, how: Ended) {
        self.alive.remove(&pid);
        self.early.remove(&pid);
        if pid == self.main {
            self.ended = Some(how);
        }
    }

    fn ptrace_event(&mut self, pid: Pid, event: i32) -> io::Result<()> {
        const FORKS: [i32; 3] = [
            ptrace::Event::PTRACE_EVENT_FORK as i32,
            ptrace::Event::PTRACE_EVENT_VFORK as i32,
            ptrace::Event::PTRACE_EVENT_CLONE as i32,
        ];
        if FORKS.contains(&event) {
            if let Some(raw) = unless_dead(ptrace::getevent(pid))? {
                self.born(Pid::from_raw(i32::try_from(raw).map_err(io::Error::other)?), pid)?;
            }
        } else if event == ptrace::Event::PTRACE_EVENT_EXEC as i32 {
            self.executed(pid)?;
        } else if !self.alive.contains_key(&pid) {
            self.early.insert(pid);
            return Ok(());
        }
        resume(pid, None)
    }

    fn born(&mut self, child: Pid, parent: Pid) -> io::Result<()> {
        let image = self.alive.get(&parent).and_then(|process| process.image);
        self.alive.insert(child, Process { parent, image });
        if self.killed.is_some() || self.leftovers {
            let _ = kill(child, Signal::SIGKILL);
        }
        if self.early.remove(&child) {
            resume(child, None)?;
        }
        Ok(())
    }

    fn executed(&mut self, pid: Pid) -> io::Result<()> {
        let Some(process) = self.alive.get_mut(&pid) else {
            return Err(io::Error::other(format!("process {pid} runs a program before its birth was told")));
        };
        let Some((path, argv)) = read_image(pid)? else {
            return Ok(());
        };
        // The tracer does not always observe the exec of the gate itself.
        let gate = self.execs.is_empty() && argv.get(2).is_some_and(|text| text == GATE.as_bytes());
        if gate {
            return Ok(());
        }
        let by = process.image;
        process.image = Some(self.execs.len());
        self.execs.push(Exec { path, argv, pid: pid.as_raw(), parent: process.parent.as_raw(), by });
        Ok(())
    }
}

fn resume(pid: Pid, signal: Option<Signal>) -> io::Result<()> {
    // Continues after stops by SIGSTOP and similar signals.
    unless_dead(ptrace::cont(pid, signal)).map(|_| ())
}

/// Returns `None` if the process does not exist: it can be killed at any time.
fn unless_dead<T>(result: nix::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(Errno::ESRCH) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Path and arguments of a program.
type Image = (Vec<u8>, Vec<Vec<u8>>);

/// Reads the program that a process has just started. Returns `None` if the process is being
/// killed.
fn read_image(pid: Pid) -> io::Result<Option<Image>> {
    let read = || -> io::Result<Image> {
        let line = std::fs::read(format!("/proc/{pid}/cmdline"))?;
        let mut argv: Vec<Vec<u8>> = line.split(|byte| *byte == 0).map(<[u8]>::to_vec).collect();
        // Each argument ends with a NUL byte.
        argv.pop();
        Ok((executed_path(pid)?, argv))
    };
    match read() {
        Ok(image) => Ok(Some(image)),
        Err(error) => match unless_dead(kill(pid, None))? {
            None => Ok(None),
            Some(()) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Some(()) => Err(error),
        },
    }
}

/// Returns the path given to `execve`, which the auxiliary vector points to.
fn executed_path(pid: Pid) -> io::Result<Vec<u8>> {
    const AT_EXECFN: u64 = 31;
    const LONGEST: usize = 4096;
    let auxiliary = std::fs::read(format!("/proc/{pid}/auxv"))?;
    let entries = auxiliary.chunks_exact(16).filter_map(|entry| {
        let (key, value) = entry.split_at(8);
        Some((u64::from_ne_bytes(key.try_into().ok()?), u64::from_ne_bytes(value.try_into().ok()?)))
    });
    let at = entries.into_iter().find(|(key, _)| *key == AT_EXECFN).map(|(_, value)| value);
    let at = at.ok_or_else(|| io::Error::other(format!("process {pid} does not know its path")))?;
    let mut path = vec![0; LONGEST];
    // The path is near the end of the stack, so that the read can be short.
    let length = File::open(format!("/proc/{pid}/mem"))?.read_at(&mut path, at)?;
    path.truncate(length);
    let end = path.iter().position(|byte| *byte == 0).unwrap_or(length);
    path.truncate(end);
    Ok(path)
}
