//! Conversion of the settings that confine a sandbox, and of the facts that a decision relies on.

use super::error::ConvertError;
use crate::runner_v1 as wire;
use airlock_domain::{
    Decided, DecidedPath, Obeyed, ObeyedFormat, PathRules, Protect, Sockets,
    limits::{DECIDED_PATHS, OBEYED_NAMES},
};

impl From<Decided> for wire::Decided {
    fn from(decided: Decided) -> Self {
        let path = |one: DecidedPath| wire::DecidedPath {
            path: one.path.into(),
            access: wire::PathAccess::from(one.access).into(),
        };
        Self {
            programs: decided.programs.into_iter().map(Into::into).collect(),
            git: decided.git,
            paths: decided.paths.into_iter().map(path).collect(),
            files: decided.files.into_iter().map(Into::into).collect(),
            obeyed: decided.obeyed.into_iter().map(Into::into).collect(),
        }
    }
}

impl TryFrom<wire::Decided> for Decided {
    type Error = ConvertError;

    fn try_from(decided: wire::Decided) -> Result<Self, ConvertError> {
        let wire::Decided { programs, git, paths, files, obeyed } = decided;
        if programs.len().max(git.len()).max(paths.len()).max(obeyed.len()) > DECIDED_PATHS {
            return Err(ConvertError::new(
                "grant.decided",
                format!("has more than {DECIDED_PATHS} entries of one kind"),
            ));
        }
        let path = |one: wire::DecidedPath| {
            let access = one.access().try_into()?;
            Ok(DecidedPath { path: one.path.into(), access })
        };
        Ok(Self {
            programs: programs.into_iter().map(Into::into).collect(),
            git,
            paths: paths.into_iter().map(path).collect::<Result<_, _>>()?,
            files: super::bound::files("grant.decided.files", files)?,
            obeyed: obeyed.into_iter().map(Obeyed::try_from).collect::<Result<_, _>>()?,
        })
    }
}

impl From<Obeyed> for wire::Obeyed {
    fn from(obeyed: Obeyed) -> Self {
        let format = match obeyed.format {
            ObeyedFormat::Toml => wire::ObeyedFormat::Toml,
            ObeyedFormat::Json => wire::ObeyedFormat::Json,
            ObeyedFormat::Git => wire::ObeyedFormat::Git,
            ObeyedFormat::Text => wire::ObeyedFormat::Text,
            ObeyedFormat::Present => wire::ObeyedFormat::Present,
        };
        let Obeyed { program, paths, settings, .. } = obeyed;
        Self { program, paths, format: format.into(), settings }
    }
}

impl TryFrom<wire::Obeyed> for Obeyed {
    type Error = ConvertError;

    fn try_from(obeyed: wire::Obeyed) -> Result<Self, ConvertError> {
        let format = match obeyed.format() {
            wire::ObeyedFormat::Unspecified => {
                return Err(ConvertError::new("grant.decided.obeyed.format", "is not a known format"));
            }
            wire::ObeyedFormat::Toml => ObeyedFormat::Toml,
            wire::ObeyedFormat::Json => ObeyedFormat::Json,
            wire::ObeyedFormat::Git => ObeyedFormat::Git,
            wire::ObeyedFormat::Text => ObeyedFormat::Text,
            wire::ObeyedFormat::Present => ObeyedFormat::Present,
        };
        let wire::Obeyed { program, paths, settings, .. } = obeyed;
        if paths.len().max(settings.len()) > OBEYED_NAMES {
            let problem = format!("has more than {OBEYED_NAMES} paths or settings");
            return Err(ConvertError::new("grant.decided.obeyed", problem));
        }
        Ok(Self { program, paths, format, settings })
    }
}

impl From<PathRules> for wire::PathRules {
    fn from(rules: PathRules) -> Self {
        Self {
            deny_read: rules.deny_read,
            allow_read: rules.allow_read,
            allow_write: rules.allow_write.map(|globs| wire::WriteRules { globs }),
            deny_write: rules.deny_write,
        }
    }
}

impl From<wire::PathRules> for PathRules {
    fn from(rules: wire::PathRules) -> Self {
        Self {
            deny_read: rules.deny_read,
            allow_read: rules.allow_read,
            allow_write: rules.allow_write.map(|rules| rules.globs),
            deny_write: rules.deny_write,
        }
    }
}

impl From<Protect> for wire::Protect {
    fn from(protect: Protect) -> Self {
        Self {
            action: wire::ProtectAction::from(protect.action).into(),
            git_writes: protect.git_writes,
            git_config: protect.git_config,
            names: protect.names,
        }
    }
}

impl TryFrom<wire::Protect> for Protect {
    type Error = ConvertError;

    fn try_from(protect: wire::Protect) -> Result<Self, ConvertError> {
        let action = protect.action().try_into()?;
        let wire::Protect { git_writes, git_config, names, .. } = protect;
        Ok(Self { action, git_writes, git_config, names })
    }
}

impl From<Sockets> for wire::Sockets {
    fn from(sockets: Sockets) -> Self {
        Self {
            no_unix: !sockets.unix,
            netlink_route: sockets.netlink_route,
            allowed_unix: sockets.allowed_unix,
        }
    }
}

impl From<wire::Sockets> for Sockets {
    fn from(sockets: wire::Sockets) -> Self {
        Self {
            unix: !sockets.no_unix,
            netlink_route: sockets.netlink_route,
            allowed_unix: sockets.allowed_unix,
        }
    }
}
