//! Tests of the order and effect of overlays.

use super::*;
use MaskKind::{Content, Empty, Hidden, Kept, ReadOnly, Shown, Writable};

fn planned(masks: &[(&str, MaskKind)], read_only: bool) -> Vec<String> {
    let masks: Vec<_> = masks
        .iter()
        .map(|(path, kind)| Mask {
            directory: SessionDirectory::Workspace,
            path: path.into(),
            kind: kind.clone(),
        })
        .collect();
    plan(&masks, SessionDirectory::Workspace, read_only)
        .iter()
        .map(|Overlay { depth, path, cover }| {
            let cover = match cover {
                Cover::Hidden { around: false } => "hidden",
                Cover::Hidden { around: true } => "hidden around",
                Cover::Visible { read_only: true } => "read-only",
                Cover::Visible { read_only: false } => "writable",
                Cover::Content(content) => std::str::from_utf8(content).unwrap(),
            };
            format!("{depth} `{}` {cover}", String::from_utf8_lossy(path))
        })
        .collect()
}

#[test]
fn inner_ones_lie_in_outer_ones_whatever_their_order() {
    let masks = [("", ReadOnly), ("out", Writable), ("out/kept", ReadOnly), ("src/gen", Writable)];
    let wanted = ["0 `` read-only", "1 `out` writable", "2 `kept` read-only", "1 `src/gen` writable"];
    assert_eq!(planned(&masks, false), wanted);
    let mut backwards = masks;
    backwards.reverse();
    assert_eq!(planned(&backwards, false), wanted);
}

#[test]
fn only_shown_shows_what_is_hidden() {
    let masks = [("a", Hidden), ("a/b", ReadOnly), ("a/b/c", Writable), ("a/d", Shown), ("a/d/e", Hidden)];
    assert_eq!(planned(&masks, false), ["0 `a` hidden around", "1 `d` writable", "2 `e` hidden"]);
    assert_eq!(planned(&[("a", Hidden), ("a/b", ReadOnly)], false), ["0 `a` hidden"]);
}

#[test]
fn what_is_shown_again_is_as_writable_as_what_it_is_in() {
    let masks = [("", ReadOnly), ("a", Hidden), ("a/b", Shown), ("a/c", Shown), ("a/c", Writable)];
    let wanted = ["0 `` read-only", "1 `a` hidden around", "2 `b` read-only", "2 `c` writable"];
    assert_eq!(planned(&masks, false), wanted);
}

#[test]
fn what_is_replaced_shows_nothing_of_what_is_below_it() {
    let other = || Content(b"other".as_slice().into());
    let masks = [("a", Empty), ("a/b", Shown), ("a/b", Writable), ("c", ReadOnly), ("c/d", other())];
    let wanted = ["0 `a` hidden around", "0 `c` read-only", "1 `d` other"];
    assert_eq!(planned(&masks, false), wanted);
    let wanted = ["0 `a` hidden around", "0 `c/d` other"];
    assert_eq!(planned(&masks, true), wanted, "also where everything is read-only");
    assert_eq!(planned(&[("a", Hidden), ("a/b", Empty), ("a/c", other())], false), ["0 `a` hidden"]);
}

#[test]
fn a_read_only_shape_stays_read_only() {
    let masks = [("", ReadOnly), ("a", Writable), ("b", Hidden), ("b/c", Shown), ("b/c", Writable)];
    assert_eq!(planned(&masks, true), ["0 `b` hidden around", "1 `c` read-only"]);
}

#[test]
fn what_changes_nothing_is_not_mounted() {
    let masks =
        [("a", Writable), ("b", Shown), ("c", ReadOnly), ("c/d", ReadOnly), ("e", ReadOnly), ("e", Writable)];
    assert_eq!(planned(&masks, false), ["0 `c` read-only"]);
}

#[test]
fn names_that_begin_alike_are_not_in_each_other() {
    let masks = [("a", ReadOnly), ("a-b", ReadOnly), ("a/b", Writable), ("a.b", Hidden)];
    let wanted = ["0 `a` read-only", "1 `b` writable", "0 `a-b` read-only", "0 `a.b` hidden"];
    assert_eq!(planned(&masks, false), wanted);
}

#[test]
fn what_is_kept_is_a_mount_of_its_own_where_it_could_be_moved() {
    let masks = [("a", Kept), ("a/b", Hidden), ("c", ReadOnly), ("c/d", Kept), ("c/d/e", Hidden)];
    let wanted = ["0 `a` writable", "1 `b` hidden", "0 `c` read-only", "1 `d/e` hidden"];
    assert_eq!(planned(&masks, false), wanted);
    assert_eq!(planned(&masks, true), ["0 `a/b` hidden", "0 `c/d/e` hidden"]);
}

#[test]
fn masks_of_other_folders_are_theirs() {
    let masks = [Mask { directory: SessionDirectory::Home, path: "a".into(), kind: Hidden }];
    assert_eq!(plan(&masks, SessionDirectory::Workspace, false), []);
    assert_eq!(plan(&masks, SessionDirectory::Home, false).len(), 1);
}
