//! Conversion of grants and sandbox profiles.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::{
    error::{ConvertError, duration, parsed, required, wire_duration},
    terminal::terminal_size,
};
use crate::{runner_v1 as wire, v1};
use airlock_domain::{Bind, Grant, Requirement, SandboxLimits, SandboxProfile};

fn requirement(name: &str) -> Result<Requirement, ConvertError> {
    let known = [Requirement::ReadOnlyMount, Requirement::TrustedPath];
    known.into_iter().find(|requirement| requirement.name() == name).ok_or_else(|| {
        let message = format!("`{name}` is a requirement that this version does not support");
        ConvertError::new("grant.requires", message)
    })
}

fn wire_env(env: BTreeMap<String, Vec<u8>>) -> BTreeMap<String, Bytes> {
    env.into_iter().map(|(name, value)| (name, value.into())).collect()
}

fn domain_env(env: BTreeMap<String, Bytes>) -> BTreeMap<String, Vec<u8>> {
    env.into_iter().map(|(name, value)| (name, value.into())).collect()
}

impl wire::Grant {
    /// Converts a grant to its wire form, with the hash that the decision is bound to.
    #[must_use]
    pub fn new(grant: Grant, binding: [u8; 32]) -> Self {
        Self {
            binding: binding.to_vec().into(),
            session_id: grant.session_id.to_string(),
            command: grant.command.into(),
            shell: v1::Shell::from(grant.shell).into(),
            directory: grant.directory.into(),
            env: wire_env(grant.env),
            profile: Some(grant.profile.into()),
            read_only: grant.read_only,
            requires: grant.requires.iter().map(|r| r.name().to_owned()).collect(),
            separate_stderr: grant.separate_stderr,
            timeout: Some(wire_duration(grant.timeout)),
            idle_timeout: grant.idle_timeout.map(wire_duration),
            keep_directory: grant.keep_directory,
            unsandboxed: grant.unsandboxed,
            snapshot_digest: grant.snapshot_digest.into(),
            stdin: grant.stdin,
            decided: Some(grant.decided.into()),
            inline_limit: grant.inline_limit,
            pty: grant.pty.map(Into::into),
        }
    }

    /// Converts a grant from its wire form. Returns the hash that came with it without checking it: the
    /// runner compares it with [`Grant::binding`].
    ///
    /// # Errors
    /// Returns an error if a field is missing or malformed.
    pub fn into_grant(self) -> Result<(Grant, [u8; 32]), ConvertError> {
        let binding = super::error::digest("grant.binding", &self.binding)?;
        let shell = self.shell().try_into()?;
        let grant = Grant {
            session_id: parsed("grant.session_id", &self.session_id)?,
            command: self.command.into(),
            shell,
            directory: self.directory.into(),
            env: domain_env(self.env),
            profile: required("grant.profile", self.profile)?.try_into()?,
            read_only: self.read_only,
            requires: self.requires.iter().map(|name| requirement(name)).collect::<Result<_, _>>()?,
            separate_stderr: self.separate_stderr,
            timeout: duration("grant.timeout", self.timeout)?,
            idle_timeout: match self.idle_timeout {
                Some(idle) => Some(duration("grant.idle_timeout", Some(idle))?),
                None => None,
            },
            keep_directory: self.keep_directory,
            unsandboxed: self.unsandboxed,
            snapshot_digest: self.snapshot_digest.into(),
            stdin: self.stdin,
            decided: self.decided.unwrap_or_default().try_into()?,
            inline_limit: self.inline_limit,
            pty: self.pty.map(|size| terminal_size("grant.pty", &size)).transpose()?,
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
