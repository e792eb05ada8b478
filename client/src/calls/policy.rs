//! The calls for decisions and profiles.

use super::super::{
    Client, ClientError,
    connection::{ANSWER_BYTES, Connection},
    v1::{self, policy_service_client::PolicyServiceClient},
};
use super::{CALL_TIMEOUT, with_timeout};

/// The calls for decisions and profiles, from [`Client::policy`].
#[derive(Debug, Clone, Copy)]
pub struct Policy<'a>(&'a Connection);

impl Client {
    /// Returns the calls for decisions and profiles.
    #[must_use]
    pub fn policy(&self) -> Policy<'_> {
        Policy(&self.connection)
    }
}

impl Policy<'_> {
    /// Returns the decision about a command, without running it.
    ///
    /// # Errors
    /// As for any call.
    pub async fn check(self, request: v1::PolicyServiceCheckRequest) -> Result<v1::Decision, ClientError> {
        let answer = call!(self.0, PolicyServiceClient::check, request, CALL_TIMEOUT)?;
        self.0.present(answer.decision, "decision")
    }

    /// Returns one profile; an empty name selects the caller's default profile.
    ///
    /// # Errors
    /// As for any call; `NOT_FOUND` for a profile that does not exist or that the caller may not use.
    pub async fn profile(self, name: &str, view: v1::ProfileView) -> Result<v1::Profile, ClientError> {
        let request = v1::PolicyServiceGetProfileRequest { name: name.to_owned(), view: view.into() };
        let answer = call!(self.0, PolicyServiceClient::get_profile, request, CALL_TIMEOUT)?;
        self.0.present(answer.profile, "profile")
    }

    /// Returns one page of profiles, ordered by name.
    ///
    /// # Errors
    /// As for any call.
    pub async fn profiles(
        self,
        request: v1::PolicyServiceListProfilesRequest,
    ) -> Result<v1::PolicyServiceListProfilesResponse, ClientError> {
        call!(self.0, PolicyServiceClient::list_profiles, request, CALL_TIMEOUT)
    }
}
