//! The procedure in the operator's guide: a store and its outputs are backed up while a server runs, lost, and
//! restored. Afterwards a server knows the executions, and the audit is complete. The runner, which kept running, and
//! the restored store agree on the running commands.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::{fs, path::PathBuf, process::Command};

use airlock_client::{Client, OutputPiece, Selection, v1};
use airlock_tests::{
    engines::Database,
    process::Process,
    reader::{Story, cause, ended, exit_code, run, running, spec, spec_in, stored, until},
    site::{Extras, Site},
    source,
};
use tempfile::TempDir;

/// An output larger than an inline result.
const NUMBERS: &str = "seq 1 20000";
/// A command that holds a lock in its workspace until it ends.
const HOLDS: &str = "flock alive sh -c 'touch held; sleep 3600'";
/// The commands in the guide, with the paths of a host.
const BACK_UP: [&str; 2] = [
    "sqlite3 /var/lib/airlock/airlock.db \".backup '/backup/airlock.db'\"",
    "pg_dump --format=custom --file=/backup/airlock.dump airlock",
];

/// The store and the outputs, and their copies.
struct State {
    /// `None` for SQLite.
    database: Option<Database>,
    directory: TempDir,
}

impl State {
    fn new(database: Option<Database>) -> Self {
        let directory = tempfile::Builder::new().prefix("airlock-state-").tempdir().unwrap();
        fs::create_dir(directory.path().join("copy")).unwrap();
        Self { database, directory }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Returns the tables for the server's configuration.
    fn tables(&self) -> String {
        let store = match &self.database {
            Some(database) => database.table(database.address().port(), true),
            None => format!("[store]\npath = \"{}\"\n", self.path("airlock.db").display()),
        };
        format!("{store}[outputs]\ndirectory = \"{}\"\n", self.path("outputs").display())
    }

    /// Backs up the store first, then the outputs.
    fn back_up(&self) {
        match &self.database {
            Some(database) => database.dump(&self.path("copy/airlock.dump")),
            None => {
                let copy = format!(".backup '{}'", self.path("copy/airlock.db").display());
                done(Command::new("sqlite3").arg(self.path("airlock.db")).arg(copy));
            }
        }
        done(Command::new("cp").arg("-a").args([self.path("outputs"), self.path("copy/outputs")]));
    }

    /// Removes everything and restores the copies.
    fn restore(&self) {
        fs::remove_dir_all(self.path("outputs")).unwrap();
        done(Command::new("cp").arg("-a").args([self.path("copy/outputs"), self.path("outputs")]));
        if let Some(database) = &self.database {
            database.restore(&self.path("copy/airlock.dump"));
            return;
        }
        for lost in ["airlock.db", "airlock.db-wal", "airlock.db-shm"] {
            drop(fs::remove_file(self.path(lost)));
        }
        fs::copy(self.path("copy/airlock.db"), self.path("airlock.db")).unwrap();
    }

    fn ask(&self, sql: &str) -> String {
        match &self.database {
            Some(database) => database.ask(sql),
            None => done(Command::new("sqlite3").arg(self.path("airlock.db")).arg(sql)),
        }
    }

    /// Checks the audit: every execution has an entry, closed if it has ended; the numbers have no gap; entries
    /// cannot be removed.
    fn assert_audit_is_whole(&self) {
        let without = |table: &str, which: &str| {
            self.ask(&format!(
                "SELECT count(*) FROM executions LEFT JOIN {table} audit ON audit.execution_id = executions.id \
                 WHERE audit.execution_id IS NULL {which}"
            ))
        };
        assert_eq!(without("audit_opened", ""), "0", "executions without an entry");
        assert_eq!(without("audit_closed", "AND ended IS NOT NULL"), "0", "ends without an entry");
        let gaps = "SELECT max(sequence) - min(sequence) + 1 - count(*) FROM audit_opened";
        assert_eq!(self.ask(gaps), "0", "missing numbers");
        let triggers = match &self.database {
            Some(_) => "SELECT count(*) FROM pg_trigger WHERE tgname LIKE 'audit%' AND tgenabled = 'O'",
            None => "SELECT count(*) FROM sqlite_master WHERE type = 'trigger' AND name LIKE 'audit%'",
        };
        assert!(
            self.ask(triggers).parse::<u32>().unwrap() >= 3,
            "the constraints of the audit are restored too"
        );
    }
}

fn done(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

struct Fixture {
    client: Client,
    server: Option<Process>,
    _runner: Process,
    site: Site,
    state: State,
}

impl Fixture {
    async fn new(database: Option<Database>) -> Self {
        let state = State::new(database);
        let site = Site::with(Extras { state: state.tables(), ..Extras::default() });
        let (server, runner) = (site.server(&[]), site.runner(&[]));
        let client = site.ready().await;
        Self { client, server: Some(server), _runner: runner, site, state }
    }

    async fn session(&self) -> String {
        self.client.create_session(v1::SessionServiceCreateRequest::default()).await.unwrap().session_id
    }

    /// Starts a command concurrently with others in the session, and waits until it runs.
    async fn start(&self, session: &str, command: &str) -> String {
        let timeout = Some(prost_types::Duration { seconds: 1800, nanos: 0 });
        let beside = v1::ExecutionSpec { allow_concurrent: true, timeout, ..spec_in(session, command) };
        let id = self.client.start(beside).await.unwrap().execution_id;
        running(&self.client, &id).await;
        id
    }

    async fn run_in(&self, session: &str, command: &str) -> Story {
        let beside = v1::ExecutionSpec { allow_concurrent: true, ..spec_in(session, command) };
        run(&self.client, beside).await.unwrap()
    }

    async fn until_finished(&self, id: &str) -> v1::Execution {
        ended(&self.client, id).await
    }

    async fn until_stored(&self, id: &str) {
        stored(&self.client, id).await;
    }

    async fn read(&self, id: &str) -> Vec<u8> {
        let mut parts = self.client.read_output(id, v1::OutputStream::Stdout, Selection::All);
        let mut bytes = Vec::new();
        while let Some(part) = parts.next().await.unwrap() {
            if let OutputPiece::Bytes { data, .. } = part {
                bytes.extend_from_slice(&data);
            }
        }
        bytes
    }

    /// The server and its store and outputs are lost; another server starts with the copies.
    async fn lose_and_restore(&mut self) {
        self.server.take().unwrap().kill();
        self.state.restore();
        self.server = Some(self.site.server(&[]));
        self.client = self.site.ready().await;
    }
}

fn numbers() -> Vec<u8> {
    (1..=20_000).flat_map(|number| format!("{number}\n").into_bytes()).collect()
}

/// The executions, by the time at which they end.
struct Work {
    session: String,
    /// Ended before the backup.
    ended: String,
    /// Runs until `go` exists.
    waits: String,
    /// Ended after the backup.
    ended_later: String,
    /// Started and ended after the backup.
    late: String,
    /// Started after the backup, and runs for an hour.
    unknown: String,
}

/// Starts executions before and after the backup.
async fn work(fixture: &Fixture) -> Work {
    let ended = run(&fixture.client, spec(NUMBERS)).await.unwrap().end.unwrap().execution_id;
    fixture.until_stored(&ended).await;
    let denied = run(&fixture.client, spec("echo 'not closed")).await.unwrap_err();
    assert!(denied.rejection().is_some(), "{denied}");
    let session = fixture.session().await;
    let waits = "echo once >> begun; until [ -e go ]; do sleep 0.05; done; echo went";
    let waits = fixture.start(&session, waits).await;
    let ended_later = fixture.start(&session, "until [ -e end ]; do sleep 0.05; done; echo ended").await;

    // Other executions continue meanwhile.
    let others = async {
        for _ in 0..5 {
            assert_eq!(run(&fixture.client, spec("true")).await.unwrap().exit_code(), Some(0));
        }
    };
    let backed_up = async { tokio::task::block_in_place(|| fixture.state.back_up()) };
    tokio::join!(others, backed_up);

    let late = fixture.run_in(&session, "touch end; echo late").await.end.unwrap().execution_id;
    fixture.until_finished(&ended_later).await;
    fixture.until_stored(&ended_later).await;
    let unknown = fixture.start(&session, HOLDS).await;
    fixture.run_in(&session, "until [ -e held ]; do sleep 0.05; done").await;
    Work { session, ended, waits, ended_later, late, unknown }
}

/// Returns true if the execution has ended and its output is in its final state. The server searches the output on the
/// runner after the end is recorded.
fn is_settled(now: &v1::Execution) -> bool {
    use v1::OutputState::{Live, Storing};
    now.state() == v1::ExecutionState::Finished && !matches!(now.output_state(), Live | Storing)
}

async fn assert_goes_on(fixture: &Fixture, work: &Work) {
    let Work { session, ended, waits, ended_later, late, unknown } = work;
    assert_eq!(exit_code(&fixture.client.execution(ended).await.unwrap()), Some(0));
    assert_eq!(fixture.read(ended).await, numbers(), "from the copy of the outputs");
    for gone in [late, unknown] {
        let error = fixture.client.execution(gone).await.unwrap_err();
        assert_eq!(error.rejection().unwrap().reason, "NOT_FOUND", "{error}");
    }
    // The lock is free once the unknown command was ended.
    assert_eq!(fixture.run_in(session, "flock alive echo free").await.stdout, b"free\n");
    // A command that ran during the restore was neither ended nor started again.
    assert_eq!(fixture.run_in(session, "touch go; cat begun").await.stdout, b"once\n");
    assert_eq!(exit_code(&fixture.until_finished(waits).await), Some(0));
    assert_eq!(fixture.read(waits).await, b"went\n");
    // It ended after the backup and before the loss, so its result is lost.
    let lost = until(&fixture.client, ended_later, is_settled).await;
    assert_eq!((cause(&lost), lost.output_state()), (v1::CauseCode::RunnerLost, v1::OutputState::Lost));
    assert_eq!(run(&fixture.client, spec("echo new")).await.unwrap().stdout, b"new\n");
    fixture.until_stored(waits).await;
    fixture.state.assert_audit_is_whole();
}

async fn drill(database: Option<Database>) {
    let mut fixture = Fixture::new(database).await;
    let work = work(&fixture).await;
    fixture.lose_and_restore().await;
    assert_goes_on(&fixture, &work).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_goes_on_with_what_was_backed_up_of_sqlite() {
    drill(None).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_goes_on_with_what_was_backed_up_of_postgresql() {
    drill(Some(Database::new())).await;
}

#[test]
fn the_guide_has_the_commands_of_the_drill() {
    let guide = fs::read_to_string(source::root().join("docs/operator.md")).unwrap();
    let restore = [
        "createdb --owner=airlock --template=template0 --encoding=UTF8 airlock",
        "pg_restore --exit-on-error --dbname=airlock /backup/airlock.dump",
    ];
    for command in BACK_UP.iter().chain(&restore) {
        assert!(guide.contains(command), "`{command}`");
    }
}
