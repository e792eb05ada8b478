//! Where an attempt works because a layer is off. Nothing here touches the host:
//! what would, runs in a virtual machine.

use std::process::Command;

use crate::row::find;
use crate::stage::Stage;
use crate::support::{Findings, PROBE, control};

/// The controls that run in the virtual machine, as root and outside any
/// sandbox: one a line, the words for the probe.
const IN_VM: &str = include_str!("in_vm.txt");

/// Where an attempt works.
pub(crate) enum Control {
    /// Plain bubblewrap: the host's root, none of our namespaces, no filter, no
    /// limit, and these arguments too.
    Bubblewrap(&'static str),
    /// On the host, by an ordinary user.
    Outside,
    /// On the host, by an ordinary user who has every capability in a user
    /// namespace of its own, with namespaces of every other kind.
    Capable,
    /// In the same sandbox, after this was changed.
    Sandbox(fn(&mut Stage)),
    /// In the sandbox of the other session.
    OtherSession,
    /// On the host, by the runner's own user. Only for what reads.
    Runner,
    /// In the virtual machine, as root, where these words are tried.
    VirtualMachine(&'static str),
}

impl Control {
    /// The same attempt, and it works.
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
                assert!(IN_VM.lines().any(|line| line == *words), "`{words}` is not tried there");
                stage.controlled();
                return;
            }
        };
        let (reached, detail) = find(&findings, way);
        assert!(reached, "the control failed, so the attempt proves nothing: {detail}");
        stage.controlled();
    }
}

/// `command` for the probe as an ordinary user: the runner's, or the session's.
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
