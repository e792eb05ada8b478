//! The images of server, runner and client, for the tests that run them.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
};

use airlock_mounts::private_command;
use serde_json::Value;

use crate::{
    source,
    tools::{path, program, tools},
};

/// The images, built from this workspace's programs and a Debian root file system from the cache.
#[derive(Debug)]
pub struct Images {
    directory: PathBuf,
    /// The lock with which one test at a time uses podman's storage and cgroups.
    _turn: File,
}

impl Images {
    /// Builds the images, unless those that exist were made from the same programs, by the same script.
    ///
    /// # Panics
    /// If the script fails, with its output.
    #[must_use]
    pub fn build() -> Self {
        let directory = tools().parent().unwrap().join("images");
        fs::create_dir_all(&directory).unwrap();
        let turn = File::create(directory.join("lock")).unwrap();
        turn.lock().unwrap();
        let images = Self { directory, _turn: turn };
        let programs = program("airlock").parent().unwrap().to_owned();
        let sources = images.sources(&programs);
        let made_from = images.directory.join("sources");
        if fs::read_to_string(&made_from).is_ok_and(|known| known == sources) {
            return images;
        }
        // If the script fails, the next call builds again.
        drop(fs::remove_file(&made_from));
        images.run_script(&programs);
        fs::write(made_from, sources).unwrap();
        images
    }

    /// Returns a line for each file that the images are built from, with its size and its modification time.
    fn sources(&self, programs: &Path) -> String {
        let programs = ["airlock", "airlock-runner", "airlock-server"].map(|name| programs.join(name));
        let scripts = [
            "scripts/images.sh",
            "scripts/lib.sh",
            "deploy/Dockerfile",
            "Cargo.lock",
            "helm/airlock/Chart.yaml",
        ];
        let files = programs.into_iter().chain(scripts.map(|name| source::root().join(name)));
        let lines = files.map(|file| {
            let metadata = fs::metadata(&file).unwrap();
            format!("{} {} {:?}\n", file.display(), metadata.len(), metadata.modified().unwrap())
        });
        format!("{}\n{}", self.store().display(), lines.collect::<String>())
    }

    fn run_script(&self, programs: &Path) {
        let conf = self.directory.join("containers.conf");
        fs::write(&conf, containers_conf(&self.directory)).unwrap();
        let podman = format!(
            "podman --root {} --runroot {}/run --runtime runc --storage-driver overlay",
            self.store().display(),
            self.directory.display()
        );
        let built = private_command(&[])
            .arg(source::root().join("scripts/images.sh"))
            .args(["--base", "archive", "--programs"])
            .arg(programs)
            .arg("--out")
            .arg(&self.directory)
            .envs([("PODMAN", podman), ("PATH", path())])
            .env("CONTAINERS_CONF", &conf)
            .output()
            .unwrap();
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        fs::write(self.directory.join("sizes"), built.stdout).unwrap();
    }

    /// Returns the report of `scripts/images.sh`, one line per image: name, size, packages.
    ///
    /// # Panics
    /// If it cannot be read.
    #[must_use]
    pub fn sizes(&self) -> Vec<String> {
        fs::read_to_string(self.directory.join("sizes")).unwrap().lines().map(str::to_owned).collect()
    }

    /// Returns a file next to the images, such as `airlock-server.cdx.json`.
    ///
    /// # Panics
    /// If it is not JSON.
    #[must_use]
    pub fn bill(&self, file: &str) -> Value {
        serde_json::from_slice(&fs::read(self.directory.join(file)).unwrap()).unwrap()
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.directory.join("store")
    }
}

/// Returns the settings of podman. Its default runtime, crun, does not work where cgroups of both versions are mounted.
/// Its locks and networks would otherwise be in /dev/shm and /etc.
pub(crate) fn containers_conf(directory: &Path) -> String {
    format!(
        "[containers]\ndefault_ulimits = [\"nofile=1024:1024\", \"nproc=4096:4096\"]\n\
         [engine]\ncgroup_manager = \"cgroupfs\"\nevents_logger = \"file\"\nlock_type = \"file\"\n\
         [network]\nnetwork_config_dir = \"{}\"\n",
        directory.join("networks").display()
    )
}
