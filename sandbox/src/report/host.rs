//! The checks of the host's parts that a sandbox needs: kernel, user namespaces, bubblewrap, git.
//!
//! Reports the mechanisms that exist and their restrictions. Whether a layer is enforced is observed from inside the
//! sandbox.

use std::process::Command;

use airlock_init::wire::Landlock;

use super::facts::Facts;
use super::layers::{Check, lost};
use super::observe::NotObserved;
use crate::launcher::{Launcher, answer};
use crate::session::UidIsolation;

/// The first version of git with `safe.bareRepository`.
const GIT_WITH_BARE: (u32, u32) = (2, 38);

/// Checks the kernel.
pub(super) fn kernel(facts: &Facts) -> Check {
    let modules = facts.modules.as_deref().unwrap_or("not listed").trim();
    Check::ok("kernel", format!("{}; security modules: {modules}", facts.kernel))
}

/// Checks whether a user namespace can be created now. If not, returns the cause.
pub(super) fn user_namespaces(facts: &Facts, failed: Option<&NotObserved>) -> Check {
    const NAME: &str = "user_namespaces";
    let held: Vec<String> = facts.held_back().into_iter().map(|(what, _)| what).collect();
    let nested = if facts.nested { "; this process is in one already" } else { "" };
    match failed {
        None => Check::ok(NAME, format!("a user namespace with a network namespace was created{nested}")),
        Some(NotObserved { cause, remedy }) => {
            let because = if held.is_empty() { String::new() } else { format!("; {}", held.join("; ")) };
            let remedies: Vec<String> = facts.held_back().into_iter().map(|(_, remedy)| remedy).collect();
            let remedy = if remedies.is_empty() { remedy.clone() } else { remedies.join("; ") };
            Check::missing(NAME, format!("{cause}{because}{nested}"), lost("sandbox"), remedy)
        }
    }
}

impl Facts {
    /// Returns the restrictions that keep the unprivileged processes of sessions from creating user namespaces, with
    /// their remedies.
    pub(super) fn held_back(&self) -> Vec<(String, String)> {
        let mut found = Vec::new();
        let mut add = |what: &str, remedy: &str| found.push((what.to_owned(), remedy.to_owned()));
        if self.max_user_namespaces == Some(0) {
            let remedy = "sysctl -w user.max_user_namespaces=15000, and in /etc/sysctl.d to keep it";
            add("user.max_user_namespaces is 0", remedy);
        }
        if self.userns_clone == Some(0) {
            let remedy = "sysctl -w kernel.unprivileged_userns_clone=1, and in /etc/sysctl.d to keep it";
            add("kernel.unprivileged_userns_clone is 0", remedy);
        }
        found.extend(self.confinement.held_back());
        if self.filtered {
            let remedy = "securityContext.seccompProfile: {type: Localhost, localhostProfile: ...} with clone, unshare, mount, umount2, pivot_root and setns allowed; or type: RuntimeDefault with capabilities.add: [SYS_ADMIN] and hostUsers: false (chart: runner.security.variant)";
            found.push((
                "a seccomp filter of the container applies to this process".to_owned(),
                remedy.to_owned(),
            ));
        }
        found
    }
}

/// Checks for mounts over `/proc` that prevent a new one.
pub(super) fn masked_proc(facts: &Facts) -> Option<Check> {
    const REMEDY: &str = "securityContext.procMount: Unmasked, with hostUsers: false (podman: --security-opt unmask=ALL; docker: --security-opt systempaths=unconfined)";
    let first = facts.proc_masks.first()?;
    let count = facts.proc_masks.len();
    let seen = format!(
        "/proc is masked here at {count} places, such as {first}, so the kernel refuses to mount a new one"
    );
    Some(Check::missing("fresh_proc", seen, lost("fresh_proc"), REMEDY))
}

/// Checks bubblewrap: its version, its missing optional options, and the AppArmor profile that confines it.
pub(super) fn bubblewrap(launcher: &Launcher, confined: Option<&str>) -> Check {
    let lacks = match launcher.bwrap_lacks() {
        [] => String::new(),
        lacks => format!("; without {}", lacks.join(" ")),
    };
    let confined = confined.map(confines).unwrap_or_default();
    let at = launcher.bwrap().display();
    Check::ok("bubblewrap", format!("{} at {at}{lacks}{confined}", launcher.bwrap_version()))
}

fn confines(profile: &str) -> String {
    format!("; the AppArmor profile `{profile}` confines it")
}

/// Returns the check for a sandbox that could not be started, with the known restrictions.
pub(super) fn no_sandbox(unobserved: NotObserved, known: Option<&str>, confined: Option<&str>) -> Check {
    let NotObserved { cause, remedy } = unobserved;
    let confines = confined.map(|profile| format!("; the AppArmor profile `{profile}` confines bubblewrap"));
    let by_profile = confined.map(|profile| {
        format!(
            "give the AppArmor profile `{profile}` `userns,`, `capability,`, `mount,`, `umount,` and `pivot_root,`, \
             or remove it with `apparmor_parser --remove FILE`, or use another `bwrap` that it does not name"
        )
    });
    // A known restriction of namespaces is a better remedy than that of the failed step.
    let remedy = known.map(str::to_owned).or(by_profile).unwrap_or(remedy);
    Check::missing("sandbox", cause + confines.as_deref().unwrap_or_default(), lost("sandbox"), remedy)
}

/// Returns the check for commands that run under this process's uid, if that is so.
pub(super) fn no_uid_isolation(isolation: UidIsolation, facts: &Facts) -> Option<Check> {
    const NAME: &str = "uid_isolation";
    const IN_A_POD: &str = "securityContext.runAsUser: 0 with hostUsers: false and capabilities.add: [SYS_ADMIN, SETUID, SETGID, CHOWN]; the Helm chart does not offer this";
    let remedy = if facts.nested { IN_A_POD } else { "start the runner as root" };
    let seen = "this process cannot change its uid, so commands run with the same uid";
    (isolation == UidIsolation::None).then(|| Check::missing(NAME, seen, lost(NAME), remedy))
}

/// Checks the cgroup of each sandbox, and each limit that it enforces.
pub(super) fn limits(launcher: &Launcher) -> Vec<Check> {
    const REMEDY: &str = "give the runner its own cgroup: in its systemd unit `Delegate=yes`; in a pod a \
                        writable /sys/fs/cgroup, or limits of the pod by resources.limits";
    let gaps = launcher.limits_not_enforced();
    let check = |name| match gaps.iter().find(|gap| gap.limit == name) {
        None => Check::ok(name, "each sandbox has its own cgroup"),
        Some(gap) if name == "pids" => Check::degraded(name, &gap.cause, lost(name), REMEDY),
        Some(gap) => Check::missing(name, &gap.cause, lost(name), REMEDY),
    };
    ["cgroup", "memory", "swap", "pids", "cpu", "io"].map(check).into()
}

/// Checks how refusals of the sandbox become violations of a result. `counts_calls`: process 1 counts refused calls.
pub(super) fn violations(launcher: &Launcher, counts_calls: bool, landlock: Landlock) -> Check {
    let gaps = launcher.limits_not_enforced();
    let counts = |limit| !gaps.iter().any(|gap| gap.limit == limit || gap.limit == "cgroup");
    let layers = [
        ("seccomp", counts_calls, "counted by process 1"),
        ("resources", counts("pids") && counts("memory"), "counted by the cgroup"),
        ("landlock", landlock.files(), "from messages of programs"),
        ("masks and mounts", true, "from messages of programs"),
        ("network", true, "by the proxy"),
        ("protected_names, git and disk", true, "by the runner"),
    ];
    let said = |wanted: bool| {
        let lines = layers.iter().filter(|(_, reports, _)| *reports == wanted);
        lines.map(|(name, _, how)| format!("{name} {how}")).collect::<Vec<_>>().join("; ")
    };
    match said(false) {
        missing if missing.is_empty() => Check::ok("violations", said(true)),
        missing => Check::degraded(
            "violations",
            said(true),
            format!("these refusals are not in results: {missing}"),
            "run a kernel from 5.14 on with Landlock, without a container runtime that receives seccomp \
             notifications, and give the runner its own cgroup (`Delegate=yes`)",
        ),
    }
}

/// Checks the version of git that commands use.
pub(super) fn git() -> Check {
    const REMEDY: &str = "apt-get install git, 2.38 or later";
    let said = answer(Command::new("git").arg("--version")).unwrap_or_default();
    let said = said.trim();
    match git_version(said) {
        Some(version) if version >= GIT_WITH_BARE => Check::ok("git", said),
        Some(_) => Check::degraded(
            "git",
            format!("{said}: it does not support safe.bareRepository"),
            lost("git"),
            REMEDY,
        ),
        None => Check::missing(
            "git",
            "git is not in PATH",
            "git, for commands and for checks of repositories",
            REMEDY,
        ),
    }
}

fn git_version(said: &str) -> Option<(u32, u32)> {
    let mut numbers = said.strip_prefix("git version ")?.split('.');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::confinement::Confinement;

    #[test]
    fn a_version_of_git_is_two_numbers_of_what_it_says() {
        assert_eq!(git_version("git version 2.47.3"), Some((2, 47)));
        assert_eq!(git_version("git version 2.37.1 (Apple Git-137.1)"), Some((2, 37)));
        assert_eq!(git_version(""), None);
    }

    #[test]
    fn every_switch_that_holds_user_namespaces_back_is_named_with_its_cure() {
        let facts = Facts {
            max_user_namespaces: Some(0),
            userns_clone: Some(0),
            confinement: Confinement {
                apparmor: Some("docker-default".to_owned()),
                apparmor_restricts: true,
                selinux: None,
            },
            filtered: true,
            ..Facts::default()
        };
        let remedies: Vec<String> = facts.held_back().into_iter().map(|(_, remedy)| remedy).collect();
        for (remedy, piece) in remedies.iter().zip([
            "user.max_user_namespaces=",
            "kernel.unprivileged_userns_clone=1",
            "kernel.apparmor_restrict_unprivileged_userns=0",
            "appArmorProfile.type: Unconfined",
            "seccompProfile",
        ]) {
            assert!(remedy.contains(piece), "{remedy}");
        }
        assert_eq!(remedies.len(), 5);
        assert!(Facts::default().held_back().is_empty());
    }

    #[test]
    fn a_profile_of_apparmor_that_confines_bubblewrap_is_named_where_no_sandbox_starts() {
        let unobserved =
            || NotObserved { cause: "Failed to make / slave".to_owned(), remedy: "allow mounts".to_owned() };
        let plain = no_sandbox(unobserved(), None, None);
        assert_eq!((plain.seen.as_str(), plain.remedy.as_str()), ("Failed to make / slave", "allow mounts"));
        let confined = no_sandbox(unobserved(), None, Some("bwrap"));
        assert!(confined.seen.contains("AppArmor profile `bwrap`"), "{}", confined.seen);
        assert!(
            confined.remedy.contains("`bwrap`") && confined.remedy.contains("`mount,`"),
            "{}",
            confined.remedy
        );
        assert_eq!(no_sandbox(unobserved(), Some("sysctl"), Some("bwrap")).remedy, "sysctl");
    }

    #[test]
    fn a_masked_proc_names_its_field() {
        assert!(masked_proc(&Facts::default()).is_none());
        let facts = Facts { proc_masks: vec!["/proc/kcore".to_owned()], ..Facts::default() };
        assert!(masked_proc(&facts).is_some_and(|check| check.remedy.contains("procMount: Unmasked")));
    }
}
