//! The kernel's security modules that confine this process, and the remedy for each.
//!
//! The result is advice only, from the kernel's information about the process. A module that does not confine it causes
//! no remedy.

use std::fs;

/// The file with a process's AppArmor profile.
pub(crate) const APPARMOR: &str = "/proc/self/attr/apparmor/current";
/// The file with a process's SELinux context. With another security module, the file has that module's value.
const CONTEXT: &str = "/proc/self/attr/current";
const RESTRICTS: &str = "/proc/sys/kernel/apparmor_restrict_unprivileged_userns";
/// The SELinux type of container engines, which may mount.
const ENGINE: &str = "container_engine_t";
/// The unconfined types of SELinux's policies.
const FREE: [&str; 3] = ["unconfined_t", "spc_t", "kernel_t"];

/// The confinement of this process. An unreadable value is `None`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Confinement {
    /// This process's AppArmor profile, if it has one.
    pub(crate) apparmor: Option<String>,
    /// Whether AppArmor denies user namespaces to processes without a profile (Ubuntu).
    pub(crate) apparmor_restricts: bool,
    /// The type of this process's SELinux context, if it is confined.
    pub(crate) selinux: Option<String>,
}

impl Confinement {
    /// Reads the confinement of this process.
    pub(crate) fn read() -> Self {
        let text = |path: &str| fs::read_to_string(path).unwrap_or_default();
        Self {
            apparmor: profile(&text(APPARMOR)),
            apparmor_restricts: text(RESTRICTS).trim() == "1",
            selinux: selinux_type(&text(CONTEXT)),
        }
    }

    /// Returns each confinement with its remedy. `chart` is the value for the Helm chart.
    pub(crate) fn held_back(&self) -> Vec<(String, String)> {
        let mut found = Vec::new();
        if self.apparmor_restricts {
            let remedy = "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0 on the host, or an AppArmor profile \
                        with `userns,` for bubblewrap; in Kubernetes the same on the node, or appArmorProfile.type: \
                        Localhost with such a profile (chart: runner.security.appArmor); Unconfined does not remove this restriction";
            found.push(("kernel.apparmor_restrict_unprivileged_userns is 1".to_owned(), remedy.to_owned()));
        }
        if let Some(profile) = &self.apparmor {
            let remedy = format!(
                "give the AppArmor profile `{profile}` `userns,`, `capability,`, `mount,`, `umount,` and \
                 `pivot_root,`, or start the runner without it: in Kubernetes appArmorProfile.type: Unconfined \
                 (chart: runner.security.appArmor.type)"
            );
            found.push((format!("the AppArmor profile `{profile}` confines this process"), remedy));
        }
        if let Some(kind) = &self.selinux {
            let remedy = match kind.as_str() {
                ENGINE => "list the refusals of SELinux with `ausearch -m avc -ts recent`, and allow them in a module of its policy"
                    .to_owned(),
                _ => format!(
                    "let SELinux run it as `{ENGINE}`: in Kubernetes seLinuxOptions.type: {ENGINE} (chart: \
                     runner.security.seLinuxOptions.type)"
                ),
            };
            found.push((format!("SELinux confines this process as `{kind}`"), remedy));
        }
        found
    }

    /// Returns the remedies in one line. Without a confinement, explains how to find another cause.
    pub(crate) fn remedy(&self) -> String {
        let remedies: Vec<String> = self.held_back().into_iter().map(|(_, remedy)| remedy).collect();
        match remedies.is_empty() {
            true => "no security module confines the runner itself: `journalctl -k --grep DENIED` on the host shows \
                     whether one confines bubblewrap"
                .to_owned(),
            false => remedies.join("; "),
        }
    }
}

/// Returns the profile's name without its mode, or `None` if it does not confine.
pub(crate) fn profile(current: &str) -> Option<String> {
    let label = current.trim_matches(['\0', '\n', ' ']);
    let (name, mode) = label.rsplit_once(" (").unwrap_or((label, ""));
    let free = name.is_empty() || name == "unconfined" || matches!(mode, "unconfined)" | "complain)");
    (!free).then(|| name.to_owned())
}

/// Returns the type in a context `USER:ROLE:TYPE:LEVEL`, or `None` if it has another form or does not confine.
fn selinux_type(context: &str) -> Option<String> {
    let context = context.trim_matches(['\0', '\n', ' ']);
    let [_, _, kind, _] = context.splitn(4, ':').collect::<Vec<_>>().try_into().ok()?;
    (!context.contains([' ', '/']) && !FREE.contains(&kind)).then(|| kind.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_is_named_without_its_mode() {
        assert_eq!(profile("docker-default (enforce)\n").as_deref(), Some("docker-default"));
        assert_eq!(profile("bwrap (unconfined)\n"), None);
        assert_eq!(profile("bwrap (complain)\n"), None);
        assert_eq!(profile("bwrap//child (enforce)").as_deref(), Some("bwrap//child"));
        assert_eq!(profile("unconfined\n"), None);
        assert_eq!(profile(""), None);
    }

    #[test]
    fn a_context_of_selinux_is_told_from_other_labels() {
        assert_eq!(selinux_type("system_u:system_r:container_t:s0:c1,c2\0").as_deref(), Some("container_t"));
        assert_eq!(selinux_type("unconfined_u:unconfined_r:unconfined_t:s0-s0:c0.c1023\n"), None);
        for other in
            ["docker-default (enforce)\n", "unconfined\n", "", "a:b:c", "/usr/bin/x//:y:z:w (enforce)"]
        {
            assert_eq!(selinux_type(other), None, "{other}");
        }
    }

    #[test]
    fn a_cure_is_for_what_confines_and_names_what_the_chart_can_set() {
        let none = Confinement::default();
        assert!(none.held_back().is_empty());
        for advice in ["Unconfined", "seLinuxOptions", "sysctl"] {
            assert!(
                !none.remedy().contains(advice),
                "{advice} is suggested although nothing confines the process"
            );
        }
        // The chart starts the runner without a profile. `Unconfined` is therefore active already and does not help.
        let node = Confinement { apparmor_restricts: true, ..Confinement::default() };
        assert!(node.remedy().contains("kernel.apparmor_restrict_unprivileged_userns=0"));
        assert!(
            node.remedy().contains("Localhost") && !node.remedy().contains("type: Unconfined"),
            "{}",
            node.remedy()
        );
        let engine = Confinement { apparmor: Some("cri-containerd.apparmor.d".to_owned()), ..none };
        assert!(
            engine.remedy().contains("runner.security.appArmor.type") && !engine.remedy().contains("SELinux")
        );
        let labelled = |kind: &str| Confinement { selinux: Some(kind.to_owned()), ..Confinement::default() };
        assert!(labelled("container_t").remedy().contains("runner.security.seLinuxOptions.type"));
        assert!(!labelled("container_t").remedy().contains("AppArmor"));
        // The label that the chart's values recommend is not recommended again.
        assert!(
            labelled(ENGINE).remedy().contains("ausearch")
                && !labelled(ENGINE).remedy().contains("seLinuxOptions")
        );
    }
}
