//! Runs a test again in a separate process: as an unprivileged user, or with its own environment.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::Command;

use airlock_mounts::ScratchDir;

use crate::support::PROBE_AT;

/// Set in the process that runs the test again.
const MARK: &str = "AIRLOCK_ESCAPE_AGAIN";

/// The options of a repeated run.
#[derive(Default)]
pub(crate) struct Again {
    /// Whether it runs as an unprivileged user that no other process has.
    pub(crate) user: bool,
    /// Additional environment variables.
    pub(crate) env: Vec<(String, String)>,
    /// An additional argument.
    pub(crate) word: Option<String>,
}

/// Reports whether this process runs a test again.
pub(crate) fn is_it() -> bool {
    std::env::var_os(MARK).is_some()
}

/// Runs `test`, a path in this program, and returns its uid.
pub(crate) fn run(test: &str, again: &Again) -> u32 {
    let uid = if again.user { 2_000_000_000 + std::process::id() } else { 0 };
    let directory = ScratchDir::new();
    fs::set_permissions(directory.path(), PermissionsExt::from_mode(0o755)).unwrap();
    let [program, probe] = ["escape", "probe"].map(|name| directory.path().join(name));
    place(&std::env::current_exe().unwrap(), &program);
    place(Path::new(env!("CARGO_BIN_EXE_airlock-probe")), &probe);
    let own = directory.path().join("own");
    fs::create_dir(&own).unwrap();
    chown(&own, Some(uid), Some(uid)).unwrap();

    let id = uid.to_string();
    let mut command = Command::new("setpriv");
    if again.user {
        command.args(["--reuid", &id, "--regid", &id, "--clear-groups", "--inh-caps=-all"]);
    }
    let output = command
        .arg("--")
        .arg(&program)
        .args([test, "--exact", "--nocapture", "--test-threads=1"])
        .args(&again.word)
        .envs(again.env.iter().map(|(name, value)| (name, value)))
        .env("TMPDIR", &own)
        .env("HOME", &own)
        .env(PROBE_AT, &probe)
        .env(MARK, "1")
        .current_dir(&own)
        .output()
        .unwrap();
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    println!("{said}");
    assert!(output.status.success(), "as uid {uid}: {}", output.status);
    assert!(said.contains("1 passed"), "`{test}` did not run");
    uid
}

/// Places the program `from` at a path where every user can execute it.
fn place(from: &Path, to: &Path) {
    fs::hard_link(from, to).or_else(|_| fs::copy(from, to).map(drop)).unwrap();
    fs::set_permissions(to, PermissionsExt::from_mode(0o755)).unwrap();
}
