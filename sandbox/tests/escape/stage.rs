//! The environment of an attempt: a runner's launcher, a session of the attacker, another session, and targets on the
//! host.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;

use airlock_sandbox::{Mask, Running, Session};

use crate::support::{Host, PROBE};

/// The contents of files that must not be read.
const SECRET: &str = "of another";

pub(crate) struct Stage {
    pub(crate) host: Host,
    /// The attacker's session.
    pub(crate) own: Session,
    /// The masks over its directories.
    pub(crate) masks: Vec<Mask>,
    /// Whether a control of the attempt has succeeded.
    controlled: Cell<bool>,
    other: OnceCell<Session>,
    open: OnceCell<PathBuf>,
    sleeper: OnceCell<Sleeper>,
    /// The server on the other session's loopback.
    listening: OnceCell<Running>,
    /// The runner's listener on the other session's loopback.
    proxy: OnceCell<TcpListener>,
    /// The targets that [`Stage::fill`] has created.
    things: RefCell<BTreeMap<&'static str, String>>,
}

/// A process of the host that ends with the stage.
struct Sleeper(Child);

impl Drop for Sleeper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Stage {
    pub(crate) fn new() -> Self {
        let host = Host::new();
        let own = host.session();
        let masks = Vec::new();
        let (controlled, other, open, sleeper, listening, proxy, things) = Default::default();
        Self { host, own, masks, controlled, other, open, sleeper, listening, proxy, things }
    }

    /// Records that a control of the attempt has succeeded.
    pub(crate) fn controlled(&self) {
        self.controlled.set(true);
    }

    /// Checks that a control has succeeded. An attempt without a control does not test the layer.
    #[track_caller]
    pub(crate) fn assert_controlled(&self) {
        assert!(self.controlled.get(), "the row has no control");
    }

    /// Returns the host uids that were used here.
    pub(crate) fn uids(&self) -> Vec<u32> {
        [Some(&self.own), self.other.get()]
            .into_iter()
            .flatten()
            .filter_map(|of| of.ids)
            .map(|ids| ids.uid)
            .collect()
    }

    /// Returns the control group of the launcher, if it has one.
    pub(crate) fn group(&self) -> Option<PathBuf> {
        fs::read_to_string(self.host.directory.path().join("state/cgroup")).ok().map(PathBuf::from)
    }

    /// Returns the other session, with a file in its workspace.
    pub(crate) fn other(&self) -> Session {
        let made = self.other.get_or_init(|| {
            let session = self.host.session();
            self.host.run(&session, &self.host.spec(format!("echo '{SECRET}' > file")));
            session
        });
        made.clone()
    }

    /// Returns directories like those of a session for controls, which the session's uid can reach by their paths.
    pub(crate) fn open(&self) -> &Path {
        self.open.get_or_init(|| {
            let directory = self.host.directory.path().join("open");
            for path in [
                directory.clone(),
                directory.join("workspace"),
                directory.join("home"),
                directory.join("tmp"),
            ] {
                fs::create_dir(&path).unwrap();
                fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
                let id = self.own.ids.map(|ids| ids.uid);
                chown(&path, id, id).unwrap();
            }
            directory
        })
    }

    /// Replaces the names in braces in `words` by targets of this stage:
    ///
    /// * `{secret}`: a file of the host that every user may read;
    /// * `{state}`: a file in the runner's state that only the runner may read;
    /// * `{other}`: a file in the other session's workspace;
    /// * `{pid}`, `{mark}`: a process of the host, its pid and a word of its command line;
    /// * `{tcp}`, `{udp}`: servers on the host's loopback (`{tcp_words}`, `{tcp_mapped}`: in other forms);
    /// * `{target}`: a file that every user may write, for controls;
    /// * `{abstract}`, `{socket}`: a listener of the host, by name and by path;
    /// * `{server}`, `{proxy}`: a server and the runner's listener on the other session's loopback;
    /// * `{probe}`: the probe;
    /// * `{open}`: directories like those of a session, for controls;
    /// * `{directory}`: the directory that contains all of these.
    pub(crate) fn fill(&self, words: &str) -> String {
        let mut words = words.to_owned();
        let mut put = |name: &'static str, make: &dyn Fn() -> String| {
            if words.contains(name) {
                let known = self.things.borrow().get(name).cloned();
                let thing = known.unwrap_or_else(make);
                self.things.borrow_mut().insert(name, thing.clone());
                words = words.replace(name, &thing);
            }
        };
        put("{secret}", &|| self.file("secret", 0o644));
        put("{state}", &|| self.file("state/runner.key", 0o600));
        put("{other}", &|| self.other().directories.workspace.join("file").to_string_lossy().into_owned());
        put("{pid}", &|| self.sleeper().to_string());
        put("{mark}", &|| {
            self.sleeper();
            mark()
        });
        put("{probe}", &|| PROBE.to_owned());
        put("{tcp}", &tcp_server);
        put("{tcp_words}", &|| tcp_server().replace(':', "/"));
        put("{tcp_mapped}", &|| format!("[::ffff:{}", tcp_server().replace(':', "]:")));
        put("{target}", &|| {
            let path = self.open().join("workspace/target");
            fs::write(&path, "").unwrap();
            fs::set_permissions(&path, PermissionsExt::from_mode(0o666)).unwrap();
            path.to_string_lossy().into_owned()
        });
        put("{udp}", &udp_server);
        put("{abstract}", &|| self.abstract_server());
        put("{socket}", &|| self.path_server());
        put("{server}", &|| self.server_of_other());
        put("{proxy}", &|| self.proxy_of_other());
        put("{open}", &|| self.open().to_string_lossy().into_owned());
        put("{directory}", &|| self.host.directory.path().to_string_lossy().into_owned());
        words
    }

    fn file(&self, name: &str, mode: u32) -> String {
        let path = self.host.directory.path().join(name);
        fs::write(&path, SECRET).unwrap();
        fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
        path.to_string_lossy().into_owned()
    }

    /// Returns a process of the host with the attacker's host uid.
    fn sleeper(&self) -> u32 {
        let made = self.sleeper.get_or_init(|| {
            let mut command = match self.own.ids {
                Some(ids) => {
                    let mut command = Command::new("setpriv");
                    let (uid, gid) = (ids.uid.to_string(), ids.gid.to_string());
                    command.args(["--reuid", &uid, "--regid", &gid, "--clear-groups", "sleep"]);
                    command
                }
                None => Command::new("sleep"),
            };
            let mut child = command.arg(mark()).stdout(Stdio::piped()).spawn().unwrap();
            drop(child.stdout.take());
            crate::support::eventually("it sleeps", || {
                fs::read(format!("/proc/{}/cmdline", child.id()))
                    .is_ok_and(|line| line.starts_with(b"sleep\0"))
            });
            Sleeper(child)
        });
        made.0.id()
    }

    fn abstract_server(&self) -> String {
        let name = format!("airlock-escape-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        accept(UnixListener::bind_addr(&address).unwrap());
        name
    }

    fn path_server(&self) -> String {
        let path = self.open().join("socket");
        accept(UnixListener::bind(&path).unwrap());
        fs::set_permissions(&path, PermissionsExt::from_mode(0o777)).unwrap();
        path.to_string_lossy().into_owned()
    }

    fn server_of_other(&self) -> String {
        let other = self.other();
        let start = || self.host.start(&other, &self.host.spec(format!("{PROBE} listen")));
        let running = self.listening.get_or_init(start);
        let mut address = String::new();
        while !address.ends_with('\n') {
            let mut byte = [0];
            assert_eq!(rustix::io::read(&running.streams.stdout, &mut byte), Ok(1));
            address.push(byte[0].into());
        }
        address.trim().to_owned()
    }

    fn proxy_of_other(&self) -> String {
        let open = || self.host.launcher.session_listener(&self.other()).unwrap();
        self.proxy.get_or_init(open).local_addr().unwrap().to_string()
    }
}

/// Returns a sleep duration that no other process uses.
fn mark() -> String {
    format!("{}.5", 80_000_000 + std::process::id())
}

fn accept(listener: UnixListener) {
    thread::spawn(move || listener.incoming().for_each(drop));
}

fn tcp_server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.write_all(b"answer");
            let _ = stream.read(&mut [0]);
        }
    });
    address.to_string()
}

fn udp_server() -> String {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap();
    thread::spawn(move || {
        let mut buffer = [0; 512];
        while let Ok((_, from)) = socket.recv_from(&mut buffer) {
            let _ = socket.send_to(b"answer", from);
        }
    });
    address.to_string()
}
