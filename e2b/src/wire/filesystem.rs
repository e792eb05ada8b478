//! The messages of the service `filesystem.Filesystem`.

use serde::{Deserialize, Serialize};

use super::{Empty, or_default};

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct PathRequest {
    #[serde(deserialize_with = "or_default")]
    pub(crate) path: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct MoveRequest {
    #[serde(deserialize_with = "or_default")]
    pub(crate) source: String,
    #[serde(deserialize_with = "or_default")]
    pub(crate) destination: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ListDirRequest {
    #[serde(deserialize_with = "or_default")]
    pub(crate) path: String,
    #[serde(deserialize_with = "or_default")]
    pub(crate) depth: u32,
}

/// The request of WatchDir and CreateWatcher.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct WatchRequest {
    #[serde(deserialize_with = "or_default")]
    pub(crate) path: String,
    #[serde(deserialize_with = "or_default")]
    pub(crate) recursive: bool,
    #[serde(alias = "include_entry", deserialize_with = "or_default")]
    pub(crate) include_entry: bool,
}

/// The request of GetWatcherEvents and RemoveWatcher.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct WatcherRequest {
    #[serde(alias = "watcher_id", deserialize_with = "or_default")]
    pub(crate) watcher_id: String,
}

#[derive(Debug, Serialize)]
pub(crate) struct EntryResponse {
    pub(crate) entry: Entry,
}

#[derive(Debug, Serialize)]
pub(crate) struct EntriesResponse {
    pub(crate) entries: Vec<Entry>,
}

/// A file or a directory.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Entry {
    pub(crate) name: String,
    #[serde(rename = "type")]
    pub(crate) kind: FileType,
    pub(crate) path: String,
    /// A 64-bit number is text in JSON.
    pub(crate) size: String,
    pub(crate) mode: u32,
    pub(crate) permissions: String,
    pub(crate) owner: &'static str,
    pub(crate) group: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) modified_time: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) symlink_target: Option<String>,
    pub(crate) is_symlink: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(crate) enum FileType {
    #[default]
    #[serde(rename = "FILE_TYPE_UNSPECIFIED")]
    Unspecified,
    #[serde(rename = "FILE_TYPE_FILE")]
    File,
    #[serde(rename = "FILE_TYPE_DIRECTORY")]
    Directory,
    #[serde(rename = "FILE_TYPE_SYMLINK")]
    Symlink,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) enum EventType {
    #[serde(rename = "EVENT_TYPE_CREATE")]
    Create,
    #[serde(rename = "EVENT_TYPE_WRITE")]
    Write,
    #[serde(rename = "EVENT_TYPE_REMOVE")]
    Remove,
    #[serde(rename = "EVENT_TYPE_CHMOD")]
    Chmod,
}

/// A change in a watched directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct FileEvent {
    /// The path below the watched directory.
    pub(crate) name: String,
    #[serde(rename = "type")]
    pub(crate) kind: EventType,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) entry: Option<Entry>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum WatchResponse {
    Start(Empty),
    Filesystem(Box<FileEvent>),
    Keepalive(Empty),
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WatcherCreated {
    pub(crate) watcher_id: String,
}

#[derive(Debug, Serialize)]
pub(crate) struct WatcherEvents {
    pub(crate) events: Vec<FileEvent>,
}
