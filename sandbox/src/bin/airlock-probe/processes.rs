//! Processes of the host, their environments, inherited descriptors.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use nix::sys::signal::kill;
use nix::unistd::Pid;

use crate::Way;

/// A text that stands in the environment of the runner, looked for in this
/// process's and in all that /proc shows.
pub(crate) fn environment(text: &OsStr) -> Vec<Way> {
    let own = std::env::vars_os()
        .any(|(name, value)| holds(name.as_bytes(), text) || holds(value.as_bytes(), text));
    let mut ways = vec![Way::new("own environment", own, "as the program got it")];
    for name in ["environ", "task/*/environ"] {
        let (mut seen, mut found) = (0, false);
        for path in all(name) {
            if let Ok(bytes) = fs::read(path) {
                seen += 1;
                found |= holds(&bytes, text);
            }
        }
        ways.push(Way::new(format!("/proc/*/{name}"), found, format!("{seen} files")));
    }
    let one = fs::read("/proc/1/environ").is_ok_and(|bytes| holds(&bytes, text));
    ways.push(Way::new("/proc/1/environ", one, "pid 1"));
    ways
}

/// A process of the host, by a text in its command line or by its number.
pub(crate) fn process(mark: &OsStr) -> Vec<Way> {
    let own = std::process::id().to_string();
    let seen = all("cmdline").into_iter().find(|path| {
        let own = path.starts_with("/proc/self") || path.starts_with(format!("/proc/{own}"));
        // The shell that runs this probe has the mark in its own command line.
        !own && fs::read(path).is_ok_and(|bytes| bytes.starts_with(b"sleep\0") && holds(&bytes, mark))
    });
    let number = mark.to_string_lossy().parse::<i32>().ok();
    let by_number = number.map_or(Err(nix::Error::ESRCH), |number| kill(Pid::from_raw(number), None));
    vec![
        Way::new("command lines", seen.is_some(), format!("{seen:?}")),
        Way::of("signal 0 by number", by_number),
    ]
}

/// Descriptors over the three: reached for each.
pub(crate) fn descriptors() -> Vec<Way> {
    let Ok(entries) = fs::read_dir("/proc/self/fd") else {
        return vec![Way::new("list", true, "cannot be read, so not seen to be empty")];
    };
    let names = entries.flatten().map(|entry| (entry.file_name(), fs::read_link(entry.path())));
    let found: Vec<_> = names
        .filter(|(name, _)| name.to_string_lossy().parse::<u32>().is_ok_and(|number| number > 2))
        .filter_map(|(name, target)| Some((name, target.ok()?)))
        // The handle of this very listing.
        .filter(|(_, target)| !target.ends_with(format!("{}/fd", std::process::id())))
        .collect();
    found
        .into_iter()
        .map(|(name, target)| Way::new(name.to_string_lossy(), true, target.to_string_lossy()))
        .collect()
}

fn all(name: &str) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let mut paths = Vec::new();
    for entry in entries.flatten() {
        match name.strip_prefix("task/*/") {
            None => paths.push(entry.path().join(name)),
            Some(file) => {
                let tasks = fs::read_dir(entry.path().join("task")).into_iter().flatten().flatten();
                paths.extend(tasks.map(|task| task.path().join(file)));
            }
        }
    }
    paths
}

fn holds(bytes: &[u8], text: &OsStr) -> bool {
    let text = text.as_bytes();
    !text.is_empty() && bytes.windows(text.len()).any(|window| window == text)
}
