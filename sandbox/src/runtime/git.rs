//! Airlock's settings for git, in `/etc/gitconfig` and again as variables, which override a repository's settings.
//!
//! Must contain only required overrides, no preferences.
//!
//! No value disables an external diff program (an empty one makes `git diff` fail). For read-only commands, the mounts
//! restrict it.

/// Returns the settings for every command, followed by those for read-only ones.
pub(crate) fn overrides(read_only: bool) -> Vec<(&'static str, &'static str)> {
    let mut settings = vec![
        ("safe.bareRepository", "explicit"),
        // A background process of git would be killed with the command before it completes.
        ("gc.autoDetach", "false"),
        ("maintenance.autoDetach", "false"),
    ];
    if read_only {
        settings.extend([
            ("core.fsmonitor", "false"),
            ("core.hooksPath", "/dev/null"),
            ("log.showSignature", "false"),
            ("core.pager", "cat"),
            // `git diff` rewrites the index, and ignores GIT_OPTIONAL_LOCKS.
            ("diff.autoRefreshIndex", "false"),
        ]);
    }
    settings
}

/// Returns the settings as a configuration file.
pub(crate) fn config_file(read_only: bool) -> String {
    let mut text = String::new();
    for (name, value) in overrides(read_only) {
        if let Some((section, key)) = name.split_once('.') {
            text.push_str(&format!("[{section}]\n\t{key} = {value}\n"));
        }
    }
    text
}
