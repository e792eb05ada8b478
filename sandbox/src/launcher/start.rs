//! One start, from the request to a running shell.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use airlock_faults::{Point, hit};
use airlock_init::frame::{FrameError, recv_frame, send_frame};
use airlock_init::ledger::Ledger;
use airlock_init::refusal::WatchedCall;
use airlock_init::wire::{
    COMMAND_DIRECTORY, HostIds, Landlock, LaunchPlan, MODE_LAUNCH, Report, Staged, StartSpec, ToInit,
};
use rustix::fs::{Gid, MemfdFlags, Uid, fchown, memfd_create};
use rustix::pipe::{PipeFlags, fcntl_setpipe_size, pipe_with};
use rustix::termios::isatty;

use super::Launcher;
use super::building::{self, check};
use super::forker::{Child, Tie};
use super::{before_start, set_timeouts, unexpected};
use crate::args::{Sources, bwrap_args};
use crate::cgroup::Cgroup;
use crate::error::LaunchError;
use crate::mask::{self, SessionDirectory};
use crate::profile::Profile;
use crate::running::{Control, Handles, Running, Streams, Waiter};
use crate::seccomp;
use crate::session::{Session, UidIsolation};
use crate::shared::Reach;
use crate::spec::{LaunchSpec, Limits, Network, Stdin};
use crate::status::read_rest;

/// The requested size of a command's output pipes, in bytes. It holds a burst while the reader is not scheduled.
const PIPE_SIZE: usize = 1 << 20;

impl Launcher {
    /// Starts one command. Blocks until the shell runs or a step has failed, at most `limits.start_timeout` per awaited
    /// answer. If the caller drops the result, the sandbox is killed.
    ///
    /// # Errors
    ///
    /// The step that failed. [`LaunchError::started`] reports whether the command may have run.
    pub fn start(
        &self,
        profile: &Profile,
        session: &Session,
        limits: &Limits,
        spec: &LaunchSpec,
    ) -> Result<Running, LaunchError> {
        let directory = Path::new(COMMAND_DIRECTORY);
        let watched = seccomp::watched();
        self.run(session, limits, spec, (directory, watched), || self.prepare(profile, session, limits, spec))
    }

    /// Sends the command to the sandbox from `prepare`. The files that its shell reads are in `directory`. Refusals of
    /// the `watched` calls are counted.
    pub(super) fn run(
        &self,
        session: &Session,
        limits: &Limits,
        spec: &LaunchSpec,
        (directory, watched): (&Path, Vec<WatchedCall>),
        prepare: impl FnOnce() -> Result<Waiter, LaunchError>,
    ) -> Result<Running, LaunchError> {
        check(spec)?;
        self.check_ids(session.ids)?;
        hit(Point::SandboxStep, &"begin");
        let mut waiter = prepare()?;
        waiter.ledger = match watched.is_empty() {
            true => None,
            false => Some(Ledger::create().map_err(|source| failed("file in memory", source))?),
        };
        let mut start = StartSpec { watched, ..building::start(spec, limits, directory) };
        // Then the cgroup refuses first, at the same number of processes, and counts it.
        start.limits.nproc = start.limits.nproc.saturating_add(self.cgroups.beyond_processes());
        let (streams, landlock) = match spec.stdin {
            Stdin::Terminal(_) => on_terminal(&waiter, start)?,
            Stdin::Null | Stdin::Pipe => {
                let (streams, ends) = pipes(spec, session.ids)?;
                (streams, order(&waiter, start, &ends)?.0)
            }
        };
        hit(Point::SandboxStep, &"started");
        waiter.started_at = Instant::now();
        let control = Control(Arc::clone(&waiter.handles));
        Ok(Running { streams, control, started_at: waiter.started_at, landlock, waiter })
    }

    /// Starts a sandbox up to the point where process 1 waits for its command.
    fn prepare(
        &self,
        profile: &Profile,
        session: &Session,
        limits: &Limits,
        spec: &LaunchSpec,
    ) -> Result<Waiter, LaunchError> {
        let reach = Reach::of(profile, session.ids.is_some(), spec.shape.read_only)?;
        let direct = Sources::direct(session, &self.runtime);
        let stage = staged(&direct, spec);
        let masked = stage.iter().any(|directory| !directory.overlays.is_empty());
        let Reach { profile, shared, root } = reach;
        let (sources, stage) = match self.uid_isolation {
            UidIsolation::None if !masked && shared.is_empty() && root.is_none() => (direct, Vec::new()),
            _ => (Sources::staged(), stage),
        };
        let arguments = argument_file(&bwrap_args(&profile, &sources, limits, spec.shape))?;
        let filter = memory_file("airlock-seccomp", seccomp::filter(&profile.sockets))?;
        let (status, status_write) = cloexec_pipe()?;
        let namespaces = match (spec.shape.network, &session.net) {
            (Network::Empty, _) => None,
            (Network::SessionLoopback, Some(net)) => Some(net.fds()),
            (Network::SessionLoopback, None) => {
                let cause = "the session has no network to join".to_owned();
                return Err(LaunchError::Invalid { cause });
            }
        };
        let cgroup = self.cgroups.enter(limits)?;
        hit(Point::SandboxStep, &"cgroup");
        let plan = LaunchPlan {
            parent: std::process::id(),
            ids: session.ids,
            stage,
            shared,
            root,
            leave: self.disks_bytes(),
            join: namespaces.is_some(),
            cgroup: cgroup.is_some(),
            bwrap: self.bwrap.as_os_str().as_bytes().to_vec(),
        };
        let mut fds = vec![arguments.as_fd(), status_write.as_fd(), filter.as_fd()];
        fds.extend(namespaces.into_iter().flatten());
        fds.extend(cgroup.as_ref().map(Cgroup::handle));

        let child = self.forker.fork(MODE_LAUNCH)?;
        hit(Point::SandboxStep, &"forked");
        set_timeouts(&child.socket, limits.start_timeout)?;
        send_frame(child.socket.as_fd(), &plan, &fds).map_err(before_start)?;
        hit(Point::SandboxStep, &"planned");
        drop(status_write);
        ready(child, Some(status), cgroup, self.forker.tie())
    }
}

/// Waits until process 1 is ready for its command. `status` is bubblewrap's status descriptor, if there is one.
pub(super) fn ready(
    child: Child,
    status: Option<OwnedFd>,
    cgroup: Option<Cgroup>,
    tie: Tie,
) -> Result<Waiter, LaunchError> {
    let (pid, pidfd) = wait_until_cloned(&child)?;
    let child = child.gone_on_in(pid, pidfd);
    hit(Point::SandboxStep, &"cloned");
    let init = match wait_until_ready(&child) {
        Err(LaunchError::Conversation { source: FrameError::Closed }) => return Err(said(child)),
        other => other?,
    };
    hit(Point::SandboxStep, &"ready");
    let (socket, diagnostics, pid, child) = child.into_parts()?;
    let killed = AtomicBool::new(false);
    let handles = Handles { socket: Mutex::new(socket), init, child, killed, cgroup };
    let started_at = Instant::now();
    let handles = Arc::new(handles);
    Ok(Waiter { handles, pid, status, diagnostics, started_at, waited: false, ledger: None, tie })
}

/// Returns the directories that the launch step mounts for the session's uid, with the overlays of each.
fn staged(direct: &Sources, spec: &LaunchSpec) -> Vec<Staged> {
    let Sources { workspace, home, tmp, runtime } = direct;
    let directories = [
        ("workspace", workspace, Some(SessionDirectory::Workspace)),
        ("home", home, Some(SessionDirectory::Home)),
        ("tmp", tmp, Some(SessionDirectory::Tmp)),
        ("runtime", runtime, None),
    ];
    let staged = directories.map(|(name, path, directory)| Staged {
        source: path.as_os_str().as_bytes().to_vec(),
        name: name.to_owned(),
        overlays: directory
            .map(|directory| mask::plan::plan(&spec.masks, directory, spec.shape.read_only))
            .unwrap_or_default(),
    });
    staged.into()
}

/// Waits until the launch step has continued in the process that becomes bubblewrap.
fn wait_until_cloned(child: &Child) -> Result<(i32, OwnedFd), LaunchError> {
    match recv_frame(child.socket.as_fd()).map_err(before_start)? {
        (Report::Cloned { pid }, fds) => Ok((pid, fds.into_iter().next().ok_or_else(unexpected)?)),
        (Report::Failed { step, fault, cause }, _) => Err(LaunchError::Step { step, fault, cause }),
        _ => Err(unexpected()),
    }
}

/// Waits for the message of process 1 that it is ready, which carries its pidfd.
fn wait_until_ready(child: &Child) -> Result<OwnedFd, LaunchError> {
    match recv_frame(child.socket.as_fd()).map_err(before_start)? {
        (Report::Ready, fds) => fds.into_iter().next().ok_or_else(unexpected),
        (Report::Failed { step, fault, cause }, _) => Err(LaunchError::Step { step, fault, cause }),
        _ => Err(unexpected()),
    }
}

/// Sends a command with a terminal to process 1, and waits until it runs.
fn on_terminal(waiter: &Waiter, start: StartSpec) -> Result<(Streams, Landlock), LaunchError> {
    let (landlock, fds) = order(waiter, start, &[])?;
    let lost = || LaunchError::Lost { source: FrameError::Unexpected };
    let stdout = fds.into_iter().next().filter(|end| isatty(end)).ok_or_else(lost)?;
    let stdin = stdout.try_clone().map_err(|_| lost())?;
    Ok((Streams { stdin: Some(stdin), stdout, stderr: None }, landlock))
}

/// Sends a command and its descriptors to process 1, and waits until it runs. Returns the active Landlock restrictions
/// and the received descriptors.
fn order(
    waiter: &Waiter,
    start: StartSpec,
    ends: &[OwnedFd],
) -> Result<(Landlock, Vec<OwnedFd>), LaunchError> {
    let socket = waiter.handles.socket.lock().unwrap_or_else(PoisonError::into_inner);
    let start = ToInit::Start(Box::new(start));
    let ledger = waiter.ledger.iter().map(Ledger::as_fd);
    let fds: Vec<_> = ends.iter().map(AsFd::as_fd).chain(ledger).collect();
    // An incomplete message starts nothing.
    send_frame(socket.as_fd(), &start, &fds).map_err(before_start)?;
    hit(Point::SandboxStep, &"ordered");
    match recv_frame(socket.as_fd()) {
        Ok((Report::Started(landlock), fds)) => Ok((landlock, fds)),
        Ok((Report::Failed { step, fault, cause }, _)) => Err(LaunchError::Step { step, fault, cause }),
        Ok(_) => Err(LaunchError::Lost { source: FrameError::Unexpected }),
        Err(source) => Err(LaunchError::Lost { source }),
    }
}

/// Creates the runner's and the command's ends of the pipes for stdin, stdout and stderr.
fn pipes(spec: &LaunchSpec, ids: Option<HostIds>) -> Result<(Streams, [OwnedFd; 3]), LaunchError> {
    let (stdin, stdin_inside) = match spec.stdin {
        Stdin::Null => {
            let null = File::open("/dev/null");
            let null = null.map_err(|source| failed("/dev/null", source))?;
            (None, OwnedFd::from(null))
        }
        Stdin::Pipe | Stdin::Terminal(_) => {
            let (read, write) = command_pipe(ids)?;
            (Some(write), read)
        }
    };
    let (stdout, stdout_inside) = command_pipe(ids)?;
    let (stderr, stderr_inside) = if spec.separate_stderr {
        let (read, write) = command_pipe(ids)?;
        (Some(read), write)
    } else {
        // One pipe keeps the order of the two streams.
        let shared = stdout_inside.try_clone().map_err(|source| failed("pipe", source))?;
        (None, shared)
    };
    Ok((Streams { stdin, stdout, stderr }, [stdin_inside, stdout_inside, stderr_inside]))
}

fn command_pipe(ids: Option<HostIds>) -> Result<(OwnedFd, OwnedFd), LaunchError> {
    let (read, write) = cloexec_pipe()?;
    // Optional: the pipe of an unprivileged user may not grow.
    let _ = fcntl_setpipe_size(&write, PIPE_SIZE);
    if let Some(ids) = ids {
        // `echo x > /dev/stderr` opens the pipe again, which requires ownership.
        let (uid, gid) = (Uid::from_raw(ids.uid), Gid::from_raw(ids.gid));
        fchown(&write, Some(uid), Some(gid)).map_err(|error| failed("pipe", error.into()))?;
    }
    Ok((read, write))
}

fn cloexec_pipe() -> Result<(OwnedFd, OwnedFd), LaunchError> {
    pipe_with(PipeFlags::CLOEXEC).map_err(|error| failed("pipe", error.into()))
}

/// Writes bubblewrap's arguments to a file in memory, each terminated by NUL.
fn argument_file(arguments: &[OsString]) -> Result<OwnedFd, LaunchError> {
    let mut text = Vec::new();
    for argument in arguments {
        text.extend_from_slice(argument.as_bytes());
        text.push(0);
    }
    memory_file("airlock-arguments", &text)
}

fn memory_file(name: &str, content: &[u8]) -> Result<OwnedFd, LaunchError> {
    let file = memfd_create(name, MemfdFlags::CLOEXEC);
    let mut file = file.map(File::from).map_err(|error| failed("file in memory", error.into()))?;
    file.write_all(content)
        .and_then(|()| file.rewind())
        .map_err(|source| failed("file in memory", source))?;
    Ok(file.into())
}

/// Builds the error of a child that ended early, from its messages if there are any.
fn said(child: Child) -> LaunchError {
    let words = read_rest(child.last_words().as_fd());
    let words = String::from_utf8_lossy(&words).trim().replace('\n', "; ");
    let cause = match words.strip_prefix("bwrap: ").unwrap_or(&words) {
        "" => "it exited without a message",
        words => words,
    };
    LaunchError::Setup { cause: cause.to_owned() }
}

fn failed(what: &'static str, source: io::Error) -> LaunchError {
    LaunchError::Descriptor { what, source }
}
