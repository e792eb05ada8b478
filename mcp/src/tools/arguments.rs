//! The arguments of the tools, and their limits.

use serde::Deserialize;

/// The number of bytes of an output or file that one call returns, unless it asks for another number.
pub(crate) const PART_BYTES: u64 = 30_000;
/// The maximum number of bytes that one call returns.
pub(crate) const PART_BYTES_MAX: u64 = 100_000;
/// The longest time in seconds that a call of `output` or `input` waits for output.
pub(crate) const WAIT_SECONDS_MAX: u64 = 300;
/// The number of lines of a file that one call returns, unless it asks for another number.
pub(crate) const LINES: u64 = 2_000;
/// The maximum size of a file that is written or edited, in bytes.
pub(crate) const FILE_BYTES: usize = 1024 * 1024;

/// The arguments of `run` and `start`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Command {
    pub(crate) command: String,
    #[serde(default)]
    pub(crate) timeout_seconds: Option<u64>,
    #[serde(default)]
    pub(crate) description: String,
}

/// The arguments of `output`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Output {
    pub(crate) id: String,
    #[serde(default)]
    pub(crate) offset: Option<u64>,
    #[serde(default)]
    pub(crate) length: Option<u64>,
    #[serde(default)]
    pub(crate) wait_seconds: u64,
}

/// The arguments of `input`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    pub(crate) id: String,
    pub(crate) text: String,
    #[serde(default)]
    pub(crate) end: bool,
    #[serde(default = "one")]
    pub(crate) wait_seconds: u64,
}

/// The arguments of `stop`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Stop {
    pub(crate) id: String,
}

/// The arguments of `read_file`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReadFile {
    pub(crate) path: String,
    #[serde(default = "one")]
    pub(crate) line: u64,
    #[serde(default = "lines")]
    pub(crate) lines: u64,
}

/// The arguments of `write_file`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WriteFile {
    pub(crate) path: String,
    pub(crate) content: String,
}

/// The arguments of `edit_file`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EditFile {
    pub(crate) path: String,
    pub(crate) old_text: String,
    pub(crate) new_text: String,
    #[serde(default)]
    pub(crate) all: bool,
}

/// The arguments of `list_files`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListFiles {
    #[serde(default)]
    pub(crate) path: String,
    #[serde(default)]
    pub(crate) recursive: bool,
}

fn one() -> u64 {
    1
}

fn lines() -> u64 {
    LINES
}
