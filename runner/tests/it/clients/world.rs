//! The servers of the test, in namespaces of the test's own threads: a network with one address, and files of `/etc`
//! that name it. Nothing outside can see or reach them, and everything ends with the test's processes.

use std::{
    fs,
    io::{BufRead, BufReader},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use airlock_domain::NetworkRules;
use airlock_mounts::{Mounted, PrivateMounts, ScratchDir};
use nix::sched::{CloneFlags, unshare};

/// The address of every server. It is not routed anywhere.
const ADDRESS: &str = "198.51.100.10";
/// The names of the servers.
const NAMES: [&str; 9] = ["crates", "deb", "git", "go", "maven", "npm", "pg", "pypi", "web"];
/// The user of the ssh server and of the database.
const USER: &str = "65533";

/// The running servers.
pub(super) struct World<'a> {
    servers: Child,
    _mounted: [Mounted<'a>; 2],
    directory: ScratchDir,
}

impl<'a> World<'a> {
    /// Moves the calling thread into its own network, and starts the servers there. Threads and processes that the
    /// thread starts later are in the network, too.
    pub(super) fn enter(private: &'a PrivateMounts) -> Self {
        // The shared memory of a database is in an IPC namespace, because other tests inspect that of the host.
        unshare(CloneFlags::CLONE_NEWNET | CloneFlags::CLONE_NEWIPC).expect("namespaces; it takes root");
        ip(&["link", "set", "lo", "up"]);
        ip(&["addr", "add", &format!("{ADDRESS}/32"), "dev", "lo"]);
        let directory = ScratchDir::new();
        let home = directory.path().join("world");
        fs::create_dir(&home).unwrap();
        for path in [directory.path(), &home] {
            fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
        }
        let names: String = NAMES.iter().map(|name| format!("{ADDRESS} {name}.test\n")).collect();
        let user = format!("git:x:{USER}:{USER}::{}:/bin/sh\n", home.join("repos").display());
        let replace = |name: &str, more: &str| {
            let path = Path::new("/etc").join(name);
            let text = fs::read_to_string(&path).unwrap() + more;
            let own = directory.path().join(name);
            fs::write(&own, text).unwrap();
            private.bind(own, path)
        };
        let mounted = [replace("hosts", &names), replace("passwd", &user)];
        Self { servers: started(&home), _mounted: mounted, directory }
    }

    /// Returns the files that the clients see.
    pub(super) fn client(&self) -> PathBuf {
        self.directory.path().join("world/client")
    }

    /// Returns rules that allow every server.
    pub(super) fn rules() -> NetworkRules {
        let names = NAMES.iter().map(|name| format!("{name}.test"));
        let tunnels = ["git.test:22/tcp", "pg.test:5432/tcp"].map(str::to_owned);
        // Each is an address of the runner's host.
        let addresses = ["", ":22/tcp", ":5432/tcp"].map(|port| format!("{ADDRESS}{port}"));
        let allow = names.chain(tunnels).chain(addresses).collect();
        NetworkRules { allow, ..NetworkRules::default() }
    }
}

impl Drop for World<'_> {
    fn drop(&mut self) {
        // The servers end with their input.
        drop(self.servers.stdin.take());
        let _ = self.servers.wait();
    }
}

fn started(home: &Path) -> Child {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/clients/servers.py");
    let mut command = Command::new("/usr/bin/python3");
    // No compiled files beside the sources.
    command.args(["-B".as_ref(), script.as_os_str(), ADDRESS.as_ref(), home.as_os_str(), USER.as_ref()]);
    command.arg(tools().join("sshd")).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut servers = command.spawn().unwrap();
    let mut said = String::new();
    BufReader::new(servers.stdout.take().unwrap()).read_line(&mut said).unwrap();
    assert_eq!(said, "ready\n", "the servers did not start");
    servers
}

/// Returns the directory of the programs that `scripts/setup.sh test` downloads.
pub(super) fn tools() -> PathBuf {
    let home = || PathBuf::from(std::env::var_os("HOME").unwrap()).join(".cache");
    let tools = std::env::var_os("XDG_CACHE_HOME").map_or_else(home, PathBuf::from).join("airlock/tools/bin");
    for program in ["go", "node24", "sshd", "uv"] {
        assert!(tools.join(program).exists(), "`{program}` is missing; run `scripts/setup.sh test`");
    }
    tools
}

fn ip(words: &[&str]) {
    let done = Command::new("ip").args(words).output().unwrap();
    assert!(done.status.success(), "{words:?}: {}", String::from_utf8_lossy(&done.stderr));
}
