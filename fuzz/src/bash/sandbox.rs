//! The sandbox for generated commands: bubblewrap without a network, with directories in memory. In its root, every
//! program except launchers does nothing. No generated command may run outside it.

use std::ffi::OsString;
use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use airlock_sandbox::{COMMAND_DIRECTORY, INSIDE_BASH_ENV};
use serde::{Deserialize, Serialize};

/// Programs that run other programs. The sandbox contains the real programs.
pub const LAUNCHERS: &[&str] = &[
    "bash", "chrt", "dash", "env", "find", "flock", "ionice", "nice", "nohup", "prlimit", "setarch",
    "setsid", "sh", "stdbuf", "taskset", "timeout", "xargs",
];

/// Programs with output that affects the prediction. The sandbox contains the real programs.
const REAL: &[&str] = &["cat"];

/// Programs that do nothing and exit with 0.
pub const STUBS: &[&str] = &[
    "[", "alpha", "awk", "basename", "beta", "chmod", "comm", "cp", "curl", "cut", "date", "dd", "df",
    "dirname", "du", "echo", "file", "gamma", "git", "grep", "head", "hostname", "id", "jq", "kill", "ln",
    "ls", "make", "md5sum", "mkdir", "mktemp", "mv", "node", "npm", "od", "paste", "printf", "pwd",
    "python3", "readlink", "realpath", "rg", "rm", "rmdir", "sed", "seq", "sleep", "sort", "ssh", "stat",
    "sudo", "tail", "tee", "test", "touch", "tr", "tree", "true", "tsort", "uname", "uniq", "wc", "wget",
    "who", "whoami", "xxd", "yes",
];

/// Programs that do nothing and exit with 1.
pub const FAILING: &[&str] = &["cmp", "diff", "false"];

/// The path of the worker inside the sandbox.
const WORKER: &str = "/worker";

/// How to run a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunMode {
    /// Runs it as a read-only command: without aliases and without a snapshot.
    pub read_only: bool,
    /// Runs it after [`SNAPSHOT`].
    pub snapshot: bool,
}

/// The shell snapshot of a session, with names that the generated commands use.
pub const SNAPSHOT: &str = "\
# PATH=/usr/local/bin:/usr/bin:/bin
gamma ()\x20
{\x20
    touch from-function;
    beta \"$@\"
}
up ()\x20
{\x20
    builtin cd ..
}
shopt -s expand_aliases
set +o posix
alias alpha='alpha from-alias'
alias beta='beta one; tee two'
alias env='env '
alias ls='ls -l'
alias make='touch made #'
alias nice='nice '
alias nohup='nohup gamma'
alias touch='alpha '
";

/// Returns the environment of a command as Airlock sets it.
#[must_use]
pub fn environment(mode: RunMode) -> Vec<(OsString, OsString)> {
    let variables = [
        ("AIRLOCK", "1"),
        ("GIT_EDITOR", "true"),
        ("GIT_OPTIONAL_LOCKS", "0"),
        ("HOME", "/home/agent"),
        ("LANG", "C.UTF-8"),
        ("LOGNAME", "agent"),
        ("PATH", "/usr/local/bin:/usr/bin:/bin"),
        ("SHELL", "/bin/bash"),
        ("TERM", "dumb"),
        ("TMPDIR", "/tmp"),
        ("USER", "agent"),
    ];
    let snapshot = mode.snapshot.then_some(("BASH_ENV", INSIDE_BASH_ENV));
    variables.into_iter().chain(snapshot).map(|(name, value)| (name.into(), value.into())).collect()
}

/// Writes the programs of the root into a directory.
///
/// # Errors
///
/// Returns an error if a file cannot be written or a launcher is not installed.
pub fn write_root(directory: &Path) -> io::Result<()> {
    let programs = directory.join("bin");
    fs::create_dir(&programs)?;
    let executable = |path: &Path, bytes: &[u8]| {
        fs::write(path, bytes)?;
        fs::set_permissions(path, Permissions::from_mode(0o755))
    };
    for name in STUBS {
        executable(&programs.join(name), &program_that_ends_with(0))?;
    }
    for name in FAILING {
        executable(&programs.join(name), &program_that_ends_with(1))?;
    }
    for name in LAUNCHERS.iter().chain(REAL) {
        let bytes = fs::read(Path::new("/usr/bin").join(name)).map_err(|error| {
            io::Error::new(error.kind(), format!("`{name}` is needed in /usr/bin: {error}"))
        })?;
        executable(&programs.join(name), &bytes)?;
    }
    fs::write(directory.join("bash_env"), airlock_sandbox::bash_env())
}

/// Returns the command that starts the worker inside a new sandbox.
///
/// # Errors
///
/// Returns an error if standard error cannot be duplicated.
pub fn worker(program: &Path, root: &Path) -> io::Result<Command> {
    let mut command = Command::new("bwrap");
    command
        .args(["--unshare-all", "--die-with-parent", "--new-session", "--clearenv", "--hostname", "airlock"])
        .args(["--uid", "1000", "--gid", "1000", "--cap-drop", "ALL"])
        .args(["--ro-bind", "/usr/lib", "/usr/lib"])
        .args(["--symlink", "usr/lib", "/lib", "--symlink", "usr/bin", "/bin"])
        .args(["--ro-bind-try", "/usr/lib64", "/usr/lib64", "--symlink", "usr/lib64", "/lib64"])
        .arg("--ro-bind")
        .arg(root.join("bin"))
        .arg("/usr/bin")
        .arg("--ro-bind")
        .arg(root.join("bash_env"))
        .arg(INSIDE_BASH_ENV)
        .args(["--size", "1048576", "--perms", "0700", "--tmpfs", COMMAND_DIRECTORY])
        .arg("--ro-bind")
        .arg(program)
        .arg(WORKER)
        .args(["--proc", "/proc", "--dev", "/dev"])
        .args(["--size", "16777216", "--tmpfs", "/tmp", "--size", "16777216", "--tmpfs", "/workspace"])
        .args(["--size", "16777216", "--tmpfs", "/home/agent", "--remount-ro", "/", "--chdir", "/workspace"])
        .args([WORKER, "--worker"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::from(File::open("/dev/null")?));
    Ok(command)
}

/// Returns a minimal program for the kernel: an ELF header, one segment, and the system call that
/// ends the process.
fn program_that_ends_with(code: u8) -> Vec<u8> {
    const BASE: u64 = 0x40_0000;
    const HEADERS: u64 = 64 + 56;
    #[cfg(target_arch = "x86_64")]
    let (machine, text) = (62_u16, [0xbf, code, 0, 0, 0, 0xb8, 60, 0, 0, 0, 0x0f, 0x05].to_vec());
    #[cfg(target_arch = "aarch64")]
    let (machine, text) = (183_u16, {
        let words = [0xd280_0000_u32 | u32::from(code) << 5, 0xd280_0ba8, 0xd400_0001];
        words.into_iter().flat_map(u32::to_le_bytes).collect::<Vec<u8>>()
    });
    let mut elf = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x02\0".to_vec();
    elf.extend(machine.to_le_bytes());
    elf.extend(1_u32.to_le_bytes());
    // The entry point, the offset of the program header, and no section headers.
    for value in [BASE + HEADERS, 64, 0] {
        elf.extend(value.to_le_bytes());
    }
    elf.extend(0_u32.to_le_bytes());
    for value in [64_u16, 56, 1, 0, 0, 0] {
        elf.extend(value.to_le_bytes());
    }
    // One loadable segment, readable and executable: the whole file.
    elf.extend(1_u32.to_le_bytes());
    elf.extend(5_u32.to_le_bytes());
    let length = HEADERS + u64::try_from(text.len()).unwrap_or(0);
    for value in [0, BASE, BASE, length, length, 4096] {
        elf.extend(value.to_le_bytes());
    }
    elf.extend(text);
    elf
}
