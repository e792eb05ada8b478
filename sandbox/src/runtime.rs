//! The launcher's own files: `airlock-init`, and the files of `/etc` that every sandbox gets. They are created at each
//! start, under a random name.
//!
//! Must not be writable by any session, because they are bound into all sandboxes.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use airlock_init::wire::{COMMAND_DIRECTORY, INSIDE_ID, INSIDE_INIT, MODE_CONNECT, SNAPSHOT_FILE};
use airlock_mounts::remove_tree;
use flate2::read::ZlibDecoder;

use crate::error::LaunchError;
use crate::layout::{HIDDEN_FILE, HOME, USER};

/// The program that is process 1 of every sandbox, compressed. The build script builds it.
static INIT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/airlock-init.zlib"));

const PREFIX: &str = "runtime-";

/// The directory with the launcher's files. It is removed on drop.
#[derive(Debug)]
pub(crate) struct Runtime {
    directory: PathBuf,
}

impl Runtime {
    /// Writes the files into a new directory of `state`, and removes those of an earlier process.
    pub(crate) fn create(state: &Path) -> Result<Self, LaunchError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| LaunchError::Runtime { path, source }
        };
        make_directory(state, 0o700, true).map_err(failed(state))?;
        sweep(state).map_err(failed(state))?;
        let name = random_name().map_err(failed(state))?;
        let runtime = Self { directory: state.join(format!("{PREFIX}{name}")) };
        make_directory(&runtime.directory, 0o755, false).map_err(failed(&runtime.directory))?;
        let etc = runtime.directory.join("etc");
        make_directory(&etc, 0o755, false).map_err(failed(&etc))?;

        let write = |path: PathBuf, bytes: &[u8], mode| write_file(&path, bytes, mode).map_err(failed(&path));
        write(runtime.init(), &init().map_err(failed(&runtime.init()))?, 0o555)?;
        write(runtime.directory.join("bash_env"), bash_env().as_bytes(), 0o444)?;
        write(runtime.directory.join(HIDDEN_FILE), b"", 0)?;
        for (name, text) in account_files() {
            write(etc.join(name), text.as_bytes(), 0o444)?;
        }
        write(etc.join("hosts"), b"127.0.0.1 localhost airlock\n::1 localhost airlock\n", 0o444)?;
        let nsswitch = b"passwd: files\ngroup: files\nhosts: files dns\n";
        write(etc.join("nsswitch.conf"), nsswitch, 0o444)?;
        write(etc.join("gitconfig"), git_config_file(false).as_bytes(), 0o444)?;
        write(etc.join("gitconfig-read-only"), git_config_file(true).as_bytes(), 0o444)?;
        write(etc.join("ssh_config"), ssh_config_file().as_bytes(), 0o444)?;
        Ok(runtime)
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    pub(crate) fn init(&self) -> PathBuf {
        self.directory.join("init")
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        // If the removal fails, the next start repeats it.
        let _ = remove_tree(&self.directory);
    }
}

/// Returns `airlock-init`.
fn init() -> io::Result<Vec<u8>> {
    let mut program = Vec::new();
    ZlibDecoder::new(INIT).read_to_end(&mut program)?;
    Ok(program)
}

/// Returns the script that bash reads before the command if its session has a snapshot. Functions of the snapshot may
/// use extended globs, so `extglob` is on while it is sourced and off for the command. The policy refuses a snapshot
/// that redefines `builtin` as a function, so the names used here are reliable.
#[must_use]
pub fn bash_env() -> String {
    format!(
        "unset BASH_ENV\n\
         shopt -s extglob\n\
         . {COMMAND_DIRECTORY}/{SNAPSHOT_FILE}\n\
         \\builtin shopt -u extglob\n"
    )
}

/// Returns the script that zsh reads before the command if its session has a snapshot. Aliases are off until its end, so
/// that none is expanded within the snapshot. The policy refuses a snapshot that redefines `builtin` as a function.
pub(crate) fn zsh_start() -> String {
    format!(
        "unset ZDOTDIR\n\
         setopt extended_glob\n\
         . {COMMAND_DIRECTORY}/{SNAPSHOT_FILE}\n\
         \\builtin unsetopt extended_glob\n\
         \\builtin setopt aliases\n"
    )
}

/// Returns the contents of the sandbox's `/etc/passwd` and `/etc/group`.
fn account_files() -> [(&'static str, String); 2] {
    let id = INSIDE_ID;
    let passwd = format!(
        "root:x:0:0:root:/nonexistent:/usr/sbin/nologin\n\
         {USER}:x:{id}:{id}::{HOME}:/bin/bash\n\
         nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"
    );
    let group = format!("root:x:0:\n{USER}:x:{id}:\nnogroup:x:65534:\n");
    [("passwd", passwd), ("group", group)]
}

fn make_directory(path: &Path, mode: u32, parents: bool) -> io::Result<()> {
    DirBuilder::new().recursive(parents).mode(mode).create(path)?;
    // Independent of the umask: session uids must be able to read the inner directories.
    if parents { Ok(()) } else { fs::set_permissions(path, PermissionsExt::from_mode(mode)) }
}

fn write_file(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(bytes)?;
    file.set_permissions(PermissionsExt::from_mode(mode))
}

fn sweep(state: &Path) -> io::Result<()> {
    for entry in fs::read_dir(state)? {
        let entry = entry?;
        if entry.file_name().as_encoded_bytes().starts_with(PREFIX.as_bytes()) {
            remove_tree(entry.path())?;
        }
    }
    Ok(())
}

/// Returns 128 random bits in hex.
pub(crate) fn random_name() -> io::Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(u128::from_le_bytes(bytes)).map(|number| format!("{number:032x}"))
}

/// Returns the settings for every command, followed by those for read-only ones.
///
/// Airlock's settings for git, in `/etc/gitconfig` and again as variables, which override a repository's settings.
///
/// Must contain only required overrides, no preferences.
///
/// No value disables an external diff program (an empty one makes `git diff` fail). For read-only commands, the mounts
/// restrict it.
pub(crate) fn git_overrides(read_only: bool) -> Vec<(&'static str, &'static str)> {
    let mut settings = vec![
        ("safe.bareRepository", "explicit"),
        // A background process of git would be killed with the command before it completes.
        ("gc.autoDetach", "false"),
        ("maintenance.autoDetach", "false"),
    ];
    if read_only {
        settings.extend([
            ("core.fsmonitor", "false"),
            ("core.hooksPath", "/dev/null"),
            ("log.showSignature", "false"),
            ("core.pager", "cat"),
            // `git diff` rewrites the index, and ignores GIT_OPTIONAL_LOCKS.
            ("diff.autoRefreshIndex", "false"),
        ]);
    }
    settings
}

/// Returns the settings as a configuration file.
fn git_config_file(read_only: bool) -> String {
    let mut text = String::new();
    for (name, value) in git_overrides(read_only) {
        if let Some((section, key)) = name.split_once('.') {
            text.push_str(&format!("[{section}]\n\t{key} = {value}\n"));
        }
    }
    text
}

/// Returns the configuration of ssh, and of the programs that start it, such as git, scp and rsync. Hosts other than the
/// session's own are reached through the proxy of the execution. The settings of the root and of the user come first, so
/// they can replace it.
fn ssh_config_file() -> String {
    format!(
        "Include /etc/ssh/ssh_config.d/*.conf\n\
         Host * !localhost !127.* !::1\n    \
         ProxyCommand {INSIDE_INIT} {MODE_CONNECT} %h %p\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn init_is_small_and_static() {
        const PT_INTERP: u32 = 3;
        let program = init().unwrap();
        assert!(program.len() <= 3 << 19, "airlock-init has {} bytes, the limit is 1.5 MiB", program.len());
        assert_eq!(&program[..5], b"\x7fELF\x02");
        let half = |at: usize| u16::from_le_bytes(program[at..at + 2].try_into().unwrap());
        let headers = usize::try_from(u64::from_le_bytes(program[32..40].try_into().unwrap())).unwrap();
        let (size, count) = (usize::from(half(54)), usize::from(half(56)));
        for header in 0..count {
            let at = headers + header * size;
            let kind = u32::from_le_bytes(program[at..at + 4].try_into().unwrap());
            assert_ne!(kind, PT_INTERP, "airlock-init needs a dynamic loader");
        }
    }

    #[test]
    fn a_new_start_removes_what_an_earlier_one_left_and_itself() {
        let state = tempfile::tempdir().unwrap();
        let stale = state.path().join("runtime-stale");
        fs::create_dir(&stale).unwrap();
        fs::write(state.path().join("other"), "").unwrap();
        let runtime = Runtime::create(state.path()).unwrap();
        assert!(!stale.exists());
        assert!(runtime.init().exists());
        drop(runtime);
        let left: Vec<_> = fs::read_dir(state.path()).unwrap().collect();
        assert_eq!(left.len(), 1, "only the other process's file remains");
    }
}
