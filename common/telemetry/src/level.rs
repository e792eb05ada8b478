//! The log filter, and changes to it while the program runs. The configuration file is checked periodically, so that
//! an edited file or a changed ConfigMap takes effect.

use std::{
    fs::File,
    io::{self, Read as _},
    path::{Path, PathBuf},
    time::Duration,
};

use tracing_subscriber::{EnvFilter, Registry, filter::ParseError, reload};

/// The interval between two checks of the file.
const LOOK: Duration = Duration::from_secs(2);
/// The largest configuration, in bytes.
const FILE_BYTES: u64 = 1 << 20;

/// The reason why a log filter is not applied.
#[derive(Debug, thiserror::Error)]
pub enum LevelError {
    /// The log filter is invalid.
    #[error("the log level cannot be read: {0}")]
    Level(#[from] ParseError),
    /// Logging has stopped, because the process ends.
    #[error("logging has stopped: {0}")]
    Gone(#[from] reload::Error),
}

/// The current log filter. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Level {
    filters: Vec<reload::Handle<EnvFilter, Registry>>,
    text: String,
    /// Whether the environment sets the filter, so that no file changes it.
    is_fixed: bool,
}

impl Level {
    pub(crate) fn new(
        filters: Vec<reload::Handle<EnvFilter, Registry>>,
        text: String,
        is_fixed: bool,
    ) -> Self {
        Self { filters, text, is_fixed }
    }

    /// Applies a log filter: a level, or directives such as `info,airlock_server=debug`.
    ///
    /// # Errors
    /// The filter is invalid, or the process ends.
    pub fn set(&mut self, text: &str) -> Result<(), LevelError> {
        // All filters are parsed before the first one is changed.
        let parsed = self.filters.iter().map(|_| EnvFilter::try_new(text)).collect::<Result<Vec<_>, _>>()?;
        for (filter, new) in self.filters.iter().zip(parsed) {
            filter.reload(new)?;
        }
        text.clone_into(&mut self.text);
        Ok(())
    }

    /// Applies the filter from a file, or logs why it is not applied.
    fn follow_to(&mut self, wanted: Result<String, String>) {
        match wanted {
            Ok(wanted) if wanted == self.text => {}
            Ok(wanted) => match self.set(&wanted) {
                Ok(()) => tracing::info!(level = wanted, "log level changed"),
                Err(error) => tracing::warn!(%error, "log level not changed"),
            },
            Err(error) => tracing::warn!(error, "log level not changed: cannot read the configuration file"),
        }
    }
}

/// Follows the log filter in a configuration file. `read` returns the filter in the file's text, or an error. An
/// invalid or missing file changes nothing and is reported once. Runs until it is dropped. If `RUST_LOG` is set, it
/// returns at once.
pub async fn follow(mut level: Level, file: PathBuf, read: impl Fn(&str) -> Result<String, String>) {
    if level.is_fixed {
        return;
    }
    let mut seen = None;
    loop {
        tokio::time::sleep(LOOK).await;
        let path = file.clone();
        let Ok(text) = tokio::task::spawn_blocking(move || text_of(&path)).await else { return };
        let text = text.map_err(|error| error.to_string());
        if seen.as_ref() == Some(&text) {
            continue;
        }
        level.follow_to(text.clone().and_then(|text| read(&text)));
        seen = Some(text);
    }
}

fn text_of(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(FILE_BYTES).read_to_string(&mut text)?;
    Ok(text)
}
