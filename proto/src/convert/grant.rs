//! Conversion of grants and sandbox profiles.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::{ConvertError, duration, parsed, required, terminal::terminal_size, wire_duration};
use crate::{runner_v1 as wire, v1};
use airlock_domain::{Bind, Grant, Requirement, SandboxLimits, SandboxProfile};

const READ_ONLY_MOUNT: &str = "READ_ONLY_MOUNT";
const TRUSTED_PATH: &str = "TRUSTED_PATH";

impl Requirement {
    /// Returns the stable name of the requirement, as on the wire.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ReadOnlyMount => READ_ONLY_MOUNT,
            Self::TrustedPath => TRUSTED_PATH,
        }
    }
}

fn requirement(name: &str) -> Result<Requirement, ConvertError> {
    match name {
        READ_ONLY_MOUNT => Ok(Requirement::ReadOnlyMount),
        TRUSTED_PATH => Ok(Requirement::TrustedPath),
        other => Err(ConvertError::new(
            "grant.requires",
            format!("`{other}` is a requirement that this version does not support"),
        )),
    }
}

fn wire_env(env: BTreeMap<String, Vec<u8>>) -> BTreeMap<String, Bytes> {
    env.into_iter().map(|(name, value)| (name, value.into())).collect()
}

fn domain_env(env: BTreeMap<String, Bytes>) -> BTreeMap<String, Vec<u8>> {
    env.into_iter().map(|(name, value)| (name, value.into())).collect()
}

impl Grant {
    /// Converts the grant to its wire form, with the hash that the decision is bound to.
    #[must_use]
    pub fn into_wire(self, binding: [u8; 32]) -> wire::Grant {
        wire::Grant {
            binding: binding.to_vec().into(),
            session_id: self.session_id.to_string(),
            command: self.command.into(),
            shell: v1::Shell::from(self.shell).into(),
            directory: self.directory.into(),
            env: wire_env(self.env),
            profile: Some(self.profile.into()),
            read_only: self.read_only,
            requires: self.requires.iter().map(|r| r.name().to_owned()).collect(),
            separate_stderr: self.separate_stderr,
            timeout: Some(wire_duration(self.timeout)),
            idle_timeout: self.idle_timeout.map(wire_duration),
            keep_directory: self.keep_directory,
            unsandboxed: self.unsandboxed,
            snapshot_digest: self.snapshot_digest.into(),
            stdin: self.stdin,
            decided: Some(self.decided.into()),
            inline_limit: self.inline_limit,
            pty: self.pty.map(Into::into),
        }
    }

    /// Converts a grant from its wire form. Returns the hash that came with it without checking it: the
    /// runner compares it with [`Grant::binding`].
    ///
    /// # Errors
    /// Returns an error if a field is missing or malformed.
    pub fn from_wire(grant: wire::Grant) -> Result<(Self, [u8; 32]), ConvertError> {
        let binding = super::digest("grant.binding", &grant.binding)?;
        let shell = grant.shell().try_into()?;
        let grant = Self {
            session_id: parsed("grant.session_id", &grant.session_id)?,
            command: grant.command.into(),
            shell,
            directory: grant.directory.into(),
            env: domain_env(grant.env),
            profile: required("grant.profile", grant.profile)?.try_into()?,
            read_only: grant.read_only,
            requires: grant.requires.iter().map(|name| requirement(name)).collect::<Result<_, _>>()?,
            separate_stderr: grant.separate_stderr,
            timeout: duration("grant.timeout", grant.timeout)?,
            idle_timeout: match grant.idle_timeout {
                Some(idle) => Some(duration("grant.idle_timeout", Some(idle))?),
                None => None,
            },
            keep_directory: grant.keep_directory,
            unsandboxed: grant.unsandboxed,
            snapshot_digest: grant.snapshot_digest.into(),
            stdin: grant.stdin,
            decided: grant.decided.unwrap_or_default().try_into()?,
            inline_limit: grant.inline_limit,
            pty: grant.pty.map(|size| terminal_size("grant.pty", &size)).transpose()?,
        };
        Ok((grant, binding))
    }
}

impl From<SandboxProfile> for wire::SandboxProfile {
    fn from(profile: SandboxProfile) -> Self {
        Self {
            name: profile.name,
            root_binds: profile
                .root_binds
                .into_iter()
                .map(|bind| wire::Bind { source: bind.source, target: bind.target })
                .collect(),
            network: wire::NetworkMode::from(profile.network).into(),
            env: wire_env(profile.env),
            path: profile.path,
            allowed_env: profile.allowed_env,
            limits: Some(profile.limits.into()),
            rootfs: profile.rootfs.unwrap_or_default(),
            paths: Some(profile.paths.into()),
            protect: Some(profile.protect.into()),
            sockets: Some(profile.sockets.into()),
            pass_env: profile.pass_env,
            secrets: profile.secrets,
            shell_init: profile.shell_init,
            shell_prefix: profile.shell_prefix,
        }
    }
}

impl TryFrom<wire::SandboxProfile> for SandboxProfile {
    type Error = ConvertError;

    fn try_from(profile: wire::SandboxProfile) -> Result<Self, ConvertError> {
        let network = profile.network().try_into()?;
        Ok(Self {
            name: profile.name,
            root_binds: profile
                .root_binds
                .into_iter()
                .map(|bind| Bind { source: bind.source, target: bind.target })
                .collect(),
            network,
            env: domain_env(profile.env),
            path: profile.path,
            allowed_env: profile.allowed_env,
            limits: required("grant.profile.limits", profile.limits)?.try_into()?,
            rootfs: Some(profile.rootfs).filter(|path| !path.is_empty()),
            paths: required("grant.profile.paths", profile.paths)?.into(),
            protect: required("grant.profile.protect", profile.protect)?.try_into()?,
            sockets: required("grant.profile.sockets", profile.sockets)?.into(),
            pass_env: profile.pass_env,
            secrets: profile.secrets,
            shell_init: profile.shell_init,
            shell_prefix: profile.shell_prefix,
        })
    }
}

impl From<SandboxLimits> for wire::SandboxLimits {
    fn from(limits: SandboxLimits) -> Self {
        Self {
            open_files: limits.open_files,
            processes: limits.processes,
            file_size: limits.file_size,
            output_bytes: limits.output_bytes,
            grace: Some(wire_duration(limits.grace)),
            private_tmp_bytes: limits.private_tmp_bytes,
            memory_bytes: limits.memory_bytes.unwrap_or(0),
            cpu_millis: limits.cpu_millis.unwrap_or(0),
        }
    }
}

impl TryFrom<wire::SandboxLimits> for SandboxLimits {
    type Error = ConvertError;

    fn try_from(limits: wire::SandboxLimits) -> Result<Self, ConvertError> {
        Ok(Self {
            open_files: limits.open_files,
            processes: limits.processes,
            file_size: limits.file_size,
            output_bytes: limits.output_bytes,
            grace: duration("grant.profile.limits.grace", limits.grace)?,
            private_tmp_bytes: limits.private_tmp_bytes,
            memory_bytes: Some(limits.memory_bytes).filter(|bytes| *bytes > 0),
            cpu_millis: Some(limits.cpu_millis).filter(|millis| *millis > 0),
        })
    }
}
