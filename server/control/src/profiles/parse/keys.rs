//! The keys of a profile file.

use std::{collections::BTreeMap, time::Duration};

use airlock_config::{OrNone, Ports, text_form};
use airlock_domain::{PortRange, command::Umask, limits::INLINE_MAX};
use airlock_store::record::RuleScope;
use schemars::JsonSchema;
use serde::{Deserialize, de::IgnoredAny};

use super::policy::{Directory, PolicyKeys};
use crate::profiles::resolve::ResolvedProfile;

/// The whole file. The policy crate parses its own part.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::profiles) struct File {
    pub(in crate::profiles) name: String,
    pub(in crate::profiles) extends: Option<String>,
    #[serde(rename = "description")]
    pub(super) _description: Option<String>,
    #[serde(default)]
    pub(in crate::profiles) hooks: Vec<Hook>,
    #[serde(default)]
    pub(super) secrets: Vec<String>,
    pub(in crate::profiles) network: Option<OrNone<Network>>,
    #[schemars(with = "Option<Vec<Ports>>")]
    pub(super) port_forward: Option<Vec<PortRange>>,
    #[serde(rename = "policy")]
    #[schemars(with = "Option<PolicyKeys>")]
    pub(super) _policy: Option<IgnoredAny>,
    #[serde(default)]
    pub(super) sandbox: Sandbox,
    #[serde(default)]
    pub(super) protect: Protect,
    #[serde(default)]
    pub(in crate::profiles) env: Env,
    #[serde(default)]
    pub(super) limits: Limits,
    #[serde(default)]
    pub(super) commands: Commands,
    #[serde(default)]
    pub(super) approvals: Approvals,
    #[serde(default)]
    pub(super) shell: ShellKeys,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::profiles) struct Hook {
    pub(super) name: String,
    pub(super) required: Option<bool>,
}

#[derive(Deserialize, Default, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::profiles) struct Network {
    #[serde(default)]
    pub(super) any: bool,
    #[serde(default)]
    pub(super) allow: Vec<String>,
    #[serde(default)]
    pub(super) deny: Vec<String>,
    #[serde(default)]
    pub(super) inspect: Vec<String>,
    #[serde(default)]
    pub(super) secrets: Vec<String>,
    #[serde(default)]
    pub(super) warn: bool,
}

#[derive(Deserialize, Default, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ShellKeys {
    pub(super) name: Option<Shell>,
    pub(super) init: Option<String>,
    #[schemars(with = "Option<Vec<Word>>")]
    pub(super) prefix: Option<Vec<String>>,
}

#[derive(Deserialize, Clone, Copy, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Shell {
    Bash,
    Zsh,
    Pwsh,
}

#[derive(Deserialize, Default, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Sandbox {
    #[serde(default)]
    pub(super) root_binds: Vec<RootBind>,
    #[schemars(with = "Option<SearchPath>")]
    pub(super) path: Option<String>,
    #[schemars(with = "Option<Directory>")]
    pub(super) rootfs: Option<String>,
    #[serde(default)]
    #[schemars(with = "Vec<Glob>")]
    pub(super) deny_read: Vec<String>,
    #[serde(default)]
    #[schemars(with = "Vec<Glob>")]
    pub(super) allow_read: Vec<String>,
    #[schemars(with = "Option<Vec<Glob>>")]
    pub(super) allow_write: Option<Vec<String>>,
    #[serde(default)]
    #[schemars(with = "Vec<Glob>")]
    pub(super) deny_write: Vec<String>,
    pub(super) unix_sockets: Option<Switch>,
    pub(super) netlink_route: Option<bool>,
    #[serde(default)]
    #[schemars(with = "Vec<Directory>")]
    pub(super) allowed_unix_sockets: Vec<String>,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Switch {
    On,
    Off,
}

#[derive(Deserialize, Default, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Protect {
    pub(super) action: Option<Action>,
    pub(super) git_writes: Option<bool>,
    pub(super) git_config: Option<bool>,
    #[serde(default)]
    #[schemars(with = "Vec<Name>")]
    pub(super) names: Vec<String>,
}

#[derive(Deserialize, Clone, Copy, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Action {
    Report,
    Quarantine,
    Fail,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RootBind {
    #[schemars(with = "Directory")]
    pub(super) source: String,
    #[schemars(with = "Option<Directory>")]
    pub(super) target: Option<String>,
}

#[derive(Deserialize, Default, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::profiles) struct Env {
    #[serde(default)]
    pub(super) set: BTreeMap<String, String>,
    #[serde(default)]
    pub(super) allowed: Vec<String>,
    #[serde(default)]
    pub(super) pass: Vec<String>,
}

#[derive(Deserialize, Default, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Limits {
    #[schemars(range(min = 1))]
    pub(super) open_files: Option<u32>,
    #[schemars(range(min = 1))]
    pub(super) processes: Option<u32>,
    #[schemars(range(min = 1))]
    pub(super) file_size: Option<u64>,
    #[schemars(range(min = 1))]
    pub(super) output_bytes: Option<u64>,
    #[schemars(range(min = 1, max = INLINE_MAX))]
    pub(super) inline_bytes: Option<u32>,
    #[schemars(range(min = 1))]
    pub(super) private_tmp_bytes: Option<u64>,
    #[schemars(range(min = 1))]
    pub(super) memory_bytes: Option<u64>,
    #[schemars(range(min = 1))]
    pub(super) cpu_millis: Option<u64>,
    pub(super) grace: Option<Time>,
    pub(super) timeout_default: Option<Time>,
    pub(super) timeout_max: Option<Time>,
}

#[derive(Deserialize, Default, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Commands {
    background: Option<bool>,
    #[schemars(with = "Option<UmaskText>")]
    umask: Option<Umask>,
    foreground_sleep: Option<Sleep>,
}

impl Commands {
    /// Replaces the settings of the parent that the file has.
    pub(super) fn apply(&self, profile: &mut ResolvedProfile) {
        let Self { background, umask, foreground_sleep } = self;
        profile.background = background.unwrap_or(profile.background);
        profile.command.umask = umask.unwrap_or(profile.command.umask);
        profile.foreground_sleep =
            foreground_sleep.map_or(profile.foreground_sleep, |sleep| sleep == Sleep::Allow);
    }
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Sleep {
    Allow,
    Refuse,
}

#[derive(Deserialize, Default, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Approvals {
    pub(super) self_approval: Option<bool>,
    pub(super) valid_for: Option<Time>,
    pub(super) connection_wait: Option<Time>,
    pub(super) remember: Option<Remember>,
}

#[derive(Deserialize, Clone, Copy, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Remember {
    None,
    Session,
    Tenant,
}

impl From<Remember> for Option<RuleScope> {
    fn from(remember: Remember) -> Self {
        match remember {
            Remember::None => None,
            Remember::Session => Some(RuleScope::Session),
            Remember::Tenant => Some(RuleScope::Tenant),
        }
    }
}

/// A time with a unit, such as `5s` or `30m`.
#[derive(Deserialize, Clone, Copy, JsonSchema)]
#[serde(transparent)]
pub(super) struct Time(#[serde(with = "NonZero")] pub(super) Duration);

type NonZero = airlock_config::Time<1, { airlock_config::YEAR }>;

text_form!(
    Glob,
    r"^(?!([\s\S]*/)?\.\.(/|$))[^\x00]+$",
    "a glob without `..`, such as \"secrets/**\", or an absolute path in the sandbox"
);
text_form!(Name, r"^(?!\.{1,2}$)[^/\x00]+$", "the name of a file or directory, without `/`");
text_form!(
    SearchPath,
    r"^/[^:]*(:/[^:]*)*$",
    "absolute directories separated by `:`, such as \"/opt/tools/bin:/usr/bin\""
);
text_form!(
    UmaskText,
    "^0?[0-7]{1,3}$",
    "one to four octal digits in quotes, at most \"777\", such as \"027\""
);
text_form!(Word, r"^[^\x00]+$", "a non-empty word without NUL bytes");
