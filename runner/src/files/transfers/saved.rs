//! The stored state of an upload for the runner's next process: its order, and its answer once it is done.

use std::{
    collections::HashMap,
    fs::{self, DirBuilder, File},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::Path,
    sync::Arc,
    time::{Duration, SystemTime},
};

use airlock_domain::{SessionId, Uploaded};
use airlock_mounts::remove_tree;
use serde::{Deserialize, Serialize};

use super::transfer::{Outcome, Phase, Progress, Transfer, TransferKey, UploadKey};

/// The transfers of each session, by their names.
pub(super) type Kept = HashMap<SessionId, HashMap<[u8; 32], Arc<Transfer>>>;

const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Saved {
    /// The boot of the host. Bytes that were written in an earlier boot may be lost.
    boot: String,
    order: UploadKey,
    done: Option<Done>,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Done {
    received: u64,
    files: u64,
    directories: u64,
    links: u64,
    bytes: u64,
}

impl Saved {
    pub(super) fn new(order: UploadKey, done: Option<Uploaded>) -> io::Result<Self> {
        let done = done.map(|Uploaded { received, files, directories, links, bytes }| Done {
            received,
            files,
            directories,
            links,
            bytes,
        });
        Ok(Self { boot: boot()?, order, done })
    }

    /// Writes the file atomically.
    pub(super) fn write(&self, path: &Path) -> io::Result<()> {
        let next = path.with_extension("next");
        let mut file = File::options().write(true).create(true).truncate(true).mode(0o600).open(&next)?;
        file.write_all(&serde_json::to_vec(self)?)?;
        fs::rename(next, path)
    }
}

fn boot() -> io::Result<String> {
    Ok(fs::read_to_string(BOOT_ID)?.trim().to_owned())
}

/// Creates a directory that only the runner can enter.
pub(super) fn make_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Returns the transfers that can be resumed, and removes all other files in the directory.
pub(super) fn found(
    directory: &Path,
    trash: &str,
    keep: Duration,
    is_open: impl Fn(&SessionId) -> bool,
) -> io::Result<Kept> {
    let (boot, mut kept) = (boot()?, Kept::new());
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name == trash {
            continue;
        }
        let Some(session) = name.parse().ok().filter(&is_open) else {
            remove_tree(entry.path())?;
            continue;
        };
        let mut of_session = HashMap::new();
        for file in fs::read_dir(entry.path())? {
            let path = file?.path();
            if path.extension().is_none_or(|extension| extension != "order") {
                continue;
            }
            if let Some(transfer) = read(&path, &boot, keep) {
                of_session.insert(transfer.key, Arc::new(transfer));
            }
        }
        remove_others(&entry.path(), &of_session)?;
        kept.insert(session, of_session);
    }
    Ok(kept)
}

/// Reads a transfer. `None` if it is damaged, too old, or from an earlier boot.
fn read(path: &Path, boot: &str, keep: Duration) -> Option<Transfer> {
    let key = hex::decode(path.file_stem()?.to_str()?).ok()?.try_into().ok()?;
    let saved: Saved = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
    let bytes = fs::metadata(path.with_extension("bytes")).ok();
    let used = bytes.as_ref().and_then(|bytes| bytes.modified().ok());
    let used = used.max(fs::metadata(path).ok()?.modified().ok())?;
    let idle = SystemTime::now().duration_since(used).unwrap_or_default();
    if saved.boot != boot || idle >= keep {
        return None;
    }
    let (staged, phase) = match saved.done {
        Some(Done { received, files, directories, links, bytes }) => {
            let uploaded = Uploaded { received, files, directories, links, bytes };
            (received, Phase::Done(Outcome::Uploaded(uploaded)))
        }
        None => (bytes.map_or(0, |bytes| bytes.len()), Phase::Open),
    };
    let progress = Progress { staged, started: None, phase };
    Some(Transfer::found(path.parent()?, key, TransferKey::Upload(saved.order), progress, idle))
}

fn remove_others(directory: &Path, kept: &HashMap<[u8; 32], Arc<Transfer>>) -> io::Result<()> {
    for file in fs::read_dir(directory)? {
        let path = file?.path();
        let of =
            kept.values().find(|transfer| transfer.order_path() == path || transfer.bytes_path() == path);
        let wanted = of.is_some_and(|transfer| path == transfer.order_path() || transfer.staged() > 0);
        if !wanted {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}
