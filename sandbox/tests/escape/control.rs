//! The controls: how an attempt succeeds when a layer is off. None of them changes the host. A control that would
//! change it runs in a virtual machine.

use std::process::Command;

use crate::row::find;
use crate::stage::Stage;
use crate::support::{Findings, PROBE, control};

/// The controls that run in the virtual machine, as root and outside any sandbox. One per line: the arguments of the
/// probe.
const IN_VM: &str = include_str!("in_vm.txt");

/// The environment in which an attempt succeeds.
pub(crate) enum Control {
    /// Plain bubblewrap: the host's root, without Airlock's namespaces, filter and limits, and with these additional
    /// arguments.
    Bubblewrap(&'static str),
    /// On the host, as an unprivileged user.
    Outside,
    /// On the host, as an unprivileged user with every capability in a new user namespace, and with namespaces of
    /// every other kind.
    Capable,
    /// In the same sandbox, after this change.
    Sandbox(fn(&mut Stage)),
    /// In the sandbox of the other session.
    OtherSession,
    /// On the host, as the runner's own user. Only for attempts that read.
    Runner,
    /// In the virtual machine, as root, with these arguments.
    VirtualMachine(&'static str),
}

impl Control {
    /// Makes the same attempt, and checks that it succeeds.
    #[track_caller]
    pub(crate) fn assert_reached(&self, stage: &mut Stage, command: &str, way: &str) {
        let findings = match self {
            Self::Bubblewrap(words) => {
                let words = stage.fill(words);
                bubblewrap(stage, &words, command)
            }
            Self::Outside => outside(stage, &[], command),
            Self::Runner => {
                let command = command.replace(PROBE, &stage.host.probe.to_string_lossy());
                control(Command::new("bash").args(["-c", &command]))
            }
            Self::Capable => {
                let own = ["--map-root-user", "--net", "--ipc", "--uts", "--cgroup", "--"];
                outside(stage, &[&airlock_mounts::PRIVATE[..], &own].concat(), command)
            }
            Self::Sandbox(change) => {
                change(stage);
                let mut spec = stage.host.spec(command);
                spec.masks.clone_from(&stage.masks);
                stage.host.probe_in(&stage.own, &spec)
            }
            Self::OtherSession => {
                let other = stage.other();
                stage.host.probe_in(&other, &stage.host.spec(command))
            }
            Self::VirtualMachine(words) => {
                assert!(IN_VM.lines().any(|line| line == *words), "`{words}` is not attempted there");
                stage.controlled();
                return;
            }
        };
        let (reached, detail) = find(&findings, way);
        assert!(reached, "the control failed, so the attempt proves nothing: {detail}");
        stage.controlled();
    }
}

/// Runs `command` for the probe as an unprivileged user: the runner's, or the session's.
fn outside(stage: &Stage, prefix: &[&str], command: &str) -> Findings {
    let command = command.replace(PROBE, &stage.host.probe.to_string_lossy());
    let mut ordinary = as_ordinary(stage);
    ordinary.args(prefix).args(["bash", "-c", &command]).current_dir(stage.open());
    control(&mut ordinary)
}

fn bubblewrap(stage: &Stage, extra: &str, command: &str) -> Findings {
    let base = format!(
        "--tmpfs / --ro-bind /usr /usr --ro-bind /etc /etc --symlink usr/bin /bin --symlink usr/sbin /sbin \
         --symlink usr/lib /lib --symlink usr/lib64 /lib64 --dev /dev --proc /proc \
         --bind {open}/workspace /workspace --bind {open}/home /home/agent --bind {open}/tmp /tmp \
         --ro-bind {probe} {PROBE} --chdir /workspace",
        open = stage.open().display(),
        probe = stage.host.probe.display(),
    );
    let mut plain = as_ordinary(stage);
    plain.arg(crate::support::BWRAP).args(base.split_whitespace()).args(extra.split_whitespace());
    control(plain.args(["--", "bash", "-c", command]))
}

fn as_ordinary(stage: &Stage) -> Command {
    match stage.own.ids {
        Some(ids) => {
            let mut command = Command::new("setpriv");
            let (uid, gid) = (ids.uid.to_string(), ids.gid.to_string());
            command.args(["--reuid", &uid, "--regid", &gid, "--clear-groups", "--"]);
            command
        }
        None => Command::new("env"),
    }
}
