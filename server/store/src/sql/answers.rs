//! The audit rows of answers to questions about connections.

use super::{names, row::row};
use crate::{
    StoreError,
    record::{AnswerRecord, AskedConnection, Micros},
};

row! {
    /// An audit row of an answer to a question about a connection.
    pub(crate) struct AnswerRow {
        approval_id: String,
        execution_id: String,
        session_id: String,
        tenant: String,
        host: String,
        port: i64,
        rule: String,
        answer: String,
        principal: String,
        reason: String,
        at: i64,
    }
}

impl TryFrom<AnswerRow> for AnswerRecord {
    type Error = StoreError;

    fn try_from(row: AnswerRow) -> Result<Self, StoreError> {
        let damaged = |what: &str| StoreError::Corrupt(format!("audit_answers: `{what}` cannot be read"));
        Ok(Self {
            approval_id: row.approval_id.parse().map_err(|_| damaged("approval_id"))?,
            execution_id: row.execution_id.parse().map_err(|_| damaged("execution_id"))?,
            session_id: row.session_id.parse().map_err(|_| damaged("session_id"))?,
            tenant: row.tenant,
            connection: AskedConnection {
                host: row.host,
                port: u16::try_from(row.port).map_err(|_| damaged("port"))?,
                rule: row.rule,
            },
            answer: names::value("answer", &row.answer)?,
            principal: row.principal,
            reason: row.reason,
            at: Micros(row.at),
        })
    }
}
