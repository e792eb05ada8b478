//! Tests of the escaper: no text is hidden, and two different texts never look the same.

use std::ops::Range;

use proptest::prelude::*;
use unicode_normalization::is_nfc;
use unicode_security::MixedScript as _;

use super::*;

/// Returns the original bytes of a shown line. That this is possible shows that escaping is injective.
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
            out.extend_from_slice(c.to_string().as_bytes());
            rest = &rest[c.len_utf8()..];
        }
    }
    out
}

/// Removes the line breaks of [`lines`], which carry no information: a visible `\u{a}` precedes each.
fn joined(shown: &str) -> String {
    shown.replace('\n', "")
}

fn is_ascii_line(shown: &str) -> bool {
    shown.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic())
}

/// Reports whether the text contains an unescaped character that hides, reorders or combines, or a word of
/// several scripts.
fn misleads(shown: &str) -> bool {
    use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory as _};
    let steers = |c: char| {
        use unicode_bidi::BidiClass::{AL, AN, R};
        hides(c)
            || matches!(unicode_bidi::bidi_class(c), R | AL | AN)
            || c.general_category_group() == GeneralCategoryGroup::Mark
    };
    shown.contains(steers) || shown.split(|c: char| !c.is_alphanumeric()).any(|word| !word.is_single_script())
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
    assert_eq!(shortened(b"0123456789", 10), "0123456789");
    assert_eq!(shortened(b"0123456789a", 10), "0123456...");
}

#[test]
fn names_keep_words_that_are_what_they_look_like() {
    let russian = "\u{43f}\u{440}\u{438}\u{432}\u{435}\u{442}";
    for kept in ["M\u{fc}ller.txt", "\u{6587}\u{4ef6}.md", "\u{30e1}\u{30e2}", russian, "a b", "\u{d55c}"] {
        assert_eq!(name(kept.as_bytes()), kept);
    }
    for (raw, shown) in [
        // Two scripts in a word.
        ("c\u{430}t x", "c\\u{430}t x"),
        // One script, but all of it looks like `copy`, `o`, `silent`.
        ("\u{441}\u{43e}\u{440}\u{443}", "\\u{441}\\u{43e}\\u{440}\\u{443}"),
        ("\u{3bf}", "\\u{3bf}"),
        ("s\u{131}lent", "s\\u{131}lent"),
        // Wide, mathematical and small capitals.
        ("\u{ff52}m", "\\u{ff52}m"),
        ("\u{1d42b}m", "\\u{1d42b}m"),
        ("\u{299}in", "\\u{299}in"),
        // Right-to-left, combining, zero-width, blank.
        ("\u{5d0}", "\\u{5d0}"),
        ("e\u{301}", "e\\u{301}"),
        ("a\u{200d}b", "a\\u{200d}b"),
        ("\u{3164}", "\\u{3164}"),
        ("\u{1100}\u{1161}", "\\u{1100}\\u{1161}"),
        ("a\tb", "a\\u{9}b"),
    ] {
        assert_eq!(name(raw.as_bytes()), shown);
    }
    assert_eq!(contents("\tf\u{fc}r\x1b".as_bytes()), "\tf\u{fc}r\\u{1b}");
    assert_eq!(name(b"\xff\xc3\xbc"), "\\x{ff}\u{fc}");
}

#[test]
fn letters_can_be_read_beside() {
    assert_eq!(readable(b"ls"), None);
    assert_eq!(readable(b"\xff\xc3\xbc"), None);
    assert_eq!(readable("\u{5d0} c\u{430}t".as_bytes()), None);
    assert_eq!(readable("f\u{fc}r a\nb\u{202e}".as_bytes()).unwrap(), "f\u{fc}r a\nb\\u{202e}");
}

#[test]
fn every_character_alone_is_itself_or_escaped() {
    for c in '\0'..=char::MAX {
        let text = c.to_string();
        let shown = name(text.as_bytes());
        assert!(!misleads(&shown), "{shown:?} of {c:?}");
        assert!(shown != text || is_nfc(&text), "{c:?} looks like its parts");
        assert_eq!(unescape(&shown), text.as_bytes());
        assert_eq!(line(text.as_bytes()) == text, c.is_ascii_graphic(), "{c:?}");
    }
}

#[test]
fn the_last_wall_lets_through_what_is_escaped_and_nothing_that_hides() {
    let made = format!("id  {}\n", line("\u{202e}\\u{a}".as_bytes()));
    assert_eq!(guard(&made), made);
    assert_eq!(guard("f\u{fc}r\u{202e}\x1b[2J\t\u{7f}"), "f\u{fc}r\\u{202e}\\u{1b}[2J\\u{9}\\u{7f}");
}

#[test]
fn json_says_the_same_without_what_hides() {
    let value = serde_json::json!({"a": "x\u{7f}\u{85}\u{202e}\u{200b}\u{e0001}\u{feff}\x1b\n f\u{fc}r c\u{430}t y\u{301}"});
    let text = value.to_string();
    let shown = json(&text);
    assert_ne!(shown, text);
    assert!(!misleads(&shown) && shown.contains("f\u{fc}r"), "{shown}");
    assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
    assert_eq!(json("{\"a\":\t\"\u{7f}\"}\n"), "{\"a\":\t\"\\u007f\"}\n");
}

fn marks(text: &str, span: Range<usize>, columns: usize) -> Vec<(String, String)> {
    let shown = excerpt(text.as_bytes(), span, columns);
    shown.lines.into_iter().map(|marked| (marked.line, marked.marks)).collect()
}

#[test]
fn marks_stand_under_what_they_mark() {
    let one = |line: &str, marks: &str| vec![(line.to_owned(), marks.to_owned())];
    assert_eq!(marks("git push x", 4..8, 80), one("git push x", "    ^^^^"));
    assert_eq!(marks("a\nrm x\nb", 2..4, 80), one("rm x", "^^"));
    assert_eq!(marks("\t\u{e9} x", 4..5, 80), one("\\u{9}\\u{e9} x", "            ^"));
    assert_eq!(marks("ls", 9..12, 80), one("ls", "  ^"));
    assert_eq!(marks("", 0..0, 80), one("", "^"));
    assert_eq!(marks("ls", 1..1, 80), one("ls", "  ^"));
    let two = [("a b".to_owned(), "  ^".to_owned()), ("c".to_owned(), "^".to_owned())];
    assert_eq!(marks("a b\nc\nd", 2..5, 80), two);
    let long = format!("{}HERE{}", "a".repeat(500), "b".repeat(500));
    let (shown, below) = marks(&long, 500..504, 160).remove(0);
    assert!(shown.len() <= 160 && shown.starts_with("...a") && shown.ends_with("b..."));
    assert_eq!(&shown[below.find('^').unwrap()..below.len()], "HERE");
    let many = excerpt(b"1\n2\n3\n4\n5\n6", 0..11, 80);
    assert_eq!((many.lines.len(), many.more), (4, 2));
}

/// Generates arbitrary bytes, and bytes that are likely to imitate others.
fn hostile() -> impl Strategy<Value = Vec<u8>> {
    let imitated = "[\\\\ux{}a0 \n\t\u{202e}\u{fc}\u{430}\u{441}\u{440}\u{200b}\u{301}\u{5d0}\u{6587}]{0,24}";
    prop_oneof![any::<Vec<u8>>(), any::<String>().prop_map(Into::into), imitated.prop_map(Into::into)]
}

proptest! {
    #[test]
    fn is_injective_and_printable(bytes in hostile()) {
        prop_assert!(is_ascii_line(&line(&bytes)));
        prop_assert!(lines(&bytes).split('\n').all(is_ascii_line));
        prop_assert_eq!(&unescape(&line(&bytes)), &bytes);
        prop_assert_eq!(&unescape(&joined(&lines(&bytes))), &bytes);
    }

    #[test]
    fn names_and_contents_are_injective_and_mislead_nobody(bytes in hostile()) {
        prop_assert_eq!(&unescape(&name(&bytes)), &bytes);
        prop_assert_eq!(&unescape(&contents(&bytes)), &bytes);
        prop_assert!(!misleads(&name(&bytes)), "{}", name(&bytes));
        prop_assert!(!misleads(&contents(&bytes).replace('\t', " ")), "{}", contents(&bytes));
    }

    #[test]
    fn what_can_be_read_beside_misleads_nobody(bytes in hostile()) {
        if let Some(beside) = readable(&bytes) {
            prop_assert!(!misleads(&beside.replace('\n', " ")), "{}", beside);
        }
    }

    #[test]
    fn the_last_wall_holds_and_changes_nothing_that_is_escaped(bytes in hostile()) {
        let guarded = guard(&String::from_utf8_lossy(&bytes)).into_owned();
        prop_assert!(!misleads(&guarded.replace('\n', " ")), "{}", guarded);
        prop_assert_eq!(guard(&guarded), guarded.as_str());
        let shown = name(&bytes);
        prop_assert_eq!(guard(&shown), shown.as_str());
    }

    #[test]
    fn json_keeps_its_meaning(text in any::<String>()) {
        let value = serde_json::Value::String(text);
        let encoded = value.to_string();
        prop_assert!(!json(&encoded).contains(hides));
        prop_assert_eq!(serde_json::from_str::<serde_json::Value>(&json(&encoded)).unwrap(), value);
    }

    #[test]
    fn marks_never_fail(bytes in any::<Vec<u8>>(), start in 0_usize..64, length in 0_usize..64, columns in 0_usize..200) {
        let shown = excerpt(&bytes, start..start + length, columns);
        prop_assert!(!shown.lines.is_empty());
        for marked in shown.lines {
            prop_assert!(marked.marks.contains('^') && is_ascii_line(&marked.line));
            prop_assert!(marked.line.len() <= columns.max(32) && marked.marks.len() <= columns.max(32) + 1);
        }
    }
}
