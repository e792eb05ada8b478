//! Tests in which another command of the session exchanges masked names with links while sandboxes start.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use airlock_sandbox::{LaunchSpec, Running, Session};

use super::{Hidden, ReadOnly, Writable, masked, session};
use crate::support::{BWRAP, Host, eventually, finish};

const LAUNCHES: usize = 200;
/// The minimum number of starts that must succeed despite the links.
const STARTED: usize = 20;
/// The number of starts by path after which the control has failed.
const MOST_TRIES: usize = 5000;

/// Exchanges names with their decoys atomically.
const SWAP: &str = r#"exec python3 -c '
import ctypes
swap = ctypes.CDLL(None).renameat2
pairs = [(b"secret", b"decoy"), (b"out", b"away"), (b"gen", b"alias")]
while True:
    for one, other in pairs:
        swap(-100, one, -100, other, 2)
'"#;
/// Reads and writes under every name.
const TRY: &str =
    "cd /workspace; cat secret decoy; for folder in out away gen alias; do echo x > $folder/new; done; true";

struct Scene {
    host: Host,
    session: Session,
    /// A directory of the host that a decoy links to. Every user may write there.
    outside: PathBuf,
    swapper: Running,
}

impl Scene {
    fn new() -> Self {
        let host = Host::new();
        let session = session(&host);
        let outside = host.directory.path().join("outside");
        fs::create_dir(&outside).unwrap();
        fs::set_permissions(&outside, PermissionsExt::from_mode(0o777)).unwrap();
        let decoys = format!(
            "mkdir gen; echo x > plain; ln -s {} away; ln -s plain decoy; ln -s src alias",
            outside.display()
        );
        host.run(&session, &host.spec(decoys));
        let swapper = host.start(&session, &host.spec(SWAP));
        let secret = session.directories.workspace.join("secret");
        eventually("names are swapped", || secret.is_symlink());
        Self { host, session, outside, swapper }
    }

    fn written_through(&self) -> bool {
        self.outside.join("new").exists() || self.session.directories.workspace.join("src/new").exists()
    }

    fn end(self) {
        self.swapper.control.kill();
        finish(self.swapper);
    }
}

#[test]
fn names_that_are_swapped_during_a_launch_neither_show_nor_open_anything() {
    let scene = Scene::new();
    let masks = [("", ReadOnly), ("secret", Hidden), ("out", Writable), ("gen", Writable)];
    let spec = masked(scene.host.spec(format!("{{ {TRY}; }} 2>/dev/null")), &masks);
    let spec = LaunchSpec { cwd: "/".into(), ..spec };
    let (mut launches, mut started) = (0, 0);
    while launches < LAUNCHES || started < STARTED {
        launches += 1;
        assert!(launches < MOST_TRIES, "only {started} of {launches} started");
        match scene.host.launcher.start(&scene.host.profile, &scene.session, &scene.host.limits, &spec) {
            Ok(running) => {
                started += 1;
                let stdout = finish(running).stdout;
                assert!(!stdout.contains("secret"), "a hidden file was read: {stdout}");
            }
            Err(error) => assert_eq!(error.step(), "masks", "{error}"),
        }
        assert!(!scene.written_through());
    }
    scene.end();
}

#[test]
fn masks_by_path_are_overcome_by_the_same_swaps() {
    let scene = Scene::new();
    let workspace = &scene.session.directories.workspace;
    let launch = || {
        let mut bwrap = Command::new(BWRAP);
        bwrap.args(["--unshare-pid", "--unshare-net", "--ro-bind", "/usr", "/usr", "--dev", "/dev"]);
        for link in ["bin", "lib", "lib64"] {
            bwrap.args(["--symlink", &format!("usr/{link}"), &format!("/{link}")]);
        }
        bwrap.arg("--ro-bind").args([workspace.as_path(), Path::new("/workspace")]);
        for directory in ["out", "gen"] {
            bwrap.arg("--bind").args([workspace.join(directory), Path::new("/workspace").join(directory)]);
        }
        bwrap.args(["--ro-bind", "/dev/null", "/workspace/secret", "bash", "-c", TRY]);
        String::from_utf8(bwrap.output().unwrap().stdout).unwrap()
    };
    let (mut read, mut written) = (false, false);
    for _ in 0..MOST_TRIES {
        read |= launch().contains("secret");
        written |= scene.written_through();
        if read && written {
            break;
        }
    }
    assert!(read && written, "the control failed, so the test proves nothing: {read} {written}");
    scene.end();
}
