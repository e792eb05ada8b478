//! Attempts to read files of the host, of the runner, and of another session.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::control::Control::{Bubblewrap, OtherSession, Runner, Sandbox};
use crate::layer::Layer::{NotDumpable, Owner, Root};
use crate::row::{probe, program};
use crate::stage::Stage;

const HOST_ROOT: &str = "--ro-bind {secret} /etc/shadow";
const HOST_ROOT_AND_PID_1: &str = "--unshare-pid --as-pid-1 --ro-bind {secret} /etc/shadow";
const PID_1: &str = "--unshare-pid --as-pid-1";

/// Changes the profile to show the host's `/etc/shadow`, by mistake or on purpose.
fn bound(stage: &mut Stage) {
    stage.host.profile = stage.host.profile.clone().with_bind("/etc/shadow", "/run/bound");
}

fn bound_and_readable(stage: &mut Stage) {
    let secret = stage.fill("{secret}");
    stage.host.profile.binds.retain(|bind| bind.source != *"/etc/shadow");
    stage.host.profile = stage.host.profile.clone().with_bind(secret, "/run/bound");
}

/// Changes the profile to show the directories of all sessions, with modes that allow every user to enter them.
fn all_sessions(stage: &mut Stage) {
    let other = stage.other();
    let all = other.directories.root.parent().unwrap().to_owned();
    for path in [&all, &other.directories.root] {
        fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
    }
    fs::rename(&other.directories.root, all.join("other")).unwrap();
    stage.host.profile = stage.host.profile.clone().with_bind(&all, "/run/sessions");
}

fn open_workspace(stage: &mut Stage) {
    let sessions = stage.other().directories.root.parent().unwrap().to_owned();
    for path in ["other/workspace", "other/workspace/file"] {
        fs::set_permissions(sessions.join(path), PermissionsExt::from_mode(0o755)).unwrap();
    }
}

attempts! {
    shadow_by_its_path: probe("read /etc/shadow", "path").stopped_by(Root, "ENOENT").but(Bubblewrap(HOST_ROOT));
    shadow_through_proc_self_root: probe("read /etc/shadow", "/proc/self/root")
        .stopped_by(Root, "ENOENT").but(Bubblewrap(HOST_ROOT));
    shadow_through_the_root_of_pid_1: probe("read /etc/shadow", "/proc/1/root")
        .stopped_by(NotDumpable, "EACCES").but(Bubblewrap(HOST_ROOT_AND_PID_1));
    shadow_through_the_directory_of_pid_1: probe("read /etc/shadow", "/proc/1/cwd")
        .stopped_by(NotDumpable, "EACCES").but(Bubblewrap("--unshare-pid --as-pid-1 --chdir / --ro-bind {secret} /etc/shadow"));
    shadow_from_above_the_root: probe("read /etc/shadow", "above the root")
        .stopped_by(Root, "ENOENT").but(Bubblewrap(HOST_ROOT));
    shadow_through_a_link: probe("read /etc/shadow", "symbolic link")
        .stopped_by(Root, "ENOENT").but(Bubblewrap(HOST_ROOT));

    another_workspace_by_its_path: probe("read {other}", "path").stopped_by(Root, "ENOENT").but(Runner);
    another_workspace_through_proc_self_root: probe("read {other}", "/proc/self/root")
        .stopped_by(Root, "ENOENT").but(Runner);
    another_workspace_from_above_the_root: probe("read {other}", "above the root")
        .stopped_by(Root, "ENOENT").but(Runner);
    another_workspace_at_the_same_place: probe("read /workspace/file", "path").after(|stage| drop(stage.other()))
        .stopped_by(Root, "ENOENT").but(OtherSession);
    another_workspace_by_a_search_of_everything:
        program("find / \\( -path /proc -o -path /usr -o -path /sys \\) -prune -o -name file -size 11c -print | grep .").after(|stage| drop(stage.other()))
        .stopped_by(Root, "exit status: 1").but(OtherSession);

    the_runners_state_by_its_path: probe("read {state}", "path").stopped_by(Root, "ENOENT").but(Runner);
    the_runners_state_through_proc_self_root: probe("read {state}", "/proc/self/root")
        .stopped_by(Root, "ENOENT").but(Runner);
    the_runners_state_through_a_link: probe("read {state}", "symbolic link").stopped_by(Root, "ENOENT").but(Runner);
    the_runners_state_beside_what_is_mounted: program("cat /tmp/../../{state} || cat /usr/../../{state}")
        .stopped_by(Root, "No such file").but(Runner);

    the_environment_of_pid_1: probe("read /proc/1/environ", "path").stopped_by(NotDumpable, "EACCES|EPERM").but(Bubblewrap(PID_1));
    the_environment_of_the_thread_of_pid_1: probe("read /proc/1/task/1/environ", "path")
        .stopped_by(NotDumpable, "EACCES|EPERM").but(Bubblewrap(PID_1));
    the_environment_of_pid_1_through_a_link: probe("read /proc/1/environ", "symbolic link")
        .stopped_by(NotDumpable, "EACCES|EPERM").but(Bubblewrap(PID_1));
    the_memory_map_of_pid_1: probe("read /proc/1/maps", "path").stopped_by(NotDumpable, "EACCES|EPERM").but(Bubblewrap(PID_1));

    a_file_of_root_bound_in_on_purpose: probe("read /run/bound", "path").after(bound)
        .stopped_by(Owner, "EACCES").but(Sandbox(bound_and_readable));
    a_file_of_root_bound_in_through_a_link: probe("read /run/bound", "symbolic link").after(bound)
        .stopped_by(Owner, "EACCES").but(Sandbox(bound_and_readable));
    a_file_of_root_bound_in_through_proc_self_root: probe("read /run/bound", "/proc/self/root").after(bound)
        .stopped_by(Owner, "EACCES").but(Sandbox(bound_and_readable));
    a_file_of_root_bound_in_by_a_program_with_setuid: program("su -c \"cat /run/bound\" </dev/null").after(bound)
        .stopped_by(Owner, "su").control_words("cat /run/bound").but(Sandbox(bound_and_readable));
}

attempts_as_root! {
    another_workspace_that_a_profile_shows: probe("read /run/sessions/other/workspace/file", "path").after(all_sessions)
        .stopped_by(Owner, "EACCES").but(Sandbox(open_workspace));
    another_workspace_that_a_profile_shows_through_a_link:
        probe("read /run/sessions/other/workspace/file", "symbolic link").after(all_sessions)
        .stopped_by(Owner, "EACCES").but(Sandbox(open_workspace));
}
