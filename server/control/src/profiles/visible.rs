//! The visibility of profiles: executors and approvers see the profiles that they may use; administrators and
//! auditors see all.

use std::{ops::Bound, sync::Arc};

use airlock_store::{Page, PageQuery, page};

use super::{resolve::ResolvedProfile, set::Profiles};
use crate::{
    api::ApiError,
    model::{Principal, Role},
};

/// The list that a page token is bound to.
#[derive(Debug)]
struct List<'a> {
    _of: &'static str,
    _prefix: &'a str,
}

impl Profiles {
    /// Returns the profile with this name, or the principal's default profile.
    ///
    /// # Errors
    /// Returns `NotFound` if it does not exist or the principal cannot see it.
    pub fn seen_by(&self, who: &Principal, name: Option<&str>) -> Result<&Arc<ResolvedProfile>, ApiError> {
        let name = name.or_else(|| default_of(who)).unwrap_or_default();
        let profile = self.get(name).filter(|_| sees(who, name));
        profile.ok_or_else(|| ApiError::NotFound { what: "profile", id: name.to_owned() })
    }

    /// Returns a page of the visible profiles with the given name prefix, ordered by name.
    ///
    /// # Errors
    /// Returns `Invalid` for a token of another list.
    pub fn list_seen_by(
        &self,
        who: &Principal,
        prefix: &str,
        query: &PageQuery,
    ) -> Result<Page<Arc<ResolvedProfile>>, ApiError> {
        let list = List { _of: "profiles", _prefix: prefix };
        let after: Option<String> = page::after(&list, query)?;
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let mut found = self
            .by_name
            .range::<String, _>((from, Bound::Unbounded))
            .filter(|(name, _)| name.starts_with(prefix) && sees(who, name))
            .map(|(_, profile)| Arc::clone(profile));
        let items: Vec<_> = found.by_ref().take(page::size(query)).collect();
        let last = items.last().filter(|_| found.next().is_some());
        let next = last.map(|profile| page::token(&list, &profile.name()));
        Ok(Page { items, next })
    }
}

/// Returns the default profile of a principal.
#[must_use]
pub fn default_of(who: &Principal) -> Option<&str> {
    who.default_profile()
}

fn sees(who: &Principal, name: &str) -> bool {
    let sees_all = who.roles.iter().any(|role| matches!(role, Role::Admin | Role::Auditor));
    sees_all || who.may_use(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn principal(roles: &[Role], profiles: &[&str]) -> Principal {
        Principal {
            name: "p".to_owned(),
            tenant: "one".to_owned(),
            roles: roles.to_vec(),
            profiles: profiles.iter().map(|name| (*name).to_owned()).collect(),
            peer: String::new(),
        }
    }

    fn names(
        who: &Principal,
        prefix: &str,
        size: u32,
        token: Option<String>,
    ) -> (Vec<String>, Option<String>) {
        let page = Profiles::builtin().list_seen_by(who, prefix, &PageQuery { size, token }).unwrap();
        (page.items.iter().map(|profile| profile.name().to_owned()).collect(), page.next)
    }

    #[test]
    fn executors_and_approvers_see_what_they_may_use_and_the_others_all() {
        let profiles = Profiles::builtin();
        for role in [Role::Executor, Role::Approver] {
            let who = principal(&[role], &["strict", "demo", "gone"]);
            assert_eq!(names(&who, "", 100, None), (vec!["demo".to_owned(), "strict".to_owned()], None));
            assert_eq!(profiles.seen_by(&who, None).unwrap().name(), "strict");
            for name in ["sandboxed", "gone", "nothing"] {
                let error = profiles.seen_by(&who, Some(name)).err();
                assert!(matches!(error, Some(ApiError::NotFound { what: "profile", .. })), "{name}");
            }
        }
        for role in [Role::Admin, Role::Auditor] {
            let who = principal(&[role], &["strict"]);
            assert_eq!(names(&who, "", 100, None).0, ["agent", "demo", "read_only", "sandboxed", "strict"]);
            assert_eq!(names(&who, "s", 100, None).0, ["sandboxed", "strict"]);
            assert_eq!(profiles.seen_by(&who, Some("read_only")).unwrap().name(), "read_only");
        }
    }

    #[test]
    fn who_may_use_any_profile_sees_all_and_has_the_first_named_one_as_its_default() {
        let who = principal(&[Role::Executor], &["*", "strict"]);
        assert_eq!(names(&who, "", 100, None).0, ["agent", "demo", "read_only", "sandboxed", "strict"]);
        assert_eq!(Profiles::builtin().seen_by(&who, None).unwrap().name(), "strict");
    }

    #[test]
    fn pages_go_on_where_the_one_before_ended_and_end_with_the_list() {
        let who = principal(&[Role::Admin], &["strict"]);
        let (first, token) = names(&who, "", 3, None);
        assert_eq!(first.len(), 3);
        assert_eq!(
            names(&who, "", 3, token.clone()),
            (vec!["sandboxed".to_owned(), "strict".to_owned()], None)
        );
        assert_eq!(names(&who, "", 5, None).1, None);
        let other = PageQuery { size: 3, token };
        let error = Profiles::builtin().list_seen_by(&who, "s", &other).err();
        assert!(matches!(error, Some(ApiError::Invalid(_))), "a token is bound to its filter");
    }
}
