//! A look from inside: a real sandbox with a session of its own, and beside it
//! things that must be out of its reach.

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

use crate::WORKSPACE;
use crate::env::{EnvRequest, build_env};
use crate::error::LaunchError;
use crate::launcher::Launcher;
use crate::profile::Profile;
use crate::running::{Cause, Control};
use crate::runtime::random_name;
use crate::session::{Folders, Session};
use crate::spec::{LaunchSpec, Limits, Shape, Shell, Stdin};

/// The most of a look's output that is read, in bytes.
const MAX_OUTPUT: u64 = 64 << 10;
/// How long a look may take: what it tries may stop what it looks at.
const MOST: Duration = Duration::from_secs(30);
/// The file that a look makes in its workspace, where it can.
const MADE: &str = "made-inside";

/// Why nothing was seen, and what to do.
#[derive(Debug, Clone)]
pub(super) struct Blind {
    pub(super) cause: String,
    pub(super) cure: String,
}

impl From<&LaunchError> for Blind {
    fn from(error: &LaunchError) -> Self {
        let cure = error.hint().map_or_else(|| "see the cause".to_owned(), Cow::into_owned);
        Self { cause: format!("{}: {error}", error.step()), cure }
    }
}

impl Blind {
    fn unknown(cause: impl std::fmt::Display) -> Self {
        Self { cause: cause.to_string(), cure: "see the cause".to_owned() }
    }
}

/// What stands beside the sandbox, reachable for whoever is not confined. It is
/// gone when this is dropped.
#[derive(Debug)]
pub(super) struct Baits {
    pub(super) wanted: LookFor,
    _loopback: TcpListener,
    _abstract_socket: UnixListener,
    _other: Scratch,
}

impl Baits {
    /// Sets them up, and tries each from here: what cannot be reached without a
    /// sandbox would prove nothing inside one.
    pub(super) fn set(scratch: &Path, ids: Option<HostIds>) -> Result<Self, Blind> {
        let other = Scratch::create(scratch, ids)?;
        let secret = other.folders.workspace.join("of-another-session");
        fs::write(&secret, "x").map_err(Blind::unknown)?;
        let (loopback, port) = loopback().map_err(Blind::unknown)?;
        let (abstract_socket, name) = abstract_socket().map_err(Blind::unknown)?;
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

/// A session's folders for the time of a look.
#[derive(Debug)]
pub(super) struct Scratch {
    pub(super) folders: Folders,
}

impl Scratch {
    pub(super) fn create(parent: &Path, ids: Option<HostIds>) -> Result<Self, Blind> {
        let folders = Folders::create(parent, ids).map_err(|error| Blind {
            cause: error.to_string(),
            cure: "give the runner a folder that it can write".to_owned(),
        })?;
        Ok(Self { folders })
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A stray folder of ours would do no harm.
        let _ = remove_tree(&self.folders.root);
    }
}

/// What was seen, and whom that belongs to which was made inside, as it is seen
/// from here.
pub(super) struct Look {
    pub(super) sight: Sight,
    pub(super) owner: Option<u32>,
    /// The parts of Landlock that pid 1 said to be in force.
    pub(super) landlock: Landlock,
}

impl Launcher {
    /// Runs the look in a sandbox of a shape.
    pub(super) fn look(
        &self,
        profile: &Profile,
        session: &Session,
        shape: Shape,
        wanted: &LookFor,
    ) -> Result<Look, Blind> {
        let wanted = serde_json::to_string(wanted).map_err(Blind::unknown)?;
        let command =
            format!("(: > {WORKSPACE}/{MADE}) 2>/dev/null\n{INSIDE_INIT} {MODE_LOOK} {}", quoted(&wanted));
        let (text, landlock) = self.said(profile, session, shape, (Shell::Bash, &command))?;
        let sight = serde_json::from_str(&text).map_err(Blind::unknown)?;
        let made = fs::symlink_metadata(session.folders.workspace.join(MADE));
        Ok(Look { sight, owner: made.ok().map(|file| file.uid()), landlock })
    }

    /// What a command says in a sandbox of a shape, and what of Landlock was around it. Blind where it does not
    /// exit with 0 within [`MOST`].
    pub(super) fn said(
        &self,
        profile: &Profile,
        session: &Session,
        shape: Shape,
        (shell, command): (Shell, &str),
    ) -> Result<(String, Landlock), Blind> {
        let spec = spec(profile, shape, shell, command)?;
        let running = self.start(profile, session, &Limits::default(), &spec).map_err(|e| Blind::from(&e))?;
        let landlock = running.landlock;
        let patience = Patience::with(running.control.clone());
        let mut text = String::new();
        let read = File::from(running.streams.stdout).take(MAX_OUTPUT).read_to_string(&mut text);
        let cause = running.waiter.wait().cause;
        drop(patience);
        match (read, cause) {
            (Ok(_), Cause::Exited(0)) => Ok((text, landlock)),
            (Ok(_), Cause::SandboxFailed { step, detail }) => {
                Err(Blind::unknown(format!("{step}: {detail}")))
            }
            (Ok(_), cause) => Err(Blind::unknown(format!("the look ended early: {cause:?}"))),
            (Err(error), _) => Err(Blind::unknown(error)),
        }
    }
}

fn spec(profile: &Profile, shape: Shape, shell: Shell, command: &str) -> Result<LaunchSpec, Blind> {
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
    let env = build_env(&request).map_err(|_| Blind::unknown("the environment cannot be built"))?;
    Ok(LaunchSpec {
        command: command.as_bytes().to_vec(),
        shell,
        snapshot: None,
        shell_init: None,
        prefix: Vec::new(),
        cwd: WORKSPACE.into(),
        env,
        shape,
        separate_stderr: false,
        stdin: Stdin::Null,
        masks: Vec::new(),
    })
}

/// Kills a sandbox that takes longer than a look may; dropped, it lets it be.
struct Patience {
    #[expect(dead_code, reason = "held for its life: dropped, it tells the thread to stop")]
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

/// One word of the shell, whatever it holds.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
