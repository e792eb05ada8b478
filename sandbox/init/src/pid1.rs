//! Pid 1 of a sandbox: starts one shell, reaps, passes signals on, reports.
//!
//! Shares the sandbox with a hostile command, so whatever it needs is opened
//! before the fork, and nothing of it is inherited but its directory, which it shares
//! with the shell and never uses. Must not interpret output, and must not outlive the
//! shell by more than [`Grace`] allows.

mod landlock;
mod setup;
mod terminal;

use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use airlock_init::frame::{recv_frame, send_frame};
use airlock_init::grace::{Grace, Look};
use airlock_init::sys;
use airlock_init::wire::{self, End, Landlock, MAX_CWD, Report, Status, Step, ToInit};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::signal::{Signal, kill};
use nix::sys::time::TimeValLike;
use nix::unistd::Pid;
use rustix::io::Errno;
use rustix::process::{WaitOptions, WaitStatus, pidfd_open};

use crate::{AtStep, Failure};
use terminal::Terminal;

/// Between looks at processes that outlive the shell: at first, and at most.
const LEFTOVER_POLL: [Duration; 2] = [Duration::from_millis(2), Duration::from_millis(20)];
/// Of those, so many are looked at.
const LOOKED_AT: usize = 256;
const EVERYTHING: Pid = Pid::from_raw(-1);

/// `sandboxed`: there is a filter of system calls, the shell's directory is to be
/// reported, and Landlock is to be around the command.
pub(crate) fn run(sandboxed: bool) -> Result<ExitCode, Failure> {
    setup::prepare(sandboxed)?;
    let control = io::stdin();
    let own =
        pidfd_open(rustix::process::getpid(), rustix::process::PidfdFlags::empty()).at(Step::Prepare)?;
    send_frame(control.as_fd(), &Report::Ready, &[own.as_fd()]).at(Step::Message)?;
    drop(own);

    let (message, fds) = recv_frame(control.as_fd()).at(Step::Message)?;
    let ToInit::Start(spec) = message else {
        return Err(Failure::new(Step::Message, "the first message is not a start"));
    };
    setup::make_files(&spec)?;
    let terminal = spec.terminal.map(Terminal::make).transpose()?;
    setup::apply_limits(&spec.limits)?;
    // Before the listener, so that every thread of this process is within.
    let landlock = match sandboxed {
        true => landlock::restrict(&spec.access).at(Step::Landlock)?,
        false => Landlock { abi: 0, tcp_denied: false },
    };
    let listener = control.as_fd().try_clone_to_owned().at(Step::Prepare)?;
    thread::Builder::new().stack_size(64 << 10).spawn(move || listen(listener.as_fd())).at(Step::Prepare)?;
    let shell = setup::start(&spec, fds, terminal.as_ref())?;
    let controlling: Vec<_> = terminal.iter().map(Terminal::controlling).collect();
    send_frame(control.as_fd(), &Report::Started(landlock), &controlling).at(Step::Message)?;
    let _open_until_the_end = terminal.map(Terminal::into_command_end);

    let (status, name) = wait_for_shell(shell).at(Step::Wait)?;
    let cwd = last_directory(status, name == spec.shell.name().as_bytes()).filter(|_| sandboxed);
    let leftovers = !everything_ended(sandboxed);
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).at(Step::Wait)?;
    let micros = |value: i64| u64::try_from(value).unwrap_or(0);
    let end = End {
        status,
        leftovers,
        cwd,
        user_micros: micros(usage.user_time().num_microseconds()),
        system_micros: micros(usage.system_time().num_microseconds()),
        peak_rss: micros(usage.max_rss()).saturating_mul(1024),
    };
    send_frame(control.as_fd(), &Report::Ended(end), &[]).at(Step::Message)?;
    Ok(ExitCode::from(status.as_exit_code()))
}

/// Does what the runner asks for while the shell runs. Where the runner is
/// gone, everything ends.
fn listen(control: BorrowedFd<'_>) {
    while let Ok((message, _)) = recv_frame(control) {
        // Where nothing is left to be told, the end is on its way already.
        match message {
            ToInit::Terminate => {
                let _ = kill(EVERYTHING, Signal::SIGTERM);
                // Stopped processes act on SIGTERM only once they go on.
                let _ = kill(EVERYTHING, Signal::SIGCONT);
            }
            ToInit::Signal(signal) => {
                let _ = kill(EVERYTHING, number(signal));
            }
            ToInit::Start(_) => break,
        }
    }
    let _ = kill(EVERYTHING, Signal::SIGKILL);
}

fn number(signal: wire::Signal) -> Signal {
    match signal {
        wire::Signal::Hup => Signal::SIGHUP,
        wire::Signal::Int => Signal::SIGINT,
        wire::Signal::Quit => Signal::SIGQUIT,
        wire::Signal::Usr1 => Signal::SIGUSR1,
        wire::Signal::Usr2 => Signal::SIGUSR2,
        wire::Signal::Term => Signal::SIGTERM,
        wire::Signal::Kill => Signal::SIGKILL,
        wire::Signal::Stop => Signal::SIGSTOP,
        wire::Signal::Cont => Signal::SIGCONT,
    }
}

/// Reaps whatever ends until the shell does. How that ended, and the name of the
/// program that its process had then.
fn wait_for_shell(shell: rustix::process::Pid) -> io::Result<(Status, Vec<u8>)> {
    loop {
        let ended = sys::wait_for_any_end()?;
        // Gone once it is reaped.
        let name = if ended == shell { process_name(shell) } else { Vec::new() };
        match rustix::process::waitpid(Some(ended), WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == shell => return Ok((translate(status), name)),
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

fn process_name(pid: rustix::process::Pid) -> Vec<u8> {
    let mut name = fs::read(format!("/proc/{}/comm", pid.as_raw_nonzero())).unwrap_or_default();
    name.pop_if(|last| *last == b'\n');
    name
}

fn translate(status: WaitStatus) -> Status {
    const CORE_DUMPED: i32 = 0x80;
    let small = |value: i32| u8::try_from(value).unwrap_or(u8::MAX);
    match status.terminating_signal() {
        Some(signal) => {
            let core = status.as_raw() & CORE_DUMPED != 0;
            Status::Signaled { signal: small(signal), core }
        }
        None => Status::Exited(small(status.exit_status().unwrap_or(i32::MAX))),
    }
}

/// Whether nothing but pid 1 is left, after a short wait for what is about to
/// end.
fn everything_ended(sandboxed: bool) -> bool {
    let (began, mut grace) = (Instant::now(), Grace::default());
    let [mut pause, longest] = LEFTOVER_POLL;
    loop {
        while let Ok(Some(_)) = rustix::process::wait(WaitOptions::NOHANG) {}
        if kill(EVERYTHING, None).is_err() {
            return true;
        }
        // Outside, `/proc` shows the host's processes.
        let look = if sandboxed { look_at_others() } else { Look::default() };
        if !grace.goes_on(look, began.elapsed()) {
            return false;
        }
        thread::sleep(pause);
        pause = (pause * 2).min(longest);
    }
}

/// What the processes beside this one do.
fn look_at_others() -> Look {
    let own = std::process::id().to_string();
    let Ok(entries) = fs::read_dir("/proc") else { return Look::default() };
    let names = entries.flatten().map(|entry| entry.file_name());
    let others = names
        .filter_map(|name| name.into_string().ok())
        .filter(|name| *name != own && name.bytes().all(|byte| byte.is_ascii_digit()));
    let stats = others.take(LOOKED_AT).filter_map(|name| fs::read(format!("/proc/{name}/stat")).ok());
    stats.fold(Look::default(), |look, stat| look.with(&String::from_utf8_lossy(&stat)))
}

/// The directory in which the shell ended, which is this process's own: they share
/// it. None where the shell was killed or had become another program, and where the
/// directory has no path any more. A command can have become another program that
/// calls itself a shell, which is why the answer is a claim and not a fact.
fn last_directory(status: Status, was_shell: bool) -> Option<Vec<u8>> {
    const SIGKILL: u8 = 9;
    let killed = matches!(status, Status::Signaled { signal: SIGKILL, .. });
    if killed || !was_shell {
        return None;
    }
    let path = rustix::process::getcwd(Vec::new()).ok()?.into_bytes();
    (path.first() == Some(&b'/') && path.len() <= MAX_CWD).then_some(path)
}
