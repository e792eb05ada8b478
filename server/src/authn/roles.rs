//! The table of roles that may call each method. A method that is not in the table is not permitted.

/// The callers that may call a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Any caller, without credentials.
    Anyone,
    /// Callers with at least one of these roles.
    AnyOf(&'static [Role]),
}

use Access::{AnyOf, Anyone};
use Role::{Admin, Approver, Auditor, Executor, Runner, Server};
use airlock_control::{
    api::ApiError,
    model::{Principal, Role},
};

const READERS: Access = AnyOf(&[Executor, Approver, Auditor, Admin]);
const EXECUTORS: Access = AnyOf(&[Executor]);

/// Every method of every service.
pub const TABLE: &[(&str, Access)] = &[
    ("/airlock.v1.SessionService/Create", EXECUTORS),
    ("/airlock.v1.SessionService/Get", READERS),
    ("/airlock.v1.SessionService/List", READERS),
    ("/airlock.v1.SessionService/Update", EXECUTORS),
    ("/airlock.v1.SessionService/Close", AnyOf(&[Executor, Admin])),
    ("/airlock.v1.SessionService/Forward", EXECUTORS),
    ("/airlock.v1.ExecutionService/Run", EXECUTORS),
    ("/airlock.v1.ExecutionService/Start", EXECUTORS),
    ("/airlock.v1.ExecutionService/Attach", AnyOf(&[Executor, Auditor, Admin])),
    ("/airlock.v1.ExecutionService/Wait", READERS),
    ("/airlock.v1.ExecutionService/Get", READERS),
    ("/airlock.v1.ExecutionService/List", READERS),
    ("/airlock.v1.ExecutionService/Cancel", AnyOf(&[Executor, Admin])),
    ("/airlock.v1.ExecutionService/Signal", AnyOf(&[Executor, Admin])),
    ("/airlock.v1.ExecutionService/Resize", EXECUTORS),
    ("/airlock.v1.ExecutionService/Detach", EXECUTORS),
    ("/airlock.v1.ExecutionService/WriteStdin", EXECUTORS),
    ("/airlock.v1.ExecutionService/ReadOutput", AnyOf(&[Executor, Auditor, Admin])),
    ("/airlock.v1.ExecutionService/Watch", READERS),
    ("/airlock.v1.FileService/Upload", EXECUTORS),
    ("/airlock.v1.FileService/Download", EXECUTORS),
    ("/airlock.v1.FileService/Stat", EXECUTORS),
    ("/airlock.v1.FileService/List", EXECUTORS),
    ("/airlock.v1.FileService/Diff", AnyOf(&[Executor, Approver, Auditor])),
    ("/airlock.v1.FileService/ListQuarantine", AnyOf(&[Executor, Approver, Auditor])),
    // A restored file may be executed, so the call requires the role that could have approved it.
    ("/airlock.v1.FileService/RestoreQuarantine", AnyOf(&[Approver])),
    ("/airlock.v1.PolicyService/Check", READERS),
    ("/airlock.v1.PolicyService/GetProfile", READERS),
    ("/airlock.v1.PolicyService/ListProfiles", READERS),
    ("/airlock.v1.ApprovalService/List", READERS),
    ("/airlock.v1.ApprovalService/Decide", AnyOf(&[Approver])),
    ("/airlock.v1.ApprovalService/ListRules", READERS),
    ("/airlock.v1.ApprovalService/RemoveRule", AnyOf(&[Approver, Admin])),
    ("/airlock.v1.AdminService/ListRunners", AnyOf(&[Admin])),
    ("/airlock.v1.AdminService/DrainRunner", AnyOf(&[Admin])),
    ("/airlock.v1.AdminService/GetCapabilities", AnyOf(&[Admin])),
    ("/airlock.runner.v1.RunnerLink/Connect", AnyOf(&[Runner])),
    ("/airlock.runner.v1.RunnerLink/PushOutput", AnyOf(&[Runner])),
    ("/airlock.runner.v1.RunnerLink/Exchange", AnyOf(&[Runner])),
    ("/airlock.server.v1.Peer/Tell", AnyOf(&[Server])),
    ("/airlock.server.v1.Peer/Nudge", AnyOf(&[Server])),
    ("/airlock.server.v1.Peer/RelayOutput", AnyOf(&[Server])),
    ("/airlock.server.v1.Peer/RelayExchange", AnyOf(&[Server])),
    ("/grpc.health.v1.Health/Check", Anyone),
    ("/grpc.health.v1.Health/List", Anyone),
    ("/grpc.health.v1.Health/Watch", Anyone),
    ("/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", Anyone),
    ("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", Anyone),
];

/// Returns the method with this path and its access rule, or `None` for an unknown method.
#[must_use]
pub fn method(path: &str) -> Option<(&'static str, Access)> {
    TABLE.iter().find(|(name, _)| *name == path).copied()
}

/// Checks that the principal has the required access.
///
/// # Errors
/// Returns [`ApiError::Forbidden`] with the names of the roles that are permitted.
pub fn authorize(principal: &Principal, access: Access) -> Result<(), ApiError> {
    let AnyOf(roles) = access else { return Ok(()) };
    if roles.iter().any(|role| principal.roles.contains(role)) {
        return Ok(());
    }
    let names: Vec<&str> = roles.iter().map(|role| name(*role)).collect();
    let message = format!("`{}` needs one of the roles: {}", principal.name, names.join(", "));
    Err(ApiError::Forbidden { message })
}

fn name(role: Role) -> &'static str {
    match role {
        Executor => "executor",
        Approver => "approver",
        Auditor => "auditor",
        Admin => "admin",
        Runner => "runner",
        Server => "server",
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use airlock_proto::FILE_DESCRIPTOR_SET;
    use prost::Message as _;
    use prost_types::FileDescriptorSet;

    use super::*;

    /// Returns the paths of all methods of the contract.
    fn contract() -> BTreeSet<String> {
        let set = FileDescriptorSet::decode(FILE_DESCRIPTOR_SET).unwrap();
        let mut paths = BTreeSet::new();
        // The server calls hooks. It does not serve them.
        for file in set.file.iter().filter(|file| file.package() != "airlock.hooks.v1") {
            for service in &file.service {
                for method in &service.method {
                    paths.insert(format!("/{}.{}/{}", file.package(), service.name(), method.name()));
                }
            }
        }
        paths
    }

    #[test]
    fn every_method_of_the_contract_is_in_the_table_and_nothing_else() {
        let table: BTreeSet<String> = TABLE
            .iter()
            .map(|(path, _)| (*path).to_owned())
            .filter(|path| !path.starts_with("/grpc."))
            .collect();
        assert!(table.len() > 10);
        assert_eq!(table, contract());
    }

    #[test]
    fn no_method_of_the_contract_is_open_to_anyone() {
        for (path, access) in TABLE {
            let open = *access == Anyone;
            assert_eq!(open, path.starts_with("/grpc."), "{path}");
            assert_ne!(*access, AnyOf(&[]), "{path}");
        }
    }

    #[test]
    fn runners_and_servers_have_no_role_but_their_own() {
        let principal = |roles: &[Role]| Principal {
            name: "p".to_owned(),
            tenant: "t".to_owned(),
            roles: roles.to_vec(),
            profiles: vec![],
            peer: String::new(),
        };
        for (path, access) in TABLE.iter().filter(|(_, access)| *access != Anyone) {
            let link = path.contains("RunnerLink");
            assert_eq!(authorize(&principal(&[Runner]), *access).is_ok(), link, "{path}");
            let peer = path.contains("airlock.server.v1.");
            assert_eq!(authorize(&principal(&[Server]), *access).is_ok(), peer, "{path}");
            let others = principal(&[Executor, Approver, Auditor, Admin]);
            assert_eq!(authorize(&others, *access).is_ok(), !link && !peer, "{path}");
            assert!(authorize(&principal(&[]), *access).is_err(), "{path}");
        }
    }
}
