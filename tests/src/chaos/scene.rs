//! A fixture with a server and a runner that can be killed, stopped and restarted, and a relay between them.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::process::ExitStatusExt as _,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use airlock_client::Client;
use airlock_mounts::{private_command, remove_tree};
use sqlx::{Connection as _, Row as _, SqliteConnection, sqlite::SqliteConnectOptions};

use super::actor::eventually;
use crate::{
    cutter::Cutter,
    footprint::Leftovers,
    process::Process,
    site::{Extras, PATIENCE, Site},
};

/// The profile of all scenarios: an ask rule, and the grace period of commands that ignore SIGTERM.
const PROFILE: &str = "name = \"chaos\"\nextends = \"sandboxed\"\n[policy]\nask = [\"Bash(printf approval:*)\"]\n\
    [limits]\ngrace = \"1s\"\noutput_bytes = 1048576\n[approvals]\nself_approval = true\n";
/// The profile for remembered answers.
const RULES: &str = "name = \"chaos_rules\"\nextends = \"strict\"\n[limits]\ngrace = \"1s\"\n\
    [approvals]\nself_approval = true\nremember = \"session\"\n";
const SERVER: &str = "[link]\nheartbeat_interval = \"500ms\"\nheartbeat_timeout = \"2s\"\n";
const RUNNER: &str = "[reconnect]\nfirst = \"50ms\"\nmax = \"200ms\"\nrefused = \"200ms\"\n";

/// The journal entry that shows that the runner's journal is complete.
const TOLD: &[u8] = b"\"told\"";

/// One of the two programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The server.
    Server,
    /// The runner.
    Runner,
}

/// Additional settings of a scene.
#[derive(Debug, Clone, Default)]
pub struct Setting {
    /// Lines for the table `link` of the server's configuration, and tables after it.
    pub server: String,
    /// Tables for the runner's configuration.
    pub runner: String,
    /// If set, the runner runs in a private mount namespace with a disk of this size in MiB.
    pub small_disk: Option<u32>,
}

/// The fixture of one row.
#[derive(Debug)]
pub struct Scene {
    /// The directory of both programs.
    pub site: Site,
    /// The relay between runner and server.
    pub relay: Cutter,
    /// A client with a direct connection to the server.
    pub client: Client,
    setting: Setting,
    /// The numbers of starts in workspaces that may have been removed since.
    remembered: Mutex<BTreeMap<String, u32>>,
    server: Mutex<Option<Process>>,
    runner: Mutex<Option<Process>>,
}

impl Scene {
    /// Starts both programs, and waits until they are ready.
    ///
    /// # Panics
    /// If they do not become ready.
    pub async fn new(setting: Setting) -> Self {
        let site = Site::with(Extras {
            server_tables: format!("{SERVER}{}", setting.server),
            runner_tables: format!("{RUNNER}{}", setting.runner),
            profiles: [("chaos", PROFILE), ("chaos_rules", RULES)]
                .map(|(name, text)| (name.to_owned(), text.to_owned()))
                .into(),
            ..Extras::default()
        });
        let relay = Cutter::still(site.address);
        site.write_runner_through("runner-1", &site.pki.issue("runner-1", &[]), relay.address);
        let client = Client::connect_lazy(site.settings()).unwrap();
        let scene = Self {
            site,
            relay,
            client,
            setting,
            remembered: Mutex::default(),
            server: Mutex::default(),
            runner: Mutex::default(),
        };
        scene.start(Side::Server, &[]);
        scene.start(Side::Runner, &[]);
        scene.ready().await;
        scene
    }

    /// Waits until the runner's journal is known to be complete. That requires that every server has been told.
    ///
    /// # Panics
    /// If that takes too long.
    pub async fn vouched_for(&self) {
        eventually("the journal is vouched for", async || {
            let journal = fs::read(self.seen_state().join("journal")).ok()?;
            journal.windows(TOLD.len()).any(|found| found == TOLD).then_some(())
        })
        .await;
    }

    /// Waits until the server responds and the runner is linked to it.
    ///
    /// # Panics
    /// If that takes too long.
    pub async fn ready(&self) {
        drop(self.site.ready().await);
    }

    /// Starts one of the programs with these variables.
    pub fn start(&self, side: Side, env: &[(&str, &str)]) {
        let process = match (side, self.setting.small_disk) {
            (Side::Server, _) => self.site.server(env),
            (Side::Runner, None) => self.site.runner(env),
            (Side::Runner, Some(mib)) => self.runner_on_a_small_disk(mib),
        };
        *self.slot(side) = Some(process);
    }

    /// The disk is a new tmpfs, which only this runner sees and which ends with it.
    fn runner_on_a_small_disk(&self, mib: u32) -> Process {
        let state = self.state();
        fs::create_dir_all(&state).unwrap();
        let runner = self.site.command("airlock-runner", "runner-1");
        let script = "mount -t tmpfs -o size=\"$1\"m,mode=0700 tmpfs \"$2\" && shift 2 && exec \"$@\"";
        let mut command = private_command(&[]);
        command.args(["sh", "-ec", script, "sh"]);
        command.arg(mib.to_string()).arg(&state).arg(runner.get_program()).args(runner.get_args());
        Process::start(&mut command, &self.site.log("runner-1"))
    }

    fn slot(&self, side: Side) -> MutexGuard<'_, Option<Process>> {
        let slot = match side {
            Side::Server => &self.server,
            Side::Runner => &self.runner,
        };
        slot.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Kills one of the programs (SIGKILL).
    pub fn kill(&self, side: Side) {
        let process = self.slot(side).take();
        if let Some(process) = process {
            process.kill();
        }
    }

    /// Kills one of the programs and restarts it with these variables.
    pub fn restart(&self, side: Side, env: &[(&str, &str)]) {
        self.kill(side);
        self.start(side, env);
    }

    /// Kills the runner, removes its state, and starts it with these variables.
    ///
    /// # Panics
    /// If its directory cannot be removed.
    pub fn renew_runner(&self, env: &[(&str, &str)]) {
        self.kill(Side::Runner);
        airlock_sandbox::sweep_cgroups(&self.state().join("launcher")).unwrap();
        remove_tree(self.state()).unwrap();
        self.start(Side::Runner, env);
    }

    /// Stops one of the programs in order, and returns its log.
    ///
    /// # Panics
    /// If it does not end, or ends with an error.
    pub async fn stop(&self, side: Side) -> String {
        let process = self.slot(side).take().expect("it was started");
        tokio::task::spawn_blocking(move || {
            let log = process.log().to_owned();
            let status = process.terminate(PATIENCE);
            let said = fs::read_to_string(log).unwrap_or_default();
            assert!(status.success(), "{side:?} ends in order: {status}\n{said}");
            said
        })
        .await
        .unwrap()
    }

    /// Reports whether one of the programs was killed by its fault. If so, it is restarted without a fault.
    ///
    /// # Panics
    /// If it ended in another way.
    pub fn mend(&self, side: Side) -> bool {
        let (status, said) = {
            let mut slot = self.slot(side);
            let Some(process) = slot.as_mut() else { return false };
            let Some(status) = process.wait(Duration::ZERO) else { return false };
            (status, process.output())
        };
        assert_eq!(status.signal(), Some(9), "{side:?} died of its fault: {status}\n{said}");
        self.restart(side, &[]);
        true
    }

    /// Returns the runner's directory.
    #[must_use]
    pub fn state(&self) -> PathBuf {
        self.site.path().join("runner-1")
    }

    /// Returns the runner's directory as the runner sees it.
    #[must_use]
    pub fn seen_state(&self) -> PathBuf {
        let root = match (&*self.slot(Side::Runner), self.setting.small_disk) {
            (Some(runner), Some(_)) => PathBuf::from(format!("/proc/{}/root", runner.pid())),
            _ => PathBuf::from("/"),
        };
        root.join(self.state().strip_prefix("/").unwrap_or(&self.state()))
    }

    /// Returns the existing workspaces.
    #[must_use]
    pub fn workspaces(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.seen_state().join("sessions")).into_iter().flatten().flatten();
        entries.map(|entry| entry.path().join("disk/workspace")).filter(|path| path.is_dir()).collect()
    }

    /// Creates a file that commands wait for in every workspace.
    ///
    /// # Panics
    /// If a file cannot be created.
    pub fn open_gate(&self, name: &str) {
        for workspace in self.workspaces() {
            fs::write(workspace.join(name), "").unwrap();
        }
    }

    /// Returns the number of starts of each command, from `ran.txt`.
    #[must_use]
    pub fn ran(&self) -> BTreeMap<String, u32> {
        let mut ran: BTreeMap<String, u32> = BTreeMap::new();
        for workspace in self.workspaces() {
            let text = fs::read_to_string(workspace.join("ran.txt")).unwrap_or_default();
            for line in text.lines() {
                *ran.entry(line.to_owned()).or_default() += 1;
            }
        }
        for (name, before) in &*self.remembered.lock().unwrap_or_else(PoisonError::into_inner) {
            let now = ran.entry(name.clone()).or_default();
            *now = (*now).max(*before);
        }
        ran
    }

    /// Stores the result of [`Scene::ran`] for later, when the workspaces no longer exist.
    pub fn remember_who_ran(&self) {
        let ran = self.ran();
        *self.remembered.lock().unwrap_or_else(PoisonError::into_inner) = ran;
    }

    /// Returns the bytes of an execution's streams on the runner's disk, if it has a spool. Call it while nothing
    /// is written, and for output without a gap.
    #[must_use]
    pub fn spooled(&self, id: &str) -> Option<(u64, u64)> {
        let files = fs::read_dir(self.seen_state().join("spool").join(id)).ok()?.flatten();
        let sizes: Vec<_> = files
            .filter_map(|file| Some((file.file_name().into_string().ok()?, file.metadata().ok()?.len())))
            .collect();
        let of = |stream| {
            sizes.iter().filter(|(name, _)| name.starts_with(stream)).map(|(_, size)| *size).sum::<u64>()
        };
        Some((of("stdout."), of("stderr.")))
    }

    /// Opens a separate connection to the store's file.
    ///
    /// # Panics
    /// If that fails.
    pub async fn store(&self) -> SqliteConnection {
        let options = SqliteConnectOptions::new().filename(self.site.path().join("airlock.db"));
        SqliteConnection::connect_with(&options.busy_timeout(PATIENCE)).await.unwrap()
    }

    /// Returns the number of opened audit entries of an execution, and its closing entries: cause and whether it
    /// started.
    ///
    /// # Panics
    /// If the store cannot be read.
    pub async fn audit(&self, id: &str) -> (i64, Vec<(String, String)>) {
        let mut store = self.store().await;
        let opened = sqlx::query_scalar("SELECT count(*) FROM audit_opened WHERE execution_id = ?")
            .bind(id)
            .fetch_one(&mut store)
            .await
            .unwrap();
        let closed = sqlx::query("SELECT cause, started FROM audit_closed WHERE execution_id = ?")
            .bind(id)
            .fetch_all(&mut store)
            .await
            .unwrap();
        drop(store.close().await);
        (opened, closed.iter().map(|row| (row.get(0), row.get(1))).collect())
    }

    /// Checks that nothing remains on the runner's side: no session, no spool, no other process, no mount.
    ///
    /// # Panics
    /// If something remains.
    pub async fn nothing_is_left(&self) {
        let state = self.seen_state();
        for directory in ["sessions", "trash", "spool"] {
            let is_empty = async || names(&state.join(directory)).is_empty().then_some(());
            eventually(&format!("{directory} is empty"), is_empty).await;
        }
        let mark = self.site.mark();
        eventually("no process is left", async || {
            let found = Leftovers::look(&mark).processes;
            found.iter().all(|line| is_one_of_the_two(line)).then_some(())
        })
        .await;
    }

    /// Stops both programs, and checks for leftovers.
    ///
    /// # Panics
    /// If something remains.
    pub async fn end(self) {
        self.stop(Side::Runner).await;
        self.stop(Side::Server).await;
        let left = Leftovers::look(&self.site.mark());
        assert_eq!(
            (left.processes, left.mounts, left.sockets),
            Default::default(),
            "no process or file remains"
        );
        let noted = fs::read_to_string(self.state().join("launcher/cgroup")).unwrap_or_default();
        assert!(noted.is_empty() || !Path::new(&noted).exists(), "a cgroup remains: {noted}");
    }
}

/// Reports whether the process is the server, the runner, or a process of the runner itself.
fn is_one_of_the_two(line: &str) -> bool {
    line.contains("airlock-server") || line.contains("airlock-runner")
}

fn names(directory: &Path) -> Vec<PathBuf> {
    fs::read_dir(directory).map(|all| all.flatten().map(|entry| entry.path()).collect()).unwrap_or_default()
}
