//! Uses a given amount of a resource, and releases it.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::attempt::Attempt;

const MIB: usize = 1 << 20;
/// Longer than any test, but short enough for a process that no test ends.
const HELD: Duration = Duration::from_secs(120);

/// Starts this many processes at once, then this many threads at once.
pub(crate) fn processes(count: &OsStr) -> Vec<Attempt> {
    let count = number(count);
    let mut children = Vec::new();
    let mut stopped = Ok(());
    for _ in 0..count {
        match held("nothing", 0).stdin(Stdio::null()).stdout(Stdio::null()).spawn() {
            Ok(child) => children.push(child),
            Err(error) => {
                stopped = Err(error);
                break;
            }
        }
    }
    let mut ways = vec![Attempt::of(format!("{count} processes"), stopped)];
    children.iter_mut().for_each(end);
    ways.push(Attempt::of(format!("{count} threads"), threads(count)));
    ways
}

/// Occupies this many pids at once with processes that do not run: zombies, stopped processes, and waiting threads of
/// several processes.
pub(crate) fn numbers(count: &OsStr) -> Vec<Attempt> {
    let count = number(count);
    vec![
        Attempt::of("zombies", all_taken("gone", count, |_| Ok(()))),
        Attempt::of("stopped processes", all_taken("nothing", count, stop)),
        Attempt::of("threads of several processes", all_hold("threads", count / 4, 4)),
    ]
}

fn stop(child: &Child) -> io::Result<()> {
    Ok(kill_process(Pid::from_child(child), Signal::STOP)?)
}

/// Checks whether this many children can exist at once without being reaped.
fn all_taken(kind: &str, count: usize, then: fn(&Child) -> io::Result<()>) -> io::Result<()> {
    let mut children = Vec::new();
    let result = (0..count).try_for_each(|_| {
        let child = held(kind, 0).stdin(Stdio::null()).stdout(Stdio::null()).spawn()?;
        children.push(child);
        children.last().map_or(Ok(()), then)
    });
    children.iter_mut().for_each(end);
    result
}

/// Starts this many threads, which wait until the returned sender is dropped.
fn threads(count: usize) -> io::Result<SyncSender<()>> {
    let (end, wait) = sync_channel(0);
    let wait = Arc::new(Mutex::new(wait));
    for _ in 0..count {
        let wait = Arc::clone(&wait);
        let hold = move || drop(wait.lock().map(|wait: MutexGuard<'_, Receiver<()>>| wait.recv()));
        thread::Builder::new().stack_size(64 << 10).spawn(hold)?;
    }
    Ok(end)
}

/// Uses this many bytes of memory: in one process, in a memory file, and in eight processes together.
pub(crate) fn memory(bytes: &OsStr) -> Vec<Attempt> {
    let bytes = number(bytes);
    vec![
        Attempt::of("one process", all_hold("memory", bytes, 1)),
        Attempt::of("a memory file", all_hold("memfd", bytes, 1)),
        Attempt::of("eight processes", all_hold("memory", bytes / 8, 8)),
    ]
}

/// Writes this many bytes to a file in a directory.
pub(crate) fn disk(bytes: &OsStr, directory: &OsStr) -> Vec<Attempt> {
    let path = Path::new(directory).join("airlock-probe-filled");
    let filled = File::create(&path).and_then(|mut file| write_ones(&mut file, number(bytes)));
    let _ = fs::remove_file(&path);
    vec![Attempt::of("one file", filled)]
}

/// Creates this many empty files in a directory.
pub(crate) fn inodes(count: &OsStr, directory: &OsStr) -> Vec<Attempt> {
    let directory = Path::new(directory).join("airlock-probe-files");
    let make = || {
        fs::create_dir(&directory)?;
        (0..number(count)).try_for_each(|index| File::create(directory.join(index.to_string())).map(drop))
    };
    let made = make();
    let _ = fs::remove_dir_all(&directory);
    vec![Attempt::of("empty files", made)]
}

/// Holds `KIND:BYTES` (or this many threads), prints a line, and ends when its input ends.
pub(crate) fn hold(what: &OsStr) -> ExitCode {
    let what = what.to_string_lossy();
    let (kind, bytes) = what.split_once(':').unwrap_or((&what, "0"));
    let bytes = number(OsStr::new(bytes));
    let mut memory: Vec<u8> = Vec::new();
    let (mut file, mut ends) = (None, None);
    match kind {
        "gone" => return ExitCode::SUCCESS,
        "threads" => match threads(bytes) {
            Ok(end) => ends = Some(end),
            Err(_) => return ExitCode::FAILURE,
        },
        "memory" => memory.resize(bytes, 1),
        "memfd" => {
            let made = rustix::fs::memfd_create("held", rustix::fs::MemfdFlags::CLOEXEC).map(File::from);
            let filled = made.map_err(io::Error::from).and_then(|mut file| {
                write_ones(&mut file, bytes)?;
                Ok(file)
            });
            match filled {
                Ok(filled) => file = Some(filled),
                Err(_) => return ExitCode::FAILURE,
            }
        }
        _ => {}
    }
    println!("held");
    let mut byte = [0];
    // Without an input that ends, the process ends after a timeout.
    if kind == "nothing" {
        thread::sleep(HELD);
    } else {
        let _ = io::stdin().read(&mut byte);
    }
    drop((memory, file, ends));
    ExitCode::SUCCESS
}

fn held(kind: &str, bytes: usize) -> Command {
    let mut command = Command::new("/proc/self/exe");
    command.arg("hold").arg(format!("{kind}:{bytes}"));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    command
}

/// Checks whether `count` processes can hold `bytes` each, all at once.
fn all_hold(kind: &str, bytes: usize, count: usize) -> io::Result<()> {
    let mut children = Vec::new();
    let mut result = Ok(());
    for _ in 0..count {
        let mut child = held(kind, bytes).spawn()?;
        let mut said = [0; 5];
        let output = child.stdout.as_mut();
        let answer = output.map_or(Ok(()), |output| output.read_exact(&mut said));
        children.push(child);
        if answer.is_err() {
            result = Err(io::Error::other("the process ended before it used this amount"));
            break;
        }
    }
    children.iter_mut().for_each(end);
    result
}

fn end(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

fn write_ones(file: &mut File, mut bytes: usize) -> io::Result<()> {
    let block = vec![1; MIB];
    while bytes > 0 {
        let part = block.get(..bytes.min(MIB)).unwrap_or_default();
        file.write_all(part)?;
        bytes -= part.len();
    }
    file.sync_data()
}

/// Parses a number. An invalid one gives the maximum, which cannot be reached.
fn number(text: &OsStr) -> usize {
    text.to_str().and_then(|text| text.parse().ok()).unwrap_or(usize::MAX)
}
