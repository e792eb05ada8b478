//! Tests of the floor: a grant within it, and each way to exceed it.

use std::{collections::BTreeMap, fs, path::PathBuf, time::Duration};

use airlock_domain::{
    CommandSpec, ConnectionQuestions, Decided, Inspection, Protect, Pty, SandboxLimits, SessionId, Sockets,
    TerminalSize,
};
use airlock_sandbox::LaunchSpec;

use super::*;

pub(crate) fn grant() -> Grant {
    Grant {
        session_id: SessionId::new(),
        command: CommandSpec {
            text: b"true".to_vec(),
            directory: b"/workspace".to_vec(),
            timeout: Duration::from_secs(120),
            inline_limit: 30_000,
            ..CommandSpec::default()
        },
        profile: SandboxProfile {
            rootfs: None,
            paths: PathRules::default(),
            protect: Protect::default(),
            sockets: Sockets::default(),
            pass_env: Vec::new(),
            secrets: Vec::new(),
            shell_init: String::new(),
            shell_prefix: Vec::new(),
            inspection: Inspection::default(),
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
        keep_directory: true,
        unsandboxed: false,
        snapshot_digest: Vec::new(),
        decided: Decided::default(),
        egress: Vec::new(),
        questions: ConnectionQuestions::default(),
    }
}

fn bind(source: &str, target: &str) -> Bind {
    Bind { source: source.to_owned(), target: target.to_owned() }
}

/// Returns the reason for which a changed grant is refused.
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
fn every_limit_above_the_floor_is_refused() {
    let floor =
        FloorConfig { max_memory_bytes: Some(1 << 30), max_cpu_millis: Some(1000), ..FloorConfig::default() };
    let changes: [fn(&mut Grant); 11] = [
        |grant| grant.command.timeout = Duration::from_secs(3600 * 24),
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
fn nothing_of_the_runners_environment_is_passed_unless_the_runner_names_it() {
    let pass = |names: &[&str]| {
        let mut grant = grant();
        grant.profile.pass_env = names.iter().map(|name| (*name).to_owned()).collect();
        grant
    };
    let named = FloorConfig { pass_env: vec!["LANG".to_owned()], ..FloorConfig::default() };
    assert_eq!(check(&pass(&["LANG"]), &named), Ok(()));
    for names in [&["DATABASE_URL"][..], &["LANG", "DATABASE_URL"], &["lang"], &["LANG*"], &["*"]] {
        assert_eq!(check(&pass(names), &named).map_err(|refusal| refusal.reason), Err("floor"), "{names:?}");
    }
    let refusal = check(&pass(&["LANG"]), &FloorConfig::default()).unwrap_err();
    assert!(refusal.message.contains("`floor.pass_env`"), "{}", refusal.message);
}

#[test]
fn a_bind_is_checked_by_its_resolved_source() {
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
    for target in ["/home", "/home/agent", "/home/agent/x", "/tmp/x", "/var", "/var/tmp", "/var/tmp/x"] {
        assert!(with(shown.clone(), target).is_err(), "{target}");
    }
    for target in ["/home/dev/cache", "/home/agent2", "/var/cache/x", "/root/.cargo", "/srv"] {
        assert_eq!(with(shown.clone(), target), Ok(()), "{target}");
    }
}

fn config() -> RunnerConfig {
    RunnerConfig::new("runner", "/nonexistent/state", crate::config::ServerConfig::default())
}

#[test]
fn a_root_file_system_is_held_against_what_it_really_is() {
    let dir = tempfile::tempdir().unwrap();
    let root = fs::canonicalize(dir.path()).unwrap();
    for directory in ["roots/debian", "roots/mine/state", "other"] {
        fs::create_dir_all(root.join(directory)).unwrap();
    }
    fs::write(root.join("roots/key"), "").unwrap();
    for (target, link) in [("/", "roots/all"), ("../other", "roots/out"), ("debian", "roots/alias")] {
        std::os::unix::fs::symlink(target, root.join(link)).unwrap();
    }
    let mut config = config();
    let asked = |config: &RunnerConfig, directory: &Path| {
        let mut grant = grant();
        grant.profile.rootfs = Some(directory.to_str().unwrap().to_owned());
        check(&grant, &config.floor)?;
        profile(&sandbox::Profile::minimal(), &grant.profile, config)
    };
    let debian = root.join("roots/debian");
    assert!(
        asked(&config, &debian).unwrap_err().message.contains("`floor.rootfs`"),
        "by default, no root file system is permitted"
    );
    config.floor.rootfs = vec![root.join("roots")];
    for good in ["roots/debian", "roots/alias", "roots/mine"] {
        let given = asked(&config, &root.join(good)).unwrap();
        let real = fs::canonicalize(root.join(good)).unwrap();
        assert_eq!((given.root, given.binds), (sandbox::Root::Directory(real), Vec::new()), "{good}");
    }
    for bad in ["other", "roots/out", "roots/all", "roots/all/etc", "roots/none", "roots/../other", ""] {
        assert_eq!(asked(&config, &root.join(bad)).unwrap_err().reason, "floor", "{bad}");
    }
    // A root never contains the runner's own files, even if the configuration names a directory above them.
    config.state_dir = root.join("roots/mine/state");
    for bad in ["roots", "roots/mine", "roots/mine/state"] {
        assert!(asked(&config, &root.join(bad)).unwrap_err().message.contains("own"), "{bad}");
    }
    config.servers[0].key = Some(root.join("roots/alias/key"));
    assert!(asked(&config, &debian).is_ok(), "control: no key is in the directory");
    fs::write(debian.join("key"), "").unwrap();
    assert!(asked(&config, &debian).unwrap_err().message.contains("own"));
    config.floor.rootfs = vec!["/".into()];
    assert!(asked(&config, Path::new("/")).unwrap_err().message.contains("the host's own"));
}

#[test]
fn a_socket_is_one_that_the_configuration_names_letter_by_letter() {
    let sockets = |paths: &[&str], unix| Sockets {
        unix,
        allowed_unix: paths.iter().map(|path| (*path).to_owned()).collect(),
        ..Sockets::default()
    };
    let allowed = FloorConfig { unix_sockets: vec!["/run/db/a.sock".into()], ..FloorConfig::default() };
    let with = |sockets: Sockets| {
        let mut grant = grant();
        grant.profile.sockets = sockets;
        check(&grant, &allowed).map_err(|refusal| refusal.reason)
    };
    assert_eq!(with(sockets(&["/run/db/a.sock"], true)), Ok(()));
    for bad in ["/run/db", "/run/db/b.sock", "/run/db/../db/a.sock", "/run/db//a.sock", "run/db/a.sock", ""] {
        assert_eq!(with(sockets(&["/run/db/a.sock", bad], true)), Err("floor"), "{bad}");
    }
    assert_eq!(
        with(sockets(&["/run/db/a.sock"], false)),
        Err("floor"),
        "the profile does not permit Unix sockets"
    );
}

#[test]
fn a_bind_comes_from_where_its_source_really_is() {
    let dir = tempfile::tempdir().unwrap();
    let root = fs::canonicalize(dir.path()).unwrap();
    fs::create_dir(root.join("real")).unwrap();
    std::os::unix::fs::symlink("real", root.join("alias")).unwrap();
    let mut config = config();
    config.floor.bind_sources = vec![root.clone()];
    let mut asked = grant().profile;
    asked.root_binds.push(bind(root.join("alias").to_str().unwrap(), "/opt/tools"));
    let given = profile(&sandbox::Profile::default(), &asked, &config).unwrap();
    assert_eq!(given.binds, [sandbox::Bind { source: root.join("real"), target: "/opt/tools".into() }]);
}

#[test]
fn malformed_grants_are_refused() {
    let floor = FloorConfig::default();
    assert_eq!(
        refused(&floor, |grant| grant.command.text = vec![b'x'; contract::COMMAND_BYTES + 1]),
        "malformed_grant"
    );
    assert_eq!(refused(&floor, |grant| grant.command.text = b"a\0b".to_vec()), "malformed_grant");
    assert_eq!(refused(&floor, |grant| grant.command.directory = vec![b'/'; 5000]), "malformed_grant");
    let many = |grant: &mut Grant| {
        grant.command.env = (0..300).map(|index| (format!("V{index}"), Vec::new())).collect();
    };
    assert_eq!(refused(&floor, many), "malformed_grant");
    let snapshot_where_it_is_not_sourced: [fn(&mut Grant); 2] =
        [|grant| grant.read_only = true, |grant| grant.unsandboxed = true];
    for change in snapshot_where_it_is_not_sourced {
        let both = |grant: &mut Grant| {
            grant.snapshot_digest = vec![1; 32];
            change(grant);
        };
        assert_eq!(refused(&floor, both), "no_snapshot");
    }
    for prefix in [vec!["nice".to_owned()], vec!["/bin/a\0b".to_owned()], vec!["/bin/x".to_owned(); 17]] {
        assert_eq!(
            refused(&floor, |grant| grant.profile.shell_prefix.clone_from(&prefix)),
            "malformed_grant"
        );
    }
    let mut bad = grant().profile;
    bad.env.insert("X".to_owned(), vec![0xff]);
    let refused = profile(&sandbox::Profile::minimal(), &bad, &config()).unwrap_err();
    assert_eq!(refused.reason, "malformed_grant");
}

#[test]
fn a_read_only_command_gets_read_only_mounts_or_is_refused() {
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
            assert_eq!(key.check(&grant()), Ok(()), "a sandboxed command needs no key");
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

/// Each field that a grant's hash does not cover. A server gains no permission by changing it after the decision: the
/// floor limits it, or the same program starts in the same way.
#[test]
fn a_field_that_no_answer_is_bound_to_is_harmless() {
    let bound = Grant {
        command: CommandSpec {
            pty: Some(Pty { size: TerminalSize::DEFAULT, term: "xterm".to_owned() }),
            ..grant().command
        },
        ..grant()
    };
    let floor = FloorConfig::default();
    for field in Grant::UNBOUND {
        let mut changed = bound.clone();
        match field.field {
            "command.timeout" => {
                changed.command.timeout = floor.max_timeout + Duration::from_secs(1);
                assert_eq!(check(&changed, &floor).unwrap_err().reason, "floor");
                changed.command.timeout = floor.max_timeout;
            }
            // It can only end the command before `timeout` does: `Life::until_ended` waits for both.
            "command.idle_timeout" => changed.command.idle_timeout = Some(Duration::MAX),
            "command.inline_limit" => {
                changed.command.inline_limit = u32::MAX;
                assert_eq!(crate::inline::limit(u32::MAX), contract::INLINE_MAX);
            }
            "command.separate_stderr" => changed.command.separate_stderr = !bound.command.separate_stderr,
            "command.pty.term" => {
                changed.command.pty = Some(Pty { size: TerminalSize::DEFAULT, term: "dumb".to_owned() });
            }
            // The server decides the next command in the directory that it was told.
            "keep_directory" => changed.keep_directory = !bound.keep_directory,
            other => panic!("no test shows why `{other}` need not be bound"),
        }
        assert_ne!(changed, bound, "`{}` was changed", field.field);
        assert_eq!(check(&changed, &floor), Ok(()), "`{}` is within the floor", field.field);
        assert_eq!(launched(&changed), launched(&bound), "`{}` changes the launch", field.field);
    }
}

/// Returns the launch of a grant's command, without the number of its output streams.
fn launched(grant: &Grant) -> String {
    let launch = LaunchSpec { separate_stderr: false, ..LaunchSpec::of(&grant.command) };
    let Grant { profile, read_only, requires, unsandboxed, snapshot_digest, decided, command, .. } = grant;
    format!(
        "{launch:?} {:?} {profile:?} {read_only} {requires:?} {unsandboxed} {snapshot_digest:?} {decided:?}",
        command.env
    )
}
