//! The escaper: nothing hides, and two texts never look the same.

use proptest::prelude::*;

use super::*;

/// What was escaped, out of what is shown.
fn unescape(shown: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = shown;
    while let Some(c) = rest.chars().next() {
        let escape = ["\\u{", "\\x{"].into_iter().find(|start| rest.starts_with(start));
        if let Some(start) = escape {
            let (digits, after) = rest[start.len()..].split_once('}').unwrap();
            let value = u32::from_str_radix(digits, 16).unwrap();
            if start == "\\x{" {
                out.push(u8::try_from(value).unwrap());
            } else {
                out.extend_from_slice(char::from_u32(value).unwrap().to_string().as_bytes());
            }
            rest = after;
        } else {
            if c != '\n' {
                out.push(u8::try_from(c).unwrap());
            }
            rest = &rest[c.len_utf8()..];
        }
    }
    out
}

#[test]
fn shows_what_hides() {
    for (raw, shown) in [
        ("ls -la", "ls -la"),
        ("sed 's/\\(a\\)/\\n/'", "sed 's/\\(a\\)/\\n/'"),
        ("a\nb", "a\\u{a}b"),
        ("a\tb", "a\\u{9}b"),
        ("ls ", "ls\\u{20}"),
        ("\u{202e}x", "\\u{202e}x"),
        ("r\u{200b}m", "r\\u{200b}m"),
        ("\u{441}\u{440} a b", "\\u{441}\\u{440} a b"),
        ("e\u{301}", "e\\u{301}"),
        ("\u{e9}", "\\u{e9}"),
        ("\x1b[2J", "\\u{1b}[2J"),
        ("\\u{202e}", "\\u{5c}u{202e}"),
        ("\\\\u{a}", "\\\\u{5c}u{a}"),
        ("\u{a0}", "\\u{a0}"),
    ] {
        assert_eq!(line(raw.as_bytes()), shown);
    }
    assert_eq!(line(b"\xff\xc3"), "\\x{ff}\\x{c3}");
    assert_eq!(lines(b"a\n\nb"), "a\\u{a}\n\\u{a}\nb");
}

#[test]
fn letters_can_be_read_beside() {
    assert_eq!(readable(b"ls"), None);
    assert_eq!(readable("f\u{fc}r a\nb\u{202e}".as_bytes()).unwrap(), "f\u{fc}r a\nb\\u{202e}");
    assert_eq!(readable("\u{5d0}".as_bytes()), None);
    let word = "\u{43f}\u{440}\u{438}\u{432}\u{435}\u{442}";
    assert_eq!(readable(format!("echo {word}").as_bytes()).unwrap(), format!("echo {word}"));
    for mixed in ["c\u{430}t x", "g\u{3bf}", "\u{3bf}\u{430}", "\u{ff52}m", "\u{1d42b}m", "\u{299}in"] {
        assert_eq!(readable(mixed.as_bytes()), None, "{mixed}");
    }
    let both = format!("c\u{430}t {word}");
    assert_eq!(readable(both.as_bytes()).unwrap(), format!("c\\u{{430}}t {word}"), "only whole words");
}

#[test]
fn marks_stand_under_what_they_mark() {
    let mark = |text: &str, start, end| underlined(text.as_bytes(), start, end);
    assert_eq!(mark("git push x", 4, 8), ("git push x".into(), "    ^^^^".into()));
    assert_eq!(mark("a\nrm x\nb", 2, 4), ("rm x".into(), "^^".into()));
    assert_eq!(mark("\t\u{e9} x", 4, 5), ("\\u{9}\\u{e9} x".into(), "            ^".into()));
    assert_eq!(mark("ls", 9, 12), ("ls".into(), "  ^".into()));
    assert_eq!(mark("", 0, 0), (String::new(), "^".into()));
    let long = format!("{}HERE{}", "a".repeat(500), "b".repeat(500));
    let (shown, marks) = mark(&long, 500, 504);
    assert!(shown.len() < 200 && shown.starts_with("...a") && shown.ends_with("b..."));
    assert_eq!(&shown[marks.find('^').unwrap()..marks.len()], "HERE");
}

proptest! {
    #[test]
    fn is_injective_and_printable(bytes in any::<Vec<u8>>()) {
        prop_assert!(line(&bytes).bytes().all(|b| b == b' ' || b.is_ascii_graphic()));
        prop_assert!(lines(&bytes).bytes().all(|b| b == b' ' || b == b'\n' || b.is_ascii_graphic()));
        prop_assert_eq!(&unescape(&line(&bytes)), &bytes);
        prop_assert_eq!(&unescape(&lines(&bytes)), &bytes);
    }

    #[test]
    fn is_injective_where_escapes_are_imitated(text in "[\\\\ux{}a0 \n\u{202e}]{0,24}") {
        prop_assert_eq!(unescape(&line(text.as_bytes())), text.as_bytes());
        prop_assert_eq!(unescape(&lines(text.as_bytes())), text.as_bytes());
    }

    #[test]
    fn what_can_be_read_beside_holds_nothing_that_hides(text in any::<String>()) {
        if let Some(beside) = readable(text.as_bytes()) {
            for word in beside.split(|c: char| !c.is_alphanumeric()) {
                prop_assert!(word.is_single_script(), "{}", word);
            }
            prop_assert!(!beside.chars().any(|c| (c != '\n' && c.is_control()) || is_invisible(c)));
        }
    }

    #[test]
    fn marks_never_fail(bytes in any::<Vec<u8>>(), start in 0_usize..64, length in 0_usize..64) {
        let (shown, marks) = underlined(&bytes, start, start + length);
        prop_assert!(marks.contains('^'));
        prop_assert!(shown.len() <= 2 * COLUMNS && marks.len() <= 2 * COLUMNS);
    }
}
