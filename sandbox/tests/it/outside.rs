//! Tests of commands outside the sandbox: the remaining restrictions, and that only an explicit request starts one.
//! Every command here is harmless on a host. The sessions have their own uids; without, no command runs outside.

mod attacks;

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use airlock_sandbox::env::outside;
use airlock_sandbox::{
    Bind, Cause, HostIds, LaunchError, LaunchSpec, Mask, MaskKind, Network, Running, Session,
    SessionDirectory, Shape, Started, Stdin,
};

use crate::end::mark;
use crate::support::{Host, Output, eventually, finish, finish_once, host_processes, sleepers, wait_for};

fn spec(host: &Host, session: &Session, command: &str) -> LaunchSpec {
    let inside = host.spec(command);
    LaunchSpec { env: outside(inside.env.clone(), &session.directories), ..inside }
}

fn try_start(host: &Host, session: &Session, spec: &LaunchSpec) -> Result<Running, LaunchError> {
    host.launcher.start_outside(session, &host.limits, spec)
}

fn run(host: &Host, session: &Session, command: &str) -> Output {
    let running = try_start(host, session, &spec(host, session, command));
    finish(running.unwrap_or_else(|error| panic!("{}: {error}", error.step())))
}

/// Starts a command that runs this, waits for the end of its input, and exits with 3.
fn start_until_let_go(host: &Host, session: &Session, command: &str) -> Running {
    let spec = spec(host, session, &format!("{command}\nread -r; exit 3"));
    try_start(host, session, &LaunchSpec { stdin: Stdin::Pipe, ..spec }).unwrap()
}

#[test]
fn it_runs_as_the_sessions_user_in_the_sessions_folder_of_the_host() {
    let host = Host::new();
    let session = host.session();
    let workspace = session.directories.workspace.clone();
    let command = r#"id -u; pwd; echo "$HOME"; echo "$TMPDIR"; touch here "$HOME/x" "$TMPDIR/x"; ls "$PWD/.."
        cd "$PWD" && git init -q . && git rev-parse --show-toplevel"#;
    let output = run(&host, &session, command);
    assert_eq!(output.ended.cause, Cause::Exited(0), "{} {}", output.stdout, output.stderr);
    let uid = session.ids.unwrap().uid;
    let [home, tmp] =
        [&session.directories.home, &session.directories.tmp].map(|path| path.display().to_string());
    let at = workspace.display();
    assert_eq!(output.stdout, format!("{uid}\n{at}\n{home}\n{tmp}\nhome\nrun\ntmp\nworkspace\n{at}\n"));
    assert_eq!(fs::metadata(workspace.join("here")).unwrap().uid(), uid);
    assert_eq!(output.ended.cwd, None, "no directory is reported");
}

#[test]
fn it_is_outside_and_has_no_more_rights_than_its_user() {
    let host = Host::new();
    let session = host.session();
    let command = r#"readlink /proc/self/ns/net; ls /proc/self/fd | wc -l; id -G
        grep -E '^(NoNewPrivs|CapEff|CapPrm|CapAmb|Seccomp):' /proc/self/status; echo $$; [ -e /run/airlock/init ]; echo $?"#;
    let output = run(&host, &session, command).stdout;
    let lines: Vec<&str> = output.lines().collect();
    let own = fs::read_link("/proc/self/ns/net").unwrap();
    assert_eq!(PathBuf::from(lines[0]), own, "control: it has the host's network");
    assert_eq!(lines[1], "4", "its three descriptors, and the one that lists them: {output}");
    assert_eq!(lines[2], session.ids.unwrap().gid.to_string(), "one group");
    let zero = "0000000000000000";
    for (line, value) in lines[3..8].iter().zip([zero, zero, zero, "1", "0"]) {
        assert_eq!(line.split_whitespace().nth(1), Some(value), "{output}");
    }
    assert!(lines[8].parse::<u32>().unwrap() < 10, "a separate PID namespace: {output}");
    assert_eq!(lines[9], "1");
}

#[test]
fn the_command_is_a_script_that_nobody_else_sees_and_that_is_gone_with_it() {
    let host = Host::new();
    let (session, other) = (host.session(), host.session());
    let script = session.directories.root.join("run/command");
    let command = "stat -c '%u %a' \"$0\"; stat -c %a \"${0%/*}\"; echo \"$0\" \"${BASH_SOURCE[0]}\"; [[ $- != *c* ]] && echo script
        echo begun; until [ -e go ]; do sleep 0.05; done; cat \"$0\" | tail -n 1 # as long as it runs";
    let running = try_start(&host, &session, &spec(&host, &session, command)).unwrap();
    let seen =
        run(&host, &other, &format!("cat {}; ls {}", script.display(), session.directories.root.display()));
    assert_eq!(seen.stdout.matches("No such file or directory").count(), 2, "{}", seen.stdout);
    assert!(!script.exists() && !script.parent().unwrap().exists(), "it was never on the host's disk");
    fs::write(session.directories.workspace.join("go"), "").unwrap();
    let output = finish(running);
    let (uid, at) = (session.ids.unwrap().uid, script.display());
    let last = command.lines().last().unwrap();
    assert_eq!(output.stdout, format!("{uid} 400\n700\n{at} {at}\nscript\nbegun\n{last}"));
    let rest: Vec<_> =
        fs::read_dir(&session.directories.root).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(rest.len(), 3, "{rest:?}");
}

#[test]
fn its_environment_is_made_from_nothing() {
    let host = Host::new();
    let session = host.session();
    let output = run(&host, &session, "env -0 | tr '\\0' '\\n' | cut -d= -f1 | sort").stdout;
    let mut expected: Vec<String> =
        spec(&host, &session, "").env.iter().map(|(name, _)| name.to_string_lossy().into_owned()).collect();
    expected.extend(["PWD", "SHLVL", "_"].map(str::to_owned));
    expected.sort();
    let mut seen: Vec<&str> = output.lines().collect();
    seen.sort_unstable();
    assert_eq!(seen, expected);
}

#[test]
fn nothing_of_it_outlives_it() {
    let host = Host::new();
    let session = host.session();
    for (number, way) in (60..).zip([
        "setsid sleep MARK &",
        "nohup sleep MARK >/dev/null 2>&1 &",
        "(setsid setsid sh -c 'trap \"\" TERM; sleep MARK; sleep MARK' &)",
    ]) {
        let mark = mark(number);
        let running = start_until_let_go(&host, &session, &way.replace("MARK", &mark));
        let output = finish_once("its daemon runs", running, || !sleepers(&mark).is_empty());
        assert_eq!((output.ended.cause, output.ended.leftovers), (Cause::Exited(3), true), "{way}");
        assert_eq!(host_processes(&mark), Vec::<PathBuf>::new(), "{way}");
    }
}

#[test]
fn it_is_killed_with_all_that_it_started() {
    let host = Host::new();
    let session = host.session();
    let mark = mark(70);
    // SIGCONT follows SIGTERM, so that stopped processes continue.
    let command = format!(
        "trap '' TERM HUP; trap 'echo still here' CONT; setsid sleep {mark} & sleep {mark} & echo up
         while :; do wait; done"
    );
    let running = try_start(&host, &session, &spec(&host, &session, &command)).unwrap();
    wait_for(&running, "up\n");
    eventually("both run", || sleepers(&mark).len() == 2);
    running.control.terminate();
    wait_for(&running, "still here\n");
    assert!(!host_processes(&mark).is_empty(), "control: SIGTERM alone does not end it");
    running.control.kill();
    assert_eq!(finish(running).ended.cause, Cause::Killed);
    assert_eq!(host_processes(&mark), Vec::<PathBuf>::new());
    let dropped = try_start(&host, &session, &spec(&host, &session, &format!("sleep {mark}; true")));
    drop(dropped.unwrap());
    assert_eq!(host_processes(&mark), Vec::<PathBuf>::new());
}

#[test]
fn a_requirement_of_a_sandbox_is_refused_outside() {
    let host = Host::new();
    let session = host.session();
    let plain = spec(&host, &session, "touch ran");
    let mask = Mask { directory: SessionDirectory::Workspace, path: "x".into(), kind: MaskKind::Hidden };
    let refused = [
        LaunchSpec { shape: Shape { read_only: true, network: Network::SessionLoopback }, ..plain.clone() },
        LaunchSpec { shape: Shape { read_only: false, network: Network::Empty }, ..plain.clone() },
        LaunchSpec { masks: vec![mask], ..plain.clone() },
        LaunchSpec { cwd: "/etc".into(), ..plain.clone() },
        LaunchSpec { snapshot: Some(b"alias x=y\n".to_vec()), ..plain.clone() },
    ];
    for spec in refused {
        let error = try_start(&host, &session, &spec).err().unwrap();
        assert_eq!((error.step(), error.started()), ("request", Started::No));
    }
    for ids in [Some(HostIds { uid: 0, gid: 0 }), None] {
        let rooted = Session { ids, ..session.clone() };
        assert_eq!(try_start(&host, &rooted, &plain).err().unwrap().step(), "request");
    }
    assert!(!session.directories.workspace.join("ran").exists());
}

#[test]
fn a_sandbox_that_does_not_start_leads_to_no_start_outside() {
    let mut host = Host::new();
    let session = host.session();
    host.profile.binds.push(Bind { source: "/nonexistent/x".into(), target: "/opt/x".into() });
    let error = host.refused(&session, &host.spec("touch ran"));
    assert_eq!((error.step(), error.started()), ("setup", Started::No));
    assert!(!session.directories.workspace.join("ran").exists());
}
