//! The engines of a server: what keeps its state and its outputs.

use std::{fmt::Debug, os::unix::fs::DirBuilderExt as _, path::Path, sync::Arc};

use airlock_output::storage::{OutputError, Outputs};
use airlock_store::{
    Store, StoreError,
    changes::Changes,
    postgres::{PostgresOptions, PostgresStore},
    sqlite::{SqliteOptions, SqliteStore},
};
use futures::future::LocalBoxFuture;

use super::StartError;
use crate::config::{Config, Postgres, S3};

/// The permissions of the directory that is created for the store's file.
const OWNER_ONLY: u32 = 0o700;

/// Opens the store and the output storage that a configuration names. A program contains only the engines that it names
/// itself, so one that needs no shared services is smaller without their clients.
pub trait Engines: Debug + Send + Sync {
    /// Opens the store. `changes` is notified of changes by other servers.
    fn store<'a>(
        &'a self,
        config: &'a Config,
        changes: Changes,
    ) -> LocalBoxFuture<'a, Result<Arc<dyn Store>, StartError>>;

    /// Opens the output storage.
    fn outputs<'a>(&'a self, config: &'a Config) -> LocalBoxFuture<'a, Result<Outputs, StartError>>;
}

/// The engines of one host: SQLite and a directory. It refuses a configuration that names others.
#[derive(Debug)]
pub struct LocalEngines;

/// All engines: SQLite and PostgreSQL, a directory and S3.
#[derive(Debug)]
pub struct AllEngines;

impl Engines for LocalEngines {
    fn store<'a>(
        &'a self,
        config: &'a Config,
        _changes: Changes,
    ) -> LocalBoxFuture<'a, Result<Arc<dyn Store>, StartError>> {
        Box::pin(async {
            match (&config.store.path, &config.store.postgres) {
                (_, Some(_)) => Err(StartError::Engine { key: "store.postgres", engine: "PostgreSQL" }),
                (Some(path), None) => sqlite(config, path).await,
                (None, None) => {
                    Err(StartError::Store(StoreError::Refused("no location is configured".to_owned())))
                }
            }
        })
    }

    fn outputs<'a>(&'a self, config: &'a Config) -> LocalBoxFuture<'a, Result<Outputs, StartError>> {
        let outputs = match (&config.outputs.directory, &config.outputs.s3) {
            (_, Some(_)) => Err(StartError::Engine { key: "outputs.s3", engine: "S3" }),
            (Some(folder), None) => {
                if config.store.postgres.is_some() {
                    tracing::warn!(
                        "outputs are in a local directory, which other servers of this database cannot read; use [outputs.s3]"
                    );
                }
                Outputs::local(folder).map_err(StartError::Outputs)
            }
            (None, None) => {
                Err(StartError::Outputs(OutputError::Unusable("no location is configured".to_owned())))
            }
        };
        Box::pin(std::future::ready(outputs))
    }
}

impl Engines for AllEngines {
    fn store<'a>(
        &'a self,
        config: &'a Config,
        changes: Changes,
    ) -> LocalBoxFuture<'a, Result<Arc<dyn Store>, StartError>> {
        match &config.store.postgres {
            Some(database) => Box::pin(postgres(database, &config.server_id, changes)),
            None => LocalEngines.store(config, changes),
        }
    }

    fn outputs<'a>(&'a self, config: &'a Config) -> LocalBoxFuture<'a, Result<Outputs, StartError>> {
        match &config.outputs.s3 {
            Some(bucket) => Box::pin(s3(bucket)),
            None => LocalEngines.outputs(config),
        }
    }
}

async fn sqlite(config: &Config, path: &Path) -> Result<Arc<dyn Store>, StartError> {
    make_folder_of(path).map_err(|source| StartError::StoreFolder { path: path.to_owned(), source })?;
    let options = SqliteOptions { durability: config.store.durability, ..SqliteOptions::default() };
    let store = SqliteStore::open(path, options).await.map_err(StartError::Store)?;
    Ok(store)
}

async fn postgres(
    database: &Postgres,
    server_id: &str,
    changes: Changes,
) -> Result<Arc<dyn Store>, StartError> {
    let options = postgres_options(database, server_id)?;
    let store = PostgresStore::open(&options, changes).await.map_err(StartError::Store)?;
    Ok(store)
}

/// Opens a bucket. If it does not respond, the server starts nevertheless, and outputs stay on their runners. If it
/// refuses access, the start fails.
async fn s3(bucket: &S3) -> Result<Outputs, StartError> {
    let outputs = Outputs::s3(&bucket.options()).map_err(StartError::Outputs)?;
    match outputs.probe().await {
        Err(error @ OutputError::Unavailable { .. }) => {
            tracing::warn!(%error, "the output storage does not answer; outputs stay on their runners until it does");
        }
        other => other.map_err(StartError::Outputs)?,
    }
    Ok(outputs)
}

fn postgres_options(postgres: &Postgres, server_id: &str) -> Result<PostgresOptions, StartError> {
    let password = match &postgres.password_file {
        Some(file) => Some(
            std::fs::read_to_string(file)
                .map_err(|source| StartError::Password { path: file.clone(), source })?,
        ),
        None => None,
    };
    let password = password.map(|text| text.trim_end_matches(['\r', '\n']).to_owned());
    postgres
        .options(password, server_id)
        .map_err(|what| StartError::Store(StoreError::Refused(format!("`store.postgres.url`: {what}"))))
}

fn make_folder_of(path: &Path) -> std::io::Result<()> {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => {
            std::fs::DirBuilder::new().recursive(true).mode(OWNER_ONLY).create(folder)
        }
        _ => Ok(()),
    }
}
