//! The floor as a table: a grant within it, and each way of asking for more.

use std::{collections::BTreeMap, time::Duration};

use airlock_proto::domain::{Decided, Protect, SandboxLimits, SessionId, Shell, Sockets};

use super::*;

pub(crate) fn grant() -> Grant {
    Grant {
        session_id: SessionId::new(),
        command: b"true".to_vec(),
        shell: Shell::Bash,
        directory: b"/workspace".to_vec(),
        env: BTreeMap::new(),
        profile: SandboxProfile {
            rootfs: None,
            paths: PathRules::default(),
            protect: Protect::default(),
            sockets: Sockets::default(),
            pass_env: Vec::new(),
            name: "strict".to_owned(),
            root_binds: Vec::new(),
            network: NetworkMode::Loopback,
            env: BTreeMap::new(),
            path: "/usr/bin:/bin".to_owned(),
            allowed_env: Vec::new(),
            limits: SandboxLimits::default(),
        },
        read_only: false,
        requires: Vec::new(),
        separate_stderr: false,
        timeout: Duration::from_secs(120),
        keep_directory: true,
        unsandboxed: false,
        snapshot_digest: Vec::new(),
        stdin: false,
        decided: Decided::default(),
    }
}

fn bind(source: &str, target: &str) -> Bind {
    Bind { source: source.to_owned(), target: target.to_owned() }
}

/// The reason of the refusal of a changed grant.
fn refused(allowed: &FloorConfig, change: impl FnOnce(&mut Grant)) -> &'static str {
    let mut grant = grant();
    change(&mut grant);
    check(&grant, allowed).unwrap_err().reason
}

#[test]
fn what_is_within_passes() {
    assert_eq!(check(&grant(), &FloorConfig::default()), Ok(()));
    let requires = vec![Requirement::ReadOnlyMount, Requirement::TrustedPath];
    let read_only = Grant { read_only: true, requires, ..grant() };
    assert_eq!(check(&read_only, &FloorConfig::default()), Ok(()));
}

#[test]
fn more_than_the_floor_is_refused_limit_by_limit() {
    let floor =
        FloorConfig { max_memory_bytes: Some(1 << 30), max_cpu_millis: Some(1000), ..FloorConfig::default() };
    let changes: [fn(&mut Grant); 11] = [
        |grant| grant.timeout = Duration::from_secs(3600 * 24),
        |grant| grant.profile.limits.grace = Duration::from_secs(600),
        |grant| grant.profile.limits.open_files = u32::MAX,
        |grant| grant.profile.limits.processes = u32::MAX,
        |grant| grant.profile.limits.file_size = u64::MAX,
        |grant| grant.profile.limits.output_bytes = u64::MAX,
        |grant| grant.profile.limits.private_tmp_bytes = u64::MAX,
        |grant| grant.profile.limits.memory_bytes = Some(u64::MAX),
        |grant| grant.profile.limits.cpu_millis = Some(u64::MAX),
        |grant| grant.profile.sockets.allowed_unix = vec!["/run/x.sock".to_owned()],
        |grant| grant.profile.root_binds.push(bind("/etc/shadow", "/usr/share/x")),
    ];
    for change in changes {
        assert_eq!(refused(&floor, change), "floor");
    }
    let no_network = FloorConfig { networks: Vec::new(), ..FloorConfig::default() };
    assert_eq!(refused(&no_network, |_| {}), "floor");
}

#[test]
fn a_bind_is_held_against_what_its_source_really_is() {
    let dir = tempfile::tempdir().unwrap();
    let root = fs::canonicalize(dir.path()).unwrap();
    let shown = root.join("shown");
    fs::create_dir_all(shown.join("sub")).unwrap();
    fs::create_dir(root.join("shown-not")).unwrap();
    std::os::unix::fs::symlink("/etc", shown.join("link")).unwrap();
    std::os::unix::fs::symlink(&shown, root.join("alias")).unwrap();
    let allowed = FloorConfig { bind_sources: vec![root.join("alias")], ..FloorConfig::default() };
    let with = |source: PathBuf, target: &str| {
        let mut grant = grant();
        grant.profile.root_binds.push(bind(source.to_str().unwrap(), target));
        check(&grant, &allowed)
    };
    for good in ["shown", "shown/sub", "alias/sub"] {
        assert_eq!(with(root.join(good), "/opt/tools"), Ok(()), "{good}");
    }
    for bad in ["", "shown-not", "shown/link", "shown/../shown-not", "shown/missing"] {
        assert!(with(root.join(bad), "/opt/tools").is_err(), "{bad}");
    }
    for target in ["/", "/proc/sys", "/run/airlock/init", "/workspace", "/etc", "relative", "/opt/../proc"] {
        assert!(with(shown.clone(), target).is_err(), "{target}");
    }
}

#[test]
fn malformed_grants_are_refused() {
    let floor = FloorConfig::default();
    assert_eq!(
        refused(&floor, |grant| grant.command = vec![b'x'; contract::COMMAND_BYTES + 1]),
        "malformed_grant"
    );
    assert_eq!(refused(&floor, |grant| grant.command = b"a\0b".to_vec()), "malformed_grant");
    assert_eq!(refused(&floor, |grant| grant.directory = vec![b'/'; 5000]), "malformed_grant");
    let many = |grant: &mut Grant| {
        grant.env = (0..300).map(|index| (format!("V{index}"), Vec::new())).collect();
    };
    assert_eq!(refused(&floor, many), "malformed_grant");
    assert_eq!(refused(&floor, |grant| grant.snapshot_digest = vec![1; 32]), "no_snapshot");
    let mut bad = grant().profile;
    bad.env.insert("X".to_owned(), vec![0xff]);
    assert_eq!(profile(&sandbox::Profile::minimal(), &bad).unwrap_err().reason, "malformed_grant");
}

#[test]
fn read_only_mounts_are_given_or_refused() {
    let floor = FloorConfig::default();
    assert_eq!(refused(&floor, |grant| grant.requires = vec![Requirement::ReadOnlyMount]), "read_only_mount");
}

#[test]
fn outside_the_sandbox_takes_the_configuration_and_a_user_that_is_not_the_runners() {
    let outside = |unsandboxed, isolation| {
        Outside::of(&FloorConfig { unsandboxed, ..FloorConfig::default() }, isolation)
    };
    let asks = Grant { unsandboxed: true, ..grant() };
    for unsandboxed in [false, true] {
        for isolation in [sandbox::UidIsolation::None, sandbox::UidIsolation::PerSession] {
            let key = outside(unsandboxed, isolation);
            let turned = unsandboxed && isolation == sandbox::UidIsolation::PerSession;
            assert_eq!(key.is_open(), turned, "{key:?}");
            assert_eq!(
                key.check(&asks).map_err(|refusal| refusal.reason),
                if turned { Ok(()) } else { Err("floor") }
            );
            assert_eq!(key.check(&grant()), Ok(()), "what is sandboxed needs no key");
        }
    }
    let user = outside(true, sandbox::UidIsolation::None).check(&asks).unwrap_err().message;
    assert!(user.contains("the runner's own user"), "{user}");
    let open = outside(true, sandbox::UidIsolation::PerSession);
    let read_only = Grant { read_only: true, ..asks.clone() };
    let requires = Grant { requires: vec![Requirement::TrustedPath], ..asks };
    for grant in [read_only, requires] {
        assert_eq!(open.check(&grant).unwrap_err().reason, "read_only_mount");
    }
}
