//! The worker inside the sandbox: receives commands, traces each in bash, and reports the programs that it started. It
//! must run only inside the sandbox. It makes no decision.

use std::fs::{self, DirEntry, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use airlock_sandbox::{COMMAND_DIRECTORY, COMMAND_FILE, INSIDE_BASH_ENV, SNAPSHOT_FILE, Shell, shell_words};
use serde::{Deserialize, Serialize};

use super::sandbox::{self, RunMode};
use crate::trace::{self, Limits, Program, Trace};

/// The maximum size of a message between driver and worker, in bytes.
const MAX_FRAME: u32 = 8 << 20;
/// The directories in which commands run and can write.
const DIRECTORIES: &[&str] = &["/workspace", "/tmp", "/home/agent"];
/// The content of the workspace before each command.
const FILES: &[(&str, &str)] = &[
    ("f1", "one\ntwo\n"),
    ("f2", "touch x\n"),
    ("f.c", "int x;\n"),
    ("d/f3", "three\n"),
    ("sp ace", "a b\n"),
];

/// A message from the driver to the worker.
#[derive(Debug, Serialize, Deserialize)]
struct Order {
    command: Vec<u8>,
    mode: RunMode,
}

/// Encodes a message that tells the worker to run a command.
///
/// # Errors
///
/// Returns an error if the message cannot be encoded.
pub fn order(command: &[u8], mode: RunMode) -> io::Result<Vec<u8>> {
    postcard::to_allocvec(&Order { command: command.to_vec(), mode }).map_err(io::Error::other)
}

/// Runs commands until standard input ends.
///
/// # Errors
///
/// Returns an error if the driver has ended, the workspace cannot be reset, or a run cannot be
/// traced.
pub fn serve() -> io::Result<()> {
    if std::process::id() > 8 || !Path::new(INSIDE_BASH_ENV).exists() {
        return Err(io::Error::other("the worker runs inside its sandbox only"));
    }
    let limits = Limits {
        wall: Duration::from_millis(600),
        linger: Duration::from_millis(60),
        processes: 40,
        file_blocks: 256,
        memory_kib: 256 << 10,
    };
    let (mut input, mut output) = (io::stdin().lock(), io::stdout().lock());
    while let Some(message) = read_frame(&mut input)? {
        let order: Order = postcard::from_bytes(&message).map_err(io::Error::other)?;
        reset()?;
        let script = write_files(&order)?;
        let words = shell_words(Shell::Bash, order.mode.read_only);
        let args = words.into_iter().map(<[u8]>::to_vec).chain([script]).collect();
        let environment = sandbox::environment(order.mode);
        let program =
            Program { path: Path::new("/bin/bash"), args, env: &environment, cwd: Path::new("/workspace") };
        let trace = trace::run(&program, &limits)?;
        write_frame(&mut output, &encode(&trace)?)?;
    }
    Ok(())
}

/// Reads one message: its length in four bytes, then its bytes. Returns `None` at the end of the
/// input.
///
/// # Errors
///
/// Returns an error if the message is truncated or too long.
pub fn read_frame(from: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut length = [0; 4];
    match from.read_exact(&mut length) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
    }
    let length = u32::from_le_bytes(length);
    if length > MAX_FRAME {
        return Err(io::Error::other("a message is too long"));
    }
    let mut bytes = vec![0; usize::try_from(length).map_err(io::Error::other)?];
    from.read_exact(&mut bytes)?;
    Ok(Some(bytes))
}

/// Writes one message.
///
/// # Errors
///
/// Returns an error if the message cannot be written.
pub fn write_frame(to: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    let length = u32::try_from(bytes.len()).map_err(io::Error::other)?;
    to.write_all(&length.to_le_bytes())?;
    to.write_all(bytes)?;
    to.flush()
}

fn encode(trace: &Trace) -> io::Result<Vec<u8>> {
    postcard::to_allocvec(trace).map_err(io::Error::other)
}

/// Decodes the worker's answer.
///
/// # Errors
///
/// Returns an error if the bytes are not a trace.
pub fn decode(bytes: &[u8]) -> io::Result<Trace> {
    postcard::from_bytes(bytes).map_err(io::Error::other)
}

/// Writes the files that bash reads, as process 1 does. Returns the script's path.
fn write_files(order: &Order) -> io::Result<Vec<u8>> {
    let directory = Path::new(COMMAND_DIRECTORY);
    fs::set_permissions(directory, Permissions::from_mode(0o700))?;
    remove_strangers(directory)?;
    let snapshot = order.mode.snapshot.then_some((SNAPSHOT_FILE, sandbox::SNAPSHOT.as_bytes()));
    for (name, content) in [(COMMAND_FILE, order.command.as_slice())].into_iter().chain(snapshot) {
        let mut file =
            OpenOptions::new().write(true).create_new(true).mode(0o400).open(directory.join(name))?;
        file.write_all(content)?;
    }
    Ok(directory.join(COMMAND_FILE).into_os_string().into_vec())
}

/// Restores the directories to their state before the first command.
fn reset() -> io::Result<()> {
    for directory in DIRECTORIES {
        fs::set_permissions(directory, Permissions::from_mode(0o755))?;
        remove_strangers(Path::new(directory))?;
    }
    for (name, text) in FILES {
        let path = Path::new("/workspace").join(name);
        let same = fs::symlink_metadata(&path)
            .is_ok_and(|meta| meta.is_file() && meta.len() == u64::try_from(text.len()).unwrap_or(0));
        if !same {
            fs::create_dir_all(path.parent().unwrap_or(&path))?;
            fs::write(&path, text)?;
        }
    }
    Ok(())
}

fn remove_strangers(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry: DirEntry = entry?;
        let path: PathBuf = entry.path();
        let is_directory = entry.file_type()?.is_dir();
        if is_directory && path == Path::new("/workspace/d") {
            remove_strangers(&path)?;
        } else if is_directory {
            fs::remove_dir_all(&path)?;
        } else if !FILES.iter().any(|(name, _)| Path::new("/workspace").join(name) == path) {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}
