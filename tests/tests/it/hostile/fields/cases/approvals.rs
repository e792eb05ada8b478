//! Invalid values in answers to approvals, and in requests about remembered rules.

use super::*;

pub(super) fn all() -> Vec<Case> {
    use v1::approval_service_decide_request::{AllowAndRemember, AllowOnce, Answer, Deny};
    const PATH: &str = "/airlock.v1.ApprovalService/Decide";
    let good = v1::ApprovalServiceDecideRequest {
        approval_id: ID.to_owned(),
        binding: vec![0; 32].into(),
        answer: Some(Answer::AllowOnce(AllowOnce {})),
    };
    let mut cases = Vec::new();
    for (said, approval_id) in bad_ids().into_iter().chain([("is missing", String::new())]) {
        cases.push(case(
            PATH,
            "approval_id",
            said,
            &v1::ApprovalServiceDecideRequest { approval_id, ..good.clone() },
        ));
    }
    for length in [0, 31, 33, 5000] {
        let binding = vec![0; length].into();
        cases.push(case(
            PATH,
            "binding",
            "must be 32",
            &v1::ApprovalServiceDecideRequest { binding, ..good.clone() },
        ));
    }
    for (said, reason) in
        [("at most 1024", long(limits::REASON_BYTES + 1)), ("has a NUL byte", "a\0b".to_owned())]
    {
        let answer = Some(Answer::Deny(Deny { reason }));
        cases.push(case(
            PATH,
            "deny.reason",
            said,
            &v1::ApprovalServiceDecideRequest { answer, ..good.clone() },
        ));
    }
    let remember = |scope, rules: Vec<String>| {
        let answer = Some(Answer::AllowAndRemember(AllowAndRemember { scope, rules }));
        v1::ApprovalServiceDecideRequest { answer, ..good.clone() }
    };
    for scope in [0, 3, -1] {
        let request = remember(scope, Vec::new());
        cases.push(case(PATH, "allow_and_remember.scope", "must be SESSION or TENANT", &request));
    }
    let many = remember(1, vec!["Bash(ls)".to_owned(); limits::RULES + 1]);
    cases.push(case(PATH, "allow_and_remember.rules", "at most 16", &many));
    for (said, rule) in
        [("at most 1024", long(limits::RULE_BYTES + 1)), ("control characters", "Bash(a\x1b)".to_owned())]
    {
        cases.push(case(PATH, "allow_and_remember.rules", said, &remember(1, vec![rule])));
    }
    for (said, rule_id) in bad_ids().into_iter().chain([("is missing", String::new())]) {
        let request = v1::ApprovalServiceRemoveRuleRequest { rule_id };
        cases.push(case("/airlock.v1.ApprovalService/RemoveRule", "rule_id", said, &request));
    }
    cases
}
