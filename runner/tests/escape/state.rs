//! Attempts on the runner itself: its files, its sessions' directories, its process and its socket.

use std::{fs, os::unix::fs::PermissionsExt, path::PathBuf};

use airlock_domain::Cause;

use crate::{fixture::grant, site::Site, suite::Attempt};

/// A shell command that succeeds if it reaches a target:
///
/// * `{journal}`, `{config}`: files of the runner;
/// * `{other}`: a file of another session;
/// * `{pid}`: the runner's process;
/// * `{socket}`: the readiness socket.
struct Reach(&'static str);

/// Returns the workspace of the only session.
fn workspace(site: &Site) -> PathBuf {
    let mut sessions = fs::read_dir(site.it.state("sessions")).unwrap();
    sessions.next().unwrap().unwrap().path().join("disk/workspace")
}

impl Attempt for Reach {
    async fn make(self, site: &mut Site) {
        let other = site.session().await;
        site.run(grant(other, "echo of another > file")).await;
        let other = workspace(site).join("file");
        let own = site.session().await;
        let config = site.directory().join("runner.toml");
        fs::set_permissions(&config, PermissionsExt::from_mode(0o644)).unwrap();
        let words = self
            .0
            .replace("{journal}", &site.it.state("journal").to_string_lossy())
            .replace("{config}", &config.to_string_lossy())
            .replace("{other}", &other.to_string_lossy())
            .replace("{socket}", &site.it.state("ready.sock").to_string_lossy())
            .replace("{pid}", &site.pid().to_string());
        for read_only in [false, true] {
            // The directory that a read-only command may write.
            let directory = if read_only { "/var/tmp" } else { "/workspace" };
            let mut attack = grant(own, &format!("cd {directory} && {words}"));
            attack.read_only = read_only;
            let (_, result) = site.run(attack).await;
            assert!(
                matches!(result.cause, Cause::Exited { code } if code != 0),
                "read-only {read_only}: {result:?}"
            );
        }
        println!("stopped by the namespaces: it is not there");
        let inside = site.it.state("for-the-control");
        assert!(site.on_host(&format!("mkdir -p {}", inside.display())));
        assert!(site.on_host(&format!("cd {} && {words}", inside.display())), "the control failed");
        site.controlled();
    }
}

attempts! {
    the_journal_by_its_path: Reach("head -c 99 {journal} | grep -qa epoch");
    the_journal_through_proc_self_root: Reach("head -c 99 /proc/self/root{journal} | grep -qa epoch");
    the_journal_through_a_link: Reach("ln -s {journal} ./link && head -c 99 link | grep -qa epoch");
    the_journal_from_above_the_root: Reach("head -c 99 /usr/../../../..{journal} | grep -qa epoch");
    the_configuration: Reach("grep -q runner_id {config}");

    another_workspace_by_its_path: Reach("grep -q another {other}");
    another_workspace_through_proc_self_root: Reach("grep -q another /proc/self/root{other}");
    another_workspace_through_a_link: Reach("ln -s {other} ./link && grep -q another link");

    its_environment: Reach("grep -qa PATH /proc/{pid}/environ");
    its_command_line: Reach("grep -qa airlock-runner /proc/{pid}/cmdline");
    its_root: Reach("test -e /proc/{pid}/root/etc/passwd");
    its_descriptors: Reach("ls /proc/{pid}/fd/0");
    a_signal_to_it: Reach("kill -0 {pid}");

    its_socket: Reach(
        "python3 -c \"import socket; s = socket.socket(socket.AF_UNIX); s.connect(\\\"{socket}\\\")\"");
    its_socket_through_proc_self_root: Reach(
        "python3 -c \"import os, socket; os.chdir(os.path.dirname(\\\"/proc/self/root{socket}\\\")); s = socket.socket(socket.AF_UNIX); s.connect(\\\"ready.sock\\\")\"");
    its_socket_through_a_link: Reach(
        "ln -s {socket} ./s && python3 -c \"import socket; s = socket.socket(socket.AF_UNIX); s.connect(\\\"s\\\")\"");
}
