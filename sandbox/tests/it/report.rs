//! Tests of the report: each omitted layer is reported as missing, and no other layer is.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use airlock_sandbox::{CapabilityReport, CgroupConfig, Check, Config, LAYERS, Launcher, State, UidIsolation};

use crate::support::{BWRAP, Host};

impl Host {
    fn report(&self) -> CapabilityReport {
        let scratch = self.directory.path().join("scratch");
        fs::create_dir_all(&scratch).unwrap();
        let report = self.launcher.report(&self.profile, &scratch, self.ids());
        assert_eq!(fs::read_dir(&scratch).unwrap().count(), 0, "nothing stays");
        report
    }

    /// Replaces bubblewrap by a script that changes its arguments, a bash array, and then executes it.
    fn that_changes(mut self, change: &str) -> Self {
        let path = self.directory.path().join("bwrap");
        let text = format!(
            "#!/bin/bash\ncase $1 in --help|--version) exec {BWRAP} $1;; esac\n\
             fd=$6; mapfile -d '' -t args <&$fd; exec {{fd}}<&-\n{change}\nexec {BWRAP} $1 $2 $3 $4 \"${{args[@]}}\" \"${{@:7}}\"\n"
        );
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
        self.launcher = Launcher::new(Config {
            bwrap: path,
            state: self.directory.path().join("changed"),
            uid_isolation: UidIsolation::detect(),
            cgroup: CgroupConfig::default(),
        })
        .unwrap();
        self
    }
}

/// Returns a script that removes words from the arguments.
fn without(words: &str) -> String {
    let count = words.split(' ').count();
    format!(
        "for i in \"${{!args[@]}}\"; do [[ ${{args[*]:i:{count}}} == '{words}' ]] && \
         {{ args=(\"${{args[@]:0:i}}\" \"${{args[@]:i+{count}}}\"); break; }}; done"
    )
}

/// Returns a script that replaces words in the arguments.
fn instead(words: &str, others: &str) -> String {
    let count = words.split(' ').count();
    format!(
        "for i in \"${{!args[@]}}\"; do [[ ${{args[*]:i:{count}}} == '{words}' ]] && \
         {{ args=(\"${{args[@]:0:i}}\" {others} \"${{args[@]:i+{count}}}\"); break; }}; done"
    )
}

fn missing(report: &CapabilityReport) -> Vec<&'static str> {
    let floor = |name: &str| LAYERS.iter().any(|layer| layer.name == name && layer.floor);
    let missing = report.checks.iter().filter(|check| !check.is_enforced()).map(|check| check.name);
    missing.filter(|name| floor(name)).collect()
}

#[test]
fn on_this_host_every_layer_of_the_floor_is_seen_to_hold() {
    let report = Host::new().report();
    assert_eq!(missing(&report), Vec::<&str>::new(), "{report:#?}");
    let holds = |check: &Check| check.name == "uid_isolation" && check.is_enforced();
    assert!(report.checks.iter().any(holds), "{report:#?}");
    for check in &report.checks {
        let told = !check.seen.is_empty() && (check.state == State::Ok || !check.lost.is_empty());
        assert!(told, "{check:?}");
    }
}

/// Checks which layers are reported as missing if bubblewrap's arguments are changed this way.
#[track_caller]
fn found(change: &str, expected: &[&str]) {
    let report = Host::new().that_changes(change).report();
    let seen = report.checks.iter().filter(|check| check.state != State::Ok);
    let seen: Vec<String> = seen.map(|check| format!("{}: {}", check.name, check.seen)).collect();
    let mut found = missing(&report);
    // Landlock, if active, prevents some attempts that pass the removed layer.
    found.retain(|name| expected.contains(name) || !["read_only", "escapes"].contains(name));
    assert_eq!(found, expected, "{change}: {seen:#?}");
}

#[test]
fn arguments_that_are_not_changed_change_nothing() {
    found("", &[]);
}

#[test]
fn kept_capabilities_are_found() {
    found(&instead("--cap-drop ALL", "--cap-add ALL"), &["capabilities"]);
}

#[test]
fn the_hosts_proc_is_found() {
    found(&instead("--proc /proc", "--ro-bind /proc /proc"), &["fresh_proc"]);
}

#[test]
fn the_hosts_process_numbers_are_found() {
    // The outer pid namespace still exists.
    found(&format!("{}; {}", without("--unshare-pid"), without("--as-pid-1")), &["fresh_proc"]);
}

#[test]
fn a_namespace_that_is_the_hosts_is_found() {
    found(&without("--unshare-ipc"), &["namespaces"]);
    found(&without("--unshare-cgroup"), &["namespaces"]);
}

#[test]
fn the_hosts_network_is_found() {
    found(&without("--unshare-net"), &["empty_net"]);
}

#[test]
fn a_file_of_the_host_is_found() {
    let bind = "--ro-bind /etc/passwd /etc/shadow --remount-ro /";
    found(&instead("--remount-ro /", bind), &["escapes"]);
}

#[test]
fn a_workspace_that_is_not_the_sessions_is_found() {
    found("args+=(--perms 0777 --tmpfs /workspace)", &["host_uid"]);
}
