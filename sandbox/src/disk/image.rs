//! A private file system for a session, in a sparse file next to its directory.
//!
//! No command can access the file, so only the kernel writes the file system that the kernel reads. `mkfs.ext4` and
//! `mount` run without an environment, by their fixed paths.

use std::fs::{self, OpenOptions};
use std::io::Read;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::backend::{DiskBackend, DiskConfig, DiskError, step};

const IMAGE: &str = "disk.img";
const MKFS: [&str; 2] = ["/usr/sbin/mkfs.ext4", "/sbin/mkfs.ext4"];
const MOUNT: [&str; 2] = ["/usr/bin/mount", "/bin/mount"];
/// The timeout of one program.
const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(2);
/// The maximum bytes of a program's messages.
const SAID: u64 = 4096;
/// The minimum number of inodes of ext4, including its own.
const INODES_MIN: u64 = 64;

pub(super) const REMEDY: &str = "the runner must be root, with CAP_SYS_ADMIN and /dev/loop-control (in a pod: \
                               privileged), and the programs mkfs.ext4 and mount must be installed: apt-get \
                               install e2fsprogs mount";

/// Creates the empty image of a session.
pub(super) fn make(place: &Path, config: &DiskConfig) -> Result<(), DiskError> {
    let least = DiskBackend::LOOP_BYTES_MIN;
    let Some(bytes) = config.bytes.filter(|bytes| *bytes >= least) else {
        let cause = format!("`workspace.bytes` must be {least} or more");
        return Err(DiskError::Step { action: "create an image", cause });
    };
    let image = place.join(IMAGE);
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&image);
    file.and_then(|file| file.set_len(bytes)).map_err(step("create an image"))?;
    let mut mkfs = program(&MKFS)?;
    // The image is sparse and has no data to discard. One percent is reserved for the runner's own files.
    mkfs.args(["-q", "-F", "-m", "1", "-E", "nodiscard,lazy_itable_init=1,lazy_journal_init=1"]);
    if let Some(inodes) = config.inodes {
        mkfs.arg("-N").arg(inodes.max(INODES_MIN).to_string());
    }
    run(mkfs.arg(&image), "create a file system in an image")
}

/// Mounts the image of a session on its directory.
pub(super) fn mount(place: &Path, root: &Path) -> Result<(), DiskError> {
    let options = "loop,nodev,nosuid,noinit_itable,discard,errors=remount-ro";
    let mut mount = program(&MOUNT)?;
    mount.args(["-n", "-t", "ext4", "-o", options, "--"]).arg(place.join(IMAGE)).arg(root);
    run(&mut mount, "mount an image")?;
    fs::set_permissions(root, fs::Permissions::from_mode(0o700)).map_err(step("restrict access to an image"))
}

fn program(paths: &[&str; 2]) -> Result<Command, DiskError> {
    let found = paths.iter().map(PathBuf::from).find(|path| path.exists());
    let missing = || DiskError::Unusable {
        backend: DiskBackend::Loop,
        cause: format!("{} does not exist", paths.join(" or ")),
        remedy: REMEDY.to_owned(),
    };
    let mut command = Command::new(found.ok_or_else(missing)?);
    command.env_clear().current_dir("/").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    Ok(command)
}

/// Waits for a program for at most [`PATIENCE`]. Its first messages form the error.
fn run(command: &mut Command, action: &'static str) -> Result<(), DiskError> {
    let failed = step(action);
    let mut child = command.spawn().map_err(&failed)?;
    let until = Instant::now() + PATIENCE;
    let status = loop {
        if let Some(status) = child.try_wait().map_err(&failed)? {
            break status;
        }
        if Instant::now() > until {
            // The process may be stuck in the kernel, and is not waited for.
            let _ = child.kill();
            return Err(DiskError::Step { action, cause: "it does not finish".to_owned() });
        }
        thread::sleep(PAUSE);
    };
    if status.success() {
        return Ok(());
    }
    let mut said = String::new();
    if let Some(stderr) = child.stderr.take() {
        let _ = stderr.take(SAID).read_to_string(&mut said);
    }
    let said: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let cause = if said.is_empty() { status.to_string() } else { said.join("; ") };
    Err(DiskError::Step { action, cause })
}
