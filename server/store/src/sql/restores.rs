//! The audit rows of files that were restored from quarantine.

use super::{
    names,
    row::row,
    rows::{id, optional_id},
};
use crate::{
    StoreError,
    record::{Micros, RestoreRecord},
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
        let execution_id = Some(row.execution_id.as_str()).filter(|text| !text.is_empty());
        Ok(Self {
            session_id: id("session_id", &row.session_id)?,
            tenant: row.tenant,
            principal: row.principal,
            peer: row.peer,
            quarantine_id: row.quarantine_id,
            execution_id: optional_id("execution_id", execution_id)?,
            path: row.path,
            step: names::value("step", &row.step)?,
            at: Micros(row.at),
        })
    }
}
