//! The network access of one execution: a listener on the session's loopback, the credential for it, and the variables
//! that announce both to the command.
//!
//! The sandbox has no route, so nothing else gives the command a network. Must not outlive the execution: a later
//! command of the session, or one that lacks the credential, must not use its access.

mod refused;
mod variables;

use std::{ffi::OsString, fmt, io, os::unix::ffi::OsStrExt, sync::Arc};

use airlock_domain::{Grant, Violation};
use airlock_egress::{Access, Events, Limits, Proxy, SystemResolver, Token};
use airlock_network::{AddressGuard, Layers};
use airlock_sandbox::{LaunchError, Launcher, Session};
use tokio::{
    net::TcpListener,
    sync::{mpsc, watch},
    task::JoinSet,
};
use tokio_util::sync::{CancellationToken, DropGuard};

use self::{refused::Refused, variables::proxy_variables};

/// Reports of connections that wait. Further ones are dropped and counted.
const REPORTS: usize = 256;

/// The failure to open an execution's access.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EgressError {
    #[error(transparent)]
    Listener(#[from] LaunchError),
    #[error("the credential for the network cannot be created: {0}")]
    Credential(#[from] getrandom::Error),
}

/// The proxy of the runner's executions.
#[derive(Clone)]
pub(crate) struct EgressProxy(Arc<Proxy>);

impl EgressProxy {
    /// Creates the proxy. It refuses the present addresses of the host, unless a rule lists them.
    ///
    /// # Errors
    /// If the addresses of the host cannot be listed.
    pub(crate) fn new() -> io::Result<Self> {
        let own = nix::ifaddrs::getifaddrs()?.filter_map(|interface| {
            let address = interface.address?;
            let v4 = address.as_sockaddr_in().map(|address| address.ip().into());
            v4.or_else(|| address.as_sockaddr_in6().map(|address| address.ip().into()))
        });
        let guard = AddressGuard::new(own.collect(), Vec::new());
        Ok(Self(Arc::new(Proxy::new(Limits::default(), Arc::new(SystemResolver::default()), guard))))
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
    layers: Layers,
    listener: TcpListener,
    token: Token,
}

/// The network access of an execution that runs. Dropping it closes the listener and all connections.
pub(crate) struct Serving {
    stop: DropGuard,
    task: JoinSet<Vec<Violation>>,
}

impl Egress {
    /// Opens the access of an execution within these layers. Blocks for some milliseconds.
    ///
    /// # Errors
    /// If the listener or the credential cannot be created.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub(crate) fn open(
        launcher: &Launcher,
        proxy: &EgressProxy,
        layers: &Layers,
        session: &Session,
    ) -> Result<Self, EgressError> {
        let token = Token::random()?;
        let listener = TcpListener::from_std(launcher.session_listener(session)?).map_err(listener_failed)?;
        Ok(Self { proxy: proxy.clone(), layers: layers.clone(), listener, token })
    }

    /// Serves connections from now on. Earlier ones wait in the listener's queue.
    pub(crate) fn serve(self) -> Serving {
        let Self { proxy, layers, listener, token } = self;
        let (queue, mut reports) = mpsc::channel(REPORTS);
        let (_, layers) = watch::channel(Arc::new(layers));
        let cancel = CancellationToken::new();
        let stop = cancel.clone().drop_guard();
        let access = Access { token, layers, warn: false, events: Events::new(queue), cancel };
        let mut task = JoinSet::new();
        task.spawn(async move {
            let mut refused = Refused::default();
            let serve = proxy.0.serve(listener, access);
            tokio::pin!(serve);
            loop {
                tokio::select! {
                    biased;
                    Some(report) = reports.recv() => refused.add(report),
                    () = &mut serve => break,
                }
            }
            while let Ok(report) = reports.try_recv() {
                refused.add(report);
            }
            refused.violations()
        });
        Serving { stop, task }
    }

    /// Adds the variables that announce the proxy to an environment.
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
        Ok(announced(env, proxy_variables(port, self.token.expose()), requested))
    }
}

impl Serving {
    /// Closes the listener and all connections, and returns the connections that were refused.
    pub(crate) async fn end(mut self) -> Vec<Violation> {
        drop(self.stop);
        match self.task.join_next().await {
            Some(Ok(refused)) => refused,
            // A failure of the proxy must not change the result of the command.
            Some(Err(error)) => {
                tracing::error!(%error, "the proxy of an execution failed");
                Vec::new()
            }
            None => Vec::new(),
        }
    }
}

fn listener_failed(source: io::Error) -> LaunchError {
    LaunchError::Descriptor { what: "listener", source }
}

/// Adds `variables` to an environment. They replace those of the profile and of the runner. A variable that the request
/// sets stays, in every spelling of its case, because programs differ in the case that they prefer.
fn announced(
    mut env: Vec<(OsString, OsString)>,
    variables: Vec<(String, String)>,
    requested: impl Fn(&str) -> bool,
) -> Vec<(OsString, OsString)> {
    for (name, value) in variables.into_iter().filter(|(name, _)| !requested(name)) {
        match env.iter_mut().find(|(known, _)| known.as_bytes() == name.as_bytes()) {
            Some((_, known)) => *known = value.into(),
            None => env.push((name.into(), value.into())),
        }
    }
    env
}

#[cfg(test)]
mod tests;
