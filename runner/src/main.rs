//! The program `airlock-runner`. It reads its configuration, runs until it receives a stop signal, and then drains.
//! It also provides the administrative subcommands.

use std::{path::PathBuf, process::ExitCode, time::Duration};

use airlock_runner::{
    Layers, Overrides, Runner, RunnerConfig, Telemetry, VARIABLES, config_schema, doctor, drain, level_in,
    ready,
};
use airlock_telemetry::follow;
use clap::{Args, Parser, Subcommand};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::task::AbortOnDropHandle;

const EXAMPLES: &str = "\
Examples:
  airlock-runner check-config --config deploy/runner.toml
  airlock-runner check-config --config runner.toml --effective   # every key with its value and origin
  airlock-runner doctor --config runner.toml      # check this host and the servers
  airlock-runner run --config runner.toml         # the same as airlock-runner --config runner.toml
  airlock-runner ready --config runner.toml       # for supervisors: exit code 0 once it takes commands
  airlock-runner drain --config runner.toml       # before the host stops: wait for running commands, accept no new ones

Signals: SIGTERM, SIGINT and SIGHUP drain the runner. It accepts no new commands, lets running commands continue for
`drain.grace`, gives servers `drain.handover` to fetch the output, and exits. The runner reloads `telemetry.log` within
seconds after it changes. It reads all other settings at the next start.

Environment: AIRLOCK_RUNNER__SECTION__KEY sets a key of the configuration, such as AIRLOCK_RUNNER__LIMITS__SESSIONS=100.
It overrides the file, and --set overrides it. It can set a key of [floor] only if --env-may-widen names the key.

Exit codes: 0 success, 1 failure, 2 wrong usage or an invalid configuration.";

/// Airlock's worker: connects to the configured servers and runs commands in sandboxes.
#[derive(Debug, Parser)]
#[command(
    name = "airlock-runner",
    version,
    after_help = EXAMPLES,
    arg_required_else_help = true,
    subcommand_negates_reqs = true,
    args_conflicts_with_subcommands = true
)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    config: Option<Configuration>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run until SIGTERM, then drain.
    Run(Configuration),
    /// Check that the configuration is valid and that the files it names are readable.
    CheckConfig {
        #[command(flatten)]
        config: Configuration,
        /// Print every key with its value and its origin: the default, the file, a variable or a flag.
        #[arg(long)]
        effective: bool,
    },
    /// Check everything that the configuration requires of this host and of its servers.
    Doctor {
        #[command(flatten)]
        config: Configuration,
        /// Print one JSON object instead of text.
        #[arg(long)]
        json: bool,
    },
    /// Ask the running runner of this configuration whether it accepts commands.
    Ready {
        #[command(flatten)]
        config: Configuration,
    },
    /// Stop the running runner of this configuration from accepting commands, and wait until no command runs.
    Drain {
        #[command(flatten)]
        config: Configuration,
        /// The maximum time to wait, such as 30s or 5m.
        #[arg(long, value_name = "TIME", default_value = "10m", value_parser = humantime::parse_duration)]
        wait: Duration,
    },
    /// Print the version.
    Version,
}

#[derive(Debug, Args)]
struct Configuration {
    /// The configuration file (TOML).
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// Set a key of the configuration, such as limits.sessions=100. Can be repeated.
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Permit the environment to set this key of the floor, such as floor.max_timeout. Can be repeated.
    #[arg(long, value_name = "KEY")]
    env_may_widen: Vec<String>,
}

impl Configuration {
    fn layers(self) -> Layers {
        let mut overrides = Overrides::new(VARIABLES, std::env::vars_os(), self.set);
        overrides.may_widen = self.env_may_widen;
        Layers { file: self.config, overrides }
    }
}

/// The exit code if the start failed or a check failed.
const FAILED: u8 = 1;
/// The exit code if the configuration is invalid. It equals clap's exit code for invalid arguments.
const REFUSED: u8 = 2;
/// The timeout of the readiness probe.
const PATIENCE: Duration = Duration::from_secs(3);

/// An exit code and the message to print.
type Failure = (u8, String);

fn main() -> ExitCode {
    // Fails only if a provider is already installed.
    let _ = rustls::crypto::ring::default_provider().install_default();
    match obey(Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err((code, said)) => {
            for line in said.lines() {
                eprintln!("airlock-runner: {line}");
            }
            ExitCode::from(code)
        }
    }
}

fn obey(arguments: Arguments) -> Result<(), Failure> {
    match (arguments.command, arguments.config) {
        (Some(Command::Run(config)), _) => run(&config.layers()),
        (Some(Command::CheckConfig { config, effective }), _) => check(&config.layers(), effective),
        (Some(Command::Doctor { config, json }), _) => examine(load(&config.layers())?, json),
        (Some(Command::Ready { config }), _) => probe(&load(&config.layers())?),
        (Some(Command::Drain { config, wait }), _) => drain_and_wait(&load(&config.layers())?, wait),
        (Some(Command::Version), _) => {
            println!("airlock-runner {}", env!("CARGO_PKG_VERSION"));
            Ok(())
        }
        (None, Some(config)) => run(&config.layers()),
        (None, None) => {
            Err((REFUSED, "no configuration file is given; name one with --config FILE".to_owned()))
        }
    }
}

fn load(layers: &Layers) -> Result<RunnerConfig, Failure> {
    RunnerConfig::load(layers.clone()).map_err(|error| (REFUSED, error.to_string()))
}

/// Prints the effective configuration also if relations between keys are wrong: it shows the reason.
fn check(layers: &Layers, effective: bool) -> Result<(), Failure> {
    if effective {
        let loaded = layers.load::<RunnerConfig>(config_schema());
        let loaded = loaded.map_err(|error| (REFUSED, error.to_string()))?;
        print!("{}", loaded.effective().map_err(|error| (FAILED, error.to_string()))?);
    }
    let unreadable = unreadable(&load(layers)?);
    if !unreadable.is_empty() {
        let lines: Vec<String> =
            unreadable.iter().map(|line| format!("{}: {line}", layers.file.display())).collect();
        return Err((REFUSED, lines.join("\n")));
    }
    if !effective {
        println!("{}: ok", layers.file.display());
    }
    Ok(())
}

/// Returns a message for each file or directory that the configuration names and that cannot be read now. A start does
/// not check this, because certificates can appear and change while the runner dials.
fn unreadable(config: &RunnerConfig) -> Vec<String> {
    let files = config.servers.iter().enumerate().flat_map(|(index, server)| {
        let named = [("ca", &server.ca), ("cert", &server.cert), ("key", &server.key)];
        named
            .into_iter()
            .filter_map(move |(name, path)| Some((format!("server[{index}].{name}"), path.as_ref()?)))
    });
    let bases = config.bases.iter().map(|(name, path)| (format!("bases.{name}"), path));
    let problem = |(field, path): (String, &PathBuf)| {
        let error = std::fs::File::open(path).err()?;
        let shown = path.display();
        Some(format!("`{field}`: `{shown}` cannot be read: {error}; create it, or correct the path"))
    };
    files.chain(bases).filter_map(problem).collect()
}

fn examine(config: RunnerConfig, json: bool) -> Result<(), Failure> {
    let found =
        runtime()?.block_on(doctor::configured(config)).map_err(|error| (FAILED, error.to_string()))?;
    match json {
        true => println!("{}", doctor::to_json(&found)),
        false => print!("{}", doctor::render(&found)),
    }
    match doctor::is_well(&found) {
        true => Ok(()),
        false => Err((FAILED, String::new())),
    }
}

fn probe(config: &RunnerConfig) -> Result<(), Failure> {
    runtime()?
        .block_on(ready::ask(&config.state_dir, PATIENCE))
        .map_err(|error| (FAILED, format!("not ready: {error}")))?;
    println!("ready");
    Ok(())
}

fn drain_and_wait(config: &RunnerConfig, wait: Duration) -> Result<(), Failure> {
    let asked = runtime()?.block_on(drain::ask(&config.state_dir, wait));
    match asked.map_err(|error| (FAILED, error.to_string()))? {
        0 => {
            println!("no command runs, and the runner takes no commands until it is restarted");
            Ok(())
        }
        running => Err((
            FAILED,
            format!("after {wait:?}, commands are still running ({running}); no new command starts"),
        )),
    }
}

fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    runtime.map_err(|error| (FAILED, format!("the async runtime does not start: {error}")))
}

/// The signals that stop the runner.
struct Stop {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
}

impl Stop {
    /// Starts to catch the signals. A signal that arrives before the first [`Stop::asked`] is not lost. Needs a
    /// runtime.
    fn catch() -> std::io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    /// Waits until one of the signals has arrived. Cancel-safe.
    async fn asked(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
            _ = self.hang_up.recv() => {}
        }
    }
}

fn run(layers: &Layers) -> Result<(), Failure> {
    let runtime = runtime()?;
    let failed = |error: Box<dyn std::error::Error>| (FAILED, error.to_string());
    let ran = runtime.block_on(async {
        // Install the handlers before any slow step: the first process of a container ignores a signal that it does
        // not catch.
        let mut stop = Stop::catch().map_err(|error| failed(error.into()))?;
        let read = layers.clone();
        let loading = tokio::task::spawn_blocking(move || load(&read));
        let config = tokio::select! {
            loaded = loading => loaded.map_err(|error| failed(error.into()))??,
            () = stop.asked() => return Ok(()),
        };
        serve(config, layers.clone(), stop).await.map_err(failed)
    });
    // A file that blocks the read keeps one thread busy until the process ends.
    runtime.shutdown_background();
    ran
}

async fn serve(
    config: RunnerConfig,
    layers: Layers,
    mut stop: Stop,
) -> Result<(), Box<dyn std::error::Error>> {
    let telemetry = Telemetry::start(&config.telemetry, &config.runner_id)?;
    let read = move |text: &str| level_in(text, &layers.overrides);
    let following = tokio::spawn(follow(telemetry.level(), layers.file, read));
    let _following = AbortOnDropHandle::new(following);
    // Not cancelled by a signal: only a completed start leaves mounts and processes in a clean state.
    let runner = Runner::start(config).await?;
    stop.asked().await;
    let cut = runner.shut_down().await;
    if cut > 0 {
        eprintln!("airlock-runner: {cut} commands were ended at the end of the drain");
    }
    tokio::task::spawn_blocking(move || telemetry.flush()).await?;
    Ok(())
}
