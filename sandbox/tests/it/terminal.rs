//! Tests of a command's terminal: it is private, and has a name, a size, signals and job control. A hostile command
//! cannot affect others through it.

use std::fs::{self, File};
use std::io::{ErrorKind, Read, Write};
use std::path::Path;

use airlock_sandbox::env::outside;
use airlock_sandbox::{Cause, Ended, LaunchSpec, Running, Stdin, TerminalSize};
use rustix::fs::{OFlags, fcntl_setfl};
use rustix::io::Errno;
use rustix::termios::{Winsize, tcsetwinsize};

use crate::end::mark;
use crate::support::{Host, eventually, host_processes, sleepers};

const SIZE: TerminalSize = TerminalSize { rows: 31, cols: 97 };

/// A command on a terminal, with the text that it has shown.
struct Screen {
    running: Running,
    keys: File,
    shown: String,
}

impl Screen {
    fn of(mut running: Running) -> Self {
        let keys = File::from(running.streams.stdin.take().unwrap());
        Self { running, keys, shown: String::new() }
    }

    fn start(host: &Host, spec: LaunchSpec) -> Self {
        let spec = LaunchSpec { stdin: Stdin::Terminal(SIZE), ..spec };
        Self::of(host.start(&host.session(), &spec))
    }

    fn type_in(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    /// Reads until `text` is shown.
    #[track_caller]
    fn see(&mut self, text: &str) {
        while !self.shown.contains(text) {
            assert!(self.read(), "it ended without `{text}`:\n{}", self.shown);
        }
        let end = self.shown.find(text).unwrap() + text.len();
        self.shown.drain(..end);
    }

    /// Reads once. Returns false at the end.
    fn read(&mut self) -> bool {
        let mut buffer = [0; 4096];
        match rustix::io::read(&self.running.streams.stdout, &mut buffer) {
            Ok(read) => {
                self.shown.push_str(&String::from_utf8_lossy(&buffer[..read]));
                read > 0
            }
            Err(Errno::IO) => false,
            Err(error) => panic!("{error}"),
        }
    }

    /// Returns the remaining text, and how the command ended.
    fn finish(mut self) -> (String, Ended) {
        while self.read() {}
        (self.shown, self.running.waiter.wait())
    }
}

/// Returns the text that a command shows on a terminal, after it has exited successfully.
#[track_caller]
fn shown(host: &Host, spec: LaunchSpec) -> String {
    let (shown, ended) = Screen::start(host, spec).finish();
    assert_eq!(ended.cause, Cause::Exited(0), "{shown}");
    shown.replace("\r\n", "\n")
}

#[test]
fn it_has_a_name_a_size_and_is_the_controlling_one() {
    let host = Host::new();
    let command = r#"tty; stty size; for end in 0 1 2; do [ -t $end ] && echo -n "$end "; done; echo
        echo by name >/dev/tty; ls /dev/pts; ps -o tty= -p $$; ps -o tty= -p 1
        read -r _ _ _ _ group session number foreground _ </proc/self/stat
        [ "$group" = "$foreground" ] && [ "$session" = $$ ] && echo in the foreground"#;
    for spec in [host.spec(command), host.read_only_spec(command)] {
        let wanted = "/dev/pts/0\n31 97\n0 1 2 \nby name\n0  ptmx\npts/0\n?\nin the foreground\n";
        assert_eq!(shown(&host, spec), wanted);
    }
}

#[test]
fn output_before_the_end_is_complete() {
    let host = Host::new();
    let shown = shown(&host, host.spec("seq 1 30000"));
    let wanted: String = (1..=30_000).map(|number| format!("{number}\n")).collect();
    assert_eq!(shown, wanted);
}

#[test]
fn keys_are_signals_and_jobs_are_controlled() {
    let host = Host::new();
    let (first, second) = (mark(200), mark(201));
    let mut screen = Screen::start(&host, host.spec("PS1='$ ' bash --norc --noprofile --noediting -i"));
    screen.see("$ ");
    screen.type_in(&format!("sleep {first}; echo after $?\n"));
    eventually("it sleeps", || !sleepers(&first).is_empty());
    screen.type_in("\x03");
    screen.see("$ ");
    screen.type_in(&format!("sleep {second}\n"));
    eventually("it sleeps", || !sleepers(&second).is_empty());
    screen.type_in("\x1a");
    screen.see("Stopped");
    screen.type_in("jobs; bg; fg\n");
    screen.see("Stopped");
    screen.see(&format!("sleep {second} &"));
    screen.see(&format!("sleep {second}\r\n"));
    // bash prints this before it changes the foreground process group.
    eventually("it has the keyboard", || sleepers(&second).iter().all(|process| has_the_keyboard(process)));
    screen.type_in("\x03");
    screen.see("$ ");
    screen.type_in("exit 7\n");
    assert_eq!(screen.finish().1.cause, Cause::Exited(7));
}

/// Reports whether a process runs in the foreground of its terminal: `proc(5)`, fields 3, 5 and 8 of `stat`.
fn has_the_keyboard(process: &Path) -> bool {
    let stat = fs::read_to_string(process.join("stat")).unwrap_or_default();
    let mut fields = stat.rsplit(") ").next().unwrap_or_default().split(' ');
    let (state, group) = (fields.next(), fields.nth(1));
    state != Some("T") && group.is_some() && group == fields.nth(2)
}

#[test]
fn a_new_size_reaches_its_programs() {
    let host = Host::new();
    let command = "trap 'stty size; exit 4' WINCH; echo ready; while :; do sleep 0.05; done";
    let mut screen = Screen::start(&host, host.spec(command));
    screen.see("ready");
    let size = Winsize { ws_row: 5, ws_col: 132, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&screen.keys, size).unwrap();
    screen.see("5 132");
    assert_eq!(screen.finish().1.cause, Cause::Exited(4));
}

#[test]
fn a_password_is_not_shown() {
    let host = Host::new();
    let ask = r#"import getpass; print("<" + getpass.getpass("word: ") + ">")"#;
    let mut screen = Screen::start(
        &host,
        host.spec(format!("read -rsp 'secret: ' x; echo; echo ${{#x}}; python3 -c '{ask}'")),
    );
    screen.see("secret: ");
    screen.type_in("hidden\n");
    screen.see("6\r\n");
    screen.see("word: ");
    screen.type_in("quiet\n");
    let (rest, ended) = screen.finish();
    assert_eq!((rest.trim(), ended.cause), ("<quiet>", Cause::Exited(0)));
}

#[test]
fn nothing_can_be_typed_for_whoever_sits_there_and_lines_have_no_other_drivers() {
    let host = Host::new();
    let attack = r#"
import fcntl, os, termios
for name, request in [("type", 0x5412), ("console", 0x541c), ("driver", 0x5423)]:
    for end in [0, os.open("/dev/tty", os.O_RDWR)]:
        try:
            fcntl.ioctl(end, request, b"x\0\0\0")
            print(name, "worked")
        except OSError as error:
            print(name, error.errno)
"#;
    let wanted = "type 1\ntype 1\nconsole 1\nconsole 1\ndriver 1\ndriver 1\n";
    assert_eq!(shown(&host, host.spec(format!("python3 -c '{attack}'"))), wanted);
}

#[test]
fn processes_that_hold_the_terminal_end_with_the_shell() {
    let host = Host::new();
    let mark = mark(202);
    let command =
        format!("trap '' HUP; setsid -f sleep {mark}; (trap '' HUP TERM; sleep {mark}) & disown; exit 3");
    let (_, ended) = Screen::start(&host, host.spec(command)).finish();
    assert_eq!((ended.cause, ended.leftovers), (Cause::Exited(3), true));
    assert!(host_processes(&mark).is_empty());
}

#[test]
fn a_command_that_lets_go_of_its_terminal_can_come_back_to_it() {
    let host = Host::new();
    let command = "exec </dev/null >/dev/null 2>&1; sleep 0.2; echo still here >/dev/tty";
    assert_eq!(shown(&host, host.spec(command)), "still here\n");
}

#[test]
fn a_command_that_does_not_read_makes_nobody_wait_for_it() {
    let host = Host::new();
    for command in ["stty raw -echo; echo ready; sleep 1004", "stty raw -echo; echo ready; kill -STOP $$"] {
        let mut screen = Screen::start(&host, host.spec(command));
        screen.see("ready");
        fcntl_setfl(&screen.keys, OFlags::RDWR | OFlags::NONBLOCK).unwrap();
        let mut taken = 0;
        let full = loop {
            match screen.keys.write(&[b'x'; 4096]) {
                Ok(written) => taken += written,
                Err(error) => break error.kind(),
            }
            assert!(taken < 10 << 20, "the terminal accepts unlimited input");
        };
        assert_eq!(full, ErrorKind::WouldBlock);
        screen.running.control.kill();
        fcntl_setfl(&screen.keys, OFlags::RDWR).unwrap();
        assert_eq!(screen.finish().1.cause, Cause::Killed);
    }
}

#[test]
fn no_terminal_of_others_is_in_reach() {
    let host = Host::new();
    // The control: a command without a terminal sees none at all.
    let plain = host.sh("exec 3<>/dev/tty || echo none; ls /dev/pts");
    assert!(plain.stdout.contains("none\n") && plain.stdout.ends_with("ptmx\n"), "{}", plain.stdout);
    let mut first = Screen::start(&host, host.spec("tty; read -r x; echo \"<$x>\""));
    first.see("/dev/pts/0");
    let second =
        shown(&host, host.spec("tty; ls /dev/pts; for n in 1 2 3; do echo x >/dev/pts/$n; done; true"));
    assert!(second.starts_with("/dev/pts/0\n0  ptmx\n"), "{second}");
    assert!(second.matches("No such file").count() + second.matches("denied").count() == 3, "{second}");
    first.type_in("mine\n");
    let (shown, _) = first.finish();
    assert!(shown.ends_with("<mine>\r\n") && !shown.contains("x\r\nx"), "{shown}");
}

#[test]
fn outside_the_sandbox_it_is_one_of_its_own_too() {
    let host = Host::new();
    let session = host.session();
    let inside = host.spec("tty; stty size; exec 3<>/dev/tty && tty <&3; ps -o tty= -p $$");
    let env = outside(inside.env.clone(), &session.directories);
    let spec = LaunchSpec { env, stdin: Stdin::Terminal(SIZE), ..inside };
    let running = host.launcher.start_outside(&session, &host.limits, &spec).unwrap();
    let (shown, ended) = Screen::of(running).finish();
    assert_eq!(ended.cause, Cause::Exited(0), "{shown}");
    let lines: Vec<&str> = shown.lines().map(str::trim).collect();
    let [tty, size, again, number] = lines[..] else { panic!("{lines:?}") };
    assert!(tty.starts_with("/dev/pts/"), "{tty}");
    assert_eq!((size, again, format!("/dev/{number}").as_str()), ("31 97", "/dev/tty", tty));
}

#[test]
fn outside_the_sandbox_the_runners_terminal_is_out_of_reach() {
    let host = Host::new();
    let session = host.session();
    let inside = host.spec("exec 3<>/dev/tty");
    let env = outside(inside.env.clone(), &session.directories);
    let running = host.launcher.start_outside(&session, &host.limits, &LaunchSpec { env, ..inside }).unwrap();
    let mut said = String::new();
    let mut output = File::from(running.streams.stdout);
    output.read_to_string(&mut said).unwrap();
    assert!(said.contains("No such device"), "{said}");
    assert_ne!(running.waiter.wait().cause, Cause::Exited(0));
}

#[test]
fn a_terminal_has_one_stream() {
    let host = Host::new();
    let spec = LaunchSpec { stdin: Stdin::Terminal(SIZE), separate_stderr: true, ..host.spec("echo never") };
    assert_eq!(host.refused(&host.session(), &spec).step(), "request");
}
