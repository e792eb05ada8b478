//! Opens the configured store and output storage.

use std::{os::unix::fs::DirBuilderExt as _, path::Path, sync::Arc};

use airlock_output::storage::{OutputError, Outputs};
use airlock_store::{
    Store, StoreError,
    changes::Changes,
    postgres::{PostgresOptions, PostgresStore},
    sqlite::{SqliteOptions, SqliteStore},
};

use super::StartError;
use crate::{
    config::{Config, Postgres},
    telemetry::{Metrics, store::MeasuredStore},
};

/// The permissions of the directory that is created for the store's file.
const OWNER_ONLY: u32 = 0o700;

/// Opens the store. `changes` is notified of changes by other servers.
pub(super) async fn store(
    config: &Config,
    metrics: &Metrics,
    changes: Changes,
) -> Result<Arc<dyn Store>, StartError> {
    let store: Arc<dyn Store> = match (&config.store.path, &config.store.postgres) {
        (_, Some(postgres)) => {
            let options = postgres_options(postgres, &config.server_id)?;
            PostgresStore::open(&options, changes).await.map_err(StartError::Store)?
        }
        (Some(path), None) => {
            make_folder_of(path).map_err(|source| StartError::StoreFolder { path: path.clone(), source })?;
            let options = SqliteOptions { durability: config.store.durability, ..SqliteOptions::default() };
            SqliteStore::open(path, options).await.map_err(StartError::Store)?
        }
        (None, None) => {
            return Err(StartError::Store(StoreError::Refused("no location is configured".to_owned())));
        }
    };
    Ok(Arc::new(MeasuredStore::new(store, metrics.clone())))
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

/// Opens the output storage. If a remote storage does not respond, the server starts nevertheless, and
/// outputs stay on their runners. If it refuses access, the start fails.
pub(super) async fn outputs(config: &Config) -> Result<Outputs, StartError> {
    match (&config.outputs.directory, &config.outputs.s3) {
        (_, Some(s3)) => {
            let outputs = Outputs::s3(&s3.options()).map_err(StartError::Outputs)?;
            match outputs.probe().await {
                Err(error @ OutputError::Unavailable { .. }) => {
                    tracing::warn!(%error, "the output storage does not answer; outputs stay on their runners until it does");
                }
                other => other.map_err(StartError::Outputs)?,
            }
            Ok(outputs)
        }
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
    }
}
