//! PostgreSQL and S3 for whole-system tests: one of each for all tests of a run, a database and a bucket for each
//! test.

use std::{
    fs,
    net::SocketAddr,
    os::unix::process::parent_id,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use uuid::Uuid;

use crate::source;

const PASSWORD: &str = "a password of the tests";
/// Limits of a store that a busy machine does not reach.
const PATIENT_STORE: &str =
    "connect_timeout = \"60s\"\nstatement_timeout = \"60s\"\nlock_timeout = \"60s\"\n";
/// Likewise of a storage, which says soon that it is away.
const PATIENT_STORAGE: &str = "connect_timeout = \"60s\"\nrequest_timeout = \"60s\"\nretry_for = \"1s\"\n";

/// A new database.
#[derive(Debug)]
pub struct Database {
    folder: PathBuf,
    port: u16,
    name: String,
}

/// A new bucket.
#[derive(Debug)]
pub struct Bucket {
    port: u16,
    name: String,
}

impl Database {
    /// Makes one, and a role of its name, which owns it.
    ///
    /// # Panics
    /// If there is no PostgreSQL here.
    #[must_use]
    pub fn new() -> Self {
        let (folder, port) = engine("postgres");
        let name = format!("test_{}", Uuid::new_v4().simple());
        let database = Self { folder, port, name };
        let name = &database.name;
        database.say("postgres", &format!("CREATE ROLE {name} LOGIN PASSWORD '{PASSWORD}'"));
        database.say("postgres", &format!("CREATE DATABASE {name} OWNER {name} TEMPLATE template0"));
        database
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.port))
    }

    /// The `[store.postgres]` of a server that reaches it through this port of the loopback, by TLS.
    #[must_use]
    pub fn table(&self, port: u16, notify: bool) -> String {
        self.table_at(&format!("localhost:{port}"), notify, PATIENT_STORE)
    }

    /// Likewise of one that reaches it at this authority, which is localhost or the switch of a [`Network`], within these
    /// limits.
    ///
    /// [`Network`]: crate::fleet::network::Network
    ///
    /// # Panics
    /// If the file for the password cannot be written.
    #[must_use]
    pub fn table_at(&self, authority: &str, notify: bool, limits: &str) -> String {
        let password = self.folder.join(format!("{}.password", self.name));
        fs::write(&password, PASSWORD).unwrap();
        format!(
            "[store.postgres]\nurl = \"postgres://{name}@{authority}/{name}\"\npassword_file = \"{}\"\n\
             ca = \"{}\"\nnotify = {notify}\n{limits}",
            password.display(),
            self.folder.join("ca.pem").display(),
            name = self.name,
        )
    }

    /// What the superuser is answered to `sql` in this database.
    ///
    /// # Panics
    /// If it is refused.
    pub fn ask(&self, sql: &str) -> String {
        self.say(&self.name, sql)
    }

    /// Writes all of it to a file, while servers work.
    ///
    /// # Panics
    /// With what `pg_dump` says, if it fails.
    pub fn dump(&self, file: &Path) {
        let name = self.name.clone();
        said(self.client("pg_dump").args(["--format=custom", "--file"]).arg(file).arg(name));
    }

    /// Removes it, whoever is connected, and makes it anew of what [`Database::dump`] wrote.
    ///
    /// # Panics
    /// With what PostgreSQL says, if it fails.
    pub fn restore(&self, file: &Path) {
        let name = &self.name;
        self.say("postgres", &format!("DROP DATABASE {name} WITH (FORCE)"));
        said(self.client("createdb").args([
            "--owner",
            name,
            "--template=template0",
            "--encoding=UTF8",
            name,
        ]));
        said(self.client("pg_restore").args(["--exit-on-error", "--dbname", name]).arg(file));
    }

    /// A client program of PostgreSQL's, as the superuser.
    fn client(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.args(["--username", "airlock", "--port", &self.port.to_string(), "--host"]);
        command.arg(self.folder.join("run"));
        command
    }

    fn say(&self, database: &str, sql: &str) -> String {
        said(
            self.client("psql")
                .args(["--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--dbname", database])
                .args(["--set", "ON_ERROR_STOP=1", "--command", sql]),
        )
    }
}

impl Default for Database {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // What a failed test leaves goes with the cluster.
        if !std::thread::panicking() {
            self.say("postgres", &format!("DROP DATABASE {} WITH (FORCE)", self.name));
        }
    }
}

impl Bucket {
    /// Makes one.
    ///
    /// # Panics
    /// If there is no server of S3 here.
    #[must_use]
    pub fn new() -> Self {
        let (_, port) = engine("s3");
        let bucket = Self { port, name: format!("test-{}", Uuid::new_v4()) };
        bucket.ask("PUT", "");
        bucket
    }

    /// Where it is.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.port))
    }

    /// The `[outputs.s3]` of a server that reaches it through this port of the loopback. Its keys are to be in the
    /// environment; see [`Bucket::KEYS`].
    #[must_use]
    pub fn table(&self, port: u16) -> String {
        self.table_at(&format!("127.0.0.1:{port}"), PATIENT_STORAGE)
    }

    /// Likewise of one that reaches it at this authority within these limits.
    #[must_use]
    pub fn table_at(&self, authority: &str, limits: &str) -> String {
        format!(
            "[outputs.s3]\nbucket = \"{}\"\nendpoint = \"http://{authority}\"\ninsecure_http = true\n{limits}",
            self.name
        )
    }

    /// What a server must have in its environment.
    pub const KEYS: [(&'static str, &'static str); 2] =
        [("AWS_ACCESS_KEY_ID", "the-id"), ("AWS_SECRET_ACCESS_KEY", "the-key")];

    /// The list of its objects, as S3 gives it.
    ///
    /// # Panics
    /// If the server does not answer.
    pub fn list(&self) -> String {
        self.ask("GET", "?list-type=2")
    }

    fn ask(&self, method: &str, what: &str) -> String {
        let url = format!("http://{}/{}{what}", self.address(), self.name);
        let key = "authorization: AWS4-HMAC-SHA256 Credential=the-id/20260101/us-east-1/s3/aws4_request, \
                   SignedHeaders=host, Signature=none";
        said(Command::new("curl").args(["--silent", "--fail", "-X", method, "-H", key, &url]))
    }
}

impl Default for Bucket {
    fn default() -> Self {
        Self::new()
    }
}

/// The folder and the port of an engine that all tests of this run share. It ends with the process that runs
/// them.
fn engine(kind: &str) -> (PathBuf, u16) {
    let script = source::root().join("scripts/engine.sh");
    let folder = PathBuf::from(said(Command::new(script).arg(kind).arg(parent_id().to_string())));
    let port = fs::read_to_string(folder.join("port")).unwrap().trim().parse().unwrap();
    (folder, port)
}

fn said(command: &mut Command) -> String {
    let Output { status, stdout, stderr } = command.output().unwrap();
    assert!(status.success(), "{command:?}: {}", String::from_utf8_lossy(&stderr));
    String::from_utf8(stdout).unwrap().trim().to_owned()
}
