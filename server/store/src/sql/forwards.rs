//! The audit rows of forwarded connections.

use super::row::row;
use crate::{
    StoreError,
    record::{ForwardRecord, ForwardStep, Micros},
};

row! {
    /// An audit row of a forwarded connection.
    pub(crate) struct ForwardRow {
        forward_id: String,
        session_id: String,
        tenant: String,
        principal: String,
        peer: String,
        port: i64,
        step: String,
        reason: String,
        sent: i64,
        received: i64,
        duration_micros: i64,
        at: i64,
    }
}

impl TryFrom<ForwardRow> for ForwardRecord {
    type Error = StoreError;

    fn try_from(row: ForwardRow) -> Result<Self, StoreError> {
        let damaged = |what: &str| StoreError::Corrupt(format!("audit_forwards: `{what}` cannot be read"));
        let step = ForwardStep::ALL.into_iter().find(|step| step.name() == row.step);
        Ok(Self {
            id: row.forward_id.parse().map_err(|_| damaged("forward_id"))?,
            session_id: row.session_id.parse().map_err(|_| damaged("session_id"))?,
            tenant: row.tenant,
            principal: row.principal,
            peer: row.peer,
            port: row.port.try_into().map_err(|_| damaged("port"))?,
            step: step.ok_or_else(|| damaged("step"))?,
            reason: row.reason,
            sent: row.sent.try_into().map_err(|_| damaged("sent"))?,
            received: row.received.try_into().map_err(|_| damaged("received"))?,
            duration_micros: row.duration_micros,
            at: Micros(row.at),
        })
    }
}
