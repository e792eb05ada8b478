//! Builds the Landlock rules of a command: the paths that it may write, and whether it may use TCP.
//!
//! Pure. Must allow every path that the mounts leave writable on purpose. Landlock is a second layer after the mounts.
//! Only the mounts enforce masks on a part of a directory.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use airlock_init::wire::Access;

use crate::mask::{Mask, MaskKind, SessionDirectory};
use crate::spec::{Network, Shape};

/// The devices of bubblewrap's `/dev`, and its terminals.
const DEVICES: [&str; 8] = [
    "/dev/full",
    "/dev/null",
    "/dev/ptmx",
    "/dev/pts",
    "/dev/random",
    "/dev/tty",
    "/dev/urandom",
    "/dev/zero",
];

/// Returns the access of a command with this shape.
pub(crate) fn access(shape: Shape, masks: &[Mask]) -> Access {
    let mut directories = vec![PathBuf::from("/dev/shm")];
    if shape.read_only {
        directories.push("/var/tmp".into());
    } else {
        directories.extend(session_directories(masks));
    }
    Access {
        directories: directories.iter().map(|path| path.as_os_str().as_bytes().to_vec()).collect(),
        files: DEVICES.into_iter().map(|path| path.as_bytes().to_vec()).collect(),
        tcp: match shape.network {
            Network::SessionLoopback => true,
            Network::Empty => false,
        },
    }
}

/// Returns the session's directories that are not masked as a whole. For masked ones, returns the writable or visible
/// paths within them.
fn session_directories(masks: &[Mask]) -> Vec<PathBuf> {
    let open = SessionDirectory::ALL.into_iter().filter(|directory| {
        let whole =
            masks.iter().filter(|mask| mask.directory == *directory && mask.path.as_os_str().is_empty());
        let (hidden, read_only) = whole.fold((false, false), |(hidden, read_only), mask| match &mask.kind {
            MaskKind::Hidden => (true, read_only),
            MaskKind::Shown => (false, read_only),
            MaskKind::ReadOnly | MaskKind::Empty | MaskKind::Content(_) => (hidden, true),
            MaskKind::Writable => (hidden, false),
            MaskKind::Kept => (hidden, read_only),
        });
        !hidden && !read_only
    });
    let again = masks.iter().filter(|mask| matches!(mask.kind, MaskKind::Writable | MaskKind::Shown));
    let again = again.map(|mask| Path::new(mask.directory.inside()).join(&mask.path));
    open.map(|directory| PathBuf::from(directory.inside())).chain(again).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directories(read_only: bool, masks: &[(SessionDirectory, &str, MaskKind)]) -> Vec<String> {
        let masks: Vec<_> = masks
            .iter()
            .map(|(directory, path, kind)| Mask {
                directory: *directory,
                path: path.into(),
                kind: kind.clone(),
            })
            .collect();
        let shape = Shape { read_only, network: Network::Empty };
        let directories = access(shape, &masks).directories;
        directories.into_iter().map(|path| String::from_utf8(path).unwrap()).collect()
    }

    #[test]
    fn a_session_writes_its_folders_and_a_read_only_command_its_private_ones() {
        assert_eq!(directories(false, &[]), ["/dev/shm", "/workspace", "/home/agent", "/tmp"]);
        assert_eq!(directories(true, &[]), ["/dev/shm", "/var/tmp"]);
        let masks = [(SessionDirectory::Workspace, "out", MaskKind::Writable)];
        assert_eq!(
            directories(true, &masks),
            ["/dev/shm", "/var/tmp"],
            "no mask makes a read-only command writable"
        );
    }

    #[test]
    fn what_is_masked_as_a_whole_is_left_out_and_what_is_open_in_it_is_not() {
        use MaskKind::{Hidden, ReadOnly, Shown, Writable};
        use SessionDirectory::{Home, Tmp, Workspace};
        let masks = [
            (Workspace, "", ReadOnly),
            (Workspace, "out", Writable),
            (Home, "", Hidden),
            (Home, ".cache", Shown),
            (Tmp, "locked", ReadOnly),
        ];
        assert_eq!(directories(false, &masks), ["/dev/shm", "/tmp", "/workspace/out", "/home/agent/.cache"]);
        let undone = [(Workspace, "", ReadOnly), (Workspace, "", Writable)];
        assert!(directories(false, &undone).contains(&"/workspace".to_owned()));
    }

    #[test]
    fn tcp_is_for_a_network_that_is_shared() {
        for (network, tcp) in [(Network::SessionLoopback, true), (Network::Empty, false)] {
            assert_eq!(access(Shape { read_only: false, network }, &[]).tcp, tcp);
        }
    }
}
