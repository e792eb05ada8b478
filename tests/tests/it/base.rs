//! The base in the policy, which every profile may read, is the part of the root that every sandbox shows.

use std::path::{Path, PathBuf};

use airlock_policy::Profile;

/// Airlock's own files in every sandbox's `/etc`, and devices.
const OWN: [&str; 4] = ["/etc/hosts", "/etc/nsswitch.conf", "/etc/gitconfig", "/dev"];

/// Returns the paths of the host that the minimal root shows, as seen inside the sandbox.
fn shown() -> Vec<PathBuf> {
    let root = airlock_sandbox::Profile::minimal();
    let binds = root.binds.into_iter().map(|bind| bind.target);
    binds.chain(root.symlinks.into_iter().map(|symlink| symlink.link)).collect()
}

#[test]
fn all_that_every_sandbox_shows_of_the_host_is_of_the_base() {
    let of_base = |path: &Path| Profile::readable_base().any(|base| path.starts_with(base));
    let missing: Vec<PathBuf> = shown().into_iter().filter(|path| !of_base(path)).collect();
    assert!(missing.is_empty(), "not in the base: {missing:?}");
}

#[test]
fn all_of_the_base_that_this_host_has_is_shown() {
    let shown = shown();
    let is_shown = |base: &Path| {
        OWN.iter().any(|own| base.starts_with(own)) || shown.iter().any(|path| base.starts_with(path))
    };
    let hidden = Profile::readable_base().map(Path::new).filter(|base| base.exists() && !is_shown(base));
    let hidden: Vec<&Path> = hidden.collect();
    assert!(hidden.is_empty(), "in the base, but not shown: {hidden:?}");
    for kernels in ["/proc", "/sys", "/run", "/etc/shadow", "/etc", "/", "/dev", "/root", "/home", "/var"] {
        assert!(Profile::readable_base().all(|base| base != kernels), "{kernels} is in the base");
    }
}
