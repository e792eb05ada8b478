//! The migrations of both engines, embedded in the program.
//!
//! `sqlx::migrate!` does the same, but its macros build both database drivers a second time, for the compiler.

use std::sync::LazyLock;

use sqlx::{
    SqlSafeStr as _,
    migrate::{Migration, MigrationType, Migrator},
};

/// A file's name and its text.
type File = (&'static str, &'static str);

macro_rules! files {
    ($engine:literal: $($name:literal)+) => {
        &[$(($name, include_str!(concat!("../../migrations/", $engine, "/", $name)))),+]
    };
}

const SQLITE_FILES: &[File] = files!(
    "sqlite":
    "0001_initial.sql"
    "0002_yield_after.sql"
    "0003_snapshot.sql"
    "0004_remembered.sql"
    "0005_shells.sql"
    "0006_servers.sql"
    "0007_retention.sql"
    "0008_live_sessions.sql"
    "0009_tenants.sql"
    "0010_restores.sql"
    "0011_denials.sql"
    "0012_terms.sql"
    "0013_network.sql"
    "0014_forwards.sql"
    "0015_connections.sql"
    "0016_audit_networks.sql"
    "0017_connection_layers.sql"
    "0018_connection_questions.sql"
    "0019_hooks.sql"
    "0020_hook_deliveries.sql"
);

const POSTGRES_FILES: &[File] = files!(
    "postgres":
    "0001_initial.sql"
    "0002_servers.sql"
    "0003_live_sessions.sql"
    "0004_tenants.sql"
    "0005_restores.sql"
    "0006_denials.sql"
    "0007_terms.sql"
    "0008_network.sql"
    "0009_forwards.sql"
    "0010_connections.sql"
    "0011_audit_networks.sql"
    "0012_connection_layers.sql"
    "0013_connection_questions.sql"
    "0014_hooks.sql"
    "0015_hook_deliveries.sql"
);

/// The migrations of SQLite.
pub(crate) static SQLITE: LazyLock<Migrator> = LazyLock::new(|| migrator(SQLITE_FILES));

/// The migrations of PostgreSQL.
pub(crate) static POSTGRES: LazyLock<Migrator> = LazyLock::new(|| migrator(POSTGRES_FILES));

/// Creates a migrator. File names are `<version>_<description>.sql`, as in sqlx's own tools.
fn migrator(files: &[File]) -> Migrator {
    let migration = |(name, text): &File| {
        let (version, description) = name.trim_end_matches(".sql").split_once('_').unwrap_or_default();
        Migration::new(
            version.parse().unwrap_or_default(),
            description.replace('_', " ").into(),
            MigrationType::Simple,
            text.into_sql_str(),
            false,
        )
    };
    Migrator::with_migrations(files.iter().map(migration).collect())
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use sqlx::migrate::Migrator;

    /// Returns versions, descriptions, kinds and checksums, as sqlx stores and compares them.
    fn migrations(of: &Migrator) -> Vec<(i64, String, String, Vec<u8>)> {
        let one = |migration: &sqlx::migrate::Migration| {
            let kind = format!("{:?}", migration.migration_type);
            (migration.version, migration.description.to_string(), kind, migration.checksum.to_vec())
        };
        of.iter().map(one).collect()
    }

    #[tokio::test]
    async fn what_is_embedded_equals_what_sqlx_reads_from_the_directories() {
        for (engine, embedded) in [("sqlite", &super::SQLITE), ("postgres", &super::POSTGRES)] {
            let directory: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations").join(engine);
            let read = Migrator::new(directory).await.unwrap();
            assert!(read.iter().count() > 3, "{engine}");
            assert_eq!(migrations(embedded), migrations(&read), "{engine}");
        }
    }
}
