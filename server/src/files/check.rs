//! The check of a runner's description of a file.

use airlock_domain::{FileInfo, limits::PATH_BYTES};

/// Reports whether the runner's description of a file is valid.
pub(super) fn can_be(info: &FileInfo) -> bool {
    let is_path = info.path.starts_with(b"/") && info.path.len() <= PATH_BYTES && !info.path.contains(&0);
    is_path && info.link_target.len() <= PATH_BYTES
}
