//! Tests of remembered rules.

use airlock_domain::{ApprovalId, RuleId, SessionId};

use super::{
    approvals::answer,
    fixtures::{HOUR, TENANT, create, first, opened, waiting},
};
use crate::{
    ApprovalAnswer, Cas, Remember, RuleQuery, SessionChange, Store, StoreError,
    record::{ApprovalState, Micros, RememberedRule, SessionRecord, SessionState},
};

/// Returns a rule that an approver remembers for a session, or for the whole tenant.
pub(super) fn rule(text: &str, session: Option<SessionId>) -> RememberedRule {
    RememberedRule {
        id: RuleId::new(),
        tenant: TENANT.to_owned(),
        session_id: session,
        profile: "strict".to_owned(),
        rule: text.to_owned(),
        approval_id: ApprovalId::new(),
        decided_by: "bob".to_owned(),
        created: Micros(0),
    }
}

/// Answers an approval with rules to remember, of which there may be `at_most`.
pub(super) async fn answer_and_remember(
    store: &dyn Store,
    id: ApprovalId,
    rules: Vec<RememberedRule>,
    limit: &'static str,
    at_most: u64,
) -> Result<(), StoreError> {
    let remember = Some(Remember { rules, limit, at_most });
    let given = ApprovalAnswer { remember, ..answer(ApprovalState::Allowed) };
    store.answer_approval(id, &given).await.map(drop)
}

async fn remember(
    store: &dyn Store,
    session: &SessionRecord,
    rules: Vec<RememberedRule>,
    at_most: u64,
) -> Result<ApprovalState, StoreError> {
    let id = create(store, waiting(session, HOUR)).await.approval_id.unwrap();
    let done = answer_and_remember(store, id, rules, "rules_per_session", at_most).await;
    let state = store.approval(id).await.unwrap().unwrap().state;
    assert_eq!(done.is_ok(), state == ApprovalState::Allowed, "both or neither");
    done.map(|_| state)
}

async fn in_force(store: &dyn Store, tenant: &str, profile: &str, session: SessionId) -> Vec<String> {
    let rules = store.rules_in_force(tenant, profile, session).await.unwrap();
    rules.into_iter().map(|rule| rule.rule).collect()
}

pub(crate) async fn rules_count_where_they_were_given(store: &dyn Store) {
    let session = opened(store, TENANT).await;
    let other = opened(store, TENANT).await;
    remember(store, &session, vec![rule("Bash(a)", Some(session.id))], 9).await.unwrap();
    remember(store, &session, vec![rule("Bash(b)", None)], 9).await.unwrap();
    assert_eq!(in_force(store, TENANT, "strict", session.id).await, ["Bash(a)", "Bash(b)"]);
    assert_eq!(in_force(store, TENANT, "strict", other.id).await, ["Bash(b)"]);
    assert!(in_force(store, "another", "strict", session.id).await.is_empty());
    assert!(in_force(store, TENANT, "demo", session.id).await.is_empty());
}

pub(crate) async fn a_rule_is_remembered_once_and_no_more_than_there_may_be(store: &dyn Store) {
    let session = opened(store, TENANT).await;
    let own = |text| rule(text, Some(session.id));
    for _ in 0..2 {
        remember(store, &session, vec![own("Bash(a)"), own("Bash(b)")], 2).await.unwrap();
    }
    let full = remember(store, &session, vec![own("Bash(c)")], 2).await.unwrap_err();
    assert!(matches!(full, StoreError::Full { limit: "rules_per_session", value: 2 }), "{full:?}");
    assert_eq!(in_force(store, TENANT, "strict", session.id).await, ["Bash(a)", "Bash(b)"]);
}

pub(crate) async fn rules_are_listed_and_removed_by_their_tenant(store: &dyn Store) {
    let session = opened(store, TENANT).await;
    let rules = vec![rule("Bash(a)", Some(session.id)), rule("Bash(b)", Some(session.id))];
    remember(store, &session, rules.clone(), 9).await.unwrap();
    remember(store, &session, vec![rule("Bash(c)", None)], 9).await.unwrap();
    let query = RuleQuery { tenant: TENANT.to_owned(), session_id: Some(session.id) };
    let page = store.rules(&query, &first(1)).await.unwrap();
    assert!(page.items[0].created > Micros(0) && page.next.is_some());
    assert_eq!(RememberedRule { created: Micros(0), ..page.items[0].clone() }, rules[0]);
    let all = RuleQuery { session_id: None, ..query.clone() };
    assert_eq!(store.rules(&all, &first(9)).await.unwrap().items.len(), 3);

    assert_eq!(store.remove_rule("another", rules[0].id, "eve").await.unwrap(), None);
    let removed = store.remove_rule(TENANT, rules[0].id, "bob").await.unwrap().unwrap();
    assert_eq!(removed.rule, "Bash(a)");
    assert_eq!(store.remove_rule(TENANT, rules[0].id, "bob").await.unwrap(), None);
    assert_eq!(in_force(store, TENANT, "strict", session.id).await, ["Bash(b)", "Bash(c)"]);
}

pub(crate) async fn rules_of_a_session_go_with_it(store: &dyn Store) {
    for state in [SessionState::Closed, SessionState::Lost] {
        let session = opened(store, TENANT).await;
        remember(store, &session, vec![rule("Bash(a)", Some(session.id))], 9).await.unwrap();
        let now = store.session(session.id).await.unwrap().unwrap();
        let end = SessionChange { state: Some((state, String::new())), ..SessionChange::default() };
        let changed = store.change_session(session.id, now.version, &end).await.unwrap();
        assert!(matches!(changed, Cas::Done(_)));
        assert!(in_force(store, TENANT, "strict", session.id).await.is_empty());
    }
}
