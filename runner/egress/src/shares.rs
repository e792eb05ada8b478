//! The shares of executions in the connections of a proxy.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::limits::Limits;

/// All connections of a proxy. Half of them are common, and half are reserved in equal parts.
#[derive(Debug)]
pub(crate) struct Shares {
    common: Arc<Semaphore>,
    reservations: Arc<Semaphore>,
}

/// The share of one execution.
#[derive(Debug)]
pub(crate) struct Share {
    all: Arc<Semaphore>,
    reserved: Arc<Semaphore>,
    common: Arc<Semaphore>,
    /// Held until the execution ends. `None`: every reservation was taken.
    _reservation: Option<OwnedSemaphorePermit>,
}

/// One connection of a share.
#[derive(Debug)]
pub(crate) struct Slot {
    _of_execution: OwnedSemaphorePermit,
    _of_proxy: OwnedSemaphorePermit,
}

impl Shares {
    pub(crate) fn new(limits: &Limits) -> Self {
        let reserved = limits.per_proxy / 2;
        Self {
            common: Arc::new(Semaphore::new(limits.per_proxy - reserved)),
            reservations: Arc::new(Semaphore::new(reserved)),
        }
    }

    /// Reserves connections for one execution.
    pub(crate) fn share(&self, limits: &Limits) -> Share {
        let size = u32::try_from(limits.reserved).unwrap_or(u32::MAX);
        let reservation = Arc::clone(&self.reservations).try_acquire_many_owned(size).ok();
        let reserved = if reservation.is_some() { limits.reserved } else { 0 };
        Share {
            all: Arc::new(Semaphore::new(limits.per_execution)),
            reserved: Arc::new(Semaphore::new(reserved)),
            common: Arc::clone(&self.common),
            _reservation: reservation,
        }
    }
}

impl Share {
    /// Waits for a connection. Cancelling the wait takes none.
    pub(crate) async fn slot(&self) -> Option<Slot> {
        let of_execution = Arc::clone(&self.all).acquire_owned().await.ok()?;
        let of_proxy = tokio::select! {
            biased;
            permit = Arc::clone(&self.reserved).acquire_owned() => permit,
            permit = Arc::clone(&self.common).acquire_owned() => permit,
        };
        Some(Slot { _of_execution: of_execution, _of_proxy: of_proxy.ok()? })
    }
}
