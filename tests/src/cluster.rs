//! The chart's pods under `podman kube play`, each in a network namespace of its own on one bridge: as near to a
//! cluster as one host comes. `tests/pods/convert.py` says what stands for what. Everything lives in a mount and a
//! network namespace that end with it; nothing of the host is mounted or connected.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Command, Output},
    time::{Duration, Instant},
};

use airlock_mounts::{ScratchDir, inside_command, is_private, private_command};
use serde_json::Value;

use crate::{
    process::Process,
    programs::program,
    source,
    tools::{path, python_packages, tools},
};

/// How long a pod may take to come up, or a command in it to end.
pub const PATIENCE: Duration = Duration::from_secs(240);
const POLL: Duration = Duration::from_millis(200);
/// crun, which podman would take, does not work where control groups of both versions are mounted.
const CONTAINERS: &str = "[containers]\ndefault_ulimits = [\"nofile=1024:1024\", \"nproc=4096:4096\"]\n\
    [engine]\ncgroup_manager = \"cgroupfs\"\nevents_logger = \"file\"\n";

/// The images, built from this workspace's programs on a Debian that was made here.
#[derive(Debug)]
pub struct Images {
    folder: PathBuf,
    /// One test has podman's storage and control groups at a time.
    _turn: File,
}

impl Images {
    /// Builds them, or finds that they are built.
    ///
    /// # Panics
    /// With what the script said, if it fails.
    #[must_use]
    pub fn build() -> Self {
        let folder = tools().parent().unwrap().join("images");
        fs::create_dir_all(&folder).unwrap();
        let turn = File::create(folder.join("lock")).unwrap();
        turn.lock().unwrap();
        let conf = folder.join("containers.conf");
        fs::write(&conf, CONTAINERS).unwrap();
        let programs = program("airlock");
        let store = folder.join("store");
        let podman = format!(
            "podman --root {} --runroot {}/run --runtime runc --storage-driver overlay",
            store.display(),
            folder.display()
        );
        let built = private_command(&[])
            .arg(source::root().join("scripts/images.sh"))
            .args(["--base", "archive", "--programs"])
            .arg(programs.parent().unwrap())
            .arg("--out")
            .arg(&folder)
            .envs([("PODMAN", podman), ("PATH", path())])
            .env("CONTAINERS_CONF", &conf)
            .output()
            .unwrap();
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        fs::write(folder.join("sizes"), built.stdout).unwrap();
        Self { folder, _turn: turn }
    }

    /// What `scripts/images.sh` said of them, a line each: name, size, packages.
    ///
    /// # Panics
    /// If that cannot be read.
    #[must_use]
    pub fn sizes(&self) -> Vec<String> {
        fs::read_to_string(self.folder.join("sizes")).unwrap().lines().map(str::to_owned).collect()
    }

    /// A file beside them, such as `airlock-server.cdx.json`.
    ///
    /// # Panics
    /// If it is not JSON.
    #[must_use]
    pub fn bill(&self, file: &str) -> Value {
        serde_json::from_slice(&fs::read(self.folder.join(file)).unwrap()).unwrap()
    }

    fn store(&self) -> PathBuf {
        self.folder.join("store")
    }
}

/// What became of one field of a securityContext.
#[derive(Debug, Clone)]
pub struct Field {
    /// As Kubernetes calls it.
    pub name: String,
    /// What it is in the container's OCI configuration.
    pub oci: String,
    /// `podman`, or `runtime.py` where podman ignores it.
    pub by: String,
    /// Whether it is in force there.
    pub holds: bool,
}

/// Pods that play, until it is dropped.
#[derive(Debug)]
pub struct Cluster {
    folder: ScratchDir,
    /// Has the namespaces.
    holder: Process,
    addresses: BTreeMap<String, String>,
    documents: Vec<(String, String, String)>,
    images: Images,
}

impl Cluster {
    /// Makes everything that `rendered` asks for and one host can have; no pod is started.
    ///
    /// # Panics
    /// If `rendered` holds what nobody has said what is to become of.
    #[must_use]
    pub fn new(images: Images, rendered: &str) -> Self {
        let folder = ScratchDir::with_prefix("airlock-kube-");
        // Whoever is root in a pod's user namespace passes through.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let file = folder.path().join("rendered.yaml");
        fs::write(&file, rendered).unwrap();
        let converted = Command::new("python3")
            .arg(source::root().join("tests/pods/convert.py"))
            .args([&file, folder.path()])
            .arg(source::root().join("deploy/seccomp"))
            .env("PYTHONPATH", python_packages("kubernetes"))
            .output()
            .unwrap();
        assert!(converted.status.success(), "{}", String::from_utf8_lossy(&converted.stderr));
        let said: Value = serde_json::from_slice(&converted.stdout).unwrap();
        let text = |value: &Value, key: &str| value[key].as_str().unwrap().to_owned();
        let documents = said["documents"].as_array().unwrap().iter();
        let documents =
            documents.map(|one| (text(one, "kind"), text(one, "name"), text(one, "how"))).collect();
        let pods = said["pods"].as_object().unwrap().iter();
        let addresses = pods.map(|(name, at)| (name.clone(), at.as_str().unwrap().to_owned())).collect();
        write_settings(folder.path(), &images.store());
        let holder = Process::start(
            private_command(&["--net"]).args(["sleep", "infinity"]),
            &folder.path().join("holder.log"),
        );
        let cluster = Self { folder, holder, addresses, documents, images };
        cluster.switch();
        cluster
    }

    /// The bridge, with an address for whoever asks from outside the pods.
    fn switch(&self) {
        let entered = format!("/proc/{}/ns/net", self.holder.pid());
        crate::process::until("its own mounts and network", PATIENCE, || {
            is_private(self.holder.pid())
                && fs::read_link(&entered).is_ok_and(|own| own != fs::read_link("/proc/self/ns/net").unwrap())
        });
        for words in ["link add br0 type bridge", "addr add 10.244.17.1/24 dev br0", "link set br0 up"] {
            done(self.inside("ip").args(words.split(' ')));
        }
    }

    /// What was rendered, and what became of it: kind, name, how.
    #[must_use]
    pub fn documents(&self) -> &[(String, String, String)] {
        &self.documents
    }

    /// The images that it plays.
    #[must_use]
    pub fn images(&self) -> &Images {
        &self.images
    }

    /// The pods' names.
    #[must_use]
    pub fn pods(&self) -> Vec<&str> {
        self.addresses.keys().map(String::as_str).collect()
    }

    /// A pod's address.
    ///
    /// # Panics
    /// If there is none of that name.
    #[must_use]
    pub fn address(&self, pod: &str) -> &str {
        self.addresses.get(pod).unwrap_or_else(|| panic!("there is no pod `{pod}`"))
    }

    /// Starts a pod: its network first, then its container.
    ///
    /// # Panics
    /// If podman refuses it.
    pub fn start(&self, pod: &str) {
        let file = self.folder.path().join(format!("play/{pod}.yaml"));
        done(self.podman(&["kube", "play", "--start=false", "--network", "none", "--no-hosts"]).arg(file));
        let infra = done(&mut self.podman(&["pod", "inspect", pod, "--format", "{{.InfraContainerID}}"]));
        done(&mut self.podman(&["start", &infra]));
        let pid = done(&mut self.podman(&["inspect", &infra, "--format", "{{.State.Pid}}"]));
        let address = self.address(pod);
        let cable = format!("v{}", address.rsplit('.').next().unwrap());
        let ip = |words: &str| done(self.inside("ip").args(words.split(' ')));
        ip(&format!("link add {cable} type veth peer name eth0 netns {pid}"));
        ip(&format!("link set {cable} master br0 up"));
        for words in [format!("addr add {address}/24 dev eth0"), "link set eth0 up".to_owned()] {
            let mut there = Command::new("nsenter");
            done(there.args(["-t", &pid, "-n", "ip"]).args(words.split(' ')));
        }
        done(&mut self.podman(&["pod", "start", pod]));
    }

    /// Runs a program in a pod's container, as a probe or a hook does.
    #[must_use]
    pub fn exec(&self, pod: &str, container: &str, words: &[&str]) -> Output {
        self.podman(&["exec", &format!("{pod}-{container}")]).args(words).output().unwrap()
    }

    /// Runs a program in a pod's container until it succeeds.
    ///
    /// # Panics
    /// With its last words, if that takes too long.
    pub fn exec_until(&self, pod: &str, container: &str, words: &[&str]) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let output = self.exec(pod, container, words);
            if output.status.success() {
                return;
            }
            assert!(Instant::now() < deadline, "{output:?}\n{}", self.logs(pod, container));
            std::thread::sleep(POLL);
        }
    }

    /// What a probe over HTTP is answered: the status, and the text.
    #[must_use]
    pub fn get(&self, pod: &str, path: &str) -> (String, String) {
        let url = format!("http://{}:7080{path}", self.address(pod));
        let output =
            self.inside("curl").args(["-s", "-m", "10", "-w", "\n%{http_code}", &url]).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let (text, status) = text.rsplit_once('\n').unwrap_or_default();
        (status.to_owned(), text.to_owned())
    }

    /// Whether a probe over HTTP comes to succeed.
    ///
    /// # Panics
    /// If that takes too long.
    pub fn get_until(&self, pod: &str, path: &str) {
        crate::process::until(path, PATIENCE, || self.get(pod, path).0 == "200");
    }

    /// The exit code of a pod's container, once it has ended.
    ///
    /// # Panics
    /// If that takes too long.
    #[must_use]
    pub fn ended(&self, pod: &str, container: &str) -> i32 {
        let name = format!("{pod}-{container}");
        let seconds = PATIENCE.as_secs().to_string();
        let mut wait = Command::new("timeout");
        let podman = self.podman(&["wait", &name]);
        wait.arg(&seconds).arg(podman.get_program()).args(podman.get_args());
        wait.envs(podman.get_envs().filter_map(|(key, value)| Some((key, value?))));
        done(&mut wait).parse().unwrap()
    }

    /// What a pod's container wrote, both streams.
    #[must_use]
    pub fn logs(&self, pod: &str, container: &str) -> String {
        let output = self.podman(&["logs", &format!("{pod}-{container}")]).output().unwrap();
        String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
    }

    /// Sends SIGTERM to a pod's container, as when a pod is deleted, and waits for its end.
    #[must_use]
    pub fn terminate(&self, pod: &str, container: &str) -> i32 {
        done(&mut self.podman(&["kill", "--signal", "TERM", &format!("{pod}-{container}")]));
        self.ended(pod, container)
    }

    /// Each field of a pod's securityContext, in the OCI configuration that it was started with.
    ///
    /// # Panics
    /// If it was not started.
    #[must_use]
    pub fn applied(&self, pod: &str) -> Vec<Field> {
        let file = self.folder.path().join(format!("applied/{pod}.json"));
        let fields: Vec<Value> = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
        let field = |value: &Value| Field {
            name: value["field"].as_str().unwrap().to_owned(),
            oci: value["oci"].as_str().unwrap().to_owned(),
            by: value["by"].as_str().unwrap().to_owned(),
            holds: value["holds"].as_bool().unwrap(),
        };
        fields.iter().map(field).collect()
    }

    /// The OCI configuration of a pod's container.
    ///
    /// # Panics
    /// If it was not made.
    #[must_use]
    pub fn oci(&self, pod: &str, container: &str) -> Value {
        let name = format!("{pod}-{container}");
        let file = done(&mut self.podman(&["inspect", &name, "--format", "{{.OCIConfigPath}}"]));
        serde_json::from_slice(&fs::read(file).unwrap()).unwrap()
    }

    fn inside(&self, program: &str) -> Command {
        let mut command = inside_command(self.holder.pid(), &["--net"]);
        command.arg(program);
        command
    }

    fn podman(&self, words: &[&str]) -> Command {
        let folder = self.folder.path();
        let mut command = self.inside("podman");
        command.arg("--runtime").arg(folder.join("runtime")).arg("--tmpdir").arg(folder.join("run/libpod"));
        command.args(words);
        command.env("CONTAINERS_CONF", folder.join("containers.conf"));
        command.env("CONTAINERS_STORAGE_CONF", folder.join("storage.conf"));
        command
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // Without its own mounts there is nothing of it to take down.
        if !is_private(self.holder.pid()) {
            return;
        }
        let pods = self.podman(&["pod", "ps", "--quiet", "--no-trunc"]).output();
        drop(self.podman(&["pod", "rm", "--force", "--all", "--time", "0"]).output());
        // podman leaves a pod's group in some hierarchies, and the one of all of its pods in each.
        let pods =
            pods.map(|listed| String::from_utf8_lossy(&listed.stdout).into_owned()).unwrap_or_default();
        for hierarchy in fs::read_dir("/sys/fs/cgroup").into_iter().flatten().flatten() {
            let parent = hierarchy.path().join("libpod_parent");
            for pod in pods.lines() {
                drop(fs::remove_dir(parent.join(pod)));
            }
            drop(fs::remove_dir(parent));
        }
    }
}

/// The storage of this cluster, on top of that of the images; and the runtime.
fn write_settings(folder: &Path, images: &Path) {
    let (shown, images) = (folder.display(), images.display());
    fs::write(folder.join("containers.conf"), CONTAINERS).unwrap();
    let storage = format!(
        "[storage]\ndriver = \"overlay\"\ngraphroot = \"{shown}/store\"\nrunroot = \"{shown}/run\"\n\
         [storage.options]\nadditionalimagestores = [\"{images}\"]\n"
    );
    fs::write(folder.join("storage.conf"), storage).unwrap();
    let shim = source::root().join("tests/pods/runtime.py");
    let runtime = folder.join("runtime");
    let script = format!("#!/bin/sh\nexec python3 {} {shown} \"$@\"\n", shim.display());
    fs::write(&runtime, script).unwrap();
    fs::set_permissions(&runtime, fs::Permissions::from_mode(0o755)).unwrap();
}

/// What a command printed, without the end of its last line.
fn done(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {errors}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}
