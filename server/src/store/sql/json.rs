//! The JSON of columns that are not used in filters: decisions, specs, maps.
//!
//! The domain types do not implement serde. Each `*Form` mirrors one of them, and the compiler checks
//! that they match. A field that is added later needs `#[serde(default)]` here, so that older rows stay
//! readable.

use std::{collections::BTreeMap, time::Duration};

use airlock_domain::{BoundFile, FileState, Mode, Pty, Shell, TerminalSize, limits::INLINE_DEFAULT};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::errors::unreadable;
use crate::{
    model::{DecisionRecord, ExecutionSpec, Verdict},
    store::StoreError,
};

/// Returns the JSON of `value`.
pub(in crate::store) fn write(value: &impl Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::Refused(error.to_string()))
}

/// Reads JSON that [`write()`] created, from `column`.
pub(in crate::store) fn read<T: DeserializeOwned>(column: &str, json: &str) -> Result<T, StoreError> {
    serde_json::from_str(json).map_err(|_| unreadable(column))
}

/// A file that an approval is bound to.
#[derive(Serialize, Deserialize)]
struct FileJson {
    #[serde(with = "base64")]
    path: Vec<u8>,
    state: String,
    /// Hexadecimal. Empty unless the state is `DIGEST`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    sha256: String,
}

/// Returns the JSON of files.
pub(in crate::store) fn write_files(files: &[BoundFile]) -> Result<String, StoreError> {
    let form = |file: &BoundFile| FileJson {
        path: file.path.clone(),
        state: file_state(file.state).to_owned(),
        sha256: file.state.digest().map(hex::encode).unwrap_or_default(),
    };
    write(&files.iter().map(form).collect::<Vec<_>>())
}

/// Reads JSON that [`write_files`] created, from `column`.
pub(in crate::store) fn read_files(column: &str, json: &str) -> Result<Vec<BoundFile>, StoreError> {
    let domain = |file: FileJson| {
        let mut digest = [0; 32];
        let state = match file.state.as_str() {
            "DIGEST" => {
                hex::decode_to_slice(&file.sha256, &mut digest).ok()?;
                FileState::Digest(digest)
            }
            name => {
                [FileState::Any, FileState::Absent, FileState::Other, FileState::TooLarge, FileState::Unknown]
                    .into_iter()
                    .find(|state| file_state(*state) == name)?
            }
        };
        Some(BoundFile { path: file.path, state })
    };
    let files: Vec<FileJson> = read(column, json)?;
    files.into_iter().map(|file| domain(file).ok_or_else(|| unreadable(column))).collect()
}

fn file_state(state: FileState) -> &'static str {
    match state {
        FileState::Any => "ANY",
        FileState::Digest(_) => "DIGEST",
        FileState::Absent => "ABSENT",
        FileState::Other => "OTHER",
        FileState::TooLarge => "TOO_LARGE",
        FileState::Unknown => "UNKNOWN",
    }
}

/// A decision.
#[derive(Serialize, Deserialize)]
pub(in crate::store) struct DecisionJson(#[serde(with = "DecisionForm")] pub(in crate::store) DecisionRecord);

/// Environment variables.
#[derive(Serialize, Deserialize)]
pub(in crate::store) struct EnvJson(#[serde(with = "env")] pub(in crate::store) BTreeMap<String, Vec<u8>>);

/// The fields of an execution's spec that have no column. Command, labels and budget have columns.
#[derive(Serialize, Deserialize)]
pub(in crate::store) struct SpecJson {
    #[serde(with = "ShellForm")]
    shell: Shell,
    timeout: Duration,
    timeout_given: bool,
    #[serde(default)]
    idle_timeout: Option<Duration>,
    #[serde(default)]
    background: bool,
    description: String,
    wait_for_approval: bool,
    #[serde(with = "ModeForm")]
    mode: Mode,
    #[serde(with = "env")]
    env: BTreeMap<String, Vec<u8>>,
    separate_stderr: bool,
    allow_concurrent: bool,
    stdin: bool,
    #[serde(default)]
    dangerously_disable_sandbox: bool,
    #[serde(default = "inline_default")]
    inline_limit: u32,
    #[serde(default)]
    pty: Option<PtyJson>,
}

/// A terminal.
#[derive(Serialize, Deserialize)]
struct PtyJson {
    rows: u16,
    cols: u16,
    term: String,
}

impl PtyJson {
    fn new(Pty { size: TerminalSize { rows, cols }, term }: &Pty) -> Self {
        Self { rows: *rows, cols: *cols, term: term.clone() }
    }

    fn whole(self) -> Pty {
        let Self { rows, cols, term } = self;
        Pty { size: TerminalSize { rows, cols }, term }
    }
}

impl SpecJson {
    /// Copies the fields of `spec` that have no column.
    pub(in crate::store) fn new(spec: &ExecutionSpec) -> Self {
        Self {
            shell: spec.shell,
            timeout: spec.timeout,
            timeout_given: spec.timeout_given,
            idle_timeout: spec.idle_timeout,
            background: spec.background,
            description: spec.description.clone(),
            wait_for_approval: spec.wait_for_approval,
            mode: spec.mode,
            env: spec.env.clone(),
            separate_stderr: spec.separate_stderr,
            allow_concurrent: spec.allow_concurrent,
            stdin: spec.stdin,
            dangerously_disable_sandbox: spec.dangerously_disable_sandbox,
            inline_limit: spec.inline_limit,
            pty: spec.pty.as_ref().map(PtyJson::new),
        }
    }

    /// Combines these fields with those of the columns.
    pub(in crate::store) fn with(
        self,
        command: Vec<u8>,
        labels: BTreeMap<String, String>,
        yield_after: Option<Duration>,
    ) -> ExecutionSpec {
        ExecutionSpec {
            command,
            shell: self.shell,
            timeout: self.timeout,
            timeout_given: self.timeout_given,
            idle_timeout: self.idle_timeout,
            background: self.background,
            yield_after,
            description: self.description,
            wait_for_approval: self.wait_for_approval,
            mode: self.mode,
            env: self.env,
            separate_stderr: self.separate_stderr,
            allow_concurrent: self.allow_concurrent,
            stdin: self.stdin,
            dangerously_disable_sandbox: self.dangerously_disable_sandbox,
            inline_limit: self.inline_limit,
            pty: self.pty.map(PtyJson::whole),
            labels,
        }
    }
}

fn inline_default() -> u32 {
    INLINE_DEFAULT
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
    #[serde(with = "base64")]
    policy_version: Vec<u8>,
    #[serde(with = "base64")]
    encoded: Vec<u8>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Verdict", rename_all = "SCREAMING_SNAKE_CASE")]
enum VerdictForm {
    Allow,
    Ask,
    Deny,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Shell", rename_all = "snake_case")]
enum ShellForm {
    Bash,
    Zsh,
    Pwsh,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Mode", rename_all = "snake_case")]
enum ModeForm {
    Bypass,
    AcceptEdits,
    Default,
    Plan,
}

/// Bytes as base64 text.
mod base64 {
    use base64::{Engine as _, engine::general_purpose::STANDARD};
    use serde::{Deserialize, Deserializer, Serializer, de::Error as _};

    pub(in crate::store) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(bytes))
    }

    pub(in crate::store) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<u8>, D::Error> {
        STANDARD.decode(String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

/// Environment variables with their values as base64 text.
mod env {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    struct Value(#[serde(with = "super::base64")] Vec<u8>);

    pub(in crate::store) fn serialize<S: Serializer>(
        env: &BTreeMap<String, Vec<u8>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_map(env.iter().map(|(name, value)| (name, Value(value.clone()))))
    }

    pub(in crate::store) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<BTreeMap<String, Vec<u8>>, D::Error> {
        let env = BTreeMap::<String, Value>::deserialize(deserializer)?;
        Ok(env.into_iter().map(|(name, value)| (name, value.0)).collect())
    }
}
