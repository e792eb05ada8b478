//! Connections: passwords, TLS, and databases that cannot hold a store.

use std::path::PathBuf;

use super::{
    super::{PostgresOptions, PostgresTls, TlsMode, testing::Database},
    *,
};

const PASSWORD: &str = "a secret that nobody is shown";

/// Returns options for TCP with a role that needs a password.
fn remote(database: &Database) -> PostgresOptions {
    let role = format!("role_{}", database.name);
    database.say(&format!("CREATE ROLE {role} LOGIN PASSWORD '{PASSWORD}'"));
    database.say(&format!(
        "ALTER DATABASE {} OWNER TO {role}; GRANT ALL ON SCHEMA public TO {role}",
        database.name
    ));
    PostgresOptions {
        host: "localhost".to_owned(),
        user: role,
        password: Some(PASSWORD.to_owned()),
        tls: PostgresTls {
            mode: TlsMode::VerifyFull,
            ca: Some(database.cluster.folder.join("ca.pem")),
            identity: None,
        },
        ..database.options()
    }
}

async fn refused(options: &PostgresOptions) -> StoreError {
    let error = PostgresStore::open(options, Changes::default()).await.unwrap_err();
    let shown = format!("{error} {error:?} {options:?}");
    assert!(!shown.contains(PASSWORD), "{shown}");
    error
}

fn tls(options: &PostgresOptions, mode: TlsMode, ca: Option<PathBuf>, host: &str) -> PostgresOptions {
    let tls = PostgresTls { mode, ca, identity: None };
    PostgresOptions { tls, host: host.to_owned(), ..options.clone() }
}

#[tokio::test]
async fn tls_checks_what_its_mode_says() {
    let database = Database::make();
    let options = remote(&database);
    let ca = options.tls.ca.clone();
    for good in [
        options.clone(),
        tls(&options, TlsMode::VerifyCa, ca.clone(), "127.0.0.1"),
        tls(&options, TlsMode::Require, None, "127.0.0.1"),
    ] {
        let store = PostgresStore::open(&good, Changes::default()).await.unwrap();
        let is_tls: bool = sqlx::query_scalar("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()")
            .fetch_one(&store.pool)
            .await
            .unwrap();
        assert!(is_tls, "{good:?}");
        store.close().await;
    }
    for (bad, why) in [
        (tls(&options, TlsMode::VerifyFull, None, "localhost"), "certificate"),
        (tls(&options, TlsMode::VerifyCa, None, "localhost"), "certificate"),
        (tls(&options, TlsMode::VerifyFull, ca, "127.0.0.1"), "certificate"),
        (tls(&options, TlsMode::Disable, None, "localhost"), "pg_hba.conf"),
    ] {
        let error = refused(&bad).await;
        assert!(matches!(error, StoreError::Unavailable(_)), "{error:?}");
        assert!(error.to_string().contains(why), "{error}");
    }
    let wrong = PostgresOptions { password: Some("wrong".to_owned()), ..options.clone() };
    assert!(refused(&wrong).await.to_string().contains("password authentication failed"));
    let nowhere = PostgresOptions { port: 1, ..options };
    assert!(refused(&nowhere).await.to_string().contains("cannot connect to `role_"));
    database.say(&format!("ALTER DATABASE {} OWNER TO airlock", database.name));
}

#[tokio::test]
async fn a_database_that_cannot_hold_a_store_is_refused() {
    let database = Database::make();
    database.say("CREATE TABLE sessions (id INT)");
    let error = refused(&database.options()).await;
    assert!(matches!(&error, StoreError::Corrupt(why) if why.contains("already exists")), "{error:?}");

    let latin = Database::make();
    latin.cluster.say("postgres", &format!("DROP DATABASE {}", latin.name));
    let make = format!(
        "CREATE DATABASE {} TEMPLATE template0 ENCODING 'LATIN1' LOCALE_PROVIDER libc LOCALE 'C'",
        latin.name
    );
    latin.cluster.say("postgres", &make);
    let error = refused(&latin.options()).await;
    assert!(matches!(&error, StoreError::Refused(why) if why.contains("UTF8")), "{error:?}");
}

#[tokio::test]
async fn a_later_schema_is_refused() {
    let pair = Pair::open(false).await;
    pair.database.say(
        "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) \
         VALUES (9999, 'later', TRUE, '', 0)",
    );
    let error = refused(&pair.database.options()).await;
    assert!(matches!(error, StoreError::Newer { found: 9999, .. }), "{error:?}");
}

#[tokio::test]
async fn servers_that_start_together_make_one_schema() {
    let database = Database::make();
    let options = database.options();
    let opened =
        futures::future::join_all((0..4).map(|_| PostgresStore::open(&options, Changes::default()))).await;
    for store in opened {
        store.unwrap().close().await;
    }
    assert_eq!(database.say("SELECT count(*) FROM store"), "1");
}
