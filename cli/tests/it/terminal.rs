//! Tests of the output on a terminal, as a terminal emulator shows it. A pipe receives none of the decorations.

use std::{
    fs::File,
    io::Read as _,
    num::NonZeroU16,
    os::fd::OwnedFd,
    process::Child,
    sync::{Arc, Mutex},
    thread::JoinHandle,
};

use nix::pty::{Winsize, openpty};

use crate::support::{Site, end, eventually};

const ROWS: u16 = 12;
const COLUMNS: u16 = 100;

/// Returns the seconds of a time such as `7s` or `1m 07s`, or 0 if the text is not a time.
fn seconds(time: &str) -> u64 {
    let (minutes, seconds) = time.split_once("m ").unwrap_or(("0", time));
    let number = |digits: &str| digits.parse::<u64>().unwrap_or(0);
    60 * number(minutes) + number(seconds.trim_end_matches('s'))
}

fn size(cells: u16) -> NonZeroU16 {
    NonZeroU16::new(cells).unwrap()
}

/// A terminal emulator with a program that runs in it.
struct Terminal {
    child: Child,
    screen: Arc<Mutex<vt100::Parser>>,
    reader: JoinHandle<Vec<u8>>,
}

impl Terminal {
    fn run(site: &Site, arguments: &[&str]) -> Self {
        let window = Winsize { ws_row: ROWS, ws_col: COLUMNS, ws_xpixel: 0, ws_ypixel: 0 };
        let pty = openpty(Some(&window), None).unwrap();
        let end = |fd: &OwnedFd| fd.try_clone().unwrap();
        let mut command = site.airlock(arguments);
        command.env("TERM", "xterm-256color");
        let slave = pty.slave;
        let child = command.stdin(end(&slave)).stdout(end(&slave)).stderr(slave).spawn().unwrap();
        // The command holds the remaining descriptors of the slave.
        drop(command);
        let screen = Arc::new(Mutex::new(vt100::Parser::new(size(ROWS), size(COLUMNS), 0)));
        let reader = {
            let screen = Arc::clone(&screen);
            let mut master = File::from(pty.master);
            std::thread::spawn(move || {
                let (mut all, mut buffer) = (Vec::new(), [0; 4096]);
                // Reading from a closed terminal is an error.
                while let Ok(got @ 1..) = master.read(&mut buffer) {
                    let new = buffer.get(..got).unwrap();
                    all.extend_from_slice(new);
                    screen.lock().unwrap().process(new);
                }
                all
            })
        };
        Self { child, screen, reader }
    }

    fn lines(&self) -> Vec<String> {
        let screen = self.screen.lock().unwrap();
        let mut lines: Vec<String> =
            screen.screen().rows(0, COLUMNS).map(|line| line.trim_end().to_owned()).collect();
        let used = lines.iter().rposition(|line| !line.is_empty()).map_or(0, |last| last + 1);
        lines.truncate(used);
        lines
    }

    fn shows(&self, text: &str) {
        eventually(text, || self.lines().iter().any(|line| line.contains(text)));
    }

    /// Waits until the screen shows the text with at least this number of seconds, and returns the number. A
    /// value can be skipped.
    fn shows_seconds(&self, text: &str, least: u64) -> u64 {
        let mut shown = 0;
        eventually(text, || {
            let lines = self.lines();
            let time = lines.iter().find_map(|line| line.split_once(text)).map(|(_, time)| time);
            shown = time.map_or(0, seconds);
            shown >= least
        });
        shown
    }

    /// Returns the exit code, the lines on the screen at the end, and all bytes that were written.
    fn end(mut self) -> (Option<i32>, Vec<String>, String) {
        let code = end(&mut self.child);
        let lines = Arc::clone(&self.screen);
        let all = self.reader.join().unwrap();
        let screen = lines.lock().unwrap();
        let lines = screen.screen().rows(0, COLUMNS).map(|line| line.trim_end().to_owned());
        (code, lines.filter(|line| !line.is_empty()).collect(), String::from_utf8_lossy(&all).into_owned())
    }
}

#[test]
fn a_quiet_command_is_seen_to_run_and_summed_up() {
    let site = Site::with_dev(&[]);
    let session = site.text(&["session", "create"]).trim().to_owned();
    let command = "echo begun; until [ -e go ]; do sleep 0.1; done; echo ended; grep x /dev/null";
    let terminal = Terminal::run(&site, &["run", "--session", &session, "--", command]);
    terminal.shows("begun");
    let shown = terminal.shows_seconds(" running, ", 1);
    terminal.shows_seconds(" running, ", shown + 1);
    site.text(&["run", "--session", &session, "--allow-concurrent", "--", "touch go"]);
    let (code, lines, _) = terminal.end();
    assert_eq!(code, Some(1));
    let [begun, ended, summary] = lines.as_slice() else { panic!("{lines:?}") };
    assert_eq!((&begun[..], &ended[..]), ("begun", "ended"), "the status line was removed");
    let says = "airlock: exited with code 1 (grep: no line matched), ";
    assert!(summary.starts_with(says), "{summary}");
    assert!(summary.contains(" s, ") && summary.ends_with(" 12 B of output"), "{summary}");
}

#[test]
fn a_line_that_the_output_has_begun_is_left_alone() {
    let site = Site::with_dev(&[]);
    let terminal = Terminal::run(&site, &["run", "--", "printf begun; sleep 2.5; printf ' and ended'"]);
    let (code, lines, all) = terminal.end();
    assert_eq!(code, Some(0));
    // Status lines may precede the output.
    let (_, since) = all.split_once("begun").unwrap();
    assert!(!since.contains("running,"), "{all:?}");
    assert_eq!(lines[0], "begun and ended");
    assert!(lines[1].starts_with("airlock: done, ") && lines.len() == 2, "{lines:?}");
}

#[test]
fn a_command_that_waits_for_an_approval_shows_it() {
    let site = Site::with_dev(&[]);
    let arguments = ["run", "--profile", "strict", "--on-ask", "wait", "--", "touch x"];
    let terminal = Terminal::run(&site, &arguments);
    terminal.shows("answer with: airlock approve ");
    terminal.shows_seconds(" waiting for an approval, ", 1);
    let line = terminal.lines().into_iter().find(|line| line.contains("airlock approve")).unwrap();
    let id = line.split_whitespace().last().unwrap().to_owned();
    site.text(&["approve", &id, "--yes"]);
    let (code, lines, _) = terminal.end();
    assert_eq!(code, Some(0), "{lines:?}");
    let last = lines.last().unwrap();
    assert!(last.starts_with("airlock: done, ") && last.ends_with("no output"), "{last}");
}

#[test]
fn a_pipe_gets_the_output_and_nothing_else() {
    let site = Site::with_dev(&[]);
    let output =
        site.airlock(&["run", "--", "sleep 1.5; echo out; exit 3"]).env("TERM", "xterm").output().unwrap();
    assert_eq!(
        (output.status.code(), &output.stdout[..], &output.stderr[..]),
        (Some(3), &b"out\n"[..], &b""[..])
    );
    // A terminal that cannot be drawn on also receives only lines.
    let mut plain = site.airlock(&["run", "--", "sleep 1.5; echo out"]);
    let pty = openpty(None, None).unwrap();
    let child = plain.env("TERM", "dumb").stdout(pty.slave.try_clone().unwrap()).stderr(pty.slave);
    let mut child = child.spawn().unwrap();
    drop(plain);
    assert_eq!(end(&mut child), Some(0));
    let mut all = Vec::new();
    drop(File::from(pty.master).read_to_end(&mut all));
    assert_eq!(String::from_utf8_lossy(&all), "out\r\n");
}
