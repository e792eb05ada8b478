//! Hosts for a test: network namespaces on a switch, each with a link that can be taken down. The switch is in a
//! namespace of the test's own threads, so it is invisible from outside, and everything ends with the test's processes.
//!
//! Requires root. No object has a name on the host that would have to be removed.

use std::{
    fs::{self, File},
    net::{Ipv4Addr, SocketAddr, TcpListener},
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use nix::sched::{CloneFlags, setns, unshare};

use crate::{cutter::Cutter, site::PATIENCE};

/// The address of the switch and of the test itself. These addresses are not routed anywhere.
pub const SWITCH: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const PREFIX: u8 = 24;
const SWITCH_NAME: &str = "switch";
/// The name of a host's end of its link.
const NIC: &str = "eth0";
const NAMESPACE: &str = "/proc/thread-self/ns/net";
const POLL: Duration = Duration::from_millis(5);

/// The switch.
#[derive(Debug)]
pub struct Network {
    /// The original namespace of the test.
    outside: File,
}

/// A host.
#[derive(Debug)]
pub struct Host {
    /// The address.
    pub ip: Ipv4Addr,
    name: String,
    /// A process that only holds the namespace.
    keeper: Child,
}

impl Network {
    /// Creates a switch, and moves the calling thread and all threads and processes that it starts later to it.
    ///
    /// # Panics
    /// If this is not permitted.
    #[must_use]
    pub fn enter() -> Self {
        let outside = File::open(NAMESPACE).unwrap();
        unshare(CloneFlags::CLONE_NEWNET).expect("a network namespace; it takes root");
        ip(&["link", "set", "lo", "up"]);
        ip(&["link", "add", SWITCH_NAME, "type", "bridge"]);
        ip(&["addr", "add", &format!("{SWITCH}/{PREFIX}"), "dev", SWITCH_NAME]);
        ip(&["link", "set", SWITCH_NAME, "up"]);
        Self { outside }
    }

    /// Creates a host with this name and number. It exists at most as long as the calling thread.
    ///
    /// # Panics
    /// If it cannot be created.
    #[must_use]
    pub fn host(&self, name: &str, number: u8) -> Host {
        let [first, second, third, _] = SWITCH.octets();
        let address = Ipv4Addr::new(first, second, third, number);
        let mut keeper = Command::new("setpriv");
        keeper.args(["--pdeathsig", "KILL", "unshare", "--net", "sleep", "infinity"]);
        let keeper = keeper.stdin(Stdio::null()).spawn().unwrap();
        let host = Host { ip: address, name: name.to_owned(), keeper };
        host.until_apart();
        let pid = host.keeper.id().to_string();
        ip(&["link", "add", name, "type", "veth", "peer", "name", NIC, "netns", &pid]);
        ip(&["link", "set", name, "master", SWITCH_NAME, "up"]);
        host.ip(&["link", "set", "lo", "up"]);
        host.ip(&["addr", "add", &format!("{address}/{PREFIX}"), "dev", NIC]);
        host.ip(&["link", "set", NIC, "up"]);
        host
    }

    /// Starts a relay on the switch to an address outside.
    ///
    /// # Panics
    /// If there is no free port.
    #[must_use]
    pub fn relay(&self, to: SocketAddr) -> Cutter {
        let listener = TcpListener::bind((SWITCH, 0)).unwrap();
        let outside = self.outside.try_clone().unwrap();
        Cutter::at(listener, to, move || setns(outside, CloneFlags::CLONE_NEWNET).unwrap())
    }
}

impl Host {
    /// Returns a command that runs on the host; its process ID is that of the program.
    #[must_use]
    pub fn command(&self, program: &Path) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net={}", self.namespace())).arg("--").arg(program);
        command
    }

    /// Takes the link down, or up again.
    pub fn set_cut(&self, cut: bool) {
        ip(&["link", "set", &self.name, if cut { "down" } else { "up" }]);
    }

    /// Blocks the traffic from this host to another one, or permits it again.
    pub fn set_apart(&self, from: &Self, apart: bool) {
        self.ip(&["route", if apart { "add" } else { "del" }, "blackhole", &format!("{}/32", from.ip)]);
    }

    fn ip(&self, arguments: &[&str]) {
        said(self.command(Path::new("ip")).args(arguments));
    }

    fn namespace(&self) -> String {
        format!("/proc/{}/ns/net", self.keeper.id())
    }

    fn until_apart(&self) {
        let (ours, deadline) = (fs::read_link(NAMESPACE).unwrap(), Instant::now() + PATIENCE);
        while fs::read_link(self.namespace()).is_ok_and(|theirs| theirs == ours) {
            assert!(Instant::now() < deadline, "{} has no namespace of its own", self.name);
            thread::sleep(POLL);
        }
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        drop(self.keeper.kill());
        drop(self.keeper.wait());
    }
}

fn ip(arguments: &[&str]) {
    said(Command::new("ip").args(arguments));
}

fn said(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}
