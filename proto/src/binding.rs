//! The hash that decisions, approvals and grants are bound to.
//!
//! Server and runner compute it from their own view of what is to run; it must not depend on anything
//! else. Every field is length-prefixed, so that no two grants share a form.

use sha2::{Digest, Sha256};

use crate::domain::{Grant, NetworkMode, Requirement, SandboxProfile, Shell};

/// SHA-256 in bytes.
pub const BINDING_BYTES: usize = 32;

const DOMAIN: &[u8] = b"airlock grant v1";

impl Grant {
    /// The hash of what was decided: session, command, shell, directory, environment, resolved
    /// profile, snapshot, sandbox flag and requirements.
    #[must_use]
    pub fn binding(&self) -> [u8; BINDING_BYTES] {
        let mut form = Form::new(DOMAIN);
        form.bytes(self.session_id.as_bytes());
        form.bytes(&self.command);
        form.bytes(shell(self.shell));
        form.bytes(&self.directory);
        form.number(self.env.len() as u64);
        for (name, value) in &self.env {
            form.bytes(name.as_bytes());
            form.bytes(value);
        }
        form.bytes(&self.profile.digest());
        form.number(u64::from(self.read_only));
        form.number(self.requires.len() as u64);
        for requirement in &self.requires {
            form.bytes(match requirement {
                Requirement::ReadOnlyMount => b"READ_ONLY_MOUNT",
                Requirement::TrustedPath => b"TRUSTED_PATH",
            });
        }
        form.number(u64::from(self.unsandboxed));
        form.bytes(&self.snapshot_digest);
        form.finish()
    }
}

impl SandboxProfile {
    /// SHA-256 of everything the sandbox is built from.
    #[must_use]
    pub fn digest(&self) -> [u8; BINDING_BYTES] {
        let mut form = Form::new(b"airlock sandbox profile v1");
        form.bytes(self.name.as_bytes());
        form.number(self.root_binds.len() as u64);
        for bind in &self.root_binds {
            form.bytes(bind.source.as_bytes());
            form.bytes(bind.target.as_bytes());
        }
        form.bytes(match self.network {
            NetworkMode::Loopback => b"LOOPBACK",
        });
        form.number(self.env.len() as u64);
        for (name, value) in &self.env {
            form.bytes(name.as_bytes());
            form.bytes(value);
        }
        form.bytes(self.path.as_bytes());
        form.number(self.allowed_env.len() as u64);
        for name in &self.allowed_env {
            form.bytes(name.as_bytes());
        }
        let limits = &self.limits;
        form.number(u64::from(limits.open_files));
        form.number(u64::from(limits.processes));
        form.number(limits.file_size);
        form.number(limits.output_bytes);
        form.number(limits.grace.as_millis().try_into().unwrap_or(u64::MAX));
        form.number(limits.private_tmp_bytes);
        form.finish()
    }
}

fn shell(shell: Shell) -> &'static [u8] {
    match shell {
        Shell::Bash => b"bash",
        Shell::Zsh => b"zsh",
        Shell::Pwsh => b"pwsh",
    }
}

/// The canonical form, as it goes into the hash.
struct Form(Sha256);

impl Form {
    fn new(domain: &[u8]) -> Self {
        let mut form = Self(Sha256::new());
        form.bytes(domain);
        form
    }

    fn number(&mut self, value: u64) {
        self.0.update(value.to_be_bytes());
    }

    fn bytes(&mut self, value: &[u8]) {
        self.number(value.len() as u64);
        self.0.update(value);
    }

    fn finish(self) -> [u8; BINDING_BYTES] {
        self.0.finalize().into()
    }
}
