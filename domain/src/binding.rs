//! The hash that decisions, approvals and grants are bound to.
//!
//! Server and runner compute it independently. It must depend on nothing except the grant.

use crate::{
    FileState, Grant, NetworkMode, ObeyedFormat, PathAccess, PathRules, SandboxProfile,
    canonical::{CanonicalHash, HASH_BYTES},
};

/// The length of a SHA-256 digest in bytes.
pub const BINDING_BYTES: usize = HASH_BYTES;

const DOMAIN: &[u8] = b"airlock grant v1";

impl Grant {
    /// Returns the hash of the decided fields: session, command, shell, directory, environment, resolved
    /// profile, snapshot, sandbox flag, requirements, open input and terminal.
    #[must_use]
    pub fn binding(&self) -> [u8; BINDING_BYTES] {
        let mut hash = CanonicalHash::new(DOMAIN);
        hash.bytes(self.session_id.as_bytes());
        hash.bytes(&self.command);
        hash.bytes(self.shell.name().as_bytes());
        hash.bytes(&self.directory);
        hash.env(&self.env);
        hash.bytes(&self.profile.digest());
        hash.flag(self.read_only);
        hash.number(self.requires.len() as u64);
        for requirement in &self.requires {
            hash.bytes(requirement.name().as_bytes());
        }
        hash.flag(self.unsandboxed);
        hash.bytes(&self.snapshot_digest);
        hash.flag(self.stdin);
        hash.list(self.decided.programs.iter());
        hash.list(self.decided.git.iter());
        hash.number(self.decided.paths.len() as u64);
        for path in &self.decided.paths {
            hash.bytes(&path.path);
            hash.bytes(path.access.name().as_bytes());
        }
        hash.flag(self.pty.is_some());
        for side in self.pty.iter().flat_map(|size| [size.rows, size.cols]) {
            hash.number(u64::from(side));
        }
        hash.number(self.decided.files.len() as u64);
        for file in &self.decided.files {
            hash.bytes(&file.path);
            hash.bytes(file.state.name().as_bytes());
            hash.optional(file.state.digest());
        }
        hash.number(self.decided.obeyed.len() as u64);
        for obeyed in &self.decided.obeyed {
            hash.bytes(obeyed.program.as_bytes());
            hash.list(obeyed.paths.iter());
            hash.bytes(obeyed.format.name().as_bytes());
            hash.list(obeyed.settings.iter());
        }
        hash.finish()
    }
}

impl SandboxProfile {
    /// Returns the SHA-256 of all settings that the sandbox is built from.
    #[must_use]
    pub fn digest(&self) -> [u8; BINDING_BYTES] {
        let mut hash = CanonicalHash::new(b"airlock sandbox profile v1");
        hash.bytes(self.name.as_bytes());
        hash.number(self.root_binds.len() as u64);
        for bind in &self.root_binds {
            hash.bytes(bind.source.as_bytes());
            hash.bytes(bind.target.as_bytes());
        }
        hash.bytes(match self.network {
            NetworkMode::Loopback => b"LOOPBACK",
        });
        hash.env(&self.env);
        hash.bytes(self.path.as_bytes());
        hash.list(self.allowed_env.iter());
        self.confinement(&mut hash);
        let limits = &self.limits;
        hash.number(u64::from(limits.open_files));
        hash.number(u64::from(limits.processes));
        hash.number(limits.file_size);
        hash.number(limits.output_bytes);
        hash.number(limits.grace.as_millis().try_into().unwrap_or(u64::MAX));
        hash.number(limits.private_tmp_bytes);
        for limit in [limits.memory_bytes, limits.cpu_millis] {
            hash.flag(limit.is_some());
            hash.number(limit.unwrap_or(0));
        }
        hash.finish()
    }

    fn confinement(&self, hash: &mut CanonicalHash) {
        hash.optional(self.rootfs.as_deref());
        let PathRules { deny_read, allow_read, allow_write, deny_write } = &self.paths;
        for globs in [deny_read, allow_read, deny_write] {
            hash.list(globs.iter());
        }
        hash.flag(allow_write.is_some());
        hash.list(allow_write.as_deref().unwrap_or_default().iter());
        hash.bytes(self.protect.action.name().as_bytes());
        hash.flag(self.protect.git_writes);
        hash.flag(self.protect.git_config);
        hash.list(self.protect.names.iter());
        hash.flag(self.sockets.unix);
        hash.flag(self.sockets.netlink_route);
        hash.list(self.sockets.allowed_unix.iter());
        hash.list(self.pass_env.iter());
        hash.list(self.secrets.iter());
        hash.bytes(self.shell_init.as_bytes());
        hash.list(self.shell_prefix.iter());
    }
}

impl PathAccess {
    fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Create => "create",
            Self::Delete => "delete",
        }
    }
}

impl ObeyedFormat {
    fn name(self) -> &'static str {
        match self {
            Self::Toml => "toml",
            Self::Json => "json",
            Self::Git => "git",
            Self::Text => "text",
            Self::Present => "present",
        }
    }
}

impl FileState {
    fn name(&self) -> &'static str {
        match self {
            Self::Any => "any",
            Self::Digest(_) => "digest",
            Self::Absent => "absent",
            Self::Other => "other",
            Self::TooLarge => "too_large",
            Self::Unknown => "unknown",
        }
    }

    /// Returns the SHA-256 of the contents, if it is known.
    #[must_use]
    pub fn digest(&self) -> Option<&[u8; 32]> {
        match self {
            Self::Digest(digest) => Some(digest),
            Self::Any | Self::Absent | Self::Other | Self::TooLarge | Self::Unknown => None,
        }
    }
}
