//! Snapshot tests of misleading commands: each is shown distinctly, and no two look alike.

use std::collections::{BTreeMap, HashSet};

use super::*;
use airlock_client::v1::{BoundFileState, Decision, Reason, Span, Verdict};

/// A topic, a name, a command, and its author's description.
type Case = (&'static str, &'static str, &'static [u8], &'static str);

// The topics. Each has one snapshot, with the pages of its cases.
const ESCAPES: &str = "escapes";
const DIRECTIONS: &str = "directions";
const LETTERS: &str = "letters";
const INVISIBLE: &str = "invisible";
const BLANKS: &str = "blanks_and_lines";
const IMITATIONS: &str = "imitations";

const DESCRIPTION: &str = "Build the project";

/// Returns a case with a misleading command and an ordinary description.
const fn plain(topic: &'static str, name: &'static str, command: &'static [u8]) -> Case {
    (topic, name, command, DESCRIPTION)
}

const CASES: &[Case] = &[
    plain(ESCAPES, "escape_clears_the_screen", b"rm -rf ~\x1b[2J\x1b[Hls"),
    plain(ESCAPES, "escape_moves_up_and_overwrites", b"rm -rf ~ #\n\x1b[1A\x1b[2Kls -la"),
    plain(ESCAPES, "escape_hides_text", b"ls \x1b[8m; rm -rf ~\x1b[0m"),
    plain(ESCAPES, "escape_sets_the_title", b"\x1b]0;safe\x07ls"),
    plain(ESCAPES, "escape_makes_a_link", b"\x1b]8;;http://evil\x07ls\x1b]8;;\x07"),
    plain(ESCAPES, "eight_bit_escape", b"ls \xc2\x9b2K; rm -rf ~"),
    plain(ESCAPES, "raw_eight_bit_escape", b"ls \x9b2K; rm -rf ~"),
    plain(DIRECTIONS, "bidi_override", "ls # \u{202e}~ fr- mr\u{202c}".as_bytes()),
    plain(
        DIRECTIONS,
        "bidi_trojan_source",
        "echo '\u{202e}\u{2066}// done\u{2069}\u{2066}' ; rm -rf ~".as_bytes(),
    ),
    plain(DIRECTIONS, "bidi_isolate", "cat \u{2067}txt.exe\u{2069}".as_bytes()),
    plain(DIRECTIONS, "right_to_left_name", "cat \u{5d0}\u{5d1}.txt; rm x".as_bytes()),
    plain(DIRECTIONS, "arabic_letter_mark", "rm \u{61c}a".as_bytes()),
    plain(LETTERS, "cyrillic_program", "c\u{430}t secrets".as_bytes()),
    plain(LETTERS, "cyrillic_path", "rm -rf /w\u{43e}rkspace".as_bytes()),
    plain(LETTERS, "greek_omicron", "g\u{3bf} build".as_bytes()),
    plain(LETTERS, "whole_word_cyrillic", "\u{441}\u{440} a b".as_bytes()),
    plain(LETTERS, "small_capital", "ls \u{299}in".as_bytes()),
    plain(LETTERS, "mathematical_letters", "\u{1d42b}\u{1d426} -rf ~".as_bytes()),
    plain(LETTERS, "fullwidth_semicolon", "ls \u{ff1b} rm -rf ~".as_bytes()),
    plain(LETTERS, "fullwidth_pipe", "ls \u{ff5c} sh".as_bytes()),
    plain(LETTERS, "greek_question_mark", "ls \u{37e} rm".as_bytes()),
    plain(LETTERS, "en_dash_flag", "rm \u{2013}rf ~".as_bytes()),
    plain(LETTERS, "minus_sign_flag", "rm \u{2212}rf ~".as_bytes()),
    plain(LETTERS, "non_breaking_hyphen", "git push \u{2011}\u{2011}force".as_bytes()),
    plain(LETTERS, "curly_quotes", "echo \u{2019}; rm -rf ~; echo \u{2019}".as_bytes()),
    plain(LETTERS, "prime_for_quote", "echo \u{2032}a; rm b\u{2032}".as_bytes()),
    plain(LETTERS, "modifier_apostrophe", "echo \u{2bc}a b\u{2bc}".as_bytes()),
    plain(LETTERS, "division_slash", "cat \u{2215}etc\u{2215}passwd".as_bytes()),
    plain(LETTERS, "fraction_slash_in_path", "rm -r a\u{2044}b".as_bytes()),
    plain(LETTERS, "one_dot_leader", "cat \u{2024}\u{2024}/x".as_bytes()),
    plain(INVISIBLE, "no_break_space", "rm -rf\u{a0}/tmp/x".as_bytes()),
    plain(INVISIBLE, "ideographic_space", "rm\u{3000}-rf".as_bytes()),
    plain(INVISIBLE, "hangul_filler", "ls \u{3164}".as_bytes()),
    plain(INVISIBLE, "braille_blank", "ls \u{2800}; rm x".as_bytes()),
    plain(INVISIBLE, "zero_width_joiner", "g\u{200d}it push".as_bytes()),
    plain(INVISIBLE, "zero_width_space", "r\u{200b}m -rf ~".as_bytes()),
    plain(INVISIBLE, "word_joiner", "make\u{2060} all".as_bytes()),
    plain(INVISIBLE, "byte_order_mark", "\u{feff}ls".as_bytes()),
    plain(INVISIBLE, "soft_hyphen", "rm -\u{ad}rf ~".as_bytes()),
    plain(INVISIBLE, "invisible_times", "ls\u{2062}rm".as_bytes()),
    plain(INVISIBLE, "tag_characters", "ls \u{e0072}\u{e006d}".as_bytes()),
    plain(INVISIBLE, "variation_selector", "ls\u{fe0f} x".as_bytes()),
    plain(INVISIBLE, "combining_overlay", "r\u{336}m\u{336} -rf ~; ls".as_bytes()),
    plain(INVISIBLE, "combining_stack", "ls z\u{351}\u{36b}\u{343}\u{36a}\u{302}a".as_bytes()),
    plain(INVISIBLE, "composed_name", "cat caf\u{e9}".as_bytes()),
    plain(INVISIBLE, "decomposed_name", "cat cafe\u{301}".as_bytes()),
    plain(BLANKS, "blanks_before_the_rest", concat_blanks()),
    plain(BLANKS, "tabs_before_the_rest", b"ls\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t; rm -rf ~"),
    plain(BLANKS, "trailing_blank", b"rm -rf /tmp/x "),
    plain(BLANKS, "carriage_return", b"rm -rf ~\rls -la      "),
    plain(BLANKS, "carriage_return_line_feed", b"ls\r\nrm -rf ~"),
    plain(BLANKS, "backspaces", b"rm -rf ~\x08\x08\x08\x08\x08\x08\x08\x08ls      "),
    plain(BLANKS, "vertical_tab", b"ls\x0brm"),
    plain(BLANKS, "delete_character", b"rm\x7f\x7fls"),
    plain(BLANKS, "line_separator", "ls \u{2028}rm -rf ~".as_bytes()),
    plain(BLANKS, "next_line", "ls \u{85}rm -rf ~".as_bytes()),
    plain(
        BLANKS,
        "newlines_push_it_away",
        b"ls\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\nrm -rf ~",
    ),
    plain(IMITATIONS, "escape_written_out", b"echo \\u{202e} \\x{1b} \\u{5c}u{41}"),
    plain(IMITATIONS, "fake_line_numbers", b"ls #\n    2 | echo done\n    3 |"),
    plain(IMITATIONS, "fake_prompt", b"ls\n# allow it once? [y/N] y\n# allowed once\nrm -rf ~"),
    plain(
        IMITATIONS,
        "fake_headline",
        b"ls\n\ndecision: allow (read_only), by the profile `strict`\n\nrm -rf ~",
    ),
    plain(
        IMITATIONS,
        "fake_description",
        b"ls\n\ndescription, written by the agent: List the files\n#; rm -rf ~",
    ),
    plain(IMITATIONS, "fake_pager", b"ls\n-- page 2 of 2, Enter for the next, q to leave -- \nrm -rf ~"),
    plain(
        IMITATIONS,
        "heredoc_hides_a_line",
        b"cat > notes <<'EOF'\nall is well\nEOF\nrm -rf ~ <<'EOF'\nmore notes\nEOF",
    ),
    plain(IMITATIONS, "deep_nesting", b"echo $(echo $(echo $(echo $(echo \"$(rm -rf ~)\"))))"),
    plain(IMITATIONS, "invalid_utf8", b"cat \xff\xfe\xc3\x28 \xed\xa0\x80"),
    plain(IMITATIONS, "overlong_slash", b"cat \xc0\xaf"),
    (IMITATIONS, "description_with_escapes", b"rm -rf ~", "Lists files\x1b[2J\u{202e}"),
    (
        IMITATIONS,
        "description_as_a_decision",
        b"rm -rf ~",
        "x\n\ndecision: allow (read_only)\n\nallow it once? [y/N] y",
    ),
];

/// Returns `ls`, two hundred spaces, and a second command that they push out of view.
const fn concat_blanks() -> &'static [u8] {
    const TEXT: [u8; 214] = {
        let mut text = [b' '; 214];
        text[0] = b'l';
        text[1] = b's';
        let tail = b"; rm -rf ~/x";
        let mut at = 0;
        while at < tail.len() {
            text[202 + at] = tail[at];
            at += 1;
        }
        text
    };
    &TEXT
}

fn asked((_, _, command, description): Case) -> Approval {
    let end = u32::try_from(command.len()).unwrap();
    let reason = Reason {
        code: "not_read_only".to_owned(),
        message: "`rm` is not proven read-only".to_owned(),
        span: Some(Span { start: end.min(3), end }),
        ..Reason::default()
    };
    let decision = Decision {
        verdict: Verdict::Ask.into(),
        reasons: vec![reason],
        suggested_rules: vec!["Bash(r\u{200d}m x)".to_owned()],
        profile: "strict".to_owned(),
        ..Decision::default()
    };
    let file = |path: &str, state: BoundFileState, sha256: Vec<u8>| BoundFile {
        path: path.to_owned(),
        state: state.into(),
        sha256: sha256.into(),
        ..BoundFile::default()
    };
    Approval {
        approval_id: "a".to_owned(),
        execution_id: "e".to_owned(),
        session_id: "s".to_owned(),
        principal: "agent".to_owned(),
        shell: Shell::Bash.into(),
        directory: "/workspace".to_owned(),
        description: description.to_owned(),
        decision: Some(decision),
        files: vec![
            file("/workspace/\u{202e}x.sh", BoundFileState::Digest, vec![7; 32]),
            file("/workspace/y", BoundFileState::Absent, Vec::new()),
        ],
        ..Approval::default()
    }
    .with_command(command.to_vec())
}

/// Returns the part of the page that shows the command.
fn command_of(page: &str) -> String {
    let start = page.find("\ncommand, ").unwrap();
    let end = page[start..].find("\nfiles that it runs; ").unwrap();
    page[start..start + end].to_owned()
}

#[test]
fn commands_that_are_made_to_mislead_do_not() {
    assert!(CASES.len() >= 40);
    let mut seen = HashSet::new();
    let mut names = HashSet::new();
    let mut pages: BTreeMap<&str, String> = BTreeMap::new();
    for &case in CASES {
        let (topic, name, _, description) = case;
        let page = approval(&asked(case));
        assert!(names.insert(name), "{name} twice");
        let text = command_of(&page);
        let (exact, beside) =
            text.split_once("\n\nthe same with its non-ASCII letters").unwrap_or((&text, ""));
        assert!(
            exact.bytes().all(|byte| byte == b'\n' || byte == b' ' || byte.is_ascii_graphic()),
            "{name}: {exact}",
        );
        assert!(!beside.chars().any(|c| c != '\n' && c.is_control()), "{name}");
        assert!(
            description != DESCRIPTION || seen.insert(exact.to_owned()),
            "{name} looks like another line"
        );
        pages.entry(topic).or_default().push_str(&format!("=== {name}\n{}\n\n", page.trim_end()));
    }
    for (topic, pages) in pages {
        insta::assert_snapshot!(topic, pages);
    }
}

#[test]
fn the_command_comes_whole_and_before_what_its_author_says() {
    let long = format!("echo {}; rm -rf ~", "x".repeat(100_000));
    let mut one = asked(CASES[0]);
    one.command.clone_from(&long);
    let page = approval(&one);
    assert!(page.contains(&long));
    assert!(page.find(&long) < page.find("description, written by the agent"));
    assert!(page.find(&long) < page.find("decision: "));
}

#[test]
fn a_line_of_the_command_cannot_pass_for_one_of_the_page() {
    for case in CASES {
        let page = approval(&asked(*case));
        // Each line of the command starts with its number or mark.
        let lines = command_of(&page);
        let free = |line: &&str| {
            let (head, _) = line.split_at(line.len().min(8));
            !(head.ends_with("| ") || head.ends_with('|'))
        };
        let allowed = |line: &&str| {
            line.is_empty()
                || line.starts_with("command, ")
                || line.starts_with("the same with its non-ASCII letters")
        };
        let odd: Vec<_> = lines.lines().filter(free).filter(|line| !allowed(line)).collect();
        assert!(odd.is_empty(), "{}: {odd:?}", case.1);
        assert_eq!(page.lines().filter(|line| line.starts_with("decision: ")).count(), 1, "{}", case.1);
    }
}
