//! The encoding of the journal's records: one JSON document each.
//!
//! New kinds and fields may be added. The meaning of an existing one never changes.

use airlock_domain::ExecutionResult;
use airlock_proto::convert::Stored as _;
use airlock_runner_lifecycle::jobs::Record;
use serde::{Deserialize, Serialize};

/// A record as the file contains it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Document {
    Boot {
        boot_id: String,
        epoch: String,
        intact: bool,
        #[serde(default)]
        vouched: Vec<String>,
    },
    Told,
    Accepted {
        id: String,
        attempt: u32,
        epoch: String,
        session: String,
    },
    /// `result` is an encoded `airlock.v1.Result` in hex.
    Refused {
        id: String,
        attempt: u32,
        epoch: String,
        result: String,
    },
    Running {
        id: String,
    },
    /// `result` as in `Refused`.
    Ended {
        id: String,
        lost: bool,
        result: String,
    },
    Forgotten {
        ids: Vec<String>,
    },
}

/// A record of another version, or not a record. Its effect is missing.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unknown;

/// Encodes a record.
pub(super) fn encode(record: &Record) -> Vec<u8> {
    // Serializing strings, numbers and lists of them to memory cannot fail.
    serde_json::to_vec(&document(record)).unwrap_or_default()
}

fn document(record: &Record) -> Document {
    let hex = |result: &ExecutionResult| hex::encode(result.encode());
    match record {
        Record::Boot { boot_id, epoch, intact, vouched } => Document::Boot {
            boot_id: boot_id.clone(),
            epoch: epoch.to_string(),
            intact: *intact,
            vouched: vouched.iter().map(ToString::to_string).collect(),
        },
        Record::Told => Document::Told,
        Record::Accepted { id, attempt, epoch, session } => Document::Accepted {
            id: id.to_string(),
            attempt: *attempt,
            epoch: epoch.to_string(),
            session: session.map(|session| session.to_string()).unwrap_or_default(),
        },
        Record::Refused { id, attempt, epoch, result } => Document::Refused {
            id: id.to_string(),
            attempt: *attempt,
            epoch: epoch.to_string(),
            result: hex(result),
        },
        Record::Running { id } => Document::Running { id: id.to_string() },
        Record::Ended { id, lost, result } => {
            Document::Ended { id: id.to_string(), lost: *lost, result: hex(result) }
        }
        Record::Forgotten { ids } => {
            Document::Forgotten { ids: ids.iter().map(ToString::to_string).collect() }
        }
    }
}

/// Decodes a record. Returns `None` for a record that no version writes, such as one with an invalid ID. It has no
/// effect.
pub(super) fn decode(payload: &[u8]) -> Result<Option<Record>, Unknown> {
    let document = serde_json::from_slice::<Document>(payload).map_err(|_| Unknown)?;
    let is_boot = matches!(document, Document::Boot { .. });
    let record = record(document);
    // Without the epoch of a boot, the journal covers no epoch completely.
    if is_boot && record.is_none() { Err(Unknown) } else { Ok(record) }
}

fn record(document: Document) -> Option<Record> {
    Some(match document {
        Document::Boot { boot_id, epoch, intact, vouched } => Record::Boot {
            boot_id,
            epoch: epoch.parse().ok()?,
            intact,
            vouched: vouched.iter().filter_map(|epoch| epoch.parse().ok()).collect(),
        },
        Document::Told => Record::Told,
        Document::Accepted { id, attempt, epoch, session } => Record::Accepted {
            id: id.parse().ok()?,
            attempt,
            epoch: epoch.parse().ok()?,
            session: session.parse().ok(),
        },
        Document::Refused { id, attempt, epoch, result } => Record::Refused {
            id: id.parse().ok()?,
            attempt,
            epoch: epoch.parse().ok()?,
            result: decode_result(&result)?,
        },
        Document::Running { id } => Record::Running { id: id.parse().ok()? },
        Document::Ended { id, lost, result } => {
            Record::Ended { id: id.parse().ok()?, lost, result: decode_result(&result)? }
        }
        Document::Forgotten { ids } => {
            Record::Forgotten { ids: ids.iter().filter_map(|id| id.parse().ok()).collect() }
        }
    })
}

fn decode_result(hex_text: &str) -> Option<ExecutionResult> {
    ExecutionResult::decode(&hex::decode(hex_text).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "00000000-0000-7000-8000-000000000001";
    const EPOCH: &str = "00000000-0000-4000-8000-000000000002";

    fn read(text: &str) -> Result<Option<Record>, Unknown> {
        decode(text.as_bytes())
    }

    #[test]
    fn the_documents_of_the_first_version_are_read() {
        let boot = format!(r#"{{"boot":{{"boot_id":"b","epoch":"{EPOCH}","intact":true}}}}"#);
        let epoch = EPOCH.parse().unwrap();
        let expected = Record::Boot { boot_id: "b".to_owned(), epoch, intact: true, vouched: Vec::new() };
        assert_eq!(read(&boot), Ok(Some(expected)));
        assert_eq!(read(r#""told""#), Ok(Some(Record::Told)));
        let accepted =
            format!(r#"{{"accepted":{{"id":"{ID}","attempt":3,"epoch":"{EPOCH}","session":"{ID}"}}}}"#);
        let session = Some(ID.parse().unwrap());
        let expected = Record::Accepted { id: ID.parse().unwrap(), attempt: 3, epoch, session };
        assert_eq!(read(&accepted), Ok(Some(expected.clone())));
        assert_eq!(encode(&expected), accepted.as_bytes(), "and are encoded in the same way");
        let forgotten = format!(r#"{{"forgotten":{{"ids":["{ID}","x"]}}}}"#);
        let expected = Record::Forgotten { ids: vec![ID.parse().unwrap()] };
        assert_eq!(read(&forgotten), Ok(Some(expected)));
    }

    #[test]
    fn an_invalid_record_has_no_effect_and_an_unknown_one_is_missed() {
        assert_eq!(read(r#"{"running":{"id":"x"}}"#), Ok(None));
        assert_eq!(read(&format!(r#"{{"ended":{{"id":"{ID}","lost":false,"result":"xx"}}}}"#)), Ok(None));
        assert_eq!(read(r#"{"boot":{"boot_id":"b","epoch":"x","intact":true}}"#), Err(Unknown));
        assert_eq!(read(r#"{"paused":{"id":"x"}}"#), Err(Unknown));
        assert_eq!(read("no record"), Err(Unknown));
    }
}
