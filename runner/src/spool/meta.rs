//! The description of a spool, written once before its first byte.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use airlock_domain::limits::INLINE_DEFAULT;
use airlock_runner_lifecycle::output::Layout;
use serde::{Deserialize, Serialize};

const NAME: &str = "spool.json";

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Meta {
    head: u64,
    tail: u64,
    segment: u64,
    pub(super) separate_stderr: bool,
    #[serde(default = "inline_limit")]
    pub(super) inline_limit: u32,
}

fn inline_limit() -> u32 {
    INLINE_DEFAULT
}

impl Meta {
    pub(super) fn new(layout: Layout, separate_stderr: bool, inline_limit: u32) -> Self {
        let Layout { head, tail, segment } = layout;
        Self { head, tail, segment, separate_stderr, inline_limit }
    }

    pub(super) fn layout(&self) -> Layout {
        Layout { head: self.head, tail: self.tail, segment: self.segment.max(1) }
    }

    pub(super) fn write(&self, directory: &Path) -> io::Result<()> {
        let mut file =
            OpenOptions::new().write(true).create_new(true).mode(0o600).open(directory.join(NAME))?;
        file.write_all(&serde_json::to_vec(self)?)
    }

    /// Reads the description. `None` if it was never written completely. The spool then contains no output.
    pub(super) fn read(directory: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(directory.join(NAME)).ok()?).ok()
    }
}
