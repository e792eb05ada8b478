//! Every field of every request, with values beyond its limits or of a wrong form: INVALID_ARGUMENT
//! names exactly the invalid fields. A field of the contract without a case fails
//! [`every_field_of_the_contract_has_a_case`].

mod cases;

use std::collections::BTreeSet;

use airlock_domain::limits::ERROR_DETAIL_BYTES;
use airlock_proto::v1;
use airlock_tests::{
    raw::Answer,
    schema::{Field, Schema},
};
use cases::{Case, all, worst_spec};
use prost_types::field_descriptor_proto::Type;
use tonic::Code;

use crate::hostile::fixture::{Fixture, call};

/// Methods and fields for which every value is valid, and the reason.
const ANY_VALUE: [(&str, &str, &str); 15] = [
    ("Attach", "offsets.stdout", "what is past the end is OUT_OF_RANGE; see below"),
    ("Attach", "offsets.stderr", "what is past the end is OUT_OF_RANGE; see below"),
    ("ReadOutput", "range.offset", "what is past the end is OUT_OF_RANGE; see the tests of output"),
    ("ReadOutput", "range.length", "more than there is gives what there is"),
    ("ReadOutput", "search.offset", "what is past the end is OUT_OF_RANGE; see the tests of output"),
    ("ReadOutput", "head.bytes", "more than there is gives what there is"),
    ("ReadOutput", "tail.bytes", "more than there is gives what there is"),
    ("WriteStdin", "data", "is looked at once its execution is found; see the tests of input"),
    ("WriteStdin", "offset", "what is past the end is OUT_OF_RANGE; see the tests of input"),
    ("Upload", "header.size", "what does not come is OUT_OF_RANGE; see the tests of files"),
    ("Upload", "chunk.offset", "follows the header; see the tests of files"),
    ("Upload", "chunk.data", "follows the header; see the tests of files"),
    ("Forward", "end", "it has no fields"),
    ("Forward", "data", "follows `open`; see the tests of forwarded connections"),
    ("Decide", "allow_once", "it has no fields"),
];

/// Returns the fields that need cases: fields with a value, whole maps and times, and required
/// messages.
fn to_be_covered(fields: &[Field]) -> Vec<&Field> {
    let whole = |field: &Field| field.map || field.type_name.starts_with(".google.protobuf.");
    let within = |field: &Field| {
        fields.iter().any(|outer| whole(outer) && field.path.starts_with(&format!("{}.", outer.path)))
    };
    let holds_others = |field: &Field| {
        field.kind == Type::Message
            && !whole(field)
            && fields.iter().any(|inner| inner.path.starts_with(&format!("{}.", field.path)))
    };
    fields.iter().filter(|field| !within(field) && !holds_others(field) && field.kind != Type::Bool).collect()
}

/// Returns the field of a violation: `spec.env` for `spec.env["X"]`, `filter.states` for
/// `filter.states[0]`.
fn about(violated: &str) -> &str {
    violated.split('[').next().unwrap_or_default()
}

fn assert_names_exactly(answer: &Answer, fields: &[&str], place: &str) {
    assert_eq!(answer.status.code(), Code::InvalidArgument, "{place}: {:?}", answer.status);
    let details = answer.details();
    let info = details.error_info().unwrap_or_else(|| panic!("{place}: no ErrorInfo"));
    assert_eq!((info.reason.as_str(), info.domain.as_str()), ("INVALID_REQUEST", "airlock"), "{place}");
    let violations = answer.violations();
    let named: BTreeSet<&str> = violations.iter().map(|(field, _)| about(field)).collect();
    let expected: BTreeSet<&str> = fields.iter().copied().collect();
    assert_eq!(named, expected, "{place}: {violations:?}");
    assert!(answer.status.details().len() <= ERROR_DETAIL_BYTES, "{place}: details fit into trailers");
    for (field, description) in violations {
        let one_line = !description.contains('\n') && !description.is_empty();
        assert!(one_line && !description.contains("Error"), "{place}: {field}: {description}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_bad_value_is_refused_by_the_name_of_its_field() {
    let fixture = Fixture::new().await;
    let connection = fixture.connect().await;
    let cases = all();
    assert!(cases.len() > 100, "{} cases", cases.len());
    for Case { path, field, description, request } in cases {
        let place = format!("{path} {field} ({description})");
        let answer = call(&connection, path, &fixture.agent(), &request).await;
        assert_names_exactly(&answer, &[field], &place);
        let said = answer.violations();
        assert!(said.iter().any(|(_, text)| text.contains(description)), "{place}: {said:?}");
    }
    fixture.runs_on().await;
}

#[test]
fn every_field_of_the_contract_has_a_case() {
    let schema = Schema::of_the_contract();
    let cases = all();
    let mut missing = Vec::new();
    for method in schema.public() {
        let fields = schema.fields(&method.request);
        for field in to_be_covered(&fields) {
            let is_here = |name: &str| method.path.ends_with(&format!("/{name}"));
            let exempt = ANY_VALUE.iter().any(|(name, path, _)| is_here(name) && *path == field.path);
            let covered = cases.iter().any(|case| case.path == method.path && case.field == field.path);
            assert!(!(exempt && covered), "{} {} has an unnecessary case", method.path, field.path);
            if !exempt && !covered {
                missing.push(format!("{} {}", method.path, field.path));
            }
        }
    }
    assert!(missing.is_empty(), "no case for {missing:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn all_bad_fields_are_named_at_once() {
    let fixture = Fixture::new().await;
    let connection = fixture.connect().await;
    let (spec, fields) = worst_spec();
    for path in ["/airlock.v1.ExecutionService/Run", "/airlock.v1.ExecutionService/Start"] {
        let request = v1::ExecutionServiceStartRequest { spec: Some(spec.clone()) };
        let answer = fixture.call(&connection, path, &request).await;
        assert_names_exactly(&answer, &fields, path);
    }
    let check = v1::PolicyServiceCheckRequest {
        command: "\0".to_owned(),
        shell: 99,
        session_id: "x".to_owned(),
        profile: "a/b".to_owned(),
        directory: "relative".into(),
        mode: 99,
        ..Default::default()
    };
    let answer = fixture.call(&connection, "/airlock.v1.PolicyService/Check", &check).await;
    assert_names_exactly(
        &answer,
        &["command", "shell", "session_id", "profile", "directory", "mode"],
        "Check",
    );
    let decide = v1::ApprovalServiceDecideRequest::default();
    let answer = fixture.call(&connection, "/airlock.v1.ApprovalService/Decide", &decide).await;
    assert_names_exactly(&answer, &["approval_id", "binding", "answer"], "Decide");
    fixture.runs_on().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn more_bad_fields_than_fit_are_counted_and_no_secret_is_repeated() {
    let fixture = Fixture::new().await;
    let connection = fixture.connect().await;
    let entry = |index: usize| (format!("{index}-{}", "n".repeat(100)), "s3cr3t-value\0".to_owned());
    let spec = v1::ExecutionSpec { env: (0..250).map(entry).collect(), ..Default::default() };
    let request = v1::ExecutionServiceStartRequest { spec: Some(spec) };
    let answer = fixture.call(&connection, "/airlock.v1.ExecutionService/Start", &request).await;
    assert_eq!(answer.status.code(), Code::InvalidArgument);
    assert!(answer.status.details().len() <= ERROR_DETAIL_BYTES, "{} bytes", answer.status.details().len());
    let violations = answer.violations();
    let (last, told) = violations.split_last().unwrap();
    assert!(told.len() > 10 && told.iter().all(|(field, _)| field.starts_with("spec.env[")), "{told:?}");
    assert!(last.1.contains("more"), "{last:?}");
    assert!(!format!("{answer:?}{violations:?}").contains("s3cr3t"), "values are not shown");
    assert!(!fixture.server.output().contains("s3cr3t"), "also in the log");
    fixture.runs_on().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn offsets_past_the_end_are_out_of_range_and_say_where_the_end_is() {
    let fixture = Fixture::new().await;
    let connection = fixture.connect().await;
    let execution_id = fixture.finished().await.execution_id;
    let attach = |stdout, stderr| v1::ExecutionServiceAttachRequest {
        execution_id: execution_id.clone(),
        from: Some(v1::execution_service_attach_request::From::Offsets(v1::OutputOffsets { stdout, stderr })),
    };
    let path = "/airlock.v1.ExecutionService/Attach";
    let control = fixture.call(&connection, path, &attach(5, 0)).await;
    assert_eq!(control.status.code(), Code::Ok, "control: the real end: {:?}", control.status);
    for (offsets, end) in [((6, 0), "5"), ((u64::MAX, 0), "5"), ((0, 1), "0"), ((0, u64::MAX), "0")] {
        let answer = fixture.call(&connection, path, &attach(offsets.0, offsets.1)).await;
        let got = (answer.status.code(), answer.reason());
        assert_eq!(got, (Code::OutOfRange, "OFFSET_PAST_END".to_owned()), "{offsets:?}: {:?}", answer.status);
        assert_eq!(answer.metadata()["end"], end, "{offsets:?}");
    }
    fixture.runs_on().await;
}
