//! Every method treats an ID of another tenant as nonexistent. Methods and fields come from the contract, so a new one
//! without a case fails the test.

use airlock_client::Client;
use airlock_proto::v1;
use airlock_tests::{
    raw::{Answer, Connection},
    reader::spec,
    schema::Schema,
};
use prost::Message;
use tonic::Code;

use crate::hostile::fixture::{Fixture, STRANGER, call, token};

const UNKNOWN: &str = "01900000-0000-7000-8000-000000000000";

/// The IDs of a tenant.
pub(crate) struct Ids {
    pub(crate) session: String,
    pub(crate) execution: String,
    pub(crate) approval: String,
    pub(crate) rule: String,
    pub(crate) binding: Vec<u8>,
}

/// Returns a request with this ID in this field.
pub(crate) fn request(path: &str, field: &str, ids: &Ids) -> Vec<u8> {
    let alone = |id: &String| v1::SessionServiceGetRequest { session_id: id.clone() }.encode_to_vec();
    let spec = || v1::ExecutionSpec { session_id: ids.session.clone(), ..spec("true") };
    match (path.rsplit('.').next().unwrap(), field) {
        ("SessionService/Get" | "SessionService/Close" | "SessionService/Update", "session_id") => {
            alone(&ids.session)
        }
        ("SessionService/Forward", "open.session_id") => forward(ids),
        ("FileService/Stat" | "FileService/List" | "FileService/Diff", "session_id") => alone(&ids.session),
        ("FileService/Download" | "FileService/ListQuarantine", "session_id") => alone(&ids.session),
        ("FileService/RestoreQuarantine", "session_id" | "quarantine_id") => {
            let (session_id, quarantine_id) = (ids.session.clone(), "0123456789ab".to_owned());
            v1::FileServiceRestoreQuarantineRequest { session_id, quarantine_id }.encode_to_vec()
        }
        ("FileService/Upload", "header.session_id") => {
            let session_id = ids.session.clone();
            let format = v1::FileFormat::File.into();
            let header = v1::UploadHeader { session_id, path: "x".into(), format, ..Default::default() };
            let part = Some(v1::file_service_upload_request::Part::Header(header));
            v1::FileServiceUploadRequest { part }.encode_to_vec()
        }
        ("ExecutionService/Watch", "session_id") => alone(&ids.session),
        ("ExecutionService/Run" | "ExecutionService/Start", "spec.session_id") => {
            v1::ExecutionServiceStartRequest { spec: Some(spec()) }.encode_to_vec()
        }
        ("ExecutionService/Attach" | "ExecutionService/Get" | "ExecutionService/Cancel", "execution_id")
        | ("ExecutionService/Detach" | "ExecutionService/ReadOutput", "execution_id")
        | ("ExecutionService/WriteStdin", "execution_id") => alone(&ids.execution),
        ("ExecutionService/Signal", "execution_id") => {
            let signal = v1::Signal::Int.into();
            v1::ExecutionServiceSignalRequest { execution_id: ids.execution.clone(), signal }.encode_to_vec()
        }
        ("ExecutionService/Resize", "execution_id") => {
            let size = Some(v1::TerminalSize { rows: 24, cols: 80 });
            v1::ExecutionServiceResizeRequest { execution_id: ids.execution.clone(), size }.encode_to_vec()
        }
        ("ExecutionService/Wait", "execution_id") => {
            let timeout = Some(prost_types::Duration { seconds: 0, nanos: 1_000_000 });
            v1::ExecutionServiceWaitRequest { execution_id: ids.execution.clone(), timeout }.encode_to_vec()
        }
        ("ExecutionService/List", "filter.session_id") => {
            let filter = v1::ExecutionFilter { session_id: ids.session.clone(), ..Default::default() };
            v1::ExecutionServiceListRequest { filter: Some(filter), ..Default::default() }.encode_to_vec()
        }
        ("ApprovalService/List", "filter.session_id") => {
            let filter = v1::ApprovalFilter { session_id: ids.session.clone(), states: vec![1, 2, 3, 4, 5] };
            v1::ApprovalServiceListRequest { filter: Some(filter), page: None }.encode_to_vec()
        }
        ("ApprovalService/Decide", "approval_id") => {
            use v1::approval_service_decide_request::{AllowOnce, Answer};
            v1::ApprovalServiceDecideRequest {
                approval_id: ids.approval.clone(),
                binding: ids.binding.clone().into(),
                answer: Some(Answer::AllowOnce(AllowOnce {})),
            }
            .encode_to_vec()
        }
        ("ApprovalService/ListRules", "filter.session_id") => {
            let filter = v1::RuleFilter { session_id: ids.session.clone() };
            v1::ApprovalServiceListRulesRequest { filter: Some(filter), page: None }.encode_to_vec()
        }
        ("ApprovalService/RemoveRule", "rule_id") => {
            v1::ApprovalServiceRemoveRuleRequest { rule_id: ids.rule.clone() }.encode_to_vec()
        }
        ("PolicyService/Check", "session_id") => {
            let session_id = ids.session.clone();
            v1::PolicyServiceCheckRequest { command: "true".into(), session_id, ..Default::default() }
                .encode_to_vec()
        }
        _ => panic!("{path} takes an id in `{field}`, and there is no case for it"),
    }
}

fn forward(ids: &Ids) -> Vec<u8> {
    let open = v1::ForwardOpen { session_id: ids.session.clone(), port: 8000 };
    let message = Some(v1::session_service_forward_request::Message::Open(open));
    v1::SessionServiceForwardRequest { message }.encode_to_vec()
}

/// Returns everything in a response, with the requested ID replaced.
fn told(answer: &Answer, ids: &Ids) -> String {
    let mut told = format!(
        "{:?} {} {:?} {:?} {:?}",
        answer.status.code(),
        answer.status.message(),
        answer.reason(),
        answer.metadata(),
        answer.messages,
    );
    for id in [&ids.session, &ids.execution, &ids.approval, &ids.rule] {
        told = told.replace(id.as_str(), "ID");
    }
    told
}

/// Creates executions of `acme` that wait for an approval.
async fn made_by_acme(fixture: &Fixture) -> Ids {
    let request = v1::SessionServiceCreateRequest { profile: "demo".to_owned(), ..Default::default() };
    let session = fixture.client.create_session(request).await.unwrap().session_id;
    let spec = v1::ExecutionSpec {
        session_id: session.clone(),
        on_ask: v1::OnAsk::Wait.into(),
        ..spec("make something")
    };
    let execution = fixture.client.start(spec).await.unwrap();
    assert_eq!(execution.state(), v1::ExecutionState::PendingApproval);
    let list = fixture.client.approvals(v1::ApprovalServiceListRequest::default()).await.unwrap();
    let binding = list.approvals[0].binding.to_vec();
    let rule = remembered_by_acme(fixture).await;
    Ids { session, execution: execution.execution_id, approval: execution.approval_id, rule, binding }
}

/// Creates a remembered rule of `acme`.
async fn remembered_by_acme(fixture: &Fixture) -> String {
    use v1::approval_service_decide_request::{AllowAndRemember, Answer};
    let session = v1::SessionServiceCreateRequest { profile: "strict".to_owned(), ..Default::default() };
    let session_id = fixture.client.create_session(session).await.unwrap().session_id;
    let spec = v1::ExecutionSpec { session_id, on_ask: v1::OnAsk::Wait.into(), ..spec("touch x") };
    let approval_id = fixture.client.start(spec).await.unwrap().approval_id;
    let approver = Client::connect_lazy(fixture.site.settings_with(&token("approver"))).unwrap();
    let open = approver.approvals(v1::ApprovalServiceListRequest::default()).await.unwrap().approvals;
    let approval = open.into_iter().find(|open| open.approval_id == approval_id).unwrap();
    let remember = AllowAndRemember { scope: v1::RuleScope::Session.into(), rules: Vec::new() };
    let answer = Some(Answer::AllowAndRemember(remember));
    let request = v1::ApprovalServiceDecideRequest { approval_id, binding: approval.binding, answer };
    approver.decide(request).await.unwrap();
    let rules = approver.rules(v1::ApprovalServiceListRulesRequest::default()).await.unwrap().rules;
    rules.first().unwrap().rule_id.clone()
}

async fn ask(connection: &Connection, authorization: &str, path: &str, field: &str, ids: &Ids) -> Answer {
    call(connection, path, authorization, &request(path, field, ids)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn another_tenants_ids_are_as_if_they_did_not_exist() {
    let fixture = Fixture::new().await;
    let connection = fixture.connect().await;
    let acme = made_by_acme(&fixture).await;
    let nothing = Ids {
        session: UNKNOWN.to_owned(),
        execution: UNKNOWN.to_owned(),
        approval: UNKNOWN.to_owned(),
        rule: UNKNOWN.to_owned(),
        binding: acme.binding.clone(),
    };
    let stranger = format!("Bearer {}", token(STRANGER));
    let schema = Schema::of_the_contract();
    let mut count = 0;
    for method in schema.public() {
        for field in schema.fields(&method.request) {
            let name = field.path.rsplit('.').next().unwrap();
            // Keys of the caller, and runners, which belong to no tenant.
            if !name.ends_with("_id") || ["request_id", "transfer_id", "runner_id"].contains(&name) {
                continue;
            }
            let place = format!("{} {}", method.path, field.path);
            let theirs = ask(&connection, &stranger, &method.path, &field.path, &acme).await;
            let unknown = ask(&connection, &stranger, &method.path, &field.path, &nothing).await;
            assert_eq!(told(&theirs, &acme), told(&unknown, &nothing), "{place}");
            if (method.path.ends_with("/List") || method.path.ends_with("/ListRules"))
                && !method.path.contains("FileService")
            {
                assert_eq!(theirs.status.code(), Code::Ok, "{place}: {:?}", theirs.status);
                assert!(theirs.messages[0].is_empty(), "{place}: an empty page");
            } else {
                let got = (theirs.status.code(), theirs.reason());
                assert_eq!(got, (Code::NotFound, "NOT_FOUND".to_owned()), "{place}: {:?}", theirs.status);
            }
            count += 1;
        }
    }
    assert!(count >= 24, "{count} cases");
    assert_lists_are_empty(&fixture, &connection, &stranger).await;

    // Nothing has changed. The control: the owner has access to everything.
    let execution = fixture.client.execution(&acme.execution).await.unwrap();
    assert_eq!(execution.state(), v1::ExecutionState::PendingApproval);
    let agent = fixture.agent();
    for (path, field) in [
        ("/airlock.v1.SessionService/Get", "session_id"),
        ("/airlock.v1.PolicyService/Check", "session_id"),
        ("/airlock.v1.ExecutionService/Get", "execution_id"),
        ("/airlock.v1.ExecutionService/Cancel", "execution_id"),
        ("/airlock.v1.SessionService/Close", "session_id"),
    ] {
        let answer = ask(&connection, &agent, path, field, &acme).await;
        assert_eq!(answer.status.code(), Code::Ok, "control: {path}: {:?}", answer.status);
    }
    fixture.runs_on().await;
}

async fn assert_lists_are_empty(fixture: &Fixture, connection: &Connection, stranger: &str) {
    let agent = fixture.agent();
    for path in [
        "/airlock.v1.SessionService/List",
        "/airlock.v1.ExecutionService/List",
        "/airlock.v1.ApprovalService/List",
        "/airlock.v1.ApprovalService/ListRules",
    ] {
        let theirs = call(connection, path, stranger, &[]).await;
        assert!(theirs.messages[0].is_empty(), "{path}");
        let own = call(connection, path, &agent, &[]).await;
        assert!(!own.messages[0].is_empty(), "control: {path}");
    }
    // A filter by another tenant's principal does not help.
    let filter = v1::ExecutionFilter { principal: "agent".to_owned(), ..Default::default() };
    let request = v1::ExecutionServiceListRequest { filter: Some(filter), ..Default::default() };
    let answer =
        call(connection, "/airlock.v1.ExecutionService/List", stranger, &request.encode_to_vec()).await;
    assert!(answer.messages[0].is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_of_another_tenant_is_nobodys() {
    let fixture = Fixture::new().await;
    let connection = fixture.connect().await;
    let with_key = |command: &str| {
        let spec = v1::ExecutionSpec { request_id: "the-key".to_owned(), ..spec(command) };
        v1::ExecutionServiceStartRequest { spec: Some(spec) }.encode_to_vec()
    };
    let path = "/airlock.v1.ExecutionService/Start";
    let stranger = format!("Bearer {}", token(STRANGER));
    let id = |answer: &Answer| {
        assert_eq!(answer.status.code(), Code::Ok, "{:?}", answer.status);
        let response = v1::ExecutionServiceStartResponse::decode(answer.messages[0].clone()).unwrap();
        response.execution.unwrap().execution_id
    };
    let ours = id(&call(&connection, path, &fixture.agent(), &with_key("echo ours")).await);
    let theirs = id(&call(&connection, path, &stranger, &with_key("echo theirs")).await);
    assert_ne!(ours, theirs, "the same key of another tenant is a separate key");
    assert_eq!(id(&call(&connection, path, &fixture.agent(), &with_key("echo ours")).await), ours, "control");
    let other = call(&connection, path, &fixture.agent(), &with_key("echo other")).await;
    assert_eq!((other.status.code(), other.reason()), (Code::AlreadyExists, "REQUEST_ID_REUSED".to_owned()));
    fixture.runs_on().await;
}
