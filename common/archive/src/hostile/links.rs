//! Links that lead outside, and entries that are written through a link.

use super::case::{Hostile, refused, taken};
use super::raw::{Block, Tar, longer};

const LEAVES: &str = "a link that leaves the directory";
const AFTER_NAME: &str = "a `..` after a name in its target";
const NO_DIRECTORY: &str = "a file or a link with the name of its directory";
const BOTH: &str = "a directory and something else";
const HARD_TARGET: &str = "a hard link whose target is not a normal relative name";
const HARD_NONE: &str = "a hard link to something other than an earlier file";

pub(super) fn cases() -> Vec<Hostile> {
    [symlinks(), through_links(), hard_links(), harmless()].into_iter().flatten().collect()
}

fn link(name: &[u8], target: &[u8]) -> Vec<u8> {
    Tar::new().header(Block::symlink(name, target)).end()
}

fn symlinks() -> Vec<Hostile> {
    let pax = Tar::new().pax(&[("linkpath", b"../canary")]).header(Block::symlink(b"l", b"first")).end();
    let gnu = Tar::new().gnu(b'K', b"../canary").header(Block::symlink(b"l", b"first")).end();
    let long = Tar::new().gnu(b'K', &longer(4096)).header(Block::symlink(b"l", b"first")).end();
    let nul = Tar::new().pax(&[("linkpath", b"first\0/..")]).header(Block::symlink(b"l", b"first")).end();
    vec![
        refused("absolute link", "a link with an absolute target", link(b"l", b"/etc/passwd")),
        refused("link to the folder above", LEAVES, link(b"l", b"..")),
        refused("link to what is beside the folder", LEAVES, link(b"l", b"../canary/file")),
        refused("link that leaves from below", LEAVES, link(b"a/b/l", b"../../../canary")),
        refused("link that leaves after dots", LEAVES, link(b"l", b"././../canary")),
        refused("link that goes down and up", AFTER_NAME, link(b"l", b"a/../../canary")),
        refused("link that goes down and up inside", AFTER_NAME, link(b"a/l", b"b/../c")),
        refused(
            "chain of links, the second over the first",
            AFTER_NAME,
            Tar::new()
                .header(Block::symlink(b"a/here", b"."))
                .header(Block::symlink(b"a/out", b"here/../../canary"))
                .end(),
        ),
        refused("link without a target", "a link with an empty target", link(b"l", b"")),
        refused("link with a long target", "whose target is too long", long),
        refused("NUL in a link's target", "contains a NUL byte", nul),
        refused("PAX sets a leaving target", LEAVES, pax),
        refused("GNU sets a leaving target", LEAVES, gnu),
    ]
}

fn through_links() -> Vec<Hostile> {
    let here = || Tar::new().header(Block::symlink(b"l", b"."));
    vec![
        refused("file through a link", NO_DIRECTORY, here().file(b"l/x", b"evil").end()),
        refused("file deep through a link", NO_DIRECTORY, here().file(b"l/a/b/c", b"evil").end()),
        refused("folder through a link", NO_DIRECTORY, here().header(Block::directory(b"l/x/")).end()),
        refused("link through a link", NO_DIRECTORY, here().header(Block::symlink(b"l/x", b"..")).end()),
        refused("file through a file", NO_DIRECTORY, Tar::new().file(b"first/x", b"evil").end()),
        refused("a link becomes a folder", BOTH, here().header(Block::directory(b"l/")).end()),
        refused("a file becomes a folder", BOTH, Tar::new().header(Block::directory(b"first/")).end()),
        refused(
            "a folder becomes a link",
            BOTH,
            Tar::new().header(Block::directory(b"d/")).header(Block::symlink(b"d", b"first")).end(),
        ),
        refused("a folder becomes a file", BOTH, Tar::new().file(b"d/x", b"").file(b"d", b"evil").end()),
        refused(
            "hard link through a link",
            HARD_NONE,
            here().header(Block::hard_link(b"h", b"l/first")).end(),
        ),
    ]
}

fn hard_links() -> Vec<Hostile> {
    let hard = |target: &[u8]| Tar::new().header(Block::hard_link(b"h", target)).end();
    vec![
        refused("absolute hard link", HARD_TARGET, hard(b"/etc/passwd")),
        refused("hard link that leaves", HARD_TARGET, hard(b"../canary/file")),
        refused("hard link with a parent inside", HARD_TARGET, hard(b"a/../first")),
        refused("hard link to nothing", HARD_NONE, hard(b"none")),
        refused("hard link to itself", HARD_NONE, hard(b"h")),
        refused(
            "hard link to a later file",
            HARD_NONE,
            Tar::new().header(Block::hard_link(b"h", b"later")).file(b"later", b"").end(),
        ),
        refused(
            "hard link to a link",
            HARD_NONE,
            Tar::new().header(Block::symlink(b"l", b"first")).header(Block::hard_link(b"h", b"l")).end(),
        ),
        refused(
            "hard link to a folder",
            HARD_NONE,
            Tar::new().header(Block::directory(b"d/")).header(Block::hard_link(b"h", b"d")).end(),
        ),
        refused("hard link without a target", HARD_TARGET, hard(b"")),
        refused(
            "hard link with content",
            "a directory or a link, but has content",
            Tar::new().with(Block::hard_link(b"h", b"first"), b"evil").end(),
        ),
        refused(
            "PAX sets a leaving hard link",
            HARD_TARGET,
            Tar::new().pax(&[("linkpath", b"../canary/file")]).header(Block::hard_link(b"h", b"first")).end(),
        ),
    ]
}

fn harmless() -> Vec<Hostile> {
    vec![
        taken(
            "a file replaces a link of its name",
            Tar::new().file(b"kept", b"kept").header(Block::symlink(b"l", b"kept")).file(b"l", b"new").end(),
        ),
        taken(
            "a link replaces a file of its name",
            Tar::new().file(b"x", b"x").header(Block::symlink(b"x", b"first")).end(),
        ),
        taken("a link to itself", link(b"l", b"l")),
        taken("a link that stays inside", link(b"a/b/l", b"../../first")),
        taken("a file twice", Tar::new().file(b"x", b"1").file(b"./x", b"2").end()),
        taken(
            "a hard link twice, and to itself",
            Tar::new()
                .header(Block::hard_link(b"h", b"first"))
                .header(Block::hard_link(b"h", b"first"))
                .header(Block::hard_link(b"first", b"./first"))
                .end(),
        ),
    ]
}
