//! The audit rows of forwarded connections.

use super::{
    names,
    row::row,
    rows::{count, id},
};
use crate::{
    StoreError,
    record::{ForwardRecord, Micros},
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
        Ok(Self {
            id: id("forward_id", &row.forward_id)?,
            session_id: id("session_id", &row.session_id)?,
            tenant: row.tenant,
            principal: row.principal,
            peer: row.peer,
            port: count("port", row.port)?,
            step: names::value("step", &row.step)?,
            reason: row.reason,
            sent: count("sent", row.sent)?,
            received: count("received", row.received)?,
            duration_micros: row.duration_micros,
            at: Micros(row.at),
        })
    }
}
