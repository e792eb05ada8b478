//! Private mount namespaces for tests. Mounts only after the kernel has confirmed two facts: the thread has left its
//! original namespace, and mounts in the new one do not propagate.

#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "support for tests: a missing precondition fails the test"
)]

use std::{
    collections::BTreeSet,
    ffi::{CString, OsString},
    fs,
    marker::PhantomData,
    panic::resume_unwind,
    path::{Path, PathBuf},
    process::Command,
    thread,
};

use nix::sched::{CloneFlags, unshare};
use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_bind, mount_change, unmount,
};

/// The command that starts a program in a private mount namespace. Further options of `unshare`, `--` and the program
/// follow.
pub const PRIVATE: [&str; 4] = ["/usr/bin/unshare", "--mount", "--propagation", "private"];

const THIS_THREAD: &str = "thread-self";

/// Proof that the calling thread is in a private mount namespace, with every thread and process that it starts from now
/// on. Tests can mount only through this type.
#[derive(Debug)]
pub struct PrivateMounts {
    /// The original namespace of the thread, and its private one.
    outer: OsString,
    own: OsString,
    /// Another thread may be in another namespace, so the type is neither `Send` nor `Sync`.
    _of_this_thread: PhantomData<*const ()>,
}

impl PrivateMounts {
    /// Moves the calling thread into a private mount namespace. The mounts end with the last thread and process in it.
    /// Requires root.
    ///
    /// # Panics
    ///
    /// If the kernel refuses, or the namespace is not private.
    #[must_use]
    pub fn enter() -> Self {
        let outer = namespace(THIS_THREAD).expect("the namespace of this thread");
        unshare(CloneFlags::CLONE_NEWNS).expect("a mount namespace; it takes root");
        let own = namespace(THIS_THREAD).expect("the namespace of this thread");
        assert_ne!(own, outer, "the thread is still in its original namespace");
        mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
            .expect("mounts that are not shared");
        let shared = peers(THIS_THREAD).expect("the table of mounts");
        assert!(shared.is_empty(), "mounts of the peer groups {shared:?} propagate");
        let private = Self { outer, own, _of_this_thread: PhantomData };
        private.assert();
        private
    }

    /// Runs `test` on a new thread in a private mount namespace.
    ///
    /// # Panics
    ///
    /// If `test` panics, or as for [`PrivateMounts::enter`].
    pub fn run<T: Send>(test: impl FnOnce(&Self) -> T + Send) -> T {
        let done = thread::scope(|scope| scope.spawn(|| test(&Self::enter())).join());
        done.unwrap_or_else(|cause| resume_unwind(cause))
    }

    /// Asserts that the thread is still in its private namespace. This is neither its original namespace nor that of
    /// the system's first process.
    ///
    /// # Panics
    ///
    /// If it is elsewhere.
    pub fn assert(&self) {
        let now = namespace(THIS_THREAD).expect("the namespace of this thread");
        assert_eq!(now, self.own, "the thread has left its mount namespace");
        assert_ne!(now, self.outer, "the thread is in its original mount namespace");
        // A thread without permission to read this link could not have created a namespace either.
        assert_ne!(Some(now), namespace("1"), "the thread is in the system's first mount namespace");
    }

    /// Makes mounts shared within the namespace, as on a host. They still do not propagate elsewhere.
    ///
    /// # Panics
    ///
    /// If the thread is not in its namespace, or the kernel refuses.
    pub fn share(&self) {
        self.assert();
        mount_change("/", MountPropagationFlags::SHARED | MountPropagationFlags::REC).expect("shared mounts");
    }

    /// Bind-mounts `source` at `target`, which must exist.
    ///
    /// # Panics
    ///
    /// If the thread is not in its namespace, or the kernel refuses.
    #[must_use]
    pub fn bind(&self, source: impl AsRef<Path>, target: impl AsRef<Path>) -> Mounted<'_> {
        self.assert();
        let (source, target) = (source.as_ref(), target.as_ref());
        mount_bind(source, target)
            .unwrap_or_else(|errno| panic!("{} on {}: {errno}", source.display(), target.display()));
        Mounted { target: target.to_owned(), of: self }
    }

    /// Mounts a tmpfs with these options at `target`.
    ///
    /// # Panics
    ///
    /// If the thread is not in its namespace, or the kernel refuses.
    #[must_use]
    pub fn tmpfs(&self, target: impl AsRef<Path>, options: &str) -> Mounted<'_> {
        self.assert();
        let target = target.as_ref();
        let options = CString::new(options).expect("options of tmpfs");
        mount("tmpfs", target, "tmpfs", MountFlags::empty(), Some(options.as_c_str()))
            .unwrap_or_else(|errno| panic!("memory on {}: {errno}", target.display()));
        Mounted { target: target.to_owned(), of: self }
    }

    /// Unmounts `target` lazily: processes that use the mount keep it until they close it.
    ///
    /// # Panics
    ///
    /// If the thread is not in its namespace, or nothing is mounted there.
    pub fn unmount(&self, target: impl AsRef<Path>) {
        self.assert();
        let target = target.as_ref();
        unmount(target, UnmountFlags::DETACH | UnmountFlags::NOFOLLOW)
            .unwrap_or_else(|errno| panic!("unmount {}: {errno}", target.display()));
    }
}

/// A mount that is unmounted on drop.
#[derive(Debug)]
pub struct Mounted<'a> {
    target: PathBuf,
    of: &'a PrivateMounts,
}

impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        if !thread::panicking() {
            self.of.unmount(&self.target);
        } else if namespace(THIS_THREAD).as_ref() == Some(&self.of.own) {
            let _ = unmount(&self.target, UnmountFlags::DETACH | UnmountFlags::NOFOLLOW);
        }
    }
}

/// Returns a command that starts a program in a private mount namespace; `options` are further options of `unshare`.
/// Append the program and its arguments.
#[must_use]
pub fn private_command(options: &[&str]) -> Command {
    let [program, words @ ..] = PRIVATE;
    let mut command = Command::new(program);
    command.args(words).args(options).arg("--");
    command
}

/// Returns a command that starts a program in the namespace of the process `pid`, which [`private_command`] started;
/// `options` are further options of `nsenter`. Append the program and its arguments.
///
/// # Panics
///
/// If the process `pid` has no mount namespace of its own.
#[must_use]
pub fn inside_command(pid: u32, options: &[&str]) -> Command {
    assert!(is_private(pid), "process {pid} has no mount namespace of its own");
    let mut command = Command::new("/usr/bin/nsenter");
    command.args(["--target", &pid.to_string(), "--mount"]).args(options).arg("--");
    command
}

/// Reports whether the process `pid` is in another mount namespace than the calling thread, and its mounts do not
/// propagate to this one.
#[must_use]
pub fn is_private(pid: u32) -> bool {
    let pid = pid.to_string();
    let (Some(theirs), Some(ours)) = (namespace(&pid), namespace(THIS_THREAD)) else { return false };
    let (Some(shared), Some(here)) = (peers(&pid), peers(THIS_THREAD)) else { return false };
    theirs != ours && shared.is_disjoint(&here)
}

fn namespace(process: &str) -> Option<OsString> {
    fs::read_link(format!("/proc/{process}/ns/mnt")).ok().map(PathBuf::into_os_string)
}

/// Returns the peer groups of a process's mounts.
fn peers(process: &str) -> Option<BTreeSet<String>> {
    let table = fs::read(format!("/proc/{process}/mountinfo")).ok()?;
    let table = String::from_utf8_lossy(&table).into_owned();
    // The optional fields are between the sixth field and a single dash.
    let optional = |line: &str| {
        let fields = line.split(' ').skip(6).take_while(|field| *field != "-");
        fields
            .filter_map(|field| field.split_once(':').map(|(_, group)| group.to_owned()))
            .collect::<Vec<_>>()
    };
    Some(table.lines().flat_map(optional).collect())
}
