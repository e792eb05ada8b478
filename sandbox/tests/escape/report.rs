//! Attempts to forge reports of airlock-init.

use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};

use airlock_init::frame::recv_frame;
use airlock_init::wire::{Report, Status};
use airlock_sandbox::Cause;

use crate::layer::Layer::CrossCheck;
use crate::stage::Stage;
use crate::support::PROBE;

/// Checks that the command ends with `cause`, regardless of its output.
fn forged(command: &'static str, cause: Cause) -> impl FnOnce(&mut Stage) {
    move |stage| {
        let command = command.replace("PROBE", PROBE);
        let ended = stage.host.run(&stage.own, &stage.host.spec(command)).ended;
        assert_eq!(ended.cause, cause);
        println!("stopped by {CrossCheck}: {cause:?}");
        assert_believed_by_who_gets_it(stage);
    }
}

/// The control: the same program writes the report to a socket that it is given, and the report is accepted.
fn assert_believed_by_who_gets_it(stage: &Stage) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let status = Command::new(&stage.host.probe)
        .arg("forge-to-input")
        .stdin(OwnedFd::from(theirs))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success());
    let (report, _) = recv_frame::<Report>(ours.as_fd()).unwrap();
    assert!(matches!(report, Report::Ended(end) if end.status == Status::Exited(0)));
    stage.controlled();
}

/// Checks that the session's directory after `command` is `expected`. The control is a command that really changes its
/// directory.
fn directory(command: &'static str, expected: Option<&'static str>) -> impl FnOnce(&mut Stage) {
    move |stage| {
        let ended = stage.host.run(&stage.own, &stage.host.spec(command)).ended;
        assert_eq!(ended.cwd.as_deref(), expected.map(Path::new));
        println!("stopped by {CrossCheck}: {expected:?}");
        let moved = stage.host.run(&stage.own, &stage.host.spec("cd /usr")).ended;
        assert_eq!(moved.cwd.as_deref(), Some(Path::new("/usr")), "the control");
        stage.controlled();
    }
}

const KILLED: Cause = Cause::Signaled { signal: 9, core: false };

attempts! {
    to_every_descriptor: forged("PROBE forge; exit 3", Cause::Exited(3));
    to_every_descriptor_before_the_shell_is_killed: forged("PROBE forge; kill -KILL $$", KILLED);
    in_the_place_of_the_shell: forged("PROBE forge; exec bash -c 'exit 4'", Cause::Exited(4));
    after_the_shell: forged("(sleep 0.05; PROBE forge) & exit 5", Cause::Exited(5));
    many_times_at_once: forged("for i in {1..30}; do PROBE forge & done; exit 6", Cause::Exited(6));
    as_a_status_of_bubblewrap: forged(
        "for i in /proc/[0-9]*/fd/*; do echo '{ \"exit-code\": 0 }' > $i; done 2>/dev/null; exit 7", Cause::Exited(7));

    a_directory_of_a_child: directory("(cd /usr); bash -c 'cd /usr'; exit 0", Some("/workspace"));
    a_directory_of_what_outlives_the_shell: directory("(sleep 0.05; cd /usr; sleep 5) & exit 0", Some("/workspace"));
    a_directory_of_a_shell_that_is_killed: directory("cd /usr; kill -KILL $$", None);
    a_directory_of_another_program: directory("cd /usr; exec sleep 0", None);
    a_directory_that_is_gone: directory("mkdir gone; cd gone; rmdir ../gone", None);
    a_directory_that_is_too_long: directory(
        "printf -v part %0200d 1; for i in {1..30}; do mkdir $part; cd $part; done", None);
}
