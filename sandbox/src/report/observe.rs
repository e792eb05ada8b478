//! Runs the probe in a real sandbox with its own session, next to targets that it must not reach.

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{self, Read};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use airlock_init::sight::{LookFor, MODE_LOOK, Sight};
use airlock_init::wire::{HostIds, INSIDE_INIT, Landlock};
use airlock_mounts::remove_tree;

use crate::env::{EnvRequest, build_env};
use crate::error::LaunchError;
use crate::launcher::Launcher;
use crate::layout::WORKSPACE;
use crate::profile::Profile;
use crate::running::{Cause, Control, Running};
use crate::runtime::random_name;
use crate::session::{Session, SessionDirectories};
use crate::spec::{LaunchSpec, Limits, Network, Shape, Shell};

/// The shape of a session's command.
pub(super) const SESSION: Shape = Shape { read_only: false, network: Network::SessionLoopback };
/// The shape of a read-only command.
pub(super) const READER: Shape = Shape { read_only: true, network: Network::Empty };
/// The maximum bytes of the probe's output that are read.
const MAX_OUTPUT: u64 = 64 << 10;
/// The timeout of the probe, because its attempts may block it.
const MOST: Duration = Duration::from_secs(30);
/// The file that the probe creates in its workspace, if it can.
const MADE: &str = "made-inside";

/// The reason for a missing observation, and the remedy.
#[derive(Debug, Clone)]
pub(super) struct NotObserved {
    pub(super) cause: String,
    pub(super) remedy: String,
}

impl From<&LaunchError> for NotObserved {
    fn from(error: &LaunchError) -> Self {
        let remedy = error.hint().map_or_else(|| "see the cause".to_owned(), Cow::into_owned);
        Self { cause: format!("{}: {error}", error.step()), remedy }
    }
}

impl NotObserved {
    fn unknown(cause: impl std::fmt::Display) -> Self {
        Self { cause: cause.to_string(), remedy: "see the cause".to_owned() }
    }
}

/// Targets next to the sandbox that an unconfined process can reach. They are removed on drop.
#[derive(Debug)]
pub(super) struct Targets {
    pub(super) wanted: LookFor,
    _loopback: TcpListener,
    _abstract_socket: UnixListener,
    _other: Scratch,
}

impl Targets {
    /// Creates the targets and checks that this process can reach each. If a target is unreachable without a sandbox,
    /// the attempt would not test the sandbox.
    pub(super) fn set(scratch: &Path, ids: Option<HostIds>) -> Result<Self, NotObserved> {
        let other = Scratch::create(scratch, ids)?;
        let secret = other.directories.workspace.join("of-another-session");
        fs::write(&secret, "x").map_err(NotObserved::unknown)?;
        let (loopback, port) = loopback().map_err(NotObserved::unknown)?;
        let (abstract_socket, name) = abstract_socket().map_err(NotObserved::unknown)?;
        let files = ["/etc/shadow".to_owned(), secret.display().to_string()];
        let wanted = LookFor { files: files.into(), port: Some(port), abstract_name: Some(name) };
        Ok(Self { wanted, _loopback: loopback, _abstract_socket: abstract_socket, _other: other })
    }
}

fn loopback() -> io::Result<(TcpListener, u16)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let address = listener.local_addr()?;
    TcpStream::connect(address)?;
    Ok((listener, address.port()))
}

fn abstract_socket() -> io::Result<(UnixListener, String)> {
    let name = format!("airlock-look-{}", random_name()?);
    let address = SocketAddr::from_abstract_name(&name)?;
    let listener = UnixListener::bind_addr(&address)?;
    UnixStream::connect_addr(&address)?;
    Ok((listener, name))
}

/// The directories of the session in which the probe runs.
#[derive(Debug)]
pub(super) struct Scratch {
    pub(super) directories: SessionDirectories,
}

impl Scratch {
    pub(super) fn create(parent: &Path, ids: Option<HostIds>) -> Result<Self, NotObserved> {
        let directories = SessionDirectories::create(parent, ids).map_err(|error| NotObserved {
            cause: error.to_string(),
            remedy: "give the runner a writable directory".to_owned(),
        })?;
        Ok(Self { directories })
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A leftover directory does no harm.
        let _ = remove_tree(&self.directories.root);
    }
}

/// The observations, and the owner of the created file as seen from outside the sandbox.
pub(super) struct Observation {
    pub(super) sight: Sight,
    pub(super) owner: Option<u32>,
    /// The active Landlock restrictions, as reported by process 1.
    pub(super) landlock: Landlock,
    /// Whether process 1 counts refused system calls.
    pub(super) counts_calls: bool,
}

/// The output of a check that exited with 0.
struct Said {
    text: String,
    landlock: Landlock,
    counts_calls: bool,
}

impl Launcher {
    /// Runs the probe in a sandbox with this shape.
    pub(super) fn observe(
        &self,
        profile: &Profile,
        session: &Session,
        shape: Shape,
        wanted: &LookFor,
    ) -> Result<Observation, NotObserved> {
        let wanted = serde_json::to_string(wanted).map_err(NotObserved::unknown)?;
        let command =
            format!("(: > {WORKSPACE}/{MADE}) 2>/dev/null\n{INSIDE_INIT} {MODE_LOOK} {}", quoted(&wanted));
        let said = self.output_of(profile, session, shape, (Shell::Bash, &command))?;
        let Said { text, landlock, counts_calls } = said;
        let sight = serde_json::from_str(&text).map_err(NotObserved::unknown)?;
        let made = fs::symlink_metadata(session.directories.workspace.join(MADE));
        Ok(Observation { sight, owner: made.ok().map(|file| file.uid()), landlock, counts_calls })
    }

    /// Returns the output of a command in a sandbox with this shape. Returns [`NotObserved`] if the command does not exit
    /// with 0 within [`MOST`].
    fn output_of(
        &self,
        profile: &Profile,
        session: &Session,
        shape: Shape,
        (shell, command): (Shell, &str),
    ) -> Result<Said, NotObserved> {
        let spec = spec(profile, shape, shell, command)?;
        let running =
            self.start(profile, session, &Limits::default(), &spec).map_err(|e| NotObserved::from(&e))?;
        let (landlock, counts_calls) = (running.landlock, running.waiter.counts_refused_calls());
        match ended(running) {
            (Ok(text), Cause::Exited(0)) => Ok(Said { text, landlock, counts_calls }),
            (Ok(_), Cause::SandboxFailed { step, detail }) => {
                Err(NotObserved::unknown(format!("{step}: {detail}")))
            }
            (Ok(_), cause) => Err(NotObserved::unknown(format!("the check ended early: {cause:?}"))),
            (Err(error), _) => Err(NotObserved::unknown(error)),
        }
    }
}

/// Waits until a command ends, at most [`MOST`]. Returns its output and the cause.
pub(super) fn ended(running: Running) -> (io::Result<String>, Cause) {
    let patience = Patience::with(running.control.clone());
    let mut text = Vec::new();
    let read = File::from(running.streams.stdout).take(MAX_OUTPUT).read_to_end(&mut text);
    let cause = running.waiter.wait().cause;
    drop(patience);
    (read.map(|_| String::from_utf8_lossy(&text).into_owned()), cause)
}

pub(super) fn spec(
    profile: &Profile,
    shape: Shape,
    shell: Shell,
    command: &str,
) -> Result<LaunchSpec, NotObserved> {
    let request = EnvRequest {
        profile,
        session_id: "probe",
        passed: &[],
        session: &[],
        request: &[],
        traceparent: None,
        read_only: shape.read_only,
        unsandboxed: false,
    };
    let env = build_env(&request).map_err(|_| NotObserved::unknown("the environment cannot be built"))?;
    Ok(LaunchSpec {
        command: command.as_bytes().to_vec(),
        shell,
        cwd: WORKSPACE.into(),
        env,
        shape,
        ..LaunchSpec::default()
    })
}

/// Kills a sandbox that exceeds the timeout of the probe. Dropping it cancels the timeout.
struct Patience {
    #[expect(dead_code, reason = "keeps the thread alive: dropping it stops the thread")]
    over: SyncSender<()>,
}

impl Patience {
    fn with(control: Control) -> Self {
        let (over, ended) = sync_channel(0);
        thread::spawn(move || {
            if ended.recv_timeout(MOST) == Err(RecvTimeoutError::Timeout) {
                control.kill();
            }
        });
        Self { over }
    }
}

/// Quotes a text as one word of the shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
