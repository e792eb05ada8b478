//! Tests of path rules, from globs to the paths that a command cannot read or write.

use std::os::unix::fs::symlink;
use std::{fs, os::unix::fs::PermissionsExt};

use airlock_sandbox::{LaunchSpec, MAX_MASKS, PathRuleError, PathRules, Resolved, RuleScope, Session};

use crate::support::{Host, Output, PROBE};

const FILES: &str = "mkdir -p secrets/public src/gen out deep/er; for f in .env deep/er/.env secrets/key \
                     secrets/public/cert src/main src/gen/x out/log ~/.netrc /tmp/token; do echo $f > $f; done; \
                     cp ~/.netrc /tmp/netrc";

fn list(rules: &[&str]) -> Vec<String> {
    rules.iter().map(|rule| (*rule).to_owned()).collect()
}

fn resolved(host: &Host, session: &Session, rules: &PathRules) -> Result<Resolved, PathRuleError> {
    match RuleScope::open(rules, &session.directories, &host.profile)? {
        Some(scope) => scope.resolve(),
        None => Ok(Resolved::default()),
    }
}

/// Runs one command under rules.
fn run(host: &mut Host, session: &Session, rules: &PathRules, spec: LaunchSpec) -> Output {
    let Resolved { masks, covers } = resolved(host, session, rules).unwrap();
    host.profile.covers = covers;
    let output = host.run(session, &LaunchSpec { masks, ..spec });
    host.profile.covers = Vec::new();
    output
}

fn session(host: &Host) -> Session {
    let session = host.session();
    host.run(&session, &host.spec(FILES));
    session
}

#[test]
fn denied_paths_are_hidden_except_allowed_ones() {
    let mut host = Host::new();
    let session = session(&host);
    let rules = PathRules {
        deny_read: list(&[".env", "secrets/**", "~/.netrc", "/tmp/token"]),
        allow_read: list(&["secrets/public"]),
        ..PathRules::default()
    };
    let all = "cat .env deep/er/.env secrets/key secrets/public/cert src/main ~/.netrc /tmp/token 2>/dev/null; true";
    let spec = host.spec(all);
    assert_eq!(run(&mut host, &session, &rules, spec.clone()).stdout, "secrets/public/cert\nsrc/main\n");
    assert_eq!(
        run(&mut host, &session, &PathRules::default(), spec).stdout.lines().count(),
        7,
        "the control"
    );
}

#[test]
fn only_what_may_be_written_can_be() {
    let mut host = Host::new();
    let session = session(&host);
    let rules = PathRules {
        allow_write: Some(list(&["out", "src", "/tmp"])),
        deny_write: list(&["src/gen"]),
        ..PathRules::default()
    };
    for (path, writable) in [
        ("/workspace", false),
        ("/workspace/secrets", false),
        ("/home/agent", false),
        ("/workspace/src/gen", false),
        ("/workspace/out", true),
        ("/workspace/src", true),
        ("/tmp", true),
    ] {
        let spec = host.spec(format!("{PROBE} write {path}"));
        let found = run(&mut host, &session, &rules, spec.clone()).stdout;
        assert_eq!(found.contains("\"reached\":true,\"ways\""), writable, "{path}: {found}");
        host.probe_in(&session, &spec).assert_reached();
    }
}

#[test]
fn a_rule_that_names_a_link_or_goes_through_one_takes_what_it_leads_to() {
    let mut host = Host::new();
    let session = session(&host);
    host.run(
        &session,
        &host.spec(
            "ln -s secrets/key link; ln -s /workspace/secrets folder; ln -s ../../tmp/token away; \
                                   ln -s a b; ln -s b a; ln -s nowhere dangling",
        ),
    );
    for (rule, path) in [
        ("link", "secrets/key"),
        ("folder", "secrets/key"),
        ("folder/key", "secrets/key"),
        ("away", "/tmp/token"),
    ] {
        let rules = PathRules { deny_read: list(&[rule]), ..PathRules::default() };
        let spec = host.spec(format!("cat {path} 2>/dev/null; cat src/main"));
        assert_eq!(run(&mut host, &session, &rules, spec).stdout, "src/main\n", "{rule}");
    }
    let endless = PathRules { deny_read: list(&["a"]), ..PathRules::default() };
    let error = resolved(&host, &session, &endless).unwrap_err();
    assert_eq!(error.to_string(), "path rules: resolving `/workspace/a` follows more than 40 links");
    let dangling = PathRules { deny_read: list(&["dangling"]), ..PathRules::default() };
    assert_eq!(resolved(&host, &session, &dangling).unwrap(), Resolved::default());
    // A link does not widen an allow rule.
    let rules = PathRules {
        deny_read: list(&["secrets"]),
        allow_read: list(&["link", "folder"]),
        ..PathRules::default()
    };
    let spec = host.spec("cat link folder/key secrets/key 2>/dev/null; true");
    assert_eq!(run(&mut host, &session, &rules, spec).stdout, "");
}

#[test]
fn a_link_leads_to_nothing_of_the_host() {
    let host = Host::new();
    let session = session(&host);
    let outside = host.directory.path().join("outside");
    fs::write(&outside, "").unwrap();
    symlink(&outside, session.directories.workspace.join("link")).unwrap();
    symlink("../../../../../../../../etc/passwd", session.directories.workspace.join("up")).unwrap();
    let rules = PathRules {
        deny_read: list(&["link", "up"]),
        deny_write: list(&["link", "up"]),
        ..PathRules::default()
    };
    assert_eq!(resolved(&host, &session, &rules).unwrap(), Resolved::default());
}

#[test]
fn no_command_moves_a_name_out_of_its_rules_way() {
    let mut host = Host::new();
    let session = session(&host);
    let rules = PathRules { deny_read: list(&["deep/er/.env"]), ..PathRules::default() };
    let spec = host
        .spec("mv deep other; mv deep/er other; rm -rf deep; cat deep/er/.env other/er/.env other/.env; ls");
    let output = run(&mut host, &session, &rules, spec);
    assert!(!output.stdout.contains("deep/er/.env\n"), "{}", output.stdout);
    let spec =
        host.spec("cat deep/er/.env other/er/.env 2>/dev/null; echo more > deep/er/file; cat deep/er/file");
    assert_eq!(run(&mut host, &session, &rules, spec).stdout, "more\n");
    let control = host.run(&session, &host.spec("mv deep third && cat third/er/.env"));
    assert_eq!(control.stdout, "deep/er/.env\n");
}

#[test]
fn a_folder_that_cannot_be_looked_into_is_covered_whole() {
    let host = Host::new();
    let session = session(&host);
    host.run(&session, &host.spec("chmod 0 deep"));
    let ids = session.ids.unwrap();
    let rules = PathRules { deny_read: list(&[".env"]), ..PathRules::default() };
    let scope = RuleScope::open(&rules, &session.directories, &host.profile).unwrap().unwrap();
    // A thread with the rights of the session's user, as in the runner.
    let resolved = std::thread::spawn(move || {
        nix::unistd::setfsgid(ids.gid.into());
        nix::unistd::setfsuid(ids.uid.into());
        scope.resolve()
    });
    let masks = resolved.join().unwrap().unwrap().masks;
    let spec = LaunchSpec { masks, ..host.spec("chmod 700 deep; cat .env deep/er/.env; cat src/main") };
    assert!(host.run(&session, &spec).stdout.ends_with("Permission denied\nsrc/main\n"));
    let control = host.run(&session, &host.spec("chmod 700 deep; cat deep/er/.env"));
    assert_eq!(control.stdout, "deep/er/.env\n");
}

#[test]
fn parts_of_the_root_can_be_hidden() {
    let mut host = Host::new();
    let session = session(&host);
    let directory = host.directory.path().join("tools");
    fs::create_dir_all(directory.join("private/shown")).unwrap();
    for name in ["private/key", "private/shown/doc", "a.key", "b.txt"] {
        fs::write(directory.join(name), name).unwrap();
    }
    for path in [host.directory.path(), &directory] {
        fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
    }
    host.profile = host.profile.clone().with_bind(&directory, "/opt/tools");
    let rules = PathRules {
        deny_read: list(&["/opt/tools/private", "//opt/tools/*.key", "/etc/ssl", "/bin/gzip"]),
        allow_read: list(&["/opt/tools/private/shown"]),
        ..PathRules::default()
    };
    let look = "cat /opt/tools/private/key /opt/tools/a.key /opt/tools/b.txt /opt/tools/private/shown/doc; \
                chmod 777 /opt/tools/private /opt/tools/a.key; ls /etc/ssl /opt/tools/private | wc -l; \
                cat /usr/bin/gzip | wc -c";
    let spec = host.spec(format!("{{ {look}; }} 2>/dev/null"));
    let hidden = run(&mut host, &session, &rules, spec.clone()).stdout;
    assert_eq!(hidden, "b.txtprivate/shown/doc0\n0\n");
    let shown = host.run(&session, &spec).stdout;
    assert!(shown.starts_with("private/keya.keyb.txtprivate/shown/doc"), "{shown}");
    assert!(!shown.ends_with("0\n0\n"), "{shown}");
}

#[test]
fn more_than_can_be_masked_is_refused_by_name_of_the_limit() {
    let host = Host::new();
    let session = session(&host);
    for i in 0..=MAX_MASKS {
        fs::write(session.directories.workspace.join(format!("{i}.key")), "").unwrap();
    }
    let rules = PathRules { deny_read: list(&["*.key"]), ..PathRules::default() };
    let error = resolved(&host, &session, &rules).unwrap_err();
    assert_eq!(
        error.to_string(),
        "path rules: more than 4096 files and directories match; name their parent directories"
    );
    let deep = session.directories.workspace.join("d/".repeat(220));
    fs::create_dir_all(deep).unwrap();
    let error =
        resolved(&host, &session, &PathRules { deny_read: list(&["d/**/x"]), ..PathRules::default() });
    assert!(
        error.unwrap_err().to_string().starts_with("path rules: directories are nested deeper than 200 at ")
    );
}
