//! The authenticated callers of requests. Plain data. The stored records are in `airlock_store::record`.

/// A permission of a principal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Runs commands.
    Executor,
    /// Answers approvals.
    Approver,
    /// Reads the audit.
    Auditor,
    /// Operates the service.
    Admin,
    /// Is a runner.
    Runner,
    /// The role of another server of the same store.
    Server,
}

/// The authenticated caller of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    /// The configured name.
    pub name: String,
    /// Its tenant. It sees the executions of this tenant.
    pub tenant: String,
    /// Its roles, sorted.
    pub roles: Vec<Role>,
    /// The profiles it may use. The first that is not [`ANY_PROFILE`] is its default.
    pub profiles: Vec<String>,
    /// Its network address, for the audit.
    pub peer: String,
}

/// The entry in a principal's profiles that matches every profile.
pub const ANY_PROFILE: &str = "*";

impl Principal {
    /// Returns the profile of requests that do not name one.
    #[must_use]
    pub fn default_profile(&self) -> Option<&str> {
        self.profiles.iter().map(String::as_str).find(|name| *name != ANY_PROFILE)
    }

    /// Reports whether the principal may use the profile with this name.
    #[must_use]
    pub fn may_use(&self, profile: &str) -> bool {
        self.profiles.iter().any(|own| own == profile || own == ANY_PROFILE)
    }
}
