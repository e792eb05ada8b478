//! Tests of the specification that a request results in.

use airlock_domain::{Given, Shell};
use airlock_store::testing::records::session;

use super::*;
use crate::profiles::Profiles;

fn resolved() -> std::sync::Arc<ResolvedProfile> {
    Profiles::builtin().get("demo").unwrap().clone()
}

fn request() -> StartExecution {
    let command = CommandSpec { text: b"make".to_vec(), ..CommandSpec::default() };
    StartExecution { command, ..StartExecution::default() }
}

#[test]
fn what_the_client_did_not_set_comes_from_session_and_profile() {
    let (session, profile) = (session("t"), resolved());
    let plain = of(&session, &profile, &request()).unwrap().command;
    assert_eq!((plain.shell, plain.timeout), (session.shell, profile.command.timeout));
    assert_eq!((plain.inline_limit, &plain.directory), (profile.command.inline_limit, &session.directory));
    assert_eq!(plain.env, session.env);
    let given = Given { shell: true, timeout: true, inline_limit: true, umask: true };
    let timeout = Duration::from_secs(3);
    let umask = "007".parse().unwrap();
    let command = CommandSpec { shell: Shell::Zsh, timeout, inline_limit: 5, umask, ..request().command };
    let set = of(&session, &profile, &StartExecution { command, given, ..request() }).unwrap();
    assert_eq!((set.command.shell, set.command.timeout, set.command.inline_limit), (Shell::Zsh, timeout, 5));
    assert_eq!((plain.umask, set.command.umask), (profile.command.umask, umask));
    assert_eq!(set.given, given, "which is stored");
}

/// Each field that a request's hash does not cover. A retry with another value gets the first execution.
#[test]
fn a_field_that_no_retry_is_told_apart_by_is_harmless() {
    let (session, profile) = (session("t"), resolved());
    let first = of(&session, &profile, &request()).unwrap();
    for field in StartExecution::UNBOUND {
        let mut other = request();
        match field.field {
            "request_id" => other.request_id = Some("k".to_owned()),
            "description" => other.description = "d".to_owned(),
            "labels" => other.labels = [("a".to_owned(), "b".to_owned())].into(),
            "traceparent" => other.traceparent = "00-".to_owned(),
            name => panic!("no test shows why `{name}` need not be bound"),
        }
        assert_ne!(other, request(), "`{}` was changed", field.field);
        let spec = of(&session, &profile, &other).unwrap();
        let (description, labels) = (first.description.clone(), first.labels.clone());
        assert_eq!(
            ExecutionSpec { description, labels, ..spec },
            first,
            "`{}` changes the launch",
            field.field
        );
    }
}
