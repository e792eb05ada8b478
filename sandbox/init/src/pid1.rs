//! Process 1 of a sandbox: starts one shell, reaps processes, forwards signals, reports.
//!
//! It shares the sandbox with a hostile command. It therefore opens all its descriptors before the fork, and the
//! command does not inherit them. The two share only the current directory, which process 1 never uses. Must not
//! interpret output, and must not outlive the shell by more than [`Grace`] allows.

mod setup;
mod watch;

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use airlock_init::frame::{recv_frame, send_frame};
use airlock_init::grace::{Grace, Look};
use airlock_init::ledger::Ledger;
use airlock_init::sys;
use airlock_init::wire::{self, Access, End, Landlock, MAX_CWD, Report, Status, Step, ToInit};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::signal::{Signal, kill};
use nix::sys::time::TimeValLike;
use nix::unistd::Pid;
use rustix::io::Errno;
use rustix::process::{WaitOptions, WaitStatus, pidfd_open};

use crate::failure::{AtStep, Failure};
use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, LandlockStatus,
    RestrictionStatus, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
    path_beneath_rules,
};
use setup::Terminal;
use watch::Watch;

/// The interval between checks for processes that outlive the shell: the first and the longest.
const LEFTOVER_POLL: [Duration; 2] = [Duration::from_millis(2), Duration::from_millis(20)];
/// The maximum number of processes that are examined.
const LOOKED_AT: usize = 256;
const EVERYTHING: Pid = Pid::from_raw(-1);

/// Runs process 1. `sandboxed` states that there is a system call filter, that the shell's directory is reported, and
/// that Landlock restricts the command.
pub(crate) fn run(sandboxed: bool) -> Result<ExitCode, Failure> {
    setup::prepare(sandboxed)?;
    let control = io::stdin();
    let own =
        pidfd_open(rustix::process::getpid(), rustix::process::PidfdFlags::empty()).at(Step::Prepare)?;
    send_frame(control.as_fd(), &Report::Ready, &[own.as_fd()]).at(Step::Message)?;
    drop(own);

    let (message, mut fds) = recv_frame(control.as_fd()).at(Step::Message)?;
    let ToInit::Start(spec) = message else {
        return Err(Failure::new(Step::Message, "the first message is not a start"));
    };
    setup::make_files(&spec)?;
    let terminal = spec.terminal.map(Terminal::make).transpose()?;
    setup::apply_limits(&spec.limits)?;
    // Before the listener thread starts, so that the restriction applies to every thread.
    let landlock = match sandboxed {
        true => restrict_by_landlock(&spec.access).at(Step::Landlock)?,
        false => Landlock { abi: 0, tcp_denied: false },
    };
    let watch = match sandboxed {
        true => Watch::begin(&spec.watched, ledger(&mut fds)?)?,
        false => None,
    };
    let listener = control.as_fd().try_clone_to_owned().at(Step::Prepare)?;
    let listen = move || listen(listener.as_fd(), watch);
    thread::Builder::new().stack_size(64 << 10).spawn(listen).at(Step::Prepare)?;
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

/// Returns the ledger, the last descriptor of a start in a sandbox.
fn ledger(fds: &mut Vec<OwnedFd>) -> Result<Ledger, Failure> {
    let last = fds.pop().ok_or_else(|| Failure::new(Step::Message, "a start needs a ledger"))?;
    Ok(Ledger::received(last))
}

/// Handles the runner's messages while the shell runs, and answers refused system calls between them. If the runner has
/// ended, everything ends.
fn listen(control: BorrowedFd<'_>, mut watch: Option<Watch>) {
    loop {
        if watch.as_mut().is_some_and(|watch| watch.answer_until(control).is_err()) {
            // Nothing is counted from now on. The kernel refuses the calls itself.
            watch = None;
        }
        let Ok((message, _)) = recv_frame(control) else { break };
        // If the signal fails, no process remains, and the sandbox ends soon.
        match message {
            ToInit::Terminate => {
                let _ = kill(EVERYTHING, Signal::SIGTERM);
                // Stopped processes handle SIGTERM only after they continue.
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

/// Reaps processes until the shell ends. Returns its status, and the name of the program that its process ran last.
fn wait_for_shell(shell: rustix::process::Pid) -> io::Result<(Status, Vec<u8>)> {
    loop {
        let ended = sys::wait_for_any_end()?;
        // The name is unavailable after the process is reaped.
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

/// Reports whether only process 1 is left, after a short wait for processes that are about to end.
fn everything_ended(sandboxed: bool) -> bool {
    let (began, mut grace) = (Instant::now(), Grace::default());
    let [mut pause, longest] = LEFTOVER_POLL;
    loop {
        while let Ok(Some(_)) = rustix::process::wait(WaitOptions::NOHANG) {}
        if kill(EVERYTHING, None).is_err() {
            return true;
        }
        // Outside a sandbox, `/proc` shows the host's processes.
        let look = if sandboxed { look_at_others() } else { Look::default() };
        if !grace.goes_on(look, began.elapsed()) {
            return false;
        }
        thread::sleep(pause);
        pause = (pause * 2).min(longest);
    }
}

/// Reads the state of the other processes.
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

/// Returns the directory in which the shell ended. It is that of this process, because the two share it. `None` if the
/// shell was killed, if it had executed another program, or if the directory no longer has a path. A program can give
/// itself a shell's name, so the result is not reliable.
fn last_directory(status: Status, was_shell: bool) -> Option<Vec<u8>> {
    const SIGKILL: u8 = 9;
    let killed = matches!(status, Status::Signaled { signal: SIGKILL, .. });
    if killed || !was_shell {
        return None;
    }
    let path = rustix::process::getcwd(Vec::new()).ok()?.into_bytes();
    (path.first() == Some(&b'/') && path.len() <= MAX_CWD).then_some(path)
}

/// The newest tested version. Restrictions of later versions are not used.
const KNOWN: ABI = ABI::V7;

/// Restricts this process irreversibly.
///
/// Landlock: the second layer after mounts and namespaces. Pid 1 applies it to itself, and everything that it starts
/// inherits it.
///
/// Uses the kernel's available version and reports it. Must not widen access: a path that cannot be opened gets no
/// right.
fn restrict_by_landlock(access: &Access) -> Result<Landlock, RulesetError> {
    let status = apply_landlock(access)?;
    let abi = match (&status.ruleset, status.landlock) {
        (RulesetStatus::NotEnforced, _) => 0,
        (_, LandlockStatus::Available { effective_abi, .. }) => effective_abi as u32,
        _ => 0,
    };
    Ok(Landlock { abi, tcp_denied: abi >= ABI::V4 as u32 && !access.tcp })
}

fn apply_landlock(access: &Access) -> Result<RestrictionStatus, RulesetError> {
    let mut rules = Ruleset::default()
        // ABI 1 cannot allow a rename between directories, and therefore forbids it. This would break git and mv.
        .set_compatibility(CompatLevel::SoftRequirement)
        .handle_access(AccessFs::Refer)?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(KNOWN))?
        .scope(Scope::from_all(KNOWN))?;
    if !access.tcp {
        rules = rules.handle_access(AccessNet::from_all(KNOWN))?;
    }
    rules
        .create()?
        .add_rules(path_beneath_rules(["/"], AccessFs::from_read(KNOWN)))?
        .add_rules(path_beneath_rules(paths(&access.directories), in_directories()))?
        .add_rules(path_beneath_rules(paths(&access.files), in_files()))?
        .restrict_self()
}

/// All rights except those on devices.
fn in_directories() -> BitFlags<AccessFs> {
    AccessFs::from_all(KNOWN) & !(AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev)
}

/// The rights to write and control a file, but not to create or remove it.
fn in_files() -> BitFlags<AccessFs> {
    AccessFs::WriteFile | AccessFs::Truncate | AccessFs::IoctlDev
}

fn paths(paths: &[Vec<u8>]) -> impl Iterator<Item = &Path> {
    paths.iter().map(|path| Path::new(OsStr::from_bytes(path)))
}
