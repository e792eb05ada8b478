//! A real PostgreSQL for tests: one cluster per test run, one database per test.

use std::{
    fs::{self, File},
    path::PathBuf,
    process::Command,
    sync::Arc,
};

use uuid::Uuid;

use super::{PostgresOptions, PostgresStore, PostgresTls};
use crate::{
    Store,
    changes::Changes,
    testing::{PATIENCE, engine},
};

/// The cluster of this test run.
pub(crate) struct Cluster {
    /// Contains the socket, `ca.pem` and `psql`.
    pub(crate) folder: PathBuf,
    pub(crate) port: u16,
}

impl Cluster {
    /// Starts the cluster unless an earlier test did. It ends with the process that runs the tests.
    pub(crate) fn get() -> Self {
        let (folder, port) = engine("postgres");
        Self { folder, port }
    }

    pub(crate) fn socket(&self) -> String {
        self.folder.join("run").display().to_string()
    }

    /// Executes `sql` in `database` as the superuser.
    pub(crate) fn say(&self, database: &str, sql: &str) -> String {
        let said = Command::new(self.folder.join("psql"))
            .args(["--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--username", "airlock"])
            .args(["--host", &self.socket(), "--port", &self.port.to_string()])
            .args(["--dbname", database, "--set", "ON_ERROR_STOP=1", "--command", sql])
            .output()
            .unwrap();
        assert!(said.status.success(), "{sql}: {}", String::from_utf8_lossy(&said.stderr));
        String::from_utf8(said.stdout).unwrap().trim().to_owned()
    }

    /// Makes the database `migrated`, which has all migrations, unless an earlier test did. Copying it takes a fraction
    /// of the time that the migrations take.
    async fn migrate_once(&self) {
        let done = self.folder.join("migrated");
        let lock = File::create(self.folder.join("migrated.lock")).unwrap();
        lock.lock().unwrap();
        if done.exists() {
            return;
        }
        self.say("postgres", "CREATE DATABASE migrated TEMPLATE template0");
        let options = self.options("migrated");
        PostgresStore::open(&options, Changes::default()).await.unwrap().close().await;
        fs::write(done, "").unwrap();
    }

    /// Returns the options for a connection over the socket.
    fn options(&self, database: &str) -> PostgresOptions {
        PostgresOptions {
            host: self.socket(),
            port: self.port,
            database: database.to_owned(),
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
}

/// A database for one test. It is dropped with this value.
pub(crate) struct Database {
    pub(crate) cluster: Cluster,
    pub(crate) name: String,
}

impl Database {
    /// Makes an empty database.
    pub(crate) fn make() -> Self {
        Self::copy_of(Cluster::get(), "template0")
    }

    /// Makes a database that has all migrations.
    pub(crate) async fn migrated() -> Self {
        let cluster = Cluster::get();
        cluster.migrate_once().await;
        Self::copy_of(cluster, "migrated")
    }

    fn copy_of(cluster: Cluster, template: &str) -> Self {
        let name = format!("test_{}", Uuid::new_v4().simple());
        cluster.say("postgres", &format!("CREATE DATABASE {name} TEMPLATE {template}"));
        Self { cluster, name }
    }

    /// Returns the options for a connection over the socket.
    pub(crate) fn options(&self) -> PostgresOptions {
        self.cluster.options(&self.name)
    }

    /// Executes `sql` in this database as the superuser.
    pub(crate) fn say(&self, sql: &str) -> String {
        self.cluster.say(&self.name, sql)
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // Skip this during a panic. The database is removed with the cluster.
        if !std::thread::panicking() {
            self.cluster.say("postgres", &format!("DROP DATABASE {} WITH (FORCE)", self.name));
        }
    }
}

/// The stores of two servers on a new database.
pub(crate) struct Pair {
    pub(crate) one: Arc<PostgresStore>,
    pub(crate) other: Arc<PostgresStore>,
    /// The notifiers of the other server.
    pub(crate) changes: Changes,
    pub(crate) database: Database,
}

impl Pair {
    pub(crate) async fn open(notify: bool) -> Self {
        let database = Database::migrated().await;
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
