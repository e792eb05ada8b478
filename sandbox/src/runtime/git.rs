//! What Airlock tells git, in `/etc/gitconfig` and again by variables, which
//! win over what a repository says.
//!
//! Must hold overrides only, no preference.
//!
//! An external diff program has no value that means "none" (an empty one makes
//! `git diff` die), so for read-only commands it is the mounts that hold it.

/// The settings for every command; the second part only for read-only ones.
pub(crate) fn overrides(read_only: bool) -> Vec<(&'static str, &'static str)> {
    let mut settings = vec![
        ("safe.bareRepository", "explicit"),
        // What git leaves to the background would be ended half-way, with the command.
        ("gc.autoDetach", "false"),
        ("maintenance.autoDetach", "false"),
    ];
    if read_only {
        settings.extend([
            ("core.fsmonitor", "false"),
            ("core.hooksPath", "/dev/null"),
            ("log.showSignature", "false"),
            ("core.pager", "cat"),
            // `git diff` writes the index anew, and asks GIT_OPTIONAL_LOCKS nothing.
            ("diff.autoRefreshIndex", "false"),
        ]);
    }
    settings
}

/// The same as a configuration file.
pub(crate) fn config_file(read_only: bool) -> String {
    let mut text = String::new();
    for (name, value) in overrides(read_only) {
        if let Some((section, key)) = name.split_once('.') {
            text.push_str(&format!("[{section}]\n\t{key} = {value}\n"));
        }
    }
    text
}
