//! Watched directories. A change is the difference of two listings, so a file that appears and disappears between two
//! listings is not seen, and a renamed file is one that was removed and one that was created.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use airlock_client::{
    Client,
    v1::{FileInfo, FileType},
};

use super::{
    entries,
    refusal::{Kind, Refusal},
    token::new_id,
    wire::filesystem::{EventType, FileEvent},
};

/// The depth of a recursive watch.
const DEPTH: u32 = 64;

/// The properties of a file that a change of the file changes.
#[derive(Debug, Clone, PartialEq)]
struct Seen {
    content: (u64, Option<prost_types::Timestamp>, String, i32),
    mode: u32,
    info: FileInfo,
}

/// The files of a directory at one time, by their path below it.
type Listing = BTreeMap<String, Seen>;

/// A watched directory.
#[derive(Debug)]
pub(crate) struct Watcher {
    path: String,
    recursive: bool,
    include_entry: bool,
    entries: u32,
    last: tokio::sync::Mutex<Listing>,
}

impl Watcher {
    /// Begins to watch a directory with at most `entries` files.
    ///
    /// # Errors
    /// If the path is no directory, or has more files.
    pub(crate) async fn begin(
        client: &Client,
        session: &str,
        (path, recursive, include_entry): (String, bool, bool),
        entries: u32,
    ) -> Result<Self, Refusal> {
        let watcher = Self { path, recursive, include_entry, entries, last: tokio::sync::Mutex::default() };
        *watcher.last.lock().await = watcher.listing(client, session).await?;
        Ok(watcher)
    }

    async fn listing(&self, client: &Client, session: &str) -> Result<Listing, Refusal> {
        let depth = if self.recursive { DEPTH } else { 1 };
        let files = entries::listed(client, session, &self.path, depth, self.entries).await?;
        let start = format!("{}/", self.path.trim_end_matches('/'));
        let named = files.into_iter().filter_map(|info| {
            let name = info.path.strip_prefix(&start)?.to_owned();
            let content = (info.size, info.modified, info.link_target.clone(), info.r#type);
            Some((name, Seen { content, mode: info.mode, info }))
        });
        Ok(named.collect())
    }

    /// Returns the changes since the last call.
    ///
    /// # Errors
    /// Those of a listing. The changes are then part of the next answer.
    pub(crate) async fn changes(&self, client: &Client, session: &str) -> Result<Vec<FileEvent>, Refusal> {
        let mut last = self.last.lock().await;
        let now = self.listing(client, session).await?;
        let mut events = difference(&last, &now);
        if self.include_entry {
            for event in &mut events {
                if let Some(seen) = now.get(&event.name) {
                    event.entry = Some(entries::entry(client, session, &seen.info).await?);
                }
            }
        }
        *last = now;
        Ok(events)
    }
}

fn difference(before: &Listing, after: &Listing) -> Vec<FileEvent> {
    let event = |name: &String, kind| FileEvent { name: name.clone(), kind, entry: None };
    let removed = before.keys().filter(|name| !after.contains_key(*name));
    let mut events: Vec<FileEvent> = removed.map(|name| event(name, EventType::Remove)).collect();
    for (name, seen) in after {
        let is_file = seen.info.r#type() == FileType::Regular;
        match before.get(name) {
            None => {
                events.push(event(name, EventType::Create));
                // E2B's services report these events for each file that they write.
                let written = [EventType::Chmod, EventType::Write].map(|kind| event(name, kind));
                events.extend(written.into_iter().filter(|_| is_file));
            }
            // The time of a directory changes with its files, which have their own events.
            Some(earlier) if earlier.content != seen.content && is_file => {
                events.push(event(name, EventType::Write));
            }
            Some(earlier) if earlier.mode != seen.mode => events.push(event(name, EventType::Chmod)),
            Some(_) => {}
        }
    }
    events
}

/// The watched directories of a sandbox that its caller asks for changes.
#[derive(Debug)]
pub(crate) struct Watchers {
    most: usize,
    table: Mutex<HashMap<String, Arc<Watcher>>>,
}

impl Watchers {
    pub(crate) fn new(most: u32) -> Self {
        Self { most: usize::try_from(most).unwrap_or(usize::MAX), table: Mutex::default() }
    }

    fn table(&self) -> MutexGuard<'_, HashMap<String, Arc<Watcher>>> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a watcher and returns its ID.
    ///
    /// # Errors
    /// If the sandbox has too many.
    pub(crate) fn add(&self, watcher: Watcher) -> Result<String, Refusal> {
        let id = new_id().map_err(|error| Refusal::internal(error.to_string()))?;
        let mut table = self.table();
        if table.len() >= self.most {
            let message = format!("the sandbox watches {} directories; stop a watcher first", self.most);
            return Err(Refusal::new(Kind::TooMany, message));
        }
        table.insert(id.clone(), Arc::new(watcher));
        Ok(id)
    }

    /// Returns a watcher.
    ///
    /// # Errors
    /// If there is none with this ID.
    pub(crate) fn find(&self, id: &str) -> Result<Arc<Watcher>, Refusal> {
        self.table().get(id).cloned().ok_or_else(|| unknown(id))
    }

    /// Removes a watcher.
    ///
    /// # Errors
    /// If there is none with this ID.
    pub(crate) fn remove(&self, id: &str) -> Result<(), Refusal> {
        self.table().remove(id).map(drop).ok_or_else(|| unknown(id))
    }
}

fn unknown(id: &str) -> Refusal {
    Refusal::new(Kind::NotFound, format!("watcher `{id}` not found"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listing(files: &[(&str, u64, u32, FileType)]) -> Listing {
        let seen = |size, mode, kind: FileType| Seen {
            content: (size, None, String::new(), kind.into()),
            mode,
            info: FileInfo { r#type: kind.into(), ..Default::default() },
        };
        files.iter().map(|(name, size, mode, kind)| ((*name).to_owned(), seen(*size, *mode, *kind))).collect()
    }

    #[test]
    fn events_are_the_difference_of_two_listings() {
        use EventType::{Chmod, Create, Remove, Write};
        use FileType::{Directory, Regular};
        let before = listing(&[
            ("a", 1, 0o644, Regular),
            ("b", 1, 0o644, Regular),
            ("c", 1, 0o644, Regular),
            ("d", 1, 0o755, Directory),
            ("same", 1, 0o644, Regular),
        ]);
        let after = listing(&[
            ("b", 2, 0o644, Regular),
            ("c", 1, 0o600, Regular),
            ("d", 2, 0o755, Directory),
            ("e", 0, 0o644, Regular),
            ("f", 0, 0o755, Directory),
            ("same", 1, 0o644, Regular),
        ]);
        let found = difference(&before, &after);
        let found: Vec<_> = found.iter().map(|event| (event.name.as_str(), event.kind)).collect();
        assert_eq!(
            found,
            [
                ("a", Remove),
                ("b", Write),
                ("c", Chmod),
                ("e", Create),
                ("e", Chmod),
                ("e", Write),
                ("f", Create)
            ]
        );
    }
}
