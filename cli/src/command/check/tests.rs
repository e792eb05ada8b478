//! Tests of request lines and profiles in one process.

use serde_json::Value;

use super::*;

fn answers(input: &[u8]) -> Vec<Value> {
    let mut out = Vec::new();
    let profile = Profile::builtin(PROFILE).unwrap();
    answer_lines(&mut io::Cursor::new(input), &mut out, &profile).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert!(text.is_empty() || text.ends_with('\n'));
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn every_line_gets_one_answer_in_order() {
    let long = vec![b'x'; LINE_BYTES + 1];
    let input = [
        br#"{"command": "git push", "rules": {"deny": ["Bash(git push:*)"]}}"#.as_slice(),
        b"not json",
        b"",
        b"\xff",
        &long,
        br#"{"command": "x", "mode": "nonsense"}"#,
        br#"{"command": "git push origin", "rules": {"deny": ["Bash(git push:*)"]}, "shell": "bash", "cwd": "/workspace", "mode": "plan"}"#,
    ]
    .join(&b'\n');
    let answers = answers(&input);
    let verdicts: Vec<_> = answers.iter().map(|a| a["decision"].as_str().unwrap()).collect();
    assert_eq!(verdicts, ["deny", "ask", "ask", "ask", "ask", "ask", "deny"]);
    let errors: Vec<_> = answers.iter().map(|a| a.get("error").is_some()).collect();
    assert_eq!(errors, [false, true, true, true, true, true, false]);
    for answer in [&answers[0], &answers[6]] {
        for field in ["reasons", "commands", "read_only", "parse_complete", "policy_version"] {
            assert!(answer.get(field).is_some(), "{field} in {answer}");
        }
    }
}

#[test]
fn no_line_no_answer_and_a_last_line_without_end_counts() {
    assert!(answers(b"").is_empty());
    assert_eq!(answers(b"\n").len(), 1);
    assert_eq!(answers(br#"{"command": "ls"}"#).len(), 1);
}
