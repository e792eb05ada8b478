//! The schema of a profile file. The policy crate reads the keys of `[policy]`, but they are also checked
//! here, so that all problems of a file are reported together.

use std::time::Duration;

use airlock_config::{Field, Form, Kind};
use airlock_domain::{command::Umask, limits::INLINE_MAX};

const MODE: Kind = Kind::OneOf(&["bypass", "accept_edits", "default", "plan"]);
const TEXTS: Kind = Kind::List(&Kind::Text);
const TIME: Kind = Kind::time_from(Duration::from_millis(1));
const COUNT_32: Kind = Kind::at_least_u32(1);
const COUNT: Kind = Kind::at_least(1);
const INLINE: Kind = Kind::Number { least: 1, most: INLINE_MAX as u64 };
const FOLDER: Kind = Kind::Form(Form {
    holds: |path| path.starts_with('/') && path.split('/').all(|part| part != ".."),
    what: "an absolute path without `..`, such as \"/usr/share/doc\"",
});
const GLOBS: Kind = Kind::List(&Kind::Form(Form {
    holds: |glob| !glob.is_empty() && !glob.contains('\0') && glob.split('/').all(|part| part != ".."),
    what: "a glob without `..`, such as \"secrets/**\", or an absolute path in the sandbox",
}));
const NAME: Kind = Kind::Form(Form {
    holds: |name| !matches!(name, "" | "." | "..") && !name.contains(['/', '\0']),
    what: "the name of a file or directory, without `/`",
});
const SEARCH_PATH: Form = Form {
    holds: |path| path.split(':').all(|folder| folder.starts_with('/')),
    what: "absolute directories separated by `:`, such as \"/opt/tools/bin:/usr/bin\"",
};

/// The whole file.
pub(super) const SCHEMA: &[Field] = &[
    Field::required("name", Kind::Text),
    Field::new("extends", Kind::Text),
    Field::new("description", Kind::Text),
    Field::new("secrets", TEXTS),
    Field::new("policy", Kind::Table(POLICY)),
    Field::new("sandbox", Kind::Table(SANDBOX)),
    Field::new("protect", Kind::Table(PROTECT)),
    Field::new("env", Kind::Table(ENV)),
    Field::new("limits", Kind::Table(LIMITS)),
    Field::new("commands", Kind::Table(COMMANDS)),
    Field::new("approvals", Kind::Table(APPROVALS)),
    Field::new("shell", Kind::Table(SHELL)),
];

const POLICY: &[Field] = &[
    Field::new("modes", Kind::List(&MODE)),
    Field::new("default_mode", MODE),
    Field::new("allow", TEXTS),
    Field::new("ask", TEXTS),
    Field::new("deny", TEXTS),
    Field::new("shadow", Kind::Table(SHADOW)),
    Field::new("auto_allow_if_sandboxed", Kind::Bool),
    Field::new("allow_confined", Kind::Bool),
    Field::new("allow_unsandboxed", Kind::Bool),
    Field::new("unsandboxed_without_asking", Kind::Bool),
    Field::new("excluded_commands", TEXTS),
    Field::new("additional_directories", Kind::List(&FOLDER)),
    Field::new("readable_roots", Kind::List(&FOLDER)),
    Field::new("test", Kind::List(&Kind::Table(TEST))),
];

const SHADOW: &[Field] = &[Field::new("allow", TEXTS), Field::new("ask", TEXTS), Field::new("deny", TEXTS)];

const TEST: &[Field] = &[
    Field::required("command", Kind::Text),
    Field::required("expect", Kind::OneOf(&["allow", "ask", "deny"])),
    Field::new("reason", Kind::Text),
    Field::new("mode", MODE),
    Field::new("cwd", Kind::Text),
];

const SANDBOX: &[Field] = &[
    Field::new("root_binds", Kind::List(&Kind::Table(ROOT_BIND))),
    Field::new("path", Kind::Form(SEARCH_PATH)),
    Field::new("rootfs", FOLDER),
    Field::new("deny_read", GLOBS),
    Field::new("allow_read", GLOBS),
    Field::new("allow_write", GLOBS),
    Field::new("deny_write", GLOBS),
    Field::new("unix_sockets", Kind::OneOf(&["on", "off"])),
    Field::new("netlink_route", Kind::Bool),
    Field::new("allowed_unix_sockets", Kind::List(&FOLDER)),
];

const PROTECT: &[Field] = &[
    Field::new("action", Kind::OneOf(&["report", "quarantine", "fail"])),
    Field::new("git_writes", Kind::Bool),
    Field::new("git_config", Kind::Bool),
    Field::new("names", Kind::List(&NAME)),
];

const ROOT_BIND: &[Field] = &[Field::required("source", FOLDER), Field::new("target", FOLDER)];

const ENV: &[Field] =
    &[Field::new("set", Kind::Map(&Kind::Text)), Field::new("allowed", TEXTS), Field::new("pass", TEXTS)];

const LIMITS: &[Field] = &[
    Field::new("open_files", COUNT_32),
    Field::new("processes", COUNT_32),
    Field::new("file_size", COUNT),
    Field::new("output_bytes", COUNT),
    Field::new("inline_bytes", INLINE),
    Field::new("private_tmp_bytes", COUNT),
    Field::new("memory_bytes", COUNT),
    Field::new("cpu_millis", COUNT),
    Field::new("grace", TIME),
    Field::new("timeout_default", TIME),
    Field::new("timeout_max", TIME),
];

const COMMANDS: &[Field] = &[
    Field::new("background", Kind::Bool),
    Field::new("umask", UMASK),
    Field::new("foreground_sleep", Kind::OneOf(&["allow", "refuse"])),
];

const APPROVALS: &[Field] = &[
    Field::new("self_approval", Kind::Bool),
    Field::new("valid_for", TIME),
    Field::new("remember", Kind::OneOf(&["none", "session", "tenant"])),
];

const SHELL: &[Field] = &[
    Field::new("name", Kind::OneOf(&["bash", "zsh", "pwsh"])),
    Field::new("init", Kind::Text),
    Field::new("prefix", Kind::List(&Kind::Form(WORD))),
];

const UMASK: Kind = Kind::Form(Form {
    holds: |text| text.parse::<Umask>().is_ok(),
    what: "one to four octal digits in quotes, at most \"777\", such as \"027\"",
});

const WORD: Form = Form {
    holds: |word| !word.is_empty() && !word.contains('\0'),
    what: "a non-empty word without NUL bytes",
};
