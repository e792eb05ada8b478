//! Conversion of the connections of an execution.

use super::{
    error::{ConvertError, duration, required, wire_duration},
    file::{micros, timestamp},
};
use crate::v1;
use airlock_domain::{Connection, limits::CONNECTIONS};

/// Converts connections and drops those beyond the limit of the contract, because a hostile runner can send any number.
pub(super) fn connections(wire: Vec<v1::Connection>) -> Result<Vec<Connection>, ConvertError> {
    wire.into_iter().take(CONNECTIONS).map(TryInto::try_into).collect()
}

impl From<Connection> for v1::Connection {
    fn from(one: Connection) -> Self {
        Self {
            host: one.host,
            port: one.port.into(),
            protocol: v1::ConnectionProtocol::from(one.protocol).into(),
            verdict: v1::ConnectionVerdict::from(one.verdict).into(),
            rule: one.rule,
            layer: one.layer,
            other_layers: one.other_layers,
            address_kind: one.address_kind,
            reason: one.reason,
            bytes_up: one.bytes_up,
            bytes_down: one.bytes_down,
            started_at: Some(timestamp(one.started_micros)),
            duration: Some(wire_duration(one.duration)),
        }
    }
}

impl TryFrom<v1::Connection> for Connection {
    type Error = ConvertError;

    fn try_from(wire: v1::Connection) -> Result<Self, ConvertError> {
        let (protocol, verdict) = (wire.protocol().try_into()?, wire.verdict().try_into()?);
        Ok(Self {
            host: wire.host,
            port: u16::try_from(wire.port)
                .map_err(|_| ConvertError::new("connection.port", "is not 0 to 65535"))?,
            protocol,
            verdict,
            rule: wire.rule,
            layer: wire.layer,
            other_layers: wire.other_layers,
            address_kind: wire.address_kind,
            reason: wire.reason,
            bytes_up: wire.bytes_up,
            bytes_down: wire.bytes_down,
            started_micros: micros(&required("connection.started_at", wire.started_at)?),
            duration: duration("connection.duration", wire.duration)?,
        })
    }
}

/// Returns a connection with a value in every field.
#[cfg(test)]
pub(super) fn sample() -> Connection {
    Connection {
        host: "refused.example".to_owned(),
        port: 443,
        protocol: airlock_domain::ConnectionProtocol::Connect,
        verdict: airlock_domain::ConnectionVerdict::Refused,
        rule: "*.example".to_owned(),
        layer: "session".to_owned(),
        other_layers: vec!["floor".to_owned()],
        address_kind: "private".to_owned(),
        reason: "a remedy".to_owned(),
        bytes_up: 1,
        bytes_down: 2,
        started_micros: 1_700_000_000_000_001,
        duration: std::time::Duration::from_micros(7),
    }
}
