//! What this host can enforce: bubblewrap, user namespaces, and every layer as it is seen from inside a
//! sandbox that is really started.

use std::{
    fs,
    path::{Path, PathBuf},
};

use airlock_sandbox::{CgroupConfig, Config, HostIds, LaunchError, Launcher, Profile, UidIsolation};

use super::Finding;

/// Layers without which a sandbox is still one.
const OPTIONAL: [&str; 11] = [
    "uid_isolation",
    "seccomp",
    "landlock",
    "cgroup",
    "memory",
    "swap",
    "pids",
    "cpu",
    "io",
    "disk_quota",
    "protected_names",
];

/// How to look at a host.
#[derive(Debug, Clone)]
pub struct Probe {
    /// bubblewrap, as an absolute path.
    pub bwrap: PathBuf,
    /// A folder of the caller's own, in which nothing stays.
    pub scratch: PathBuf,
    /// A host uid, and gid of the same number, that nothing else runs under; used only by root.
    pub uid: Option<u32>,
}

/// Starts two sandboxes and says what holds. Blocks for some tens of milliseconds.
#[must_use]
pub fn host(probe: &Probe) -> Vec<Finding> {
    let mut found = vec![kernel(), namespaces()];
    let isolation = UidIsolation::detect();
    let launcher = Launcher::new(Config {
        bwrap: probe.bwrap.clone(),
        state: probe.scratch.join("launcher"),
        uid_isolation: isolation,
        cgroup: CgroupConfig::default(),
    });
    let launcher = match launcher {
        Ok(launcher) => launcher,
        Err(error) => {
            found.push(unusable(&error));
            return found;
        }
    };
    found.push(Finding::ok(
        "bubblewrap",
        format!("{} at {}", launcher.bwrap_version(), probe.bwrap.display()),
    ));
    let ids = match isolation {
        UidIsolation::PerSession => probe.uid.map(|uid| HostIds { uid, gid: uid }),
        UidIsolation::None => None,
    };
    let sessions = probe.scratch.join("sessions");
    if let Err(error) = fs::create_dir_all(&sessions) {
        let what = format!("no folder can be made in {}: {error}", probe.scratch.display());
        found.push(Finding::failed("sandbox", what, "name another folder for temporary files with TMPDIR"));
        return found;
    }
    let report = launcher.report(&Profile::minimal(), &sessions, ids);
    found.extend(report.checks.iter().map(|check| Finding::of(check, !OPTIONAL.contains(&check.name))));
    found
}

fn unusable(error: &LaunchError) -> Finding {
    let cure = error.hint().unwrap_or("see the message; nothing can run on this host before");
    Finding::failed("bubblewrap", error.to_string(), cure)
}

fn kernel() -> Finding {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let lsm = fs::read_to_string("/sys/kernel/security/lsm").unwrap_or_default();
    let has =
        |name: &str, there: bool| format!("{name} {}", if there { "is there" } else { "was not found" });
    let facts = [
        has("cgroup v2", Path::new("/sys/fs/cgroup/cgroup.controllers").exists()),
        has("Landlock", lsm.split(',').any(|name| name.trim() == "landlock")),
    ];
    Finding::ok("kernel", format!("{}; {}", release.trim(), facts.join(", ")))
}

fn namespaces() -> Finding {
    let number = |path: &str| fs::read_to_string(path).ok().and_then(|text| text.trim().parse::<u64>().ok());
    if number("/proc/sys/user/max_user_namespaces") == Some(0) {
        let cure = "sysctl -w user.max_user_namespaces=10000, and in /etc/sysctl.d to keep it";
        return Finding::failed("user namespaces", "none may be made on this host", cure);
    }
    let restricted = number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == Some(1);
    let refused = number("/proc/sys/kernel/unprivileged_userns_clone") == Some(0);
    if restricted || refused {
        let cure = "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0 (Ubuntu) or kernel.unprivileged_userns_clone=1 (Debian)";
        return Finding::degraded(
            "user namespaces",
            "only root may make them",
            "a runner that is not root",
            cure,
        );
    }
    Finding::ok("user namespaces", "may be made")
}
