//! Tests of where a test may mount.

use std::{
    fs::{self, File},
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use airlock_mounts::{
    PrivateMounts, ScratchDir, inside_command, is_private, mounts_below, private_command, remove_tree,
};
use nix::sched::{CloneFlags, setns};
use rustix::mount::{MountPropagationFlags, mount_change};

const OWN: &str = "/proc/thread-self/ns/mnt";
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn a_private_mount_is_visible_only_inside_and_ends_with_its_thread() {
    let dir = ScratchDir::new();
    let outside = fs::read_link(OWN).unwrap();
    PrivateMounts::run(|private| {
        private.assert();
        assert_ne!(fs::read_link(OWN).unwrap(), outside);
        let _mounted = private.tmpfs(dir.path(), "size=1m");
        fs::write(dir.path().join("file"), "").unwrap();
        assert_eq!(mounts_below(dir.path()).unwrap(), [dir.path()]);
        std::thread::scope(|scope| {
            let seen = scope.spawn(|| dir.path().join("file").exists());
            assert!(seen.join().unwrap(), "control: a thread that starts there sees the mount");
        });
        let table = fs::read_to_string(format!("/proc/{}/mountinfo", std::process::id())).unwrap();
        assert!(!table.contains(dir.path().to_str().unwrap()), "{table}");
    });
    assert_eq!(fs::read_link(OWN).unwrap(), outside);
    assert_eq!(mounts_below(dir.path()).unwrap(), [] as [&Path; 0]);
    assert!(!dir.path().join("file").exists());
}

#[test]
fn mounts_that_spread_within_a_namespace_stay_in_it() {
    let dir = ScratchDir::new();
    PrivateMounts::run(|outer| {
        outer.assert();
        // A namespace with shared mounts, as on a host.
        outer.share();
        PrivateMounts::run(|private| {
            private.share();
            let beside = private_command(&[]);
            let beside = Waiting::start(beside);
            let sharing = Waiting::start(sharing());
            eventually("two more namespaces", || has_namespace(&sharing) && has_namespace(&beside));
            eventually("one of them is private", || is_private(beside.pid()));
            let _mounted = private.tmpfs(dir.path(), "size=1m");
            let seen = |waiting: &Waiting| {
                let table = fs::read_to_string(format!("/proc/{}/mountinfo", waiting.pid())).unwrap();
                table.contains(dir.path().to_str().unwrap())
            };
            assert!(seen(&sharing), "control: the mount propagates");
            assert!(!seen(&beside));
        });
        assert_eq!(mounts_below(dir.path()).unwrap(), [] as [&Path; 0]);
    });
}

#[test]
fn a_mount_ends_when_it_is_dropped() {
    let dir = ScratchDir::new();
    PrivateMounts::run(|private| {
        private.assert();
        let mounted = private.tmpfs(dir.path(), "size=1m");
        let _open = File::create(dir.path().join("file")).unwrap();
        drop(mounted);
        assert_eq!(mounts_below(dir.path()).unwrap(), [] as [&Path; 0]);
    });
}

#[test]
fn a_thread_that_has_left_its_namespace_mounts_nothing() {
    let dir = ScratchDir::new();
    // The namespace to which the thread returns is private, too.
    PrivateMounts::run(|outer| {
        outer.assert();
        let back = File::open(OWN).unwrap();
        let inner = PrivateMounts::enter();
        drop(inner.tmpfs(dir.path(), "size=1m"));
        setns(back, CloneFlags::CLONE_NEWNS).unwrap();
        outer.assert();
        let refused = |mount: &dyn Fn()| assert!(catch_unwind(AssertUnwindSafe(mount)).is_err());
        refused(&|| inner.assert());
        refused(&|| drop(inner.tmpfs(dir.path(), "size=1m")));
        refused(&|| drop(inner.bind("/usr", dir.path())));
        refused(&|| inner.unmount("/"));
        assert_eq!(mounts_below(dir.path()).unwrap(), [] as [&Path; 0]);
    });
}

#[test]
fn the_right_to_mount_stays_with_its_thread() {
    trait Unclear<A> {
        fn shown() {}
    }
    impl<T> Unclear<()> for T {}
    struct Sent;
    impl<T: Send> Unclear<Sent> for T {}
    // If the type were `Send`, this call would be ambiguous and not compile.
    <PrivateMounts as Unclear<_>>::shown();
}

#[test]
fn a_panic_there_is_one_here() {
    let cause = catch_unwind(|| PrivateMounts::run(|_| panic!("of the test"))).unwrap_err();
    assert_eq!(cause.downcast_ref::<&str>(), Some(&"of the test"));
}

#[test]
fn a_scratch_directory_with_a_mount_fails_its_test_and_loses_nothing() {
    let (dir, kept) = (ScratchDir::new(), ScratchDir::new());
    let path = dir.path().to_owned();
    fs::create_dir(path.join("sub")).unwrap();
    fs::write(path.join("own"), "").unwrap();
    fs::write(kept.path().join("precious"), "").unwrap();
    PrivateMounts::run(|private| {
        private.assert();
        let _mounted = private.bind(kept.path(), path.join("sub"));
        let cause = catch_unwind(AssertUnwindSafe(|| drop(dir))).unwrap_err();
        let said = cause.downcast_ref::<String>().unwrap();
        assert!(said.contains(&format!("`{}` is a mount point", path.join("sub").display())), "{said}");
        assert!(path.join("own").exists() && path.join("sub/precious").exists());
    });
    remove_tree(&path).unwrap();
    assert!(kept.path().join("precious").exists());
}

/// A process that waits until it is killed.
struct Waiting(Child);

impl Waiting {
    fn start(mut command: Command) -> Self {
        Self(command.args(["sh", "-c", "echo up; exec sleep 1000"]).stdout(Stdio::null()).spawn().unwrap())
    }

    fn pid(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// Returns a command that creates a namespace in which this one's mounts appear, if mounts are
/// shared.
fn sharing() -> Command {
    let mut command = Command::new("/usr/bin/unshare");
    command.args(["--mount", "--propagation", "unchanged", "--"]);
    command
}

fn has_namespace(waiting: &Waiting) -> bool {
    let theirs = fs::read_link(format!("/proc/{}/ns/mnt", waiting.pid()));
    theirs.is_ok_and(|theirs| theirs != fs::read_link(OWN).unwrap())
}

fn eventually(what: &str, holds: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_program_mounts_where_nobody_else_sees_it() {
    let dir = ScratchDir::new();
    let path = dir.path().to_str().unwrap();
    let script = "mount -t tmpfs none \"$1\" && : > \"$1/file\" && grep -c \" $1 \" /proc/self/mountinfo";
    let output = private_command(&[]).args(["sh", "-ec", script, "sh", path]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "1\n", "{output:?}");
    assert_eq!(mounts_below(dir.path()).unwrap(), [] as [&Path; 0]);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn only_a_process_with_mounts_of_its_own_is_entered() {
    assert!(!is_private(std::process::id()));
    assert!(catch_unwind(|| inside_command(std::process::id(), &[])).is_err());
    let dir = ScratchDir::new();
    let waiting = Waiting::start(private_command(&[]));
    eventually("it has mounts of its own", || is_private(waiting.pid()));
    let script = "mount -t tmpfs none \"$1\" && : > \"$1/file\"";
    let path = dir.path().to_str().unwrap();
    let entered =
        inside_command(waiting.pid(), &[]).args(["sh", "-ec", script, "sh", path]).status().unwrap();
    assert!(entered.success());
    assert!(Path::new(&format!("/proc/{}/root{path}/file", waiting.pid())).exists(), "the control");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn a_namespace_whose_mounts_are_shared_is_not_private() {
    let dir = ScratchDir::new();
    PrivateMounts::run(|private| {
        private.assert();
        let _ground = private.bind(dir.path(), dir.path());
        mount_change(dir.path(), MountPropagationFlags::SHARED).unwrap();
        let [sharing, apart] = [sharing(), private_command(&[])].map(Waiting::start);
        eventually("it has mounts of its own", || is_private(apart.pid()));
        eventually("it has a namespace", || has_namespace(&sharing));
        assert!(!is_private(sharing.pid()));
    });
}
