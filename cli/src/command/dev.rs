//! `airlock dev`, and the instance of `airlock run --local`.

use std::{
    ffi::{OsStr, OsString},
    net::SocketAddr,
    os::unix::ffi::OsStrExt as _,
    path::PathBuf,
    time::Duration,
};

use clap::Args;

use super::{Failure, args, interrupt::Interrupts, output, trace::traceparent};
use crate::render::cause;
use airlock_client::Settings;
use airlock_embedded::state::StateDirectory;
use airlock_embedded::{Dev as Instance, DevError, NETWORK, Options, PROFILE};

/// The default log filter: warnings, except those that `airlock runners` also shows.
const LOG: &str = "warn,airlock_runner::start=error";

/// Run a server and a runner in one process, for use on this machine only.
///
/// Use this to try Airlock or to develop against it. One state directory holds the keys (created on the first
/// start), the store, the output of ended executions and the sessions' workspaces. The other subcommands find the
/// server through it. Everyone who can read the directory may run commands, approve them (including their own) and
/// administer the server.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  airlock dev\n  airlock dev --profile strict --base repo=$HOME/src/repo\n  airlock dev --bind $HOME/.cargo/bin:/opt/cargo --max-timeout 2h\n  airlock dev --rootfs $HOME/images/debian\n  airlock dev --state /tmp/try --otlp http://127.0.0.1:4317   # set AIRLOCK_STATE=/tmp/try for other subcommands\n\nCtrl-C or SIGTERM stops it: it takes no new commands, and ends running commands after a few seconds."
)]
pub(super) struct Dev {
    /// The state directory [default: $XDG_STATE_HOME/airlock or ~/.local/state/airlock]
    #[arg(long, value_name = "DIR", env = "AIRLOCK_STATE", hide_env_values = true)]
    state: Option<PathBuf>,
    /// The address to listen on; with port 0 the system chooses one.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0", value_parser = args::address)]
    listen: SocketAddr,
    /// The default profile, for requests that name no profile.
    #[arg(long, value_name = "NAME", default_value = PROFILE)]
    profile: String,
    /// A directory with further profiles, as NAME.toml files.
    #[arg(long, value_name = "DIR")]
    profiles: Option<PathBuf>,
    /// A directory that workspaces can be copied from; may be repeated.
    #[arg(long, value_name = "NAME=DIR")]
    base: Vec<OsString>,
    /// Show a file or directory of this machine to commands, read-only, at its own path or at TARGET; may be
    /// repeated.
    #[arg(long, value_name = "SOURCE[:TARGET]")]
    bind: Vec<OsString>,
    /// A directory with a root file system for commands, such as an unpacked image.
    #[arg(long, value_name = "DIR")]
    rootfs: Option<PathBuf>,
    /// Let commands with the profile `agent` reach a further preset, host or address, such as *.example.com or
    /// 10.0.0.5:5432/tcp; may be repeated.
    #[arg(long, value_name = "HOST", conflicts_with = "no_network")]
    network_allow: Vec<String>,
    /// Let commands reach no host.
    #[arg(long)]
    no_network: bool,
    /// The longest timeout that a command may have, such as 2h [default: 30m]
    #[arg(long, value_name = "DURATION", value_parser = args::duration)]
    max_timeout: Option<Duration>,
    /// Send traces and metrics to an OTLP collector (gRPC)
    #[arg(long, value_name = "URL")]
    otlp: Option<String>,
    /// The log filter for standard error, such as info or airlock_server=debug.
    #[arg(long, value_name = "LEVEL", default_value = LOG)]
    log: String,
}

impl Dev {
    pub(super) async fn run(self) -> Result<u8, Failure> {
        let mut interrupts = Interrupts::new()?;
        let directory = StateDirectory::locate(self.state.as_deref())?;
        let bases = self.base.iter().map(|text| named_base(text)).collect::<Result<_, _>>()?;
        let binds = self.bind.iter().map(|text| shown(text)).collect::<Result<_, _>>()?;
        let options = Options {
            rootfs: self.rootfs,
            binds,
            network: if self.no_network { Vec::new() } else { network(self.network_allow) },
            max_timeout: self.max_timeout,
            listen: self.listen,
            profile: self.profile,
            // Other commands run in different directories, so the path must be absolute.
            profiles: self.profiles.map(std::path::absolute).transpose().map_err(|error| no_place(&error))?,
            bases,
            otlp: self.otlp,
            log: self.log,
            ..Options::default()
        };
        let profile = options.profile.clone();
        let starting = Box::pin(Instance::start(directory, options));
        let mut instance = tokio::select! {
            started = starting => started?,
            () = interrupts.next() => return Err(Failure::new("stopped before the start was complete")),
        };
        output::print(&greeting(&instance, &profile))?;
        if !nix::unistd::geteuid().is_root() {
            output::note("not running as root: all sessions share your host user");
        }
        let ended = tokio::select! {
            error = instance.wait() => Err(error.into()),
            () = interrupts.next() => Ok(0),
        };
        output::note("stopping");
        match instance.stop().await {
            0 => {}
            cut => output::note(&format!("running commands ended: {cut}")),
        }
        ended
    }
}

fn greeting(instance: &Instance, profile: &str) -> String {
    let directory = instance.directory();
    let usual = StateDirectory::locate(None).is_ok_and(|usual| usual.path() == directory);
    let state = match usual {
        true => String::new(),
        false => format!("  export AIRLOCK_STATE={}\n", directory.display()),
    };
    let client = format!(
        "  export AIRLOCK_ADDRESS={}\n  export AIRLOCK_CA={}\n  export AIRLOCK_TOKEN_FILE={}\n",
        instance.address(),
        instance.ca().display(),
        instance.token_file().display(),
    );
    format!(
        "airlock dev listens on {} with the profile `{profile}`; its state is in {}\n\nTry in another terminal:\n{state}  airlock run -- 'echo hello from $(hostname); ls -la'\n  airlock session create\n  airlock check 'git push --force'\n  airlock runners\n\nFor a client that does not use the state directory:\n{client}\nCtrl-C stops it.\n",
        instance.address(),
        directory.display(),
    )
}

/// Returns the default presets and further hosts.
fn network(more: Vec<String>) -> Vec<String> {
    NETWORK.map(str::to_owned).into_iter().chain(more).collect()
}

fn no_place(error: &std::io::Error) -> Failure {
    Failure::new(format!("cannot resolve the directory of --profiles: {error}"))
}

/// Parses `SOURCE` or `SOURCE:TARGET`. A target is absolute, so a colon within SOURCE is kept.
fn shown(text: &OsStr) -> Result<(PathBuf, String), Failure> {
    let wrong =
        |what: &str| Failure::usage(format!("--bind `{}` {what}", text.to_string_lossy().escape_debug()));
    let written = text.to_str().ok_or_else(|| wrong("is not UTF-8"))?;
    let (source, target) = match written.rsplit_once(":/") {
        Some((source, target)) => (source.to_owned(), format!("/{target}")),
        None => {
            let source = std::path::absolute(written).map_err(|error| wrong(&error.to_string()))?;
            let target = source.to_str().ok_or_else(|| wrong("is not UTF-8"))?.to_owned();
            (written.to_owned(), target)
        }
    };
    if source.is_empty() || target.split('/').any(|part| part == "..") {
        return Err(wrong("is not SOURCE or SOURCE:TARGET, with an absolute TARGET without `..`"));
    }
    Ok((PathBuf::from(source), target))
}

/// Parses `NAME=DIR`.
fn named_base(text: &OsStr) -> Result<(String, PathBuf), Failure> {
    let shown = text.to_string_lossy();
    let wrong = || Failure::usage(format!("--base `{}` is not NAME=DIR", shown.escape_debug()));
    let bytes = text.as_bytes();
    let at = bytes.iter().position(|byte| *byte == b'=').ok_or_else(wrong)?;
    let (name, directory) = bytes.split_at(at);
    let name = std::str::from_utf8(name).ok().filter(|name| !name.is_empty()).ok_or_else(wrong)?;
    let directory = directory.get(1..).filter(|directory| !directory.is_empty()).ok_or_else(wrong)?;
    Ok((name.to_owned(), PathBuf::from(OsStr::from_bytes(directory))))
}

/// Parses the base of `airlock run --local --base`: `NAME=DIR` or only a directory.
pub(super) fn local_base(text: &OsStr) -> Result<(String, PathBuf), Failure> {
    if text.as_bytes().contains(&b'=') {
        return named_base(text);
    }
    Ok(("base".to_owned(), PathBuf::from(text)))
}

/// An instance for one command, in a temporary directory that is removed with it.
pub(super) struct Local {
    instance: Instance,
}

impl Local {
    /// Starts an instance, unless a signal arrives first.
    pub(super) async fn start(bases: Vec<(String, PathBuf)>) -> Result<Self, Failure> {
        let mut interrupts = Interrupts::new()?;
        let options = Options { bases, log: "error".to_owned(), drain: Duration::ZERO, ..Options::default() };
        let starting = Box::pin(Instance::start_temporary(options));
        tokio::select! {
            started = starting => Ok(Self { instance: started? }),
            () = interrupts.next() => Err(Failure::new("stopped before the start was complete")),
        }
    }

    pub(super) fn settings(&self) -> Result<Settings, Failure> {
        let mut settings = self.instance.settings()?;
        settings.traceparent = traceparent();
        Ok(settings)
    }

    pub(super) async fn stop(self) {
        self.instance.stop().await;
    }
}

impl From<DevError> for Failure {
    fn from(error: DevError) -> Self {
        Self::new(error.to_string()).with_code(cause::FAILED)
    }
}
