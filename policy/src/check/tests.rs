//! What `airlock check` answers.

use super::*;

fn strict() -> Profile {
    Profile::builtin("strict").unwrap()
}

#[test]
fn a_line_that_is_not_json_gets_an_error() {
    let answer: serde_json::Value = serde_json::from_str(&answer_line("nope", &strict())).unwrap();
    assert_eq!(answer["decision"], "ask");
    assert!(answer["error"].as_str().unwrap().contains("not a request"));
}
