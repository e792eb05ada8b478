//! Requests about profiles and the capabilities of a server.

use airlock_control::api::ApiError;
use airlock_domain::RunnerId;
use airlock_proto::v1;
use airlock_store::PageQuery;

use super::checker::Checker;

/// A request for a list of profiles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListProfiles {
    /// A prefix of the name. Empty: all profiles.
    pub prefix: String,
    /// The page.
    pub page: PageQuery,
    /// Includes rules and paths.
    pub full: bool,
}

/// Validates GetProfile. Returns the name (`None`: the caller's default profile), and whether the view is
/// FULL.
///
/// # Errors
/// Returns [`ApiError::Invalid`] with every invalid field.
pub fn get_profile(request: v1::PolicyServiceGetProfileRequest) -> Result<(Option<String>, bool), ApiError> {
    let mut checker = Checker::default();
    let name = checker.name("name", request.name);
    let full = checker.full_profile(request.view);
    checker.finish(Some((name, full)))
}

/// Validates ListProfiles.
///
/// # Errors
/// Returns [`ApiError::Invalid`] with every invalid field.
pub fn list_profiles(request: v1::PolicyServiceListProfilesRequest) -> Result<ListProfiles, ApiError> {
    let mut checker = Checker::default();
    let page = checker.page(request.page);
    let full = checker.full_profile(request.view);
    let filter = request.filter.unwrap_or_default();
    let prefix = checker.name("filter.name_prefix", filter.name_prefix).unwrap_or_default();
    checker.finish(Some(ListProfiles { prefix, page, full }))
}

/// Validates GetCapabilities. Returns the runner. `None`: all runners.
///
/// # Errors
/// Returns [`ApiError::Invalid`].
pub fn get_capabilities(
    request: &v1::AdminServiceGetCapabilitiesRequest,
) -> Result<Option<RunnerId>, ApiError> {
    let mut checker = Checker::default();
    let runner = checker.optional_id("runner_id", &request.runner_id);
    checker.finish(Some(runner))
}

impl Checker {
    fn full_profile(&mut self, number: i32) -> bool {
        match v1::ProfileView::try_from(number) {
            Ok(view) => view == v1::ProfileView::Full,
            Err(_) => {
                self.bad("view", format!("{number} is not a known value"));
                false
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields<T: std::fmt::Debug>(result: Result<T, ApiError>) -> Vec<String> {
        let Err(ApiError::Invalid(violations)) = result else { panic!("{result:?}") };
        violations.into_iter().map(|bad| bad.field).collect()
    }

    #[test]
    fn names_views_and_pages_are_checked_at_once() {
        let get = |name: &str, view| {
            get_profile(v1::PolicyServiceGetProfileRequest { name: name.to_owned(), view })
        };
        assert_eq!(get("", 0).unwrap(), (None, false));
        assert_eq!(get("team", 2).unwrap(), (Some("team".to_owned()), true));
        assert_eq!(fields(get("a/b", 7)), ["name", "view"]);
        let list = list_profiles(v1::PolicyServiceListProfilesRequest {
            page: Some(v1::PageRequest { page_size: -1, page_token: "é".to_owned() }),
            filter: Some(v1::ProfileFilter { name_prefix: "a b".to_owned() }),
            view: 9,
        });
        assert_eq!(fields(list), ["page.page_size", "page.page_token", "view", "filter.name_prefix"]);
        let ask =
            |id: &str| get_capabilities(&v1::AdminServiceGetCapabilitiesRequest { runner_id: id.to_owned() });
        assert_eq!(ask("").unwrap(), None);
        assert_eq!(fields(ask("a b")), ["runner_id"]);
    }
}
