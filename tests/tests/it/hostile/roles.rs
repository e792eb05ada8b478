//! Every method of the contract without credentials and with each single role. The permitted callers
//! are listed here a second time by hand; a method that is missing here fails the test.
//!
//! The request is unreadable, so a permitted caller gets an error without an effect.

use airlock_tests::{
    raw::{Answer, frame},
    schema::Schema,
};
use tonic::Code;

use crate::hostile::fixture::{Fixture, ROLES, call, token};

/// Each method, and whether executor, approver, auditor, admin, runner and server may call it.
const MAY: [(&str, [bool; 6]); 43] = [
    ("/airlock.v1.SessionService/Create", [true, false, false, false, false, false]),
    ("/airlock.v1.SessionService/Get", [true, true, true, true, false, false]),
    ("/airlock.v1.SessionService/List", [true, true, true, true, false, false]),
    ("/airlock.v1.SessionService/Close", [true, false, false, true, false, false]),
    ("/airlock.v1.ExecutionService/Run", [true, false, false, false, false, false]),
    ("/airlock.v1.ExecutionService/Start", [true, false, false, false, false, false]),
    ("/airlock.v1.ExecutionService/Attach", [true, false, true, true, false, false]),
    ("/airlock.v1.ExecutionService/Wait", [true, true, true, true, false, false]),
    ("/airlock.v1.ExecutionService/Get", [true, true, true, true, false, false]),
    ("/airlock.v1.ExecutionService/List", [true, true, true, true, false, false]),
    ("/airlock.v1.ExecutionService/Cancel", [true, false, false, true, false, false]),
    ("/airlock.v1.PolicyService/Check", [true, true, true, true, false, false]),
    ("/airlock.v1.ApprovalService/List", [true, true, true, true, false, false]),
    ("/airlock.v1.ApprovalService/Decide", [false, true, false, false, false, false]),
    ("/airlock.v1.ApprovalService/ListRules", [true, true, true, true, false, false]),
    ("/airlock.v1.ApprovalService/RemoveRule", [false, true, false, true, false, false]),
    ("/airlock.v1.AdminService/ListRunners", [false, false, false, true, false, false]),
    ("/airlock.v1.SessionService/Update", [true, false, false, false, false, false]),
    ("/airlock.v1.SessionService/Forward", [true, false, false, false, false, false]),
    ("/airlock.v1.ExecutionService/Signal", [true, false, false, true, false, false]),
    ("/airlock.v1.ExecutionService/Resize", [true, false, false, false, false, false]),
    ("/airlock.v1.ExecutionService/Detach", [true, false, false, false, false, false]),
    ("/airlock.v1.ExecutionService/WriteStdin", [true, false, false, false, false, false]),
    ("/airlock.v1.ExecutionService/ReadOutput", [true, false, true, true, false, false]),
    ("/airlock.v1.ExecutionService/Watch", [true, true, true, true, false, false]),
    ("/airlock.v1.FileService/Upload", [true, false, false, false, false, false]),
    ("/airlock.v1.FileService/Download", [true, false, false, false, false, false]),
    ("/airlock.v1.FileService/Stat", [true, false, false, false, false, false]),
    ("/airlock.v1.FileService/List", [true, false, false, false, false, false]),
    ("/airlock.v1.FileService/Diff", [true, true, true, false, false, false]),
    ("/airlock.v1.FileService/ListQuarantine", [true, true, true, false, false, false]),
    ("/airlock.v1.FileService/RestoreQuarantine", [false, true, false, false, false, false]),
    ("/airlock.v1.PolicyService/GetProfile", [true, true, true, true, false, false]),
    ("/airlock.v1.PolicyService/ListProfiles", [true, true, true, true, false, false]),
    ("/airlock.v1.AdminService/DrainRunner", [false, false, false, true, false, false]),
    ("/airlock.v1.AdminService/GetCapabilities", [false, false, false, true, false, false]),
    ("/airlock.runner.v1.RunnerLink/Exchange", [false, false, false, false, true, false]),
    ("/airlock.runner.v1.RunnerLink/Connect", [false, false, false, false, true, false]),
    ("/airlock.runner.v1.RunnerLink/PushOutput", [false, false, false, false, true, false]),
    ("/airlock.server.v1.Peer/Tell", [false, false, false, false, false, true]),
    ("/airlock.server.v1.Peer/Nudge", [false, false, false, false, false, true]),
    ("/airlock.server.v1.Peer/RelayOutput", [false, false, false, false, false, true]),
    ("/airlock.server.v1.Peer/RelayExchange", [false, false, false, false, false, true]),
];

/// An invalid message.
const UNREADABLE: &[u8] = &[0x0a, 0xff, 0xff, 0xff];

fn assert_admission(answer: &Answer, may: bool, place: &str) {
    let got = (answer.status.code(), answer.reason());
    let expected = if may {
        (Code::InvalidArgument, "MALFORMED_MESSAGE".to_owned())
    } else {
        (Code::PermissionDenied, "FORBIDDEN".to_owned())
    };
    assert_eq!(got, expected, "{place}: {:?}", answer.status);
}

#[test]
fn every_method_of_the_contract_is_in_the_table() {
    let schema = Schema::of_the_contract();
    let mut contract: Vec<&str> = schema.methods.iter().map(|method| method.path.as_str()).collect();
    let mut table: Vec<&str> = MAY.iter().map(|(path, _)| *path).collect();
    contract.sort_unstable();
    table.sort_unstable();
    assert_eq!(contract, table);
    for (path, may) in MAY {
        assert!(
            may.contains(&true) && may.contains(&false),
            "{path} has an insufficient role and a sufficient one"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_method_wants_credentials_and_the_right_role() {
    let fixture = Fixture::new().await;
    let connection = fixture.connect().await;
    let pair = fixture.site.pki.issue("runner-2", &[]);
    let as_runner = fixture.connect_with(&pair).await.unwrap();
    let pair = fixture.site.pki.issue("server-2", &[]);
    let as_server = fixture.connect_with(&pair).await.unwrap();
    for (path, may) in MAY {
        let nobody = connection.call(path, &[], frame(UNREADABLE)).await.unwrap();
        let got = (nobody.status.code(), nobody.reason());
        assert_eq!(
            got,
            (Code::Unauthenticated, "CREDENTIALS_MISSING".to_owned()),
            "{path}: {:?}",
            nobody.status
        );
        for (role, may) in ROLES.iter().zip(may) {
            let authorization = format!("Bearer {}", token(role));
            let answer = call(&connection, path, &authorization, UNREADABLE).await;
            assert_admission(&answer, may, &format!("{path} as {role}"));
        }
        let answer = as_runner.call(path, &[], frame(UNREADABLE)).await.unwrap();
        assert_admission(&answer, may[4], &format!("{path} as a runner"));
        let answer = as_server.call(path, &[], frame(UNREADABLE)).await.unwrap();
        assert_admission(&answer, may[5], &format!("{path} as a server"));
        // A token takes precedence over the connection's certificate: the runner's role is not added.
        let authorization = format!("Bearer {}", token("admin"));
        let answer = call(&as_runner, path, &authorization, UNREADABLE).await;
        assert_admission(&answer, may[3], &format!("{path} as admin on a runner's connection"));
    }
    fixture.runs_on().await;
}
