//! Stat and List. Each page is computed independently.

use std::os::fd::OwnedFd;

use airlock_archive::Cancel;
use airlock_domain::{
    ExchangeFailed, FileInfo, ListOrder,
    limits::{MESSAGE_BYTES, PAGE_SIZE_MAX},
};

use super::{
    failure::{not_a_directory, of_path},
    paths::Inside,
    root::{Root, file_type, info, link_target},
    select::Selection,
    walk::{Route, Walk},
};
use crate::session::OpenSession;

/// The maximum bytes of a page in a message, without the envelope.
const PAGE_BYTES: usize = MESSAGE_BYTES * 3 / 4;
/// The encoded size of a file's fields, except its path and target.
const INFO_COST: usize = 64;

/// Returns the information about one file. Links are not followed. Blocks briefly.
pub(super) fn stat(session: &OpenSession, path: &[u8]) -> Result<FileInfo, ExchangeFailed> {
    let path = Inside::parse(path)?;
    Root::enter(session, path.root(), |root| root.look(&path))
}

/// Returns a page, and whether more follow. Blocks.
pub(super) fn list(
    session: &OpenSession,
    order: &ListOrder,
    cancel: &Cancel,
) -> Result<(Vec<FileInfo>, bool), ExchangeFailed> {
    let at = Inside::parse(&order.path)?;
    let selection = Selection::new(&order.filter)?;
    let after = after(&order.after, &at)?;
    let route = Route {
        at: &at,
        recursive: order.recursive,
        after: &after,
        selection: &selection,
        skip_closed: false,
    };
    Root::enter(session, at.root(), |root| page(root, route, order.page_size, cancel))
}

fn page(
    root: &Root,
    route: Route<'_>,
    size: u32,
    cancel: &Cancel,
) -> Result<(Vec<FileInfo>, bool), ExchangeFailed> {
    let (at, selection) = (route.at, route.selection);
    let mut walk = Walk::new(directory(root, at)?, route, cancel)?;
    let mut page = Page::new(size);
    while let Some(seen) = walk.next()? {
        if !selection.wants(&seen.path, file_type(&seen.stat)) {
            continue;
        }
        let target = walk
            .directory()
            .map(|directory| link_target(directory, seen.name(), &seen.stat))
            .unwrap_or_default();
        let found = info(at.below(&seen.path), &seen.stat, target);
        let cost = cost(&found);
        if !page.put(found, cost) {
            break;
        }
    }
    Ok(page.done())
}

fn directory(root: &Root, at: &Inside) -> Result<OwnedFd, ExchangeFailed> {
    root.directory(at).map_err(|errno| match errno {
        rustix::io::Errno::NOTDIR => not_a_directory(&at.absolute(), "use Stat for a single file"),
        errno => of_path(&at.absolute(), errno),
    })
}

/// Parses the path after which a page begins, relative to the selected path.
pub(super) fn after(after: &[u8], at: &Inside) -> Result<Vec<u8>, ExchangeFailed> {
    if after.is_empty() {
        return Ok(Vec::new());
    }
    let path = Inside::parse(after)?;
    let below = path.strip(at);
    below.map(<[u8]>::to_vec).ok_or_else(|| {
        super::failure::invalid(
            "PAGE_TOKEN_INVALID",
            "the page token belongs to another path; start without a page token",
        )
    })
}

pub(super) fn cost(info: &FileInfo) -> usize {
    info.path.len() + info.link_target.len() + INFO_COST
}

/// The items that fit into one answer.
#[derive(Debug)]
pub(super) struct Page<T> {
    items: Vec<T>,
    size: usize,
    bytes: usize,
    more: bool,
}

impl<T> Page<T> {
    pub(super) fn new(size: u32) -> Self {
        let most = usize::try_from(PAGE_SIZE_MAX).unwrap_or(usize::MAX);
        let size = usize::try_from(size).unwrap_or(most).clamp(1, most);
        Self { items: Vec::new(), size, bytes: 0, more: false }
    }

    /// Adds an item. Returns false if the page is full.
    pub(super) fn put(&mut self, item: T, cost: usize) -> bool {
        self.more =
            self.items.len() >= self.size || (self.bytes + cost > PAGE_BYTES && !self.items.is_empty());
        if !self.more {
            self.bytes += cost;
            self.items.push(item);
        }
        !self.more
    }

    pub(super) fn done(self) -> (Vec<T>, bool) {
        (self.items, self.more)
    }
}
