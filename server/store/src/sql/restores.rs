//! The audit rows of files that were restored from quarantine.

use super::row::row;
use crate::{
    StoreError,
    record::{Micros, RestoreRecord, RestoreStep},
};

row! {
    /// An audit row of a file that was restored from quarantine.
    pub(crate) struct RestoreRow {
        session_id: String,
        tenant: String,
        principal: String,
        peer: String,
        quarantine_id: String,
        execution_id: String,
        path: Vec<u8>,
        step: String,
        at: i64,
    }
}

impl TryFrom<RestoreRow> for RestoreRecord {
    type Error = StoreError;

    fn try_from(row: RestoreRow) -> Result<Self, StoreError> {
        let damaged = |what: &str| StoreError::Corrupt(format!("audit_restores: `{what}` cannot be read"));
        let by = (!row.execution_id.is_empty()).then(|| row.execution_id.parse()).transpose();
        let step = RestoreStep::ALL.into_iter().find(|step| step.name() == row.step);
        Ok(Self {
            session_id: row.session_id.parse().map_err(|_| damaged("session_id"))?,
            tenant: row.tenant,
            principal: row.principal,
            peer: row.peer,
            quarantine_id: row.quarantine_id,
            execution_id: by.map_err(|_| damaged("execution_id"))?,
            path: row.path,
            step: step.ok_or_else(|| damaged("step"))?,
            at: Micros(row.at),
        })
    }
}
