//! Requests for lists: pages and filters. A request cannot select a tenant.

use std::collections::BTreeMap;

use airlock_control::{api::ApiError, runners::RunnerState};
use airlock_domain::{ExecutionState, RuleId, SessionId, limits};
use airlock_proto::v1;
use airlock_store::{
    ApprovalQuery, ExecutionQuery, PageQuery, SessionQuery,
    record::{ApprovalState, SessionState},
};

use super::checker::{Checker, WORD_BYTES};

/// The maximum number of states in a filter.
const STATES: usize = 16;

/// Validates a list of sessions.
///
/// # Errors
/// Returns [`ApiError::Invalid`] with every invalid field.
pub fn list_sessions(request: v1::SessionServiceListRequest) -> Result<(SessionQuery, PageQuery), ApiError> {
    let mut checker = Checker::default();
    let page = checker.page(request.page);
    let filter = request.filter.unwrap_or_default();
    let query = SessionQuery {
        tenant: None,
        states: checker.states(&filter.states, session_state),
        principal: checker.text("filter.principal", filter.principal, WORD_BYTES),
        labels: checker.label_pairs(filter.labels),
        runner_id: None,
    };
    checker.finish(Some((query, page)))
}

/// Validates a list of executions. Also returns whether the view is FULL.
///
/// # Errors
/// Returns [`ApiError::Invalid`] with every invalid field.
pub fn list_executions(
    request: v1::ExecutionServiceListRequest,
) -> Result<(ExecutionQuery, PageQuery, bool), ApiError> {
    let mut checker = Checker::default();
    let page = checker.page(request.page);
    let full = checker.full_view(request.view);
    let filter = request.filter.unwrap_or_default();
    let query = ExecutionQuery {
        tenant: None,
        session_id: checker.optional_id("filter.session_id", &filter.session_id),
        states: checker.states(&filter.states, execution_state),
        principal: checker.text("filter.principal", filter.principal, WORD_BYTES),
        labels: checker.label_pairs(filter.labels),
        runner_id: None,
        unstored: false,
    };
    checker.finish(Some((query, page, full)))
}

/// Validates a list of approvals.
///
/// # Errors
/// Returns [`ApiError::Invalid`] with every invalid field.
pub fn list_approvals(
    request: v1::ApprovalServiceListRequest,
) -> Result<(ApprovalQuery, PageQuery), ApiError> {
    let mut checker = Checker::default();
    let page = checker.page(request.page);
    let filter = request.filter.unwrap_or_default();
    let query = ApprovalQuery {
        tenant: None,
        session_id: checker.optional_id("filter.session_id", &filter.session_id),
        states: checker.states(&filter.states, approval_state),
    };
    checker.finish(Some((query, page)))
}

/// Validates a list of remembered rules.
///
/// # Errors
/// Returns [`ApiError::Invalid`] with every invalid field.
pub fn list_rules(
    request: v1::ApprovalServiceListRulesRequest,
) -> Result<(Option<SessionId>, PageQuery), ApiError> {
    let mut checker = Checker::default();
    let page = checker.page(request.page);
    let session = checker.optional_id("filter.session_id", &request.filter.unwrap_or_default().session_id);
    checker.finish(Some((session, page)))
}

/// Validates the removal of a remembered rule.
///
/// # Errors
/// Returns [`ApiError::Invalid`] with every invalid field.
pub fn remove_rule(request: &v1::ApprovalServiceRemoveRuleRequest) -> Result<RuleId, ApiError> {
    let mut checker = Checker::default();
    let id = checker.id("rule_id", &request.rule_id);
    checker.finish(id)
}

/// Validates a list of runners.
///
/// # Errors
/// Returns [`ApiError::Invalid`] with every invalid field.
pub fn list_runners(
    request: v1::AdminServiceListRunnersRequest,
) -> Result<(Vec<RunnerState>, PageQuery), ApiError> {
    let mut checker = Checker::default();
    let page = checker.page(request.page);
    let states = checker.states(&request.filter.unwrap_or_default().states, runner_state);
    checker.finish(Some((states, page)))
}

impl Checker {
    pub(super) fn page(&mut self, page: Option<v1::PageRequest>) -> PageQuery {
        self.page_with(page, limits::PAGE_TOKEN_BYTES)
    }

    /// Validates a page of a list with tokens of at most `token_bytes`.
    pub(super) fn page_with(&mut self, page: Option<v1::PageRequest>, token_bytes: usize) -> PageQuery {
        let page = page.unwrap_or_default();
        let size = match page.page_size {
            0 => limits::PAGE_SIZE_DEFAULT,
            size @ 1..=limits::PAGE_SIZE_MAX => size,
            size => {
                self.bad("page.page_size", format!("{size} is not between 0 and {}", limits::PAGE_SIZE_MAX));
                limits::PAGE_SIZE_DEFAULT
            }
        };
        self.at_most("page.page_token", page.page_token.len(), token_bytes);
        if !page.page_token.bytes().all(|byte| byte.is_ascii_graphic()) {
            self.bad("page.page_token", "is not a page token of this list");
        }
        let token = (!page.page_token.is_empty()).then_some(page.page_token);
        PageQuery { size: size.unsigned_abs(), token }
    }

    pub(super) fn full_view(&mut self, number: i32) -> bool {
        match v1::ExecutionView::try_from(number) {
            Ok(view) => view == v1::ExecutionView::Full,
            Err(_) => {
                self.bad("view", format!("{number} is not a known value"));
                false
            }
        }
    }

    fn states<T>(&mut self, numbers: &[i32], convert: fn(i32) -> Option<T>) -> Vec<T> {
        if numbers.len() > STATES {
            self.bad("filter.states", format!("has {} entries, at most {STATES}", numbers.len()));
            return Vec::new();
        }
        let mut states = Vec::new();
        for (index, number) in numbers.iter().enumerate() {
            match convert(*number) {
                Some(state) => states.push(state),
                None => {
                    self.bad(&format!("filter.states[{index}]"), format!("{number} is not a known state"));
                }
            }
        }
        states
    }

    fn label_pairs(&mut self, labels: BTreeMap<String, String>) -> Vec<(String, String)> {
        self.labels("filter.labels", labels).into_iter().collect()
    }
}

fn session_state(number: i32) -> Option<SessionState> {
    Some(match v1::SessionState::try_from(number).ok()? {
        v1::SessionState::Unspecified => return None,
        v1::SessionState::Opening => SessionState::Opening,
        v1::SessionState::Open => SessionState::Open,
        v1::SessionState::Closing => SessionState::Closing,
        v1::SessionState::Closed => SessionState::Closed,
        v1::SessionState::Lost => SessionState::Lost,
    })
}

fn execution_state(number: i32) -> Option<ExecutionState> {
    ExecutionState::try_from(v1::ExecutionState::try_from(number).ok()?).ok()
}

fn approval_state(number: i32) -> Option<ApprovalState> {
    Some(match v1::ApprovalState::try_from(number).ok()? {
        v1::ApprovalState::Unspecified => return None,
        v1::ApprovalState::Open => ApprovalState::Open,
        v1::ApprovalState::Allowed => ApprovalState::Allowed,
        v1::ApprovalState::Denied => ApprovalState::Denied,
        v1::ApprovalState::Expired => ApprovalState::Expired,
        v1::ApprovalState::Withdrawn => ApprovalState::Withdrawn,
    })
}

fn runner_state(number: i32) -> Option<RunnerState> {
    Some(match v1::RunnerState::try_from(number).ok()? {
        v1::RunnerState::Unspecified => return None,
        v1::RunnerState::Connected => RunnerState::Connected,
        v1::RunnerState::Unreachable => RunnerState::Unreachable,
        v1::RunnerState::Draining => RunnerState::Draining,
        v1::RunnerState::Lost => RunnerState::Lost,
    })
}
