//! Runs the chart's pods with `podman kube play` on one host, each in its own network namespace on one bridge.
//! `tests/pods/convert.py` describes the replacements. Everything is in a mount and a network namespace that end
//! with it; no mount or connection of the host is involved.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::{Command, Output},
    time::{Duration, Instant},
};

use airlock_mounts::{ScratchDir, inside_command, is_private, private_command};
use serde_json::Value;

use crate::{
    images::{Images, containers_conf},
    process::Process,
    source,
    tools::python_packages,
};

/// The longest time for the start of a pod, or for the end of a command in it.
pub const PATIENCE: Duration = Duration::from_secs(240);
const POLL: Duration = Duration::from_millis(200);

/// The effect of one field of a securityContext.
#[derive(Debug, Clone)]
pub struct Field {
    /// The name in Kubernetes.
    pub name: String,
    /// The name in the container's OCI configuration.
    pub oci: String,
    /// `podman`, or `runtime.py` if podman ignores the field.
    pub by: String,
    /// Whether it is effective.
    pub holds: bool,
}

/// Pods that run until this is dropped.
#[derive(Debug)]
pub struct Cluster {
    directory: ScratchDir,
    /// The process that holds the namespaces.
    holder: Process,
    addresses: BTreeMap<String, String>,
    documents: Vec<(String, String, String)>,
    images: Images,
}

impl Cluster {
    /// Prepares everything in `rendered` that one host can provide. No pod is started.
    ///
    /// # Panics
    /// If `rendered` contains a document without a replacement.
    #[must_use]
    pub fn new(images: Images, rendered: &str) -> Self {
        let directory = ScratchDir::with_prefix("airlock-kube-");
        // Root in a pod's user namespace must be able to enter the directory.
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let file = directory.path().join("rendered.yaml");
        fs::write(&file, rendered).unwrap();
        let converted = Command::new("python3")
            .arg(source::root().join("tests/pods/convert.py"))
            .args([&file, directory.path()])
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
        write_settings(directory.path(), &images.store());
        let holder = Process::start(
            private_command(&["--net"]).args(["sleep", "infinity"]),
            &directory.path().join("holder.log"),
        );
        let cluster = Self { directory, holder, addresses, documents, images };
        cluster.switch();
        cluster
    }

    /// Creates the bridge, with an address for requests from outside the pods.
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

    /// Returns the rendered documents and their replacements: kind, name, replacement.
    #[must_use]
    pub fn documents(&self) -> &[(String, String, String)] {
        &self.documents
    }

    /// Returns the images.
    #[must_use]
    pub fn images(&self) -> &Images {
        &self.images
    }

    /// Returns the names of the pods.
    #[must_use]
    pub fn pods(&self) -> Vec<&str> {
        self.addresses.keys().map(String::as_str).collect()
    }

    /// Returns the address of a pod.
    ///
    /// # Panics
    /// If there is no pod with this name.
    #[must_use]
    pub fn address(&self, pod: &str) -> &str {
        self.addresses.get(pod).unwrap_or_else(|| panic!("there is no pod `{pod}`"))
    }

    /// Starts a pod: its network first, then its container.
    ///
    /// # Panics
    /// If podman refuses it.
    pub fn start(&self, pod: &str) {
        let file = self.directory.path().join(format!("play/{pod}.yaml"));
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
    /// If that takes too long, with the last output.
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

    /// Sends an HTTP probe. Returns the status and the body.
    #[must_use]
    pub fn get(&self, pod: &str, path: &str) -> (String, String) {
        let url = format!("http://{}:7080{path}", self.address(pod));
        let output =
            self.inside("curl").args(["-s", "-m", "10", "-w", "\n%{http_code}", &url]).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let (text, status) = text.rsplit_once('\n').unwrap_or_default();
        (status.to_owned(), text.to_owned())
    }

    /// Waits until an HTTP probe succeeds.
    ///
    /// # Panics
    /// If that takes too long.
    pub fn get_until(&self, pod: &str, path: &str) {
        crate::process::until(path, PATIENCE, || self.get(pod, path).0 == "200");
    }

    /// Waits until a pod's container has ended, and returns its exit code.
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

    /// Returns both output streams of a pod's container.
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

    /// Returns each field of a pod's securityContext in the OCI configuration with which it was started.
    ///
    /// # Panics
    /// If it was not started.
    #[must_use]
    pub fn applied(&self, pod: &str) -> Vec<Field> {
        let file = self.directory.path().join(format!("applied/{pod}.json"));
        let fields: Vec<Value> = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
        let field = |value: &Value| Field {
            name: value["field"].as_str().unwrap().to_owned(),
            oci: value["oci"].as_str().unwrap().to_owned(),
            by: value["by"].as_str().unwrap().to_owned(),
            holds: value["holds"].as_bool().unwrap(),
        };
        fields.iter().map(field).collect()
    }

    /// Returns the OCI configuration of a pod's container.
    ///
    /// # Panics
    /// If it does not exist.
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
        let directory = self.directory.path();
        let mut command = self.inside("podman");
        command
            .arg("--runtime")
            .arg(directory.join("runtime"))
            .arg("--tmpdir")
            .arg(directory.join("run/libpod"));
        command.args(words);
        command.env("CONTAINERS_CONF", directory.join("containers.conf"));
        command.env("CONTAINERS_STORAGE_CONF", directory.join("storage.conf"));
        command
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // Without private mounts, nothing was created.
        if !is_private(self.holder.pid()) {
            return;
        }
        let pods = self.podman(&["pod", "ps", "--quiet", "--no-trunc"]).output();
        drop(self.podman(&["pod", "rm", "--force", "--all", "--time", "0"]).output());
        // podman leaves the cgroup of a pod in some hierarchies, and the parent of all pods in each.
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

/// Writes podman's settings: this cluster's storage on top of the images' storage, and the runtime.
fn write_settings(directory: &Path, images: &Path) {
    let (shown, images) = (directory.display(), images.display());
    fs::write(directory.join("containers.conf"), containers_conf(directory)).unwrap();
    let storage = format!(
        "[storage]\ndriver = \"overlay\"\ngraphroot = \"{shown}/store\"\nrunroot = \"{shown}/run\"\n\
         [storage.options]\nadditionalimagestores = [\"{images}\"]\n"
    );
    fs::write(directory.join("storage.conf"), storage).unwrap();
    let shim = source::root().join("tests/pods/runtime.py");
    let runtime = directory.join("runtime");
    let script = format!("#!/bin/sh\nexec python3 {} {shown} \"$@\"\n", shim.display());
    fs::write(&runtime, script).unwrap();
    fs::set_permissions(&runtime, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Runs a command and returns its output without the last line feed.
fn done(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {errors}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}
