//! The decision about a target, and the connection to it. Nothing reaches `dial` except through this file.

use std::{
    io,
    net::IpAddr,
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
    report::{Meter, Report, SharedReport, amend},
    resolve::Resolver,
};

/// What all executions share.
pub(crate) struct Common {
    pub(crate) limits: Limits,
    pub(crate) resolver: Arc<dyn Resolver>,
    pub(crate) guard: AddressGuard,
    /// Permits of [`Limits::large_buffers`].
    pub(crate) large_buffers: Semaphore,
}

/// What the connections of one execution share.
pub(crate) struct Execution {
    pub(crate) access: Access,
    pub(crate) common: Arc<Common>,
    lookups: Semaphore,
}

/// A connection to a target that the rules permit.
pub(crate) struct Opened {
    pub(crate) stream: TcpStream,
    pub(crate) target: Target,
    /// Whether it must begin with a TLS handshake for the requested name.
    pub(crate) needs_tls: bool,
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
    #[error("the connection to the target took too long")]
    ConnectTimeout,
    #[error("the target did not answer the request correctly")]
    Answer,
}

/// Detects that a change of the rules no longer permits a connection.
#[derive(Clone)]
pub(crate) struct Watch {
    layers: watch::Receiver<Arc<Layers>>,
    common: Arc<Common>,
    target: Target,
    address: IpAddr,
    warn: bool,
    report: SharedReport,
}

impl Execution {
    pub(crate) fn new(access: Access, common: Arc<Common>) -> Self {
        let lookups = Semaphore::new(common.limits.lookups);
        Self { access, common, lookups }
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.common.limits
    }

    /// Decides about a target, resolves its name once, checks every address, and connects to one of them.
    pub(crate) async fn open(&self, target: Target, protocol: Protocol) -> Result<Opened, NotOpened> {
        let events = self.access.events.clone();
        let mut report = Report::new(&target, protocol, events, self.limits().bytes_per_direction);
        let opened = self.connect(&target, &mut report).await;
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
            warn: self.access.warn,
            report: Arc::clone(&report),
        };
        // The rules may have changed in the meantime. Later changes are the watch's.
        if let Some(refusal) = watch.check() {
            return Err(NotOpened::Refused(Box::new(refusal)));
        }
        Ok(Opened { stream, target, needs_tls, watch, meter, report })
    }

    async fn connect(
        &self,
        target: &Target,
        report: &mut Report,
    ) -> Result<(TcpStream, IpAddr, bool), NotOpened> {
        let layers = Arc::clone(&self.access.layers.borrow());
        let (rule, ignored) = match layers.decide(target) {
            Verdict::Allowed { rule } => (Some(rule), None),
            Verdict::Refused(refusal) if self.access.warn => (None, Some(refusal)),
            Verdict::Refused(refusal) => return Err(NotOpened::Refused(Box::new(refusal))),
        };
        let deadline = time::Instant::now() + self.limits().connect;
        let addresses = time::timeout_at(deadline, self.addresses(target))
            .await
            .map_err(|_| NotOpened::Failed(Failure::ResolveTimeout))?
            .map_err(|_| NotOpened::Failed(Failure::Resolve))?;
        for address in &addresses {
            self.common
                .guard
                .check(*address, &layers, target)
                .map_err(|refusal| NotOpened::Refused(Box::new(refusal)))?;
        }
        let dialed = dial::connect(&addresses, target.port, self.limits().connect_each);
        let (stream, address) = time::timeout_at(deadline, dialed)
            .await
            .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
            .map_err(|error| NotOpened::Failed(Failure::of(&error)))?;
        report.connected(rule.as_deref(), ignored.as_ref());
        let needs_tls = rule.as_deref().is_some_and(needs_tls) && !self.access.warn;
        Ok((stream, address, needs_tls))
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

fn needs_tls(rule: &str) -> bool {
    !rule.ends_with("/tcp")
}

impl Failure {
    fn of(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::TimedOut => Self::ConnectTimeout,
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
            Verdict::Refused(refusal) if !self.warn => Some(refusal),
            _ => self.common.guard.check(self.address, &layers, &self.target).err(),
        };
        if let Some(refusal) = &refusal {
            amend(&self.report, |report| report.refused(refusal));
        }
        refusal
    }
}
