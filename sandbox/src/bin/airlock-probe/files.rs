//! Attempts to read and write forbidden files.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::Read;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use crate::attempt::Attempt;

/// Reads a host file, by its path and by other routes.
pub(crate) fn read(path: &OsStr) -> Vec<Attempt> {
    let path = Path::new(path);
    let relative = path.strip_prefix("/").unwrap_or(path);
    let around = [
        ("path", path.to_owned()),
        ("/proc/self/root", Path::new("/proc/self/root").join(relative)),
        ("/proc/1/root", Path::new("/proc/1/root").join(relative)),
        ("/proc/1/cwd", Path::new("/proc/1/cwd").join(relative)),
        ("above the root", Path::new("../../../../../../../../..").join(relative)),
    ];
    let mut ways: Vec<_> =
        around.into_iter().map(|(way, path)| Attempt::of(way, first_byte(&path))).collect();
    let link = PathBuf::from(format!("/tmp/airlock-probe-link-{}", std::process::id()));
    let through = symlink(path, &link).and_then(|()| first_byte(&link));
    ways.push(Attempt::of("symbolic link", through));
    let _ = fs::remove_file(&link);
    ways
}

/// Writes a path: creates an entry in a directory, or changes a file.
pub(crate) fn write(path: &OsStr) -> Vec<Attempt> {
    let path = Path::new(path);
    let relative = path.strip_prefix("/").unwrap_or(path);
    let root = Path::new("/proc/self/root").join(relative);
    if path.is_dir() {
        let mut ways = write_directory("", path);
        ways.extend(write_directory(", through /proc/self/root", &root));
        ways
    } else {
        vec![
            Attempt::of("open", OpenOptions::new().append(true).open(path)),
            Attempt::of("open through /proc/self/root", OpenOptions::new().append(true).open(root)),
            Attempt::of("open through /proc/self/fd", open_again(path)),
            Attempt::of(
                "times",
                File::open(path).and_then(|file| file.set_modified(std::time::SystemTime::now())),
            ),
        ]
    }
}

fn write_directory(how: &str, directory: &Path) -> Vec<Attempt> {
    let new = directory.join("airlock-probe-new");
    let other = directory.join("airlock-probe-other");
    let mut ways = vec![
        Attempt::of(format!("new file{how}"), File::create_new(&new)),
        Attempt::of(format!("rename{how}"), fs::rename(&new, &other)),
        Attempt::of(format!("new directory{how}"), fs::create_dir(&new)),
        Attempt::of(
            format!("mode{how}"),
            fs::metadata(directory).and_then(|found| {
                fs::set_permissions(directory, Permissions::from_mode(found.permissions().mode()))
            }),
        ),
    ];
    let _ = fs::remove_dir(&new);
    let _ = fs::remove_file(&other);
    ways.push(Attempt::of(format!("symbolic link{how}"), symlink("x", &new)));
    let _ = fs::remove_file(&new);
    ways
}

/// Opens a file for reading, and opens that descriptor again for writing.
fn open_again(path: &Path) -> std::io::Result<File> {
    let file = File::open(path)?;
    OpenOptions::new().append(true).open(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

fn first_byte(path: &Path) -> std::io::Result<()> {
    let mut byte = [0];
    match File::open(path)?.read(&mut byte)? {
        0 => Err(std::io::Error::other("empty")),
        _ => Ok(()),
    }
}
