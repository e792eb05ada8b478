//! The tenants' shares of long or expensive calls, and the timeout of unary calls. The shares prevent one
//! tenant from blocking others.

use std::time::Duration;

use airlock_control::api::ApiError;
use airlock_limits::shares::{Full, Share, Shares};

/// The time after which to retry if all slots are taken.
const RETRY: Duration = Duration::from_secs(1);

/// Calls that wait for a command.
const WAITS: [&str; 2] = ["/airlock.v1.ExecutionService/Wait", "/airlock.v1.ExecutionService/WriteStdin"];
/// Calls that read many rows of the store.
const LISTS: [&str; 5] = [
    "/airlock.v1.SessionService/List",
    "/airlock.v1.ExecutionService/List",
    "/airlock.v1.ApprovalService/List",
    "/airlock.v1.ApprovalService/ListRules",
    "/airlock.v1.AdminService/ListRunners",
];
/// Calls that run the policy.
const CHECKS: [&str; 1] = ["/airlock.v1.PolicyService/Check"];
/// Calls without a timeout of the server: streams, and `Wait`, which has its own.
const UNTIMED: [&str; 17] = [
    "/airlock.v1.ExecutionService/Wait",
    "/airlock.v1.ExecutionService/Run",
    "/airlock.v1.ExecutionService/Attach",
    "/airlock.v1.ExecutionService/WriteStdin",
    "/airlock.v1.ExecutionService/ReadOutput",
    "/airlock.v1.ExecutionService/Watch",
    "/airlock.v1.SessionService/Forward",
    "/airlock.v1.FileService/Upload",
    "/airlock.v1.FileService/Download",
    "/airlock.runner.v1.RunnerLink/Connect",
    "/airlock.runner.v1.RunnerLink/PushOutput",
    "/airlock.runner.v1.RunnerLink/Exchange",
    "/airlock.server.v1.Peer/RelayOutput",
    "/airlock.server.v1.Peer/RelayExchange",
    "/grpc.health.v1.Health/Watch",
    "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
];

/// The limits of concurrent calls; see the limits of the configuration.
#[derive(Debug, Clone)]
pub(crate) struct CallLimits {
    pub(crate) waits: usize,
    pub(crate) waits_per_tenant: usize,
    pub(crate) lists: usize,
    pub(crate) lists_per_tenant: usize,
    pub(crate) checks: usize,
    pub(crate) checks_per_tenant: usize,
    /// The timeout of a unary call.
    pub(crate) timeout: Duration,
}

/// The counters of concurrent calls. A cheap handle; all clones share the same state.
#[derive(Debug, Clone)]
pub(crate) struct Calls {
    limits: CallLimits,
    waits: Shares<String>,
    lists: Shares<String>,
    checks: Shares<String>,
}

impl Calls {
    pub(crate) fn new(limits: CallLimits) -> Self {
        let (waits, lists, checks) = (Shares::default(), Shares::default(), Shares::default());
        Self { limits, waits, lists, checks }
    }

    /// Takes a slot for a call of this tenant, which is released on drop. Returns `None` for a method without
    /// a limit.
    ///
    /// # Errors
    /// Returns `Exhausted` with the limit.
    pub(super) fn place(&self, method: &str, tenant: &str) -> Result<Option<Share<String>>, ApiError> {
        let limits = &self.limits;
        let (shares, all, own) = if WAITS.contains(&method) {
            (&self.waits, ("waits", limits.waits), ("waits_per_tenant", limits.waits_per_tenant))
        } else if LISTS.contains(&method) {
            (&self.lists, ("lists", limits.lists), ("lists_per_tenant", limits.lists_per_tenant))
        } else if CHECKS.contains(&method) {
            (&self.checks, ("checks", limits.checks), ("checks_per_tenant", limits.checks_per_tenant))
        } else {
            return Ok(None);
        };
        shares.take(tenant.to_owned(), all.1, own.1).map(Some).map_err(|full| {
            let (limit, value) = match full {
                Full::All => all,
                Full::Own => own,
            };
            ApiError::Exhausted { limit, value: value as u64, retry_after: RETRY }
        })
    }

    /// Returns the timeout of a call of this method.
    pub(super) fn timeout(&self, method: &str) -> Option<Duration> {
        (!UNTIMED.contains(&method)).then_some(self.limits.timeout)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use airlock_proto::FILE_DESCRIPTOR_SET;
    use prost::Message as _;
    use prost_types::FileDescriptorSet;

    use super::*;
    use crate::authn::roles;

    fn limits() -> CallLimits {
        CallLimits {
            waits: 3,
            waits_per_tenant: 2,
            lists: 3,
            lists_per_tenant: 2,
            checks: 3,
            checks_per_tenant: 2,
            timeout: Duration::from_secs(1),
        }
    }

    fn limit(refused: Result<Option<Share<String>>, ApiError>) -> &'static str {
        match refused {
            Err(ApiError::Exhausted { limit, .. }) => limit,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_tenant_that_takes_all_it_may_leaves_places_for_others() {
        for (methods, all, own) in [
            (&WAITS[..], "waits", "waits_per_tenant"),
            (&LISTS[..], "lists", "lists_per_tenant"),
            (&CHECKS[..], "checks", "checks_per_tenant"),
        ] {
            let calls = Calls::new(limits());
            let method = methods.first().unwrap();
            let _held = [calls.place(method, "hog").unwrap(), calls.place(method, "hog").unwrap()];
            assert_eq!(limit(calls.place(method, "hog")), own);
            let quick = calls.place(method, "quick").unwrap();
            assert_eq!(limit(calls.place(method, "late")), all);
            drop(quick);
            assert!(calls.place(method, "late").unwrap().is_some());
            assert!(calls.place("/airlock.v1.ExecutionService/Cancel", "hog").unwrap().is_none());
        }
    }

    #[test]
    fn every_method_in_a_list_is_one_and_every_call_without_streams_has_a_deadline() {
        let set = FileDescriptorSet::decode(FILE_DESCRIPTOR_SET).unwrap();
        let mut streams = BTreeSet::from(["/airlock.v1.ExecutionService/Wait".to_owned()]);
        for file in &set.file {
            for service in &file.service {
                for method in
                    service.method.iter().filter(|one| one.server_streaming() || one.client_streaming())
                {
                    streams.insert(format!("/{}.{}/{}", file.package(), service.name(), method.name()));
                }
            }
        }
        let untimed: BTreeSet<String> = UNTIMED
            .iter()
            .filter(|name| !name.starts_with("/grpc."))
            .map(|name| (*name).to_owned())
            .collect();
        assert_eq!(untimed, streams);
        for name in WAITS.iter().chain(&LISTS).chain(&CHECKS).chain(&UNTIMED) {
            assert!(roles::method(name).is_some(), "{name}");
        }
    }
}
