//! The outputs that are being copied or wait for it.

use std::{collections::HashMap, sync::Arc};

use airlock_domain::{ExecutionId, RunnerId};
use tokio::sync::Notify;

/// The outputs that are being copied or wait for it.
pub(super) type StoringMap = HashMap<ExecutionId, Entry>;

/// An output that is being copied or waits for it.
pub(super) struct Entry {
    pub(super) runner: Option<RunnerId>,
    /// Triggers an immediate retry.
    pub(super) again: Arc<Notify>,
}
