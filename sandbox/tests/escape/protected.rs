//! Attempts on names that a mask protects. The mask holds for every path that leads to the file.

use airlock_sandbox::{Mask, MaskKind, SessionDirectory};

use crate::control::Control::Sandbox;
use crate::layer::Layer::Mask as MaskLayer;
use crate::row::{Row, program};
use crate::stage::Stage;

fn mask(path: &str, kind: MaskKind) -> Mask {
    Mask { directory: SessionDirectory::Workspace, path: path.into(), kind }
}

/// Creates a repository, a protected file and a hidden file.
fn protect(stage: &mut Stage) {
    let make = "git init -q .; git config user.name a; mkdir .tool; echo kept > .tool/settings; echo kept > .bashrc; echo kept > secret";
    stage.host.run(&stage.own, &stage.host.spec(make));
    stage.masks = vec![
        mask(".git", MaskKind::ReadOnly),
        mask(".tool/settings", MaskKind::ReadOnly),
        mask(".bashrc", MaskKind::ReadOnly),
        mask("secret", MaskKind::Hidden),
    ];
}

fn unprotected(stage: &mut Stage) {
    stage.masks.clear();
}

fn held(command: &'static str, answer: &'static str) -> Row {
    program(command).after(protect).stopped_by(MaskLayer, answer).but(Sandbox(unprotected))
}

const READ_ONLY: &str = "Read-only file system";
const BUSY: &str = "busy|Read-only file system";
const OTHER_MOUNT: &str = "ross-device";
const HIDDEN: &str = "Permission denied|exit status";

attempts! {
    written: held("echo x >> .git/config", READ_ONLY);
    written_by_git: held("git config core.fsmonitor x", "could not lock|Read-only");
    written_through_a_link: held("ln -sfn .git link && echo x >> link/config", READ_ONLY);
    written_through_a_link_to_a_link: held("ln -sfn .bashrc one && ln -sfn one two && echo x >> two", READ_ONLY);
    written_through_a_hard_link: held("ln .bashrc hard && echo x >> hard", OTHER_MOUNT);
    written_through_proc_self_root: held("echo x >> /proc/self/root/workspace/.git/config", READ_ONLY);
    written_through_proc_self_cwd: held("echo x >> /proc/self/cwd/.bashrc", READ_ONLY);
    written_through_proc_self_fd: held("exec 3< .bashrc && echo x >> /proc/self/fd/3", READ_ONLY);
    a_new_name_through_proc_self_fd: held("exec 3< .git && echo x > /proc/self/fd/3/new", READ_ONLY);
    removed_through_proc_self_fd: held("exec 3< . && rm -f /proc/self/fd/3/.bashrc", BUSY);
    a_hard_link_in_its_place: held("echo x > new && ln -f new .bashrc", BUSY);
    renamed_through_proc_self_root: held("mv /proc/self/root/workspace/.bashrc moved", BUSY);
    renamed: held("mv .bashrc moved && echo x > .bashrc", BUSY);
    a_folder_renamed: held("mv .git moved && mkdir .git && echo x > .git/config", BUSY);
    the_folder_around_it_renamed: held("mv .tool moved && mkdir .tool && echo x > .tool/settings && cmp -s .tool/settings <(echo x) && grep -q kept moved/settings && echo x >> moved/settings", BUSY);
    written_over_by_a_rename: held("echo x > new && mv -f new .bashrc", BUSY);
    removed: held("rm -f .bashrc", BUSY);
    removed_with_everything: held("rm -rf .git", BUSY);
    cut: held("truncate -s 0 .git/HEAD", READ_ONLY);
    its_mode: held("chmod 777 .git/config", READ_ONLY);
    a_new_name_in_it: held("echo x > .git/hooks/post-checkout", READ_ONLY);
    hidden_read: held("grep kept secret", HIDDEN);
    hidden_read_through_a_link: held("ln -sfn secret link && grep kept link", HIDDEN);
    hidden_read_through_a_hard_link: held("ln secret hard && grep kept hard", "Permission denied|ross-device|exit status");
    hidden_read_through_proc_self_root: held("grep kept /proc/self/root/workspace/secret", HIDDEN);
    hidden_with_its_mode_changed: held("chmod 644 secret && grep kept secret", "not permitted|Read-only|denied|exit status");
}
