//! `airlock doctor`: checks each step between this client and the start of a command, and names a remedy for
//! each failure.

use std::{
    path::PathBuf,
    time::{Duration, SystemTime},
};

use airlock_mounts::TemporaryDir;
use airlock_runner::doctor::{Finding, Probe, Target, Trust, host, is_well, reach, render, to_json};
use clap::Args;
use tonic::{Code, transport::Uri};

use super::{Failure, connect::Connect, failure::describe, output};
use crate::render::{cause, escape};
use airlock_client::{Client, ClientError, Settings, v1};
use airlock_embedded::UidBlock;

/// The time that a server has to answer.
const PATIENCE: Duration = Duration::from_secs(3);
/// A larger difference between the two clocks is reported.
const SKEW: Duration = Duration::from_secs(60);

/// Check each step between this client and the start of a command, and name remedies.
///
/// Use this when a command does not start. It distinguishes problems of the settings, the name resolution, the port, a
/// certificate, a credential, a runner and a runner's host. It makes no changes. The exit code is 0 if no check failed,
/// otherwise 1.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  airlock doctor\n  airlock doctor --host            # also check what a runner on this host can enforce\n  airlock doctor --json | jq '.checks[] | select(.state != \"ok\")'"
)]
pub(super) struct Doctor {
    #[command(flatten)]
    connect: Connect,
    /// Also check this host as a host for a runner.
    #[arg(long)]
    host: bool,
    /// The path of bubblewrap on this host.
    #[arg(long, value_name = "FILE", default_value = "/usr/bin/bwrap", requires = "host")]
    bwrap: PathBuf,
    /// Print one JSON object instead of lines.
    #[arg(long)]
    json: bool,
}

impl Doctor {
    pub(super) async fn run(self) -> Result<u8, Failure> {
        let mut found: Vec<Finding> =
            self.connect.sources().into_iter().map(|(name, source)| Finding::ok(name, source)).collect();
        let configured = self.server(&mut found).await;
        if self.host || !configured {
            found.extend(this_host(self.bwrap.clone()).await?);
        }
        match self.json {
            true => output::print_json(&to_json(&found))?,
            false => output::print(&render(&found))?,
        }
        Ok(if is_well(&found) { 0 } else { cause::FAILED })
    }

    /// Checks the server that the settings name. Returns false if they name no server.
    async fn server(&self, found: &mut Vec<Finding>) -> bool {
        let mut settings = match self.connect.settings() {
            Ok(settings) => settings,
            Err(failure) if failure.is_passing() && !self.connect.names_address() => {
                let remedy =
                    "start one with `airlock dev`, or name a server with --address (or AIRLOCK_ADDRESS)";
                found.push(Finding::degraded("server", failure.message(), "no server can be called", remedy));
                return false;
            }
            Err(failure) => {
                found.push(Finding::failed("settings", failure.message(), "correct the setting"));
                return true;
            }
        };
        settings.patience.call = PATIENCE;
        let Some(target) = target(&settings) else {
            let what = format!("`{}` is not a valid address", settings.address);
            found.push(Finding::failed("server", what, "write https://HOST:PORT"));
            return true;
        };
        found.extend(reach(&target).await);
        if is_well(found) {
            match Client::connect(settings).await {
                Ok(client) => identity(&client, found).await,
                Err(error) => {
                    found.push(Finding::failed("connection", describe(&error), "see the checks above"));
                }
            }
        }
        true
    }
}

fn target(settings: &Settings) -> Option<Target> {
    let uri: Uri = settings.address.parse().ok()?;
    let host = uri.host()?.to_owned();
    let name = settings.server_name.clone().unwrap_or_else(|| host.trim_matches(['[', ']']).to_owned());
    let secure = uri.scheme_str() != Some("http");
    let trust = secure.then(|| Trust { ca: settings.ca.clone().unwrap_or_default(), name });
    Some(Target { port: uri.port_u16().unwrap_or(if secure { 443 } else { 80 }), host, trust })
}

/// Reports the caller's identity and profiles, as far as the server's answers show them, and the server's
/// runners.
async fn identity(client: &Client, found: &mut Vec<Finding>) {
    let profiles = client.policy().profiles(v1::PolicyServiceListProfilesRequest::default()).await;
    match &profiles {
        Ok(answer) => {
            let names: Vec<String> = answer.profiles.iter().map(|profile| shown(&profile.name)).collect();
            found.push(Finding::ok("identity", "the server accepts your credentials"));
            found.push(Finding::ok("profiles", format!("you may use {}", names.join(", "))));
        }
        Err(error) if error.code() == Some(Code::PermissionDenied) => {
            found.push(Finding::ok(
                "identity",
                "the server accepts your credentials; your roles do not permit listing profiles",
            ));
        }
        Err(error) => {
            let remedy =
                "add an [[identity]] that matches this token or certificate to the server's configuration";
            found.push(Finding::failed("identity", describe(error), remedy));
            return;
        }
    }
    let mut roles = Vec::new();
    if client.executions(v1::ExecutionServiceListRequest::default()).await.is_ok() {
        roles.push("may run commands");
    }
    if client.approvals(v1::ApprovalServiceListRequest::default()).await.is_ok() {
        roles.push("may see approvals");
    }
    let capabilities = client.admin().capabilities("").await;
    if capabilities.is_ok() {
        roles.push("may administer");
    }
    found.push(match roles.is_empty() {
        true => Finding::failed(
            "roles",
            "your identity has no roles",
            "add roles to the identity in the server's configuration",
        ),
        false => Finding::ok("roles", roles.join(", ")),
    });
    match capabilities {
        Ok(answer) => {
            found.push(versions(&answer.version));
            runners(&answer, found);
            skew(client, found).await;
        }
        Err(error) => found.push(unseen(&error)),
    }
}

fn shown(text: &str) -> String {
    escape::line(text.as_bytes())
}

fn unseen(error: &ClientError) -> Finding {
    match error.code() {
        Some(Code::PermissionDenied) => Finding::ok("runners", "not visible: this requires the role `admin`"),
        _ => Finding::failed("runners", describe(error), "see the server's log"),
    }
}

fn versions(server: &str) -> Finding {
    let own = env!("CARGO_PKG_VERSION");
    let what = format!("the server has version {}, this client has version {own}", shown(server));
    match server == own {
        true => Finding::ok("version", what),
        false => Finding::degraded(
            "version",
            what,
            "features of the newer version do not work",
            "use the same release on both sides",
        ),
    }
}

fn runners(answer: &v1::AdminServiceGetCapabilitiesResponse, found: &mut Vec<Finding>) {
    let connected =
        answer.runners.iter().filter(|runner| runner.state() == v1::RunnerState::Connected).count();
    found.push(match connected {
        0 => Finding::failed(
            "runners",
            "no runner is connected, so no command can run",
            "start a runner, and check it with `airlock-runner doctor --config FILE`",
        ),
        _ => Finding::ok("runners", format!("{connected} connected")),
    });
    for runner in &answer.runners {
        let name = format!("runner {}", shown(&runner.runner_id));
        if runner.state() != v1::RunnerState::Connected {
            let what = crate::render::names::lower::<v1::RunnerState>(runner.state);
            let remedy = "see `airlock runners show NAME` and the runner's log";
            found.push(Finding::degraded(&name, what, "its slots and sessions are unavailable", remedy));
        }
        found.extend(runner.capabilities.iter().filter(|layer| !layer.enforced).map(|layer| {
            let seen = format!("{} is not enforced: {}", shown(&layer.name), shown(&layer.detail));
            let remedy = "run `airlock-runner doctor --config FILE` on the runner's host";
            Finding::degraded(&name, seen, "", remedy)
        }));
    }
}

/// Compares the clocks: a connected runner's `last_seen` is the current time of the server.
async fn skew(client: &Client, found: &mut Vec<Finding>) {
    let Ok(answer) = client.admin().runners(v1::AdminServiceListRunnersRequest::default()).await else {
        return;
    };
    let seen = answer
        .runners
        .iter()
        .filter(|runner| runner.state() == v1::RunnerState::Connected)
        .filter_map(|runner| SystemTime::try_from(runner.last_seen?).ok())
        .max();
    let Some(seen) = seen else { return };
    let now = SystemTime::now();
    let apart = now.duration_since(seen).unwrap_or_else(|early| early.duration());
    found.push(match apart > SKEW {
        true => Finding::degraded(
            "clock",
            format!(
                "the clocks of this host and of the server differ by about {}",
                humantime::format_duration(Duration::from_secs(apart.as_secs()))
            ),
            "times cannot be compared, and a new certificate can be refused as not yet valid",
            "synchronize both clocks with NTP",
        ),
        false => Finding::ok("clock", "same as the server's"),
    });
}

async fn this_host(bwrap: PathBuf) -> Result<Vec<Finding>, Failure> {
    let look = move || {
        let scratch = TemporaryDir::new("airlock-doctor-")?;
        // The block reserves uids. No `airlock dev` on this host ends processes with these uids as its own strays.
        let uids = UidBlock::reserve(scratch.path()).map_err(std::io::Error::other)?;
        let uid = uids.as_ref().map(UidBlock::first);
        let (scratch_path, require, cgroup) = (scratch.path().to_owned(), Vec::new(), Default::default());
        let found = host(&Probe {
            bwrap,
            scratch: scratch_path,
            uid,
            require,
            cgroup,
            disk: Default::default(),
            disk_directory: None,
        });
        scratch.close()?;
        Ok::<_, std::io::Error>(found)
    };
    let looked = tokio::task::spawn_blocking(look).await.map_err(std::io::Error::other).flatten();
    looked.map_err(|error| Failure::new(format!("cannot check this host: {error}")))
}
