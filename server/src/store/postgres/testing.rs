//! A real PostgreSQL for tests: one cluster for all tests of a run, a database for each test. Nothing but
//! tests uses this.

use std::{path::PathBuf, process::Command, sync::Arc};

use uuid::Uuid;

use super::{PostgresOptions, PostgresStore, PostgresTls};
use crate::{
    changes::Changes,
    store::Store,
    testing::{PATIENCE, engine},
};

/// The cluster of this run of the tests.
pub(crate) struct Cluster {
    /// Holds its socket, and `ca.pem`.
    pub(crate) folder: PathBuf,
    pub(crate) port: u16,
}

impl Cluster {
    /// Starts it, unless a test before has; it ends with the process that runs the tests.
    pub(crate) fn get() -> Self {
        let (folder, port) = engine("postgres");
        Self { folder, port }
    }

    pub(crate) fn socket(&self) -> String {
        self.folder.join("run").display().to_string()
    }

    /// Has the superuser say `sql` in `database`.
    pub(crate) fn say(&self, database: &str, sql: &str) -> String {
        let said = Command::new("psql")
            .args(["--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--username", "airlock"])
            .args(["--host", &self.socket(), "--port", &self.port.to_string()])
            .args(["--dbname", database, "--set", "ON_ERROR_STOP=1", "--command", sql])
            .output()
            .unwrap();
        assert!(said.status.success(), "{sql}: {}", String::from_utf8_lossy(&said.stderr));
        String::from_utf8(said.stdout).unwrap().trim().to_owned()
    }
}

/// A database of its own, removed when this is dropped.
pub(crate) struct Database {
    pub(crate) cluster: Cluster,
    pub(crate) name: String,
}

impl Database {
    pub(crate) fn make() -> Self {
        let cluster = Cluster::get();
        let name = format!("test_{}", Uuid::new_v4().simple());
        cluster.say("postgres", &format!("CREATE DATABASE {name} TEMPLATE template0"));
        Self { cluster, name }
    }

    /// How a server reaches it, over its socket.
    pub(crate) fn options(&self) -> PostgresOptions {
        PostgresOptions {
            host: self.cluster.socket(),
            port: self.cluster.port,
            database: self.name.clone(),
            user: "airlock".to_owned(),
            password: None,
            tls: PostgresTls::default(),
            connections: 8,
            connect_timeout: PATIENCE,
            statement_timeout: PATIENCE,
            lock_timeout: PATIENCE,
            notify: false,
            name: "airlock-test".to_owned(),
        }
    }

    /// Has the superuser say `sql` in it.
    pub(crate) fn say(&self, sql: &str) -> String {
        self.cluster.say(&self.name, sql)
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // Not while another panic unwinds: what is left goes with the cluster.
        if !std::thread::panicking() {
            self.cluster.say("postgres", &format!("DROP DATABASE {} WITH (FORCE)", self.name));
        }
    }
}

/// Two servers' stores on a new database.
pub(crate) struct Pair {
    pub(crate) one: Arc<PostgresStore>,
    pub(crate) other: Arc<PostgresStore>,
    /// What the other server's hints ring.
    pub(crate) changes: Changes,
    pub(crate) database: Database,
}

impl Pair {
    pub(crate) async fn open(notify: bool) -> Self {
        let database = Database::make();
        let options = PostgresOptions { notify, ..database.options() };
        let changes = Changes::default();
        let one = PostgresStore::open(&options, Changes::default()).await.unwrap();
        let other = PostgresStore::open(&options, changes.clone()).await.unwrap();
        Self { one, other, changes, database }
    }

    pub(crate) fn store(&self) -> &dyn Store {
        &*self.one
    }

    pub(crate) fn other(&self) -> &dyn Store {
        &*self.other
    }
}
