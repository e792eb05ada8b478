//! The parts of the runner that every job uses, and the limits and the environment that a grant gets with them.

use std::{ffi::OsString, sync::Arc, time::Duration};

use airlock_domain::Grant;
use airlock_sandbox::{
    Launcher, Limits, Profile,
    env::{EnvError, EnvRequest, Variable, build_env},
};

use super::disk_space::DiskSpace;
use crate::{config::WorkspaceConfig, egress::EgressProxy, spool::Spools};

/// The size of `/dev/shm` in bytes.
const DEV_SHM_BYTES: u64 = 64 << 20;

/// The parts of the runner that every job uses.
#[derive(Debug)]
pub(crate) struct Tools {
    pub(crate) launcher: Launcher,
    pub(crate) proxy: EgressProxy,
    pub(crate) spools: Arc<Spools>,
    pub(crate) start_timeout: Duration,
    pub(crate) workspace: WorkspaceConfig,
    pub(crate) disk_space: DiskSpace,
    /// The floor's limit in bytes, for a grant without its own limit. The field below is in thousandths of a processor.
    pub(crate) max_memory_bytes: Option<u64>,
    pub(crate) max_cpu_millis: Option<u64>,
}

impl Tools {
    /// Returns the limits that the grant asks for and that this host does not enforce.
    pub(super) fn not_enforced(&self, grant: &Grant) -> Vec<String> {
        let asked = &grant.profile.limits;
        let asks = |limit: &str| match limit {
            "memory" => asked.memory_bytes.is_some(),
            "cpu" => asked.cpu_millis.is_some(),
            // Without a cgroup, neither limit is enforced.
            "cgroup" => asked.memory_bytes.or(asked.cpu_millis).is_some(),
            _ => false,
        };
        let gaps = self.launcher.limits_not_enforced().into_iter().map(|gap| gap.limit);
        gaps.filter(|limit| asks(limit)).map(str::to_owned).collect()
    }

    /// Returns the limits of the sandbox of a grant.
    pub(super) fn limits(&self, grant: &Grant) -> Limits {
        let asked = &grant.profile.limits;
        Limits {
            nofile: u64::from(asked.open_files),
            nproc: u64::from(asked.processes),
            fsize: Some(asked.file_size),
            memory: asked.memory_bytes.or(self.max_memory_bytes),
            swap: 0,
            cpu_millis: asked.cpu_millis.or(self.max_cpu_millis),
            var_tmp: asked.private_tmp_bytes,
            dev_shm: DEV_SHM_BYTES,
            start_timeout: self.start_timeout,
        }
    }
}

/// Returns the environment of a grant's command.
///
/// # Errors
/// Returns every variable that may not be set.
pub(crate) fn environment(
    grant: &Grant,
    profile: &Profile,
    passed: &[Variable],
    traceparent: Option<&str>,
) -> Result<Vec<(OsString, OsString)>, Vec<EnvError>> {
    let request: Vec<Variable> =
        grant.command.env.iter().map(|(name, value)| (name.clone().into_bytes(), value.clone())).collect();
    build_env(&EnvRequest {
        profile,
        session_id: &grant.session_id.to_string(),
        passed,
        session: &[],
        request: &request,
        traceparent,
        read_only: grant.read_only,
        unsandboxed: grant.unsandboxed,
    })
}
