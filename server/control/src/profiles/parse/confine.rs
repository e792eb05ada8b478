//! Applies the sandbox settings of a profile file to the inherited ones. Lists are extended, single values
//! are replaced. The schema has already checked the values.

use std::path::Path;

use airlock_domain::{Bind, PathRules, SandboxProfile};
use airlock_policy::{Profile, Tool};

use super::keys::{Action, Protect, RootBind, Sandbox, Switch};

/// Adds the elements that are not yet in the list.
pub(super) fn extend(list: &mut Vec<String>, more: &[String]) {
    list.extend(more.iter().cloned());
    list.sort();
    list.dedup();
}

pub(super) fn apply_sandbox(given: &Sandbox, profile: &mut SandboxProfile) {
    for RootBind { source, target } in &given.root_binds {
        let target = target.as_ref().unwrap_or(source);
        profile.root_binds.retain(|known| known.target != *target);
        profile.root_binds.push(Bind { source: source.clone(), target: target.clone() });
    }
    if let Some(path) = &given.path {
        profile.path.clone_from(path);
    }
    if given.rootfs.is_some() {
        profile.rootfs.clone_from(&given.rootfs);
    }
    let paths = &mut profile.paths;
    extend(&mut paths.deny_read, &given.deny_read);
    extend(&mut paths.allow_read, &given.allow_read);
    extend(&mut paths.deny_write, &given.deny_write);
    if given.allow_write.is_some() {
        paths.allow_write.clone_from(&given.allow_write);
    }
    let sockets = &mut profile.sockets;
    if let Some(switch) = given.unix_sockets {
        sockets.unix = switch == Switch::On;
    }
    sockets.netlink_route = given.netlink_route.unwrap_or(sockets.netlink_route);
    extend(&mut sockets.allowed_unix, &given.allowed_unix_sockets);
}

pub(super) fn apply_protect(given: &Protect, protect: &mut airlock_domain::Protect) {
    if let Some(action) = given.action {
        protect.action = match action {
            Action::Report => airlock_domain::ProtectAction::Report,
            Action::Quarantine => airlock_domain::ProtectAction::Quarantine,
            Action::Fail => airlock_domain::ProtectAction::Fail,
        };
    }
    protect.git_writes = given.git_writes.unwrap_or(protect.git_writes);
    protect.git_config = given.git_config.unwrap_or(protect.git_config);
    extend(&mut protect.names, &given.names);
}

/// Binds the policy's readable roots at their own paths, unless another bind covers them. The runner's floor
/// must permit it. With a root file system, nothing is added.
pub(super) fn show_readable_roots(policy: &Profile, profile: &mut SandboxProfile) {
    if profile.rootfs.is_some() {
        return;
    }
    for root in policy.readable_roots() {
        let shown = |bind: &Bind| Path::new(root).starts_with(&bind.target);
        if !profile.root_binds.iter().any(shown)
            && !Profile::readable_base().any(|base| Path::new(root).starts_with(base))
        {
            profile.root_binds.push(Bind { source: root.clone(), target: root.clone() });
        }
    }
}

/// Applies the paths of deny rules to the mounts, so that they also hold for programs that the policy does
/// not recognize.
pub(super) fn apply_denials(policy: &Profile, paths: &mut PathRules) {
    let globs = |tool| {
        let denied = policy.rules().deny.iter().filter(|rule| rule.tool() == tool);
        denied.filter_map(|rule| rule.path_glob().map(str::to_owned)).collect::<Vec<_>>()
    };
    extend(&mut paths.deny_read, &globs(Tool::Read));
    extend(&mut paths.deny_write, &globs(Tool::Edit));
}
