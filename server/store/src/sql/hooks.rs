//! The rows of starts whose hooks are asked, and of the audit of hooks.

use super::{json, row::row, rows::id};
use crate::{
    StoreError,
    record::{HookRecord, Micros},
};

row! {
    /// A row of `hook_starts`.
    pub(crate) struct ClaimRow {
        pub(crate) request_hash: Vec<u8>,
        pub(crate) execution_id: String,
        pub(crate) session_id: String,
    }
}

row! {
    /// An audit row of the answer of a hook.
    pub(crate) struct HookRow {
        execution_id: String,
        session_id: String,
        tenant: String,
        principal: String,
        answer: String,
        at: i64,
    }
}

impl TryFrom<HookRow> for HookRecord {
    type Error = StoreError;

    fn try_from(row: HookRow) -> Result<Self, StoreError> {
        Ok(Self {
            execution_id: id("execution_id", &row.execution_id)?,
            session_id: id("session_id", &row.session_id)?,
            tenant: row.tenant,
            principal: row.principal,
            answer: json::read("answer", &row.answer)?,
            at: Micros(row.at),
        })
    }
}
