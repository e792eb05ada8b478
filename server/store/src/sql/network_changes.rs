//! The audit rows of changes of a session's network rules.

use super::{json, row::row};
use crate::{
    StoreError,
    record::{Micros, NetworkChangeRecord},
};

row! {
    /// An audit row of a change of a session's network rules.
    pub(crate) struct NetworkChangeRow {
        session_id: String,
        tenant: String,
        principal: String,
        peer: String,
        old_rules: Option<String>,
        new_rules: Option<String>,
        at: i64,
    }
}

impl TryFrom<NetworkChangeRow> for NetworkChangeRecord {
    type Error = StoreError;

    fn try_from(row: NetworkChangeRow) -> Result<Self, StoreError> {
        let damaged = |_| StoreError::Corrupt("audit_networks: `session_id` cannot be read".to_owned());
        Ok(Self {
            session_id: row.session_id.parse().map_err(damaged)?,
            tenant: row.tenant,
            principal: row.principal,
            peer: row.peer,
            old: row.old_rules.map(|rules| json::read("old_rules", &rules)).transpose()?,
            new: row.new_rules.map(|rules| json::read("new_rules", &rules)).transpose()?,
            at: Micros(row.at),
        })
    }
}
