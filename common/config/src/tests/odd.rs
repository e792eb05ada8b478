//! Tests of unusual texts: messages are short, stay on one line, and do not affect a terminal.

use super::*;

/// Asserts that the text is refused with a short, printable message, and returns the message.
fn told(text: &str) -> String {
    let said = said(text);
    assert!(!said.is_empty() && said.len() < 64 * 1024, "{} bytes", said.len());
    assert!(said.chars().all(|c| c == '\n' || !c.is_control()), "{said:?}");
    assert!(said.lines().all(|line| line.starts_with("f.toml")), "{said}");
    said
}

#[test]
fn tables_and_lists_are_told_apart_wherever_they_stand() {
    for (text, expected) in [
        (
            "\u{feff}id = \"one\"\n[listen]\naddress = 5\n",
            "f.toml:3:11: `listen.address`: it is the whole number 5",
        ),
        ("id = \"one\"\r\nlisten.address = 5\r\n", "f.toml:2:18: `listen.address`: it is the whole number 5"),
        (
            "id = \"one\"\nlisten = { address = \"a:b\", plain = 3 }",
            "f.toml:2:37: `listen.plain`: it is the whole number 3",
        ),
        (
            "id = \"one\"\nlisten.address = \"a:b\"\n[listen]\n",
            "f.toml:3:2: `listen`: it is set twice; keep one",
        ),
        (
            "id = \"one\"\n[[listen]]\naddress = \"a:b\"\n",
            "f.toml:2:3: `listen`: it is a list; write a table",
        ),
        (
            "[identity]\n[listen]\naddress = \"a:b\"\n",
            "f.toml:1:2: `identity`: it is a table; begin each of them",
        ),
        (
            "[identity]\n[identity]\n",
            "f.toml:2:2: `identity`: it is set twice; begin each of them with its name in double brackets",
        ),
    ] {
        let said = told(text);
        assert!(said.contains(expected), "{said}");
    }
}

#[test]
fn a_time_that_no_clock_can_count_to_is_refused() {
    let said = told(&FULL.replace("keep = \"0s\"", "keep = \"9999999999years\""));
    assert!(said.contains("`limits.keep`") && said.ends_with("1year at most"), "{said}");
}

#[test]
fn a_key_does_nothing_to_a_terminal() {
    let said = told("id = \"one\"\nlisten.address = \"a:b\"\n\"a\\n\\u001b[31m\u{202e}\" = 5\n");
    assert_eq!(said.lines().count(), 1);
    assert!(said.contains(r"`a\n\u{1b}[31m\u{202e}`"), "{said}");
    let error = ConfigError::whole("a\u{1b}b", "`c\nd` is not a file", "name one");
    assert_eq!(error.to_string(), r"a\u{1b}b: `c\nd` is not a file; name one");
}

#[test]
fn however_much_is_wrong_the_answer_is_short_and_comes_soon() {
    let keys: String = (0..90_000).map(|number| format!("a{number} = 1\n")).collect();
    let numbers = format!("identity = [{}1]", "1,".repeat(400_000));
    let nothing = "=\n".repeat(400_000);
    let long = format!("{} = {}", "k".repeat(400_000), "9".repeat(400_000));
    let deep = format!("id = {}1{}", "[".repeat(100_000), "]".repeat(100_000));
    for text in [&keys, &numbers, &nothing] {
        let said = told(text);
        assert!(
            said.ends_with("there are more than 100 problems; correct the problems above first"),
            "{said}"
        );
    }
    for text in [&long, &deep] {
        let _ = told(text);
    }
    let problem = |number| Problem {
        origin: None,
        field: format!("a{number}"),
        what: "it is wrong".to_owned(),
        cure: "mend it".to_owned(),
    };
    let error =
        ConfigError::unless_right("f.toml", Some(&keys), (0..50_000).map(problem).collect()).unwrap_err();
    assert_eq!(error.problems.len(), 101);
    assert_eq!(error.problems[2].origin, Some(Origin::Place(Place { line: 3, column: 1 })));
}
