//! What is kept of an open session for the runner's next process: a small file beside its folders,
//! where no command can reach it.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use serde::{Deserialize, Serialize};

const NAME: &str = "session.json";
const NEXT: &str = "session.json.next";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Saved {
    pub(super) id: String,
    pub(super) uid: Option<u32>,
    /// In hex: it need not be text.
    pub(super) directory: String,
}

impl Saved {
    /// Replaces the file in the session's root folder, whole or not at all.
    pub(super) fn write(&self, root: &Path) -> io::Result<()> {
        let next = root.join(NEXT);
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&next)?;
        file.write_all(&serde_json::to_vec(self)?)?;
        fs::rename(next, root.join(NAME))
    }

    /// None for a folder that is not an open session's.
    pub(super) fn read(root: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(root.join(NAME)).ok()?).ok()
    }
}
