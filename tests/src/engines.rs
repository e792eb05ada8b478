//! PostgreSQL and S3 for whole-system tests: one instance of each for all tests of a run, with a database and a bucket
//! for each test.

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
/// Timeouts of a store that do not expire on a busy host.
const PATIENT_STORE: &str =
    "connect_timeout = \"60s\"\nstatement_timeout = \"60s\"\nlock_timeout = \"60s\"\n";
/// The same for an output storage, which reports an outage soon.
const PATIENT_STORAGE: &str = "connect_timeout = \"60s\"\nrequest_timeout = \"60s\"\nretry_for = \"1s\"\n";

/// A new database.
#[derive(Debug)]
pub struct Database {
    directory: PathBuf,
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
    /// Creates a database, and a role with the same name that owns it.
    ///
    /// # Panics
    /// If PostgreSQL is not installed.
    #[must_use]
    pub fn new() -> Self {
        let (directory, port) = engine("postgres");
        let name = format!("test_{}", Uuid::new_v4().simple());
        let database = Self { directory, port, name };
        let name = &database.name;
        database.say("postgres", &format!("CREATE ROLE {name} LOGIN PASSWORD '{PASSWORD}'"));
        database.say("postgres", &format!("CREATE DATABASE {name} OWNER {name} TEMPLATE template0"));
        database
    }

    /// Returns the address.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.port))
    }

    /// Returns the `[store.postgres]` table of a server that connects through this port of the loopback with TLS.
    #[must_use]
    pub fn table(&self, port: u16, notify: bool) -> String {
        self.table_at(&format!("localhost:{port}"), notify, PATIENT_STORE)
    }

    /// Like [`Self::table`], for a server that connects to this authority, which is localhost or the switch of a
    /// [`Network`], with these limits.
    ///
    /// [`Network`]: crate::fleet::network::Network
    ///
    /// # Panics
    /// If the password file cannot be written.
    #[must_use]
    pub fn table_at(&self, authority: &str, notify: bool, limits: &str) -> String {
        let password = self.directory.join(format!("{}.password", self.name));
        fs::write(&password, PASSWORD).unwrap();
        format!(
            "[store.postgres]\nurl = \"postgres://{name}@{authority}/{name}\"\npassword_file = \"{}\"\n\
             ca = \"{}\"\nnotify = {notify}\n{limits}",
            password.display(),
            self.directory.join("ca.pem").display(),
            name = self.name,
        )
    }

    /// Runs `sql` in this database as the superuser, and returns the result.
    ///
    /// # Panics
    /// If it is refused.
    pub fn ask(&self, sql: &str) -> String {
        self.say(&self.name, sql)
    }

    /// Writes the whole database to a file while servers use it.
    ///
    /// # Panics
    /// If `pg_dump` fails, with its message.
    pub fn dump(&self, file: &Path) {
        let name = self.name.clone();
        said(self.client("pg_dump").args(["--format=custom", "--file"]).arg(file).arg(name));
    }

    /// Removes the database in spite of open connections, and restores it from the file of [`Database::dump`].
    ///
    /// # Panics
    /// If PostgreSQL fails, with its message.
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

    /// Returns a client program of PostgreSQL for the superuser.
    fn client(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.args(["--username", "airlock", "--port", &self.port.to_string(), "--host"]);
        command.arg(self.directory.join("run"));
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
        // The database of a failed test is removed with the cluster.
        if !std::thread::panicking() {
            self.say("postgres", &format!("DROP DATABASE {} WITH (FORCE)", self.name));
        }
    }
}

impl Bucket {
    /// Creates a bucket.
    ///
    /// # Panics
    /// If there is no S3 server.
    #[must_use]
    pub fn new() -> Self {
        let (_, port) = engine("s3");
        let bucket = Self { port, name: format!("test-{}", Uuid::new_v4()) };
        bucket.ask("PUT", "");
        bucket
    }

    /// Returns the address.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.port))
    }

    /// Returns the `[outputs.s3]` table of a server that connects through this port of the loopback. The environment
    /// must contain the keys; see [`Bucket::KEYS`].
    #[must_use]
    pub fn table(&self, port: u16) -> String {
        self.table_at(&format!("127.0.0.1:{port}"), PATIENT_STORAGE)
    }

    /// Like [`Self::table`], for a server that connects to this authority with these limits.
    #[must_use]
    pub fn table_at(&self, authority: &str, limits: &str) -> String {
        format!(
            "[outputs.s3]\nbucket = \"{}\"\nendpoint = \"http://{authority}\"\ninsecure_http = true\n{limits}",
            self.name
        )
    }

    /// The environment variables with the keys for a server.
    pub const KEYS: [(&'static str, &'static str); 2] =
        [("AWS_ACCESS_KEY_ID", "the-id"), ("AWS_SECRET_ACCESS_KEY", "the-key")];

    /// Returns S3's list of the objects.
    ///
    /// # Panics
    /// If the S3 server does not respond.
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

/// Returns the directory and port of an engine that all tests of this run share. It stops with the process that runs
/// them.
fn engine(kind: &str) -> (PathBuf, u16) {
    let script = source::root().join("scripts/engine.sh");
    let directory = PathBuf::from(said(Command::new(script).arg(kind).arg(parent_id().to_string())));
    let port = fs::read_to_string(directory.join("port")).unwrap().trim().parse().unwrap();
    (directory, port)
}

fn said(command: &mut Command) -> String {
    let Output { status, stdout, stderr } = command.output().unwrap();
    assert!(status.success(), "{command:?}: {}", String::from_utf8_lossy(&stderr));
    String::from_utf8(stdout).unwrap().trim().to_owned()
}
