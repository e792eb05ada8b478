//! Files of a session as lines, in the form of `ls`.

use std::fmt::Write as _;

use super::{escape, time};
use airlock_client::v1::{FileInfo, FileType};

/// The prefix of each path in a workspace.
const WORKSPACE: &[u8] = b"/workspace/";

/// Returns a path as a user types it: relative to the workspace's root if it is in the workspace.
#[must_use]
pub fn typed(path: &[u8]) -> &[u8] {
    path.strip_prefix(WORKSPACE).unwrap_or(path)
}

/// Returns a path relative to `directory` if it is below it.
#[must_use]
pub fn below<'a>(path: &'a [u8], directory: &[u8]) -> &'a [u8] {
    let rest = path.strip_prefix(directory).and_then(|rest| rest.strip_prefix(b"/"));
    rest.filter(|rest| !rest.is_empty()).unwrap_or(path)
}

/// Returns the type and the permissions, such as `drwxr-xr-x`.
#[must_use]
pub fn mode(file: &FileInfo) -> String {
    let kind = match file.r#type() {
        FileType::Directory => 'd',
        FileType::Symlink => 'l',
        FileType::Regular => '-',
        FileType::Other | FileType::Unspecified => '?',
    };
    let bit = |at: u32, sign: char| if file.mode >> at & 1 == 1 { sign } else { '-' };
    let bits = (0..9_u32).rev().zip("rwxrwxrwx".chars()).map(|(at, sign)| bit(at, sign));
    std::iter::once(kind).chain(bits).collect()
}

/// Formats lines with mode, size, time and name. `name` returns the name to show for a file.
#[must_use]
pub fn long<'a>(list: &'a [FileInfo], name: impl Fn(&'a FileInfo) -> &'a [u8]) -> String {
    let width = list.iter().map(|file| file.size.to_string().len()).max().unwrap_or(0);
    let mut out = String::new();
    for file in list {
        let at = time::rfc3339(file.modified.as_ref()).unwrap_or_else(|| "-".to_owned());
        let _ = write!(out, "{}  {:>width$}  {at}  {}", mode(file), file.size, escape::name(name(file)));
        if file.r#type() == FileType::Symlink {
            let _ = write!(out, " -> {}", escape::name(file.link_target()));
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_a_line() {
        let file = FileInfo {
            path: "/workspace/a/b\x1b[2J".to_owned(),
            r#type: FileType::Regular.into(),
            size: 12,
            mode: 0o640,
            ..Default::default()
        };
        assert_eq!(mode(&file), "-rw-r-----");
        let list = [file];
        let text = long(&list, |file| below(file.path(), b"/workspace/a"));
        assert_eq!(text, "-rw-r-----  12  -  b\\u{1b}[2J\n");
        assert_eq!(typed(b"/workspace/a"), b"a");
        assert_eq!(typed(b"/tmp/a"), b"/tmp/a");
    }
}
