//! Attempts to write to the system, to kernel settings, and to a read-only workspace.

use crate::control::Control::{Bubblewrap, Capable, Sandbox};
use crate::layer::Layer::{Landlock, Owner, ReadOnlyMount};
use crate::row::{probe, program};
use crate::stage::Stage;

const WRITABLE: &str = "--tmpfs /usr/local";

/// Creates a file in the workspace and two other names of it.
fn files(stage: &mut Stage) {
    let make =
        "echo x > file; ln file hard; ln -s file soft; mkdir folder; echo y > ~/note; ln -s ~/note home";
    stage.host.run(&stage.own, &stage.host.spec(make));
}

fn writable(_: &mut Stage) {}

attempts! {
    a_new_file_in_usr: probe("write /usr/local", "new file").stopped_by(ReadOnlyMount, "EROFS").but(Bubblewrap(WRITABLE));
    a_new_folder_in_usr: probe("write /usr/local", "new directory").stopped_by(ReadOnlyMount, "EROFS").but(Bubblewrap(WRITABLE));
    a_link_in_usr: probe("write /usr/local", "symbolic link").stopped_by(ReadOnlyMount, "EROFS").but(Bubblewrap(WRITABLE));
    the_mode_of_usr: probe("write /usr/local", "mode").stopped_by(ReadOnlyMount, "EROFS").but(Bubblewrap(WRITABLE));
    a_new_file_in_usr_through_proc_self_root: probe("write /usr/local", "new file, through /proc/self/root")
        .stopped_by(ReadOnlyMount, "EROFS").but(Bubblewrap(WRITABLE));
    a_program_of_the_system: program("echo x >> /usr/local/bin/env").stopped_by(ReadOnlyMount, "Read-only file system")
        .but(Bubblewrap("--tmpfs /usr/local/bin"));
    the_root_itself: probe("write /", "new directory").stopped_by(ReadOnlyMount, "EROFS").but(Bubblewrap(""));
    the_folder_of_airlock_init: probe("write /run/airlock", "new file").stopped_by(ReadOnlyMount, "EROFS")
        .but(Bubblewrap("--dir /run/airlock"));
    the_program_of_airlock_init: probe("write /run/airlock/init", "open").stopped_by(ReadOnlyMount, "EROFS|EACCES|ETXTBSY")
        .but(Bubblewrap("--bind {target} /run/airlock/init"));
    devices_of_the_kernel: probe("write /dev", "new file").stopped_by(ReadOnlyMount, "EROFS").but(Bubblewrap(""));

    forwarding_of_packets: probe("sysctl", "/proc/sys/net/ipv4/ip_forward").stopped_by(Owner, "EACCES|EROFS").but(Capable);
    the_bound_on_namespaces: probe("sysctl", "/proc/sys/user/max_user_namespaces").stopped_by(Owner, "EACCES|EROFS").but(Capable);
    the_bound_on_shared_memory:
        probe("sysctl", "/proc/sys/kernel/shmmax").stopped_by(Landlock, "EACCES").but(Capable);
    a_setting_through_proc_self_root: probe("sysctl", "/proc/self/root/proc/sys/net/ipv4/ip_forward")
        .stopped_by(Owner, "EACCES|EROFS").but(Capable);
    a_setting_by_a_program: program("sysctl -q -w net.ipv4.ip_forward=1 || echo 1 > /proc/sys/net/ipv4/ip_forward")
        .stopped_by(Owner, "denied|Read-only").but(Capable);

    a_new_file_in_a_read_only_workspace: probe("write /workspace", "new file").read_only()
        .stopped_by(ReadOnlyMount, "EROFS").but(Sandbox(writable));
    a_new_folder_in_a_read_only_workspace: probe("write /workspace", "new directory").read_only()
        .stopped_by(ReadOnlyMount, "EROFS").but(Sandbox(writable));
    the_mode_of_a_read_only_workspace: probe("write /workspace", "mode").read_only()
        .stopped_by(ReadOnlyMount, "EROFS").but(Sandbox(writable));
    a_link_in_a_read_only_workspace: probe("write /workspace", "symbolic link").read_only()
        .stopped_by(ReadOnlyMount, "EROFS").but(Sandbox(writable));
    a_read_only_workspace_through_proc_self_root: probe("write /workspace", "new file, through /proc/self/root").read_only()
        .stopped_by(ReadOnlyMount, "EROFS").but(Sandbox(writable));
    a_file_of_a_read_only_workspace: probe("write /workspace/file", "open").read_only().after(files)
        .stopped_by(ReadOnlyMount, "EROFS").but(Sandbox(writable));
    a_file_of_a_read_only_workspace_by_a_hard_link: probe("write /workspace/hard", "open").read_only().after(files)
        .stopped_by(ReadOnlyMount, "EROFS").but(Sandbox(writable));
    a_file_of_a_read_only_workspace_by_a_link: probe("write /workspace/soft", "open").read_only().after(files)
        .stopped_by(ReadOnlyMount, "EROFS").but(Sandbox(writable));
    a_file_of_a_read_only_workspace_through_proc_self_fd: probe("write /workspace/file", "open through /proc/self/fd")
        .read_only().after(files).stopped_by(ReadOnlyMount, "EROFS").but(Sandbox(writable));
    the_times_of_a_file_of_a_read_only_workspace: probe("write /workspace/file", "times").read_only().after(files)
        .stopped_by(ReadOnlyMount, "EROFS").but(Sandbox(writable));
    a_file_of_a_read_only_workspace_renamed: program("mv file moved").read_only().after(files)
        .stopped_by(ReadOnlyMount, "Read-only file system").but(Sandbox(writable));
    a_file_of_a_read_only_workspace_removed: program("rm -f file").read_only().after(files)
        .stopped_by(ReadOnlyMount, "Read-only file system").but(Sandbox(writable));
    a_file_of_a_read_only_workspace_linked_out: program("ln file /var/tmp/out && echo z >> /var/tmp/out").read_only().after(files)
        .stopped_by(ReadOnlyMount, "cross-device|Read-only").control_words("ln file /workspace/out && echo z >> /workspace/out")
        .but(Sandbox(writable));
    home_by_a_link_of_a_read_only_workspace: program("echo z >> home").read_only().after(files)
        .stopped_by(ReadOnlyMount, "Read-only file system").but(Sandbox(writable));
    tmp_of_a_read_only_command: probe("write /tmp", "new file").read_only()
        .stopped_by(ReadOnlyMount, "EROFS").but(Sandbox(writable));
}
