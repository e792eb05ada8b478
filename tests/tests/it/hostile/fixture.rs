//! A fixture with a server and a runner to attack, and checks that they keep running.

use std::time::Duration;

use airlock_client::{Client, Credentials};
use airlock_proto::v1;
use airlock_tests::{
    pki::Pair,
    process::Process,
    raw::{Answer, Connection, frame, tls},
    reader::{exit_code, run, spec},
    site::{PATIENCE, Site, sha256},
};
use prost::Message;

/// Additional identities, each named after its token: each role of the tenant `acme`, and one with
/// all roles in another tenant.
pub(crate) const ROLES: [&str; 4] = ["executor", "approver", "auditor", "admin"];
/// All roles in another tenant.
pub(crate) const STRANGER: &str = "stranger-of-all-roles";

/// Returns the token of one of these identities.
pub(crate) fn token(name: &str) -> String {
    format!("the-token-of-{name}-that-is-long-enough")
}

fn identity(name: &str, tenant: &str, roles: &[&str]) -> String {
    let hash = sha256(token(name).as_bytes());
    format!(
        "[[identity]]\nname = \"{name}\"\ntenant = \"{tenant}\"\nroles = {roles:?}\n\
         profiles = [\"sandboxed\", \"strict\"]\nmatch = {{ token_sha256 = \"{hash}\" }}\n"
    )
}

/// A server and a runner that honest clients also use.
#[derive(Debug)]
pub(crate) struct Fixture {
    pub(crate) client: Client,
    pub(crate) server: Process,
    pub(crate) runner: Process,
    /// The last field, so that its directory is removed after the processes have ended.
    pub(crate) site: Site,
}

/// Returns the identities, and a rate limit of failed authentications that tests do not reach by
/// accident.
pub(crate) fn tables(failures_per_minute: u32) -> String {
    let mut tables: String = ROLES.iter().map(|role| identity(role, "acme", &[role])).collect();
    tables += &identity(STRANGER, "other", &ROLES);
    tables += "[[identity]]\nname = \"runner-2\"\ntenant = \"system\"\nroles = [\"runner\"]\n\
               match = { common_name = \"runner-2\" }\n\
               [[identity]]\nname = \"server-2\"\ntenant = \"system\"\nroles = [\"server\"]\n\
               match = { common_name = \"server-2\" }\n";
    tables + &format!("[limits]\nauthentication_failures_per_minute = {failures_per_minute}\n")
}

impl Fixture {
    pub(crate) async fn new() -> Self {
        Self::with(&tables(100_000)).await
    }

    /// Creates the fixture with these additional tables in the server's configuration.
    pub(crate) async fn with(server_tables: &str) -> Self {
        let site = Site::with_tables(server_tables, "");
        let (server, runner) = (site.server(&[]), site.runner(&[]));
        let client = site.ready().await;
        Self { client, server, runner, site }
    }

    /// Opens a connection without a certificate.
    pub(crate) async fn connect(&self) -> Connection {
        Connection::open(self.site.address, tls(&self.site.pki.ca(), None)).await.unwrap()
    }

    /// Opens a connection with a certificate.
    pub(crate) async fn connect_with(&self, pair: &Pair) -> Result<Connection, String> {
        Connection::open(self.site.address, tls(&self.site.pki.ca(), Some(pair))).await
    }

    /// Returns the agent's `authorization` header: executor, approver and admin of `acme`.
    pub(crate) fn agent(&self) -> String {
        match self.site.settings().credentials {
            Credentials::Token(token) => format!("Bearer {token}"),
            _ => panic!("the agent has a token"),
        }
    }

    /// Calls a method as the agent.
    pub(crate) async fn call(&self, connection: &Connection, path: &str, request: &impl Message) -> Answer {
        call(connection, path, &self.agent(), &request.encode_to_vec()).await
    }

    /// Waits until the server knows that all other runners are disconnected, so that it places no command on them.
    pub(crate) async fn alone_with_its_runner(&self) {
        let alone = async {
            loop {
                let list =
                    self.client.admin().runners(v1::AdminServiceListRunnersRequest::default()).await.unwrap();
                let here = |runner: &&v1::Runner| runner.state() == v1::RunnerState::Connected;
                if list.runners.iter().filter(here).count() == 1 {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(PATIENCE, alone).await.expect("the other runners were removed");
    }

    /// Asserts that an honest command runs on the same server and runner, and that neither has
    /// panicked.
    pub(crate) async fn runs_on(&self) {
        let story = run(&self.client, spec("echo still here")).await.unwrap();
        assert_eq!((story.stdout.as_slice(), story.exit_code()), (&b"still here\n"[..], Some(0)));
        self.unharmed();
    }

    pub(crate) fn unharmed(&self) {
        for (name, process) in [("server", &self.server), ("runner", &self.runner)] {
            no_panic(name, process);
        }
    }

    /// Returns a finished execution of the agent.
    pub(crate) async fn finished(&self) -> v1::Execution {
        let story = run(&self.client, spec("echo done")).await.unwrap();
        let end = story.end.unwrap();
        assert_eq!(exit_code(&end), Some(0));
        end
    }
}

/// Calls a method with an `authorization` header.
pub(crate) async fn call(connection: &Connection, path: &str, authorization: &str, message: &[u8]) -> Answer {
    let headers = [("authorization", authorization.as_bytes())];
    let answer = connection.call(path, &headers, frame(message)).await;
    answer.unwrap_or_else(|error| panic!("{path} is not answered: {error}"))
}

pub(crate) fn no_panic(name: &str, process: &Process) {
    let log = process.output();
    let line = log.lines().find(|line| line.contains("panicked at"));
    assert_eq!(line, None, "the {name} has panicked:\n{log}");
}
