//! The decision about a target, and the connection to it. Nothing reaches `dial` except through this file.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    sync::{Arc, Mutex},
};

use airlock_network::{AddressGuard, Host, Layers, Refusal, Target, Verdict};
use tokio::{
    net::TcpStream,
    sync::{Semaphore, watch},
    time,
};

use crate::{
    access::Access,
    connection::Protocol,
    dial,
    limits::Limits,
    question::{self, Permitted},
    report::{Meter, Report, SharedReport, amend},
    resolve::Resolver,
    upstream::Upstream,
};

/// What all executions share.
pub(crate) struct Common {
    pub(crate) limits: Limits,
    pub(crate) resolver: Arc<dyn Resolver>,
    pub(crate) guard: AddressGuard,
    /// `None`: the proxy connects to targets itself.
    pub(crate) upstream: Option<Upstream>,
    /// Permits of [`Limits::pipes`].
    pub(crate) pipes: Semaphore,
    /// Each open connection of a command has a reference to it.
    pub(crate) open: Arc<()>,
}

/// What the connections of one execution share.
pub(crate) struct Execution {
    pub(crate) access: Access,
    pub(crate) common: Arc<Common>,
    lookups: Semaphore,
    /// One client is recognized at a time, so that clients without a credential take at most one thread.
    recognition: Semaphore,
}

/// A connection to a target that the rules permit.
pub(crate) struct Opened {
    pub(crate) stream: TcpStream,
    pub(crate) target: Target,
    /// Whether it must begin with a TLS handshake for the requested name.
    pub(crate) needs_tls: bool,
    /// Whether the proxy ends the TLS of the client.
    pub(crate) is_inspected: bool,
    pub(crate) watch: Watch,
    pub(crate) meter: Arc<Meter>,
    pub(crate) report: SharedReport,
}

/// Why a connection was not opened. It has been reported.
#[derive(Debug)]
pub(crate) enum NotOpened {
    Refused(Box<Refusal>),
    Failed(Failure),
}

/// A step that failed, without details that the rules would have to permit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Failure {
    #[error("the name could not be resolved")]
    Resolve,
    #[error("the resolution of the name took too long")]
    ResolveTimeout,
    #[error("the target refused the connection")]
    ConnectionRefused,
    #[error("the target could not be reached")]
    Unreachable,
    #[error("the upstream proxy could not be reached, or refused the connection")]
    Upstream,
    #[error("the connection to the target took too long")]
    ConnectTimeout,
    #[error("the target did not answer the request correctly")]
    Answer,
    #[error("the TLS connection to the target failed, or its certificate is not valid")]
    Tls,
    #[error("the answer of the target is compressed, so that the proxy cannot search it for secrets")]
    Encoded,
}

/// Detects that a change of the rules no longer permits a connection.
#[derive(Clone)]
pub(crate) struct Watch {
    layers: watch::Receiver<Arc<Layers>>,
    common: Arc<Common>,
    target: Target,
    /// `None`: only the upstream proxy knows it.
    address: Option<IpAddr>,
    report: SharedReport,
}

impl Execution {
    pub(crate) fn new(access: Access, common: Arc<Common>) -> Self {
        let lookups = Semaphore::new(common.limits.lookups);
        Self { access, common, lookups, recognition: Semaphore::new(1) }
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.common.limits
    }

    /// Returns whether a process of the execution has the socket of this client.
    pub(crate) async fn has_process(&self, client: SocketAddr, proxy: SocketAddr) -> bool {
        let Some(processes) = &self.access.processes else { return false };
        let held = async {
            let _permit = self.recognition.acquire().await.ok()?;
            Some(processes.hold(client, proxy).await)
        };
        time::timeout(self.limits().head, held).await.ok().flatten().unwrap_or(false)
    }

    /// Decides about a target, waits for an answer if a rule asks about it, resolves its name once, checks every address,
    /// and connects to one of them. The wait ends when the client has `closed` the connection.
    pub(crate) async fn open(
        &self,
        target: Target,
        protocol: Protocol,
        closed: impl Future<Output = ()>,
    ) -> Result<Opened, NotOpened> {
        let events = self.access.events.clone();
        let mut report = Report::new(&target, protocol, events, self.limits().bytes_per_direction);
        let opened = self.connect(&target, &mut report, closed).await;
        match &opened {
            Ok(_) => {}
            Err(NotOpened::Refused(refusal)) => report.refused(refusal),
            Err(NotOpened::Failed(failure)) => report.failed(&failure.to_string()),
        }
        let (stream, address, needs_tls) = opened?;
        let meter = Arc::clone(report.meter());
        let report = Arc::new(Mutex::new(report));
        let watch = Watch {
            layers: self.access.layers.clone(),
            common: Arc::clone(&self.common),
            target: target.clone(),
            address,
            report: Arc::clone(&report),
        };
        // The rules may have changed in the meantime. Later changes are the watch's.
        if let Some(refusal) = watch.check() {
            return Err(NotOpened::Refused(Box::new(refusal)));
        }
        let is_inspected = self.access.inspection.as_ref().is_some_and(|one| one.covers(&target));
        let needs_tls = needs_tls || is_inspected;
        Ok(Opened { stream, target, needs_tls, is_inspected, watch, meter, report })
    }

    async fn connect(
        &self,
        target: &Target,
        report: &mut Report,
        closed: impl Future<Output = ()>,
    ) -> Result<(TcpStream, Option<IpAddr>, bool), NotOpened> {
        let permitted = question::permit(&self.access, &self.common.guard, target, closed).await;
        let Permitted { layers, rule, ignored, is_raw } =
            permitted.map_err(|refusal| NotOpened::Refused(Box::new(refusal)))?;
        let deadline = time::Instant::now() + self.limits().connect;
        let upstream = self.common.upstream.as_ref();
        let addresses = match time::timeout_at(deadline, self.addresses(target)).await {
            Ok(Ok(addresses)) => addresses,
            // The upstream proxy may know more names.
            Ok(Err(_)) if upstream.is_some_and(Upstream::resolves) => Vec::new(),
            Ok(Err(_)) => return Err(NotOpened::Failed(Failure::Resolve)),
            Err(_) => return Err(NotOpened::Failed(Failure::ResolveTimeout)),
        };
        for address in &addresses {
            self.common
                .guard
                .check(*address, &layers, target)
                .map_err(|refusal| NotOpened::Refused(Box::new(refusal)))?;
        }
        let dialed = dial::connect(&addresses, target, upstream, self.limits().connect_each);
        let (stream, address) = time::timeout_at(deadline, dialed)
            .await
            .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
            .map_err(|error| NotOpened::Failed(Failure::of(&error, upstream.is_some())))?;
        report.connected(rule.as_deref(), ignored.as_ref());
        Ok((stream, address, !is_raw))
    }

    async fn addresses(&self, target: &Target) -> io::Result<Vec<IpAddr>> {
        let name = match &target.host {
            Host::Address(address) => return Ok(vec![*address]),
            Host::Name(name) => name.to_string(),
        };
        let _permit = self.lookups.acquire().await.map_err(io::Error::other)?;
        let mut addresses = self.common.resolver.resolve(&name).await?;
        addresses.truncate(self.limits().addresses);
        if addresses.is_empty() { Err(io::ErrorKind::NotFound.into()) } else { Ok(addresses) }
    }
}

impl Failure {
    fn of(error: &io::Error, is_upstream: bool) -> Self {
        match error.kind() {
            io::ErrorKind::TimedOut => Self::ConnectTimeout,
            _ if is_upstream => Self::Upstream,
            io::ErrorKind::ConnectionRefused => Self::ConnectionRefused,
            _ => Self::Unreachable,
        }
    }

    pub(crate) fn is_timeout(self) -> bool {
        matches!(self, Self::ResolveTimeout | Self::ConnectTimeout)
    }
}

impl Watch {
    /// Ends when a change of the rules no longer permits the connection, and reports this.
    pub(crate) async fn revoked(mut self) {
        while self.check().is_none() {
            if self.layers.changed().await.is_err() {
                // The rules cannot change any more.
                std::future::pending::<()>().await;
            }
        }
    }

    /// Returns whether the rules permit the connection now. If not, it is reported.
    pub(crate) fn permits(&self) -> bool {
        self.check().is_none()
    }

    /// Returns the reason why the rules do not permit the connection now, and reports it.
    fn check(&self) -> Option<Refusal> {
        let layers = Arc::clone(&self.layers.borrow());
        let refusal = match layers.decide(&self.target) {
            Verdict::Refused(refusal) => Some(refusal),
            _ => {
                self.address.and_then(|address| self.common.guard.check(address, &layers, &self.target).err())
            }
        };
        if let Some(refusal) = &refusal {
            amend(&self.report, |report| report.refused(refusal));
        }
        refusal
    }
}
