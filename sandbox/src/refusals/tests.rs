//! Tests of the layer that refuses a path, for every layer and for paths that no layer refuses.

use super::PathError::{Busy, PermissionDenied, ReadOnly};
use super::*;
use crate::spec::Network;

const LANDLOCK: Landlock = Landlock { abi: 7, tcp_denied: false };

fn refusals(read_only: bool, masks: Vec<(MaskOrigin, Mask)>) -> Refusals {
    let profile = Profile {
        covers: vec![
            RootCover::Directory { path: "/usr/share/secret".into(), around: true },
            RootCover::Again(crate::Bind { source: "/x".into(), target: "/usr/share/secret/open".into() }),
            RootCover::File { path: "/etc/key".into() },
        ],
        ..Profile::default()
    };
    Refusals::new(&profile, Shape { read_only, network: Network::Empty }, masks, LANDLOCK)
}

fn mask(path: &str, kind: MaskKind) -> (MaskOrigin, Mask) {
    let directory = SessionDirectory::Workspace;
    (MaskOrigin::PathRules, Mask { directory, path: path.into(), kind })
}

#[track_caller]
fn assert_found(refusals: &Refusals, path: &str, error: PathError, wanted: Option<(&str, &str)>) {
    let found = refusals.find(Path::new("/workspace/src"), Path::new(path), error);
    match (found, wanted) {
        (None, None) => {}
        (Some(found), Some((layer, part))) => {
            assert_eq!(found.layer, layer, "{path}");
            assert!(found.rule.contains(part), "{path}: {}", found.rule);
        }
        (found, wanted) => panic!("{path} {error:?}: {found:?}, not {wanted:?}"),
    }
}

#[test]
fn a_command_that_writes_is_refused_masked_paths_and_the_root() {
    use MaskKind::{Hidden, Kept, ReadOnly as Protected, Shown};
    let mut masks = vec![
        mask("deep/secret/open", Shown),
        mask("deep", Kept),
        mask("deep/secret", Hidden),
        mask("locked", Protected),
    ];
    let name = Mask { directory: SessionDirectory::Workspace, path: ".mcp.json".into(), kind: Protected };
    masks.push((MaskOrigin::ProtectedNames, name));
    let it = refusals(false, masks);
    assert_found(&it, "../deep/secret/a", PermissionDenied, Some(("masks", "deny_read")));
    assert_found(&it, "/workspace/deep/secret", ReadOnly, Some(("masks", "deny_read")));
    assert_found(&it, "/workspace/deep/secret/open/a", PermissionDenied, None);
    assert_found(&it, "/workspace/deep", Busy, Some(("masks", "below")));
    assert_found(&it, "/workspace/deep/secret", Busy, Some(("masks", "path rule")));
    assert_found(&it, "/workspace/locked/./a", ReadOnly, Some(("masks", "path rule")));
    assert_found(&it, "/workspace/.mcp.json", ReadOnly, Some(("masks", "protected name")));
    assert_found(&it, "/usr/new", ReadOnly, Some(("mounts", "outside")));
    assert_found(&it, "/proc/sys/kernel/hostname", ReadOnly, Some(("mounts", "kernel")));
    assert_found(&it, "/usr/share/secret/a", PermissionDenied, Some(("masks", "deny_read")));
    assert_found(&it, "/usr/share/secret/open/a", PermissionDenied, None);
    assert_found(&it, "/etc/key", PermissionDenied, Some(("masks", "deny_read")));
    assert_found(&it, "/run/airlock/run/command", PermissionDenied, Some(("landlock", "Landlock")));
    assert_found(&it, "/proc/self/oom_score_adj", PermissionDenied, Some(("landlock", "Landlock")));
    for path in ["own", "/tmp/a", "/var/tmp/a", "/home/agent/a", "/workspace/locked2", "/dev/shm/a"] {
        for error in [PermissionDenied, ReadOnly, Busy] {
            assert_found(&it, path, error, None);
        }
    }
    assert_found(&it, "/proc/1/environ", PermissionDenied, None);
    assert_found(&it, "/root", PermissionDenied, None);
}

#[test]
fn a_read_only_command_is_refused_writing_everywhere_but_in_its_private_directory() {
    let it = refusals(true, vec![mask("secret", MaskKind::Hidden)]);
    for path in ["a", "/workspace", "/home/agent/.x", "/tmp/x"] {
        assert_found(&it, path, ReadOnly, Some(("mounts", "read-only")));
        assert_found(&it, path, PermissionDenied, None);
    }
    assert_found(&it, "/workspace/secret/a", PermissionDenied, Some(("masks", "deny_read")));
    assert_found(&it, "/var/tmp/x", ReadOnly, None);
    assert_found(&it, "/var/tmp/x", PermissionDenied, None);
}

#[test]
fn a_directory_with_a_list_of_writable_paths_names_the_list() {
    let it = refusals(false, vec![mask("", MaskKind::ReadOnly), mask("out", MaskKind::Writable)]);
    assert_found(&it, "/workspace/a", ReadOnly, Some(("masks", "allow_write")));
    assert_found(&it, "/workspace/out/a", ReadOnly, None);
}

#[test]
fn without_landlock_no_path_is_refused_by_it() {
    let none = Landlock { abi: 0, tcp_denied: false };
    let shape = Shape { read_only: false, network: Network::Empty };
    let it = Refusals::new(&Profile::default(), shape, Vec::new(), none);
    assert_found(&it, "/run/airlock/run/command", PermissionDenied, None);
}
