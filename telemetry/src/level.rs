//! What is logged, and changing it while the program runs: the configuration's file is looked at again and again, so
//! that an edited file, or a changed ConfigMap, is enough.

use std::{
    fs::File,
    io::{self, Read as _},
    path::{Path, PathBuf},
    time::Duration,
};

use tracing_subscriber::{EnvFilter, Registry, filter::ParseError, reload};

/// Between two looks at the file.
const LOOK: Duration = Duration::from_secs(2);
/// Of a configuration, in bytes; what is longer is none.
const FILE_BYTES: u64 = 1 << 20;

/// Why a level is not taken.
#[derive(Debug, thiserror::Error)]
pub enum LevelError {
    /// It is none.
    #[error("the log level cannot be read: {0}")]
    Level(#[from] ParseError),
    /// Logging is gone, because the process ends.
    #[error("nothing logs any more: {0}")]
    Gone(#[from] reload::Error),
}

/// What is logged now. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Level {
    filters: Vec<reload::Handle<EnvFilter, Registry>>,
    text: String,
    /// Whether the environment says what is logged, which no file changes.
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

    /// Logs this from now on: a level, or directives such as `info,airlock_server=debug`.
    ///
    /// # Errors
    /// It is not a level, or the process ends.
    pub fn set(&mut self, text: &str) -> Result<(), LevelError> {
        // Each is checked before the first is changed.
        let parsed = self.filters.iter().map(|_| EnvFilter::try_new(text)).collect::<Result<Vec<_>, _>>()?;
        for (filter, new) in self.filters.iter().zip(parsed) {
            filter.reload(new)?;
        }
        text.clone_into(&mut self.text);
        Ok(())
    }

    /// Takes what a file says, or says why not.
    fn follow_to(&mut self, wanted: Result<String, String>) {
        match wanted {
            Ok(wanted) if wanted == self.text => {}
            Ok(wanted) => match self.set(&wanted) {
                Ok(()) => tracing::info!(level = wanted, "the log level is another now"),
                Err(error) => tracing::warn!(%error, "the log level stays as it was"),
            },
            Err(error) => tracing::warn!(error, "the log level stays as it was: its file cannot be used"),
        }
    }
}

/// Follows the level that a configuration's file says: `read` finds it in the file's text, or says why that is none.
/// A file that is wrong, or away, changes nothing, and is told once. Runs until it is dropped; where `RUST_LOG` says
/// what is logged, it returns at once.
pub async fn follow(mut level: Level, file: PathBuf, read: fn(&str) -> Result<String, String>) {
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
