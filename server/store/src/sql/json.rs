//! The JSON of columns that are not used in filters: decisions, specs, maps.
//!
//! The domain types have their canonical encoding. For the server's own types, each `*Form` mirrors one of
//! them, and the compiler checks that they match. A field that is added later needs `#[serde(default)]` here,
//! so that older rows stay readable.

use std::{collections::BTreeMap, time::Duration};

use airlock_domain::{
    CommandSpec, Given, HookAnswer, Mode, Pty, Shell, TerminalSize, encoding, limits::INLINE_DEFAULT,
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::errors::unreadable;
use crate::{
    StoreError,
    record::{DecisionRecord, ExecutionSpec, Verdict},
};

/// Returns the JSON of `value`.
pub(crate) fn write(value: &impl Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::Refused(error.to_string()))
}

/// Reads JSON that [`write()`] created, from `column`.
pub(crate) fn read<T: DeserializeOwned>(column: &str, json: &str) -> Result<T, StoreError> {
    serde_json::from_str(json).map_err(|_| unreadable(column))
}

/// A decision.
#[derive(Serialize, Deserialize)]
pub(crate) struct DecisionJson(#[serde(with = "DecisionForm")] pub(crate) DecisionRecord);

/// Environment variables.
#[derive(Serialize, Deserialize)]
pub(crate) struct EnvJson(#[serde(with = "encoding::env")] pub(crate) BTreeMap<String, Vec<u8>>);

/// The fields of an execution's spec that have no column. Labels and budget have columns, and so have the text
/// and the directory of the command.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SpecJson {
    command: CommandSpec,
    given: Given,
    background: bool,
    description: String,
    wait_for_approval: bool,
    mode: Mode,
    allow_concurrent: bool,
    dangerously_disable_sandbox: bool,
}

impl SpecJson {
    /// Copies the fields of `spec` that have no column.
    pub(crate) fn new(spec: &ExecutionSpec) -> Self {
        let ExecutionSpec {
            command,
            given,
            background,
            yield_after: _,
            description,
            wait_for_approval,
            mode,
            allow_concurrent,
            dangerously_disable_sandbox,
            labels: _,
        } = spec;
        Self {
            command: CommandSpec { text: Vec::new(), directory: Vec::new(), ..command.clone() },
            given: *given,
            background: *background,
            description: description.clone(),
            wait_for_approval: *wait_for_approval,
            mode: *mode,
            allow_concurrent: *allow_concurrent,
            dangerously_disable_sandbox: *dangerously_disable_sandbox,
        }
    }

    /// Reads the JSON of the column `spec`, of this version or of one before 0.2.0.
    pub(crate) fn read(json: &str) -> Result<Self, StoreError> {
        serde_json::from_str(json).or_else(|_| read::<FlatSpecJson>("spec", json).map(Self::from))
    }

    /// Combines these fields with those of the columns.
    pub(crate) fn with(
        self,
        (text, directory): (Vec<u8>, Vec<u8>),
        labels: BTreeMap<String, String>,
        yield_after: Option<Duration>,
    ) -> ExecutionSpec {
        ExecutionSpec {
            command: CommandSpec { text, directory, ..self.command },
            given: self.given,
            background: self.background,
            yield_after,
            description: self.description,
            wait_for_approval: self.wait_for_approval,
            mode: self.mode,
            allow_concurrent: self.allow_concurrent,
            dangerously_disable_sandbox: self.dangerously_disable_sandbox,
            labels,
        }
    }
}

/// The form of the column `spec` before 0.2.0. It is only read.
#[derive(Deserialize)]
struct FlatSpecJson {
    shell: Shell,
    timeout: Duration,
    timeout_given: bool,
    #[serde(default)]
    idle_timeout: Option<Duration>,
    #[serde(default)]
    background: bool,
    description: String,
    wait_for_approval: bool,
    mode: Mode,
    #[serde(with = "encoding::env")]
    env: BTreeMap<String, Vec<u8>>,
    separate_stderr: bool,
    allow_concurrent: bool,
    stdin: bool,
    #[serde(default)]
    dangerously_disable_sandbox: bool,
    #[serde(default = "inline_default")]
    inline_limit: u32,
    #[serde(default)]
    pty: Option<FlatPtyJson>,
}

#[derive(Deserialize)]
struct FlatPtyJson {
    rows: u16,
    cols: u16,
    term: String,
}

fn inline_default() -> u32 {
    INLINE_DEFAULT
}

impl From<FlatSpecJson> for SpecJson {
    fn from(flat: FlatSpecJson) -> Self {
        let pty = |FlatPtyJson { rows, cols, term }| Pty { size: TerminalSize { rows, cols }, term };
        Self {
            command: CommandSpec {
                shell: flat.shell,
                env: flat.env,
                stdin: flat.stdin,
                pty: flat.pty.map(pty),
                separate_stderr: flat.separate_stderr,
                timeout: flat.timeout,
                idle_timeout: flat.idle_timeout,
                inline_limit: flat.inline_limit,
                ..CommandSpec::default()
            },
            given: Given { timeout: flat.timeout_given, ..Given::default() },
            background: flat.background,
            description: flat.description,
            wait_for_approval: flat.wait_for_approval,
            mode: flat.mode,
            allow_concurrent: flat.allow_concurrent,
            dangerously_disable_sandbox: flat.dangerously_disable_sandbox,
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "DecisionRecord")]
struct DecisionForm {
    #[serde(with = "VerdictForm")]
    verdict: Verdict,
    reason_code: String,
    reason_message: String,
    #[serde(default)]
    reason_span: Option<(u32, u32)>,
    read_only: bool,
    concurrency_safe: bool,
    #[serde(with = "encoding::bytes")]
    policy_version: Vec<u8>,
    #[serde(with = "encoding::bytes")]
    encoded: Vec<u8>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    hooks: Vec<HookAnswer>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Verdict", rename_all = "SCREAMING_SNAKE_CASE")]
enum VerdictForm {
    Allow,
    Ask,
    Deny,
}

#[cfg(test)]
mod tests {
    //! Tests of the stored form of a specification.

    use airlock_domain::encoding::encode;

    use super::*;
    use crate::contract::fixtures;

    /// A specification as 0.1.0 stored it.
    const FLAT: &str = r#"{"shell":"zsh","timeout":{"secs":5,"nanos":1},"timeout_given":true,"idle_timeout":{"secs":6,"nanos":0},"background":true,"description":"d","wait_for_approval":true,"mode":"plan","env":{"A":"/w=="},"separate_stderr":false,"allow_concurrent":true,"stdin":true,"dangerously_disable_sandbox":true,"inline_limit":7,"pty":{"rows":1,"cols":2,"term":"vt100"}}"#;

    #[test]
    fn a_specification_of_an_earlier_version_is_read() {
        let spec =
            SpecJson::read(FLAT).unwrap().with((b"ls".to_vec(), b"/x".to_vec()), BTreeMap::new(), None);
        let command = CommandSpec {
            text: b"ls".to_vec(),
            shell: Shell::Zsh,
            directory: b"/x".to_vec(),
            env: BTreeMap::from([("A".to_owned(), vec![0xff])]),
            stdin: true,
            pty: Some(Pty { size: TerminalSize { rows: 1, cols: 2 }, term: "vt100".to_owned() }),
            timeout: Duration::new(5, 1),
            idle_timeout: Some(Duration::from_secs(6)),
            inline_limit: 7,
            ..CommandSpec::default()
        };
        let expected = ExecutionSpec {
            command,
            given: Given { timeout: true, ..Given::default() },
            background: true,
            yield_after: None,
            description: "d".to_owned(),
            wait_for_approval: true,
            mode: Mode::Plan,
            allow_concurrent: true,
            dangerously_disable_sandbox: true,
            labels: BTreeMap::new(),
        };
        assert_eq!(spec, expected);
    }

    #[test]
    fn what_has_a_column_is_not_stored_twice() {
        let spec = fixtures::spec();
        let json = write(&SpecJson::new(&spec)).unwrap();
        let command = CommandSpec { text: Vec::new(), directory: Vec::new(), ..spec.command.clone() };
        let encoded = String::from_utf8(encode(&command)).unwrap();
        assert!(json.contains(&encoded), "{json} contains the canonical encoding");
        assert!(!json.contains("text") && !json.contains("directory"), "{json}");
        let columns = (spec.command.text.clone(), spec.command.directory.clone());
        let read = SpecJson::read(&json).unwrap().with(columns, spec.labels.clone(), spec.yield_after);
        assert_eq!(read, spec);
    }
}
