//! The audit rows of connections.

use super::row::row;
use crate::record::{ConnectionRecord, Micros};

row! {
    /// An audit row of a connection of a command to another host.
    pub(crate) struct ConnectionRow {
        tenant: String,
        principal: String,
        host: String,
        port: i64,
        protocol: String,
        verdict: String,
        rule: String,
        layer: String,
        other_layers: String,
        address_kind: String,
        bytes_up: i64,
        bytes_down: i64,
        started: i64,
        duration: i64,
    }
}

impl From<ConnectionRow> for ConnectionRecord {
    fn from(row: ConnectionRow) -> Self {
        Self {
            tenant: row.tenant,
            principal: row.principal,
            host: row.host,
            port: row.port,
            protocol: row.protocol,
            verdict: row.verdict,
            rule: row.rule,
            layer: row.layer,
            other_layers: row.other_layers,
            address_kind: row.address_kind,
            bytes_up: row.bytes_up,
            bytes_down: row.bytes_down,
            started: Micros(row.started),
            duration: row.duration,
        }
    }
}
