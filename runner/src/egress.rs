//! The network access of one execution: a listener on the session's loopback, the credential for it, and the variables
//! that announce both to the command.
//!
//! The sandbox has no route, so nothing else gives the command a network. Must not outlive the execution: a later
//! command of the session, or one that lacks the credential, must not use its access.

mod connections;
mod inspection;
mod live;
mod processes;
mod questions;
mod refused;
mod source;
mod variables;

use std::{ffi::OsString, fmt, io, os::unix::ffi::OsStrExt, sync::Arc};

use airlock_domain::Grant;
use airlock_egress::{
    Access, Events, Inspection, Limits, Processes, Proxy, Questions, SystemResolver, Token, Upstream,
};
use airlock_network::{AddressGuard, Layers};
use airlock_sandbox::{Control, LaunchError, Launcher, Session};
use tokio::{
    net::TcpListener,
    sync::{mpsc, watch},
    task::JoinSet,
};
use tokio_util::sync::{CancellationToken, DropGuard};
use tracing::Span;

use self::{
    connections::Collector,
    inspection::{Inspector, trust_variables},
    processes::SandboxProcesses,
    variables::{JAVA_OPTIONS, proxy_variables},
};
pub(crate) use self::{
    connections::Connections,
    inspection::{InspectError, check as check_inspection},
    live::{LiveLayers, session_rules},
    questions::ExecutionQuestions,
    source::Sources,
};
use crate::{
    config::{EgressConfig, ResolvedBy, UpstreamConfig},
    secrets::of_file,
    telemetry::ConnectionMetrics,
};

/// Reports of connections that wait. Further ones are dropped and counted.
const REPORTS: usize = 256;

/// The failure to open an execution's access.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EgressError {
    #[error(transparent)]
    Listener(#[from] LaunchError),
    #[error("the credential for the network cannot be created: {0}")]
    Credential(#[from] getrandom::Error),
    #[error(transparent)]
    Inspect(#[from] InspectError),
}

/// The proxy of the runner's executions.
#[derive(Clone)]
pub(crate) struct EgressProxy {
    proxy: Arc<Proxy>,
    inspector: Arc<Inspector>,
    metrics: ConnectionMetrics,
}

impl EgressProxy {
    /// Creates the proxy. It refuses the present addresses of the host, unless a rule lists them.
    ///
    /// # Errors
    /// If the addresses of the host cannot be listed, the credential of the upstream proxy cannot be read, or the address
    /// of Vault is not usable.
    pub(crate) fn new(config: EgressConfig) -> io::Result<Self> {
        let upstream = config.upstream.as_ref().map(upstream).transpose()?;
        let own = nix::ifaddrs::getifaddrs()?.filter_map(|interface| {
            let address = interface.address?;
            let v4 = address.as_sockaddr_in().map(|address| address.ip().into());
            v4.or_else(|| address.as_sockaddr_in6().map(|address| address.ip().into()))
        });
        let guard = AddressGuard::new(own.collect(), Vec::new());
        let resolver = Arc::new(SystemResolver::default());
        let proxy = Proxy::new(upstream, Limits::default(), resolver, guard);
        let wrong = |error| io::Error::other(format!("`egress.vault.address` {error}"));
        let inspector = Arc::new(Inspector::new(config).map_err(wrong)?);
        Ok(Self { proxy: Arc::new(proxy), inspector, metrics: ConnectionMetrics::new() })
    }

    /// Returns the number of open connections of commands.
    pub(crate) fn open(&self) -> usize {
        self.proxy.open()
    }
}

impl fmt::Debug for EgressProxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EgressProxy")
    }
}

/// The network access of an execution that has not started. Dropping it closes the listener.
#[derive(Debug)]
pub(crate) struct Egress {
    proxy: EgressProxy,
    layers: watch::Receiver<Arc<Layers>>,
    /// `None` if the profile asks for none.
    inspection: Option<Arc<Inspection>>,
    listener: TcpListener,
    token: Token,
}

/// The network access of an execution that runs. Dropping it closes the listener and all connections.
pub(crate) struct Serving {
    stop: DropGuard,
    task: JoinSet<Connections>,
}

impl Egress {
    /// Opens the access of an execution within these layers, which can change while it runs. Blocks for some
    /// milliseconds, or until secrets of Vault are read. It fails if `ended` completes before.
    ///
    /// # Errors
    /// If the listener, the credential or the inspection cannot be created.
    ///
    /// # Panics
    /// Inside a future, or outside a tokio runtime.
    pub(crate) fn open(
        launcher: &Launcher,
        proxy: &EgressProxy,
        (layers, asked): (&LiveLayers, &airlock_domain::Inspection),
        session: &Session,
        ended: impl Future<Output = ()>,
    ) -> Result<Self, EgressError> {
        let inspection = proxy.inspector.inspection(asked, ended)?;
        let token = Token::random()?;
        let listener = TcpListener::from_std(launcher.session_listener(session)?).map_err(listener_failed)?;
        Ok(Self { proxy: proxy.clone(), layers: layers.subscribe(), inspection, listener, token })
    }

    /// Serves connections of this sandbox from now on. Earlier ones wait in the listener's queue. Without `questions`,
    /// connections that a rule asks about are refused.
    pub(crate) fn serve(self, sandbox: &Control, questions: Option<Arc<ExecutionQuestions>>) -> Serving {
        let Self { proxy, layers, inspection, listener, token } = self;
        let (queue, mut reports) = mpsc::channel(REPORTS);
        let cancel = CancellationToken::new();
        let stop = cancel.clone().drop_guard();
        let processes: Arc<dyn Processes> = Arc::new(SandboxProcesses::new(sandbox));
        let (processes, events) = (Some(processes), Events::new(queue));
        let questions = questions.map(|questions| questions as Arc<dyn Questions>);
        let access =
            Access { token, processes, layers, inspection, questions, events: events.clone(), cancel };
        let mut collector = Collector::new(proxy.metrics.clone(), Span::current());
        let mut task = JoinSet::new();
        task.spawn(async move {
            let serve = proxy.proxy.serve(listener, access);
            tokio::pin!(serve);
            loop {
                tokio::select! {
                    biased;
                    Some(report) = reports.recv() => collector.add(report),
                    () = &mut serve => break,
                }
            }
            while let Ok(report) = reports.try_recv() {
                collector.add(report);
            }
            collector.finish(events.dropped())
        });
        Serving { stop, task }
    }

    /// Returns the certificate authorities that the command must trust, in PEM. `None`: only its own.
    pub(crate) fn certificates(&self) -> Option<Vec<u8>> {
        self.inspection.as_ref().map(|inspection| inspection.certificates().into_bytes())
    }

    /// Adds the variables that announce the proxy, the certificate authorities and the placeholders to an environment.
    ///
    /// # Errors
    /// If the port of the listener cannot be determined.
    pub(crate) fn announce(
        &self,
        grant: &Grant,
        env: Vec<(OsString, OsString)>,
    ) -> Result<Vec<(OsString, OsString)>, EgressError> {
        let port = self.listener.local_addr().map_err(listener_failed)?.port();
        let requested = |name: &str| grant.command.env.iter().any(|(set, _)| set.eq_ignore_ascii_case(name));
        let mut variables = proxy_variables(port, self.token.expose());
        if let Some(inspection) = &self.inspection {
            variables.extend(trust_variables().chain(inspection.variables()));
        }
        Ok(announced(env, variables, requested))
    }
}

impl Serving {
    /// Closes the listener and all connections. Returns the connections of the execution.
    pub(crate) async fn end(mut self) -> Connections {
        drop(self.stop);
        match self.task.join_next().await {
            Some(Ok(connections)) => connections,
            // A failure of the proxy must not change the result of the command.
            Some(Err(error)) => {
                tracing::error!(%error, "the proxy of an execution failed");
                Connections::default()
            }
            None => Connections::default(),
        }
    }
}

/// Reads the credential of the upstream proxy. Blocks.
fn upstream(config: &UpstreamConfig) -> io::Result<Upstream> {
    let credential = config.credential.as_deref().map(of_file).transpose();
    let credential =
        credential.map_err(|what| io::Error::other(format!("`egress.upstream.credential` {what}")))?;
    let resolves = config.resolve == ResolvedBy::Upstream;
    Upstream::new(&config.proxy, credential.as_deref(), resolves).map_err(io::Error::other)
}

fn listener_failed(source: io::Error) -> LaunchError {
    LaunchError::Descriptor { what: "listener", source }
}

/// Adds `variables` to an environment. They replace those of the profile and of the runner, except options of Java, which
/// they follow. A variable that the request sets stays, in every spelling of its case, because programs differ in the
/// case that they prefer.
fn announced(
    mut env: Vec<(OsString, OsString)>,
    variables: Vec<(String, String)>,
    requested: impl Fn(&str) -> bool,
) -> Vec<(OsString, OsString)> {
    for (name, value) in variables.into_iter().filter(|(name, _)| !requested(name)) {
        match env.iter_mut().find(|(known, _)| known.as_bytes() == name.as_bytes()) {
            Some((_, known)) if name == JAVA_OPTIONS => {
                known.push(" ");
                known.push(value);
            }
            Some((_, known)) => *known = value.into(),
            None => env.push((name.into(), value.into())),
        }
    }
    env
}

#[cfg(test)]
mod tests;
