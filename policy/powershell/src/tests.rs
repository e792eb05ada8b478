//! Texts with a known meaning, and properties of all texts.

use proptest::prelude::*;

use super::*;

/// Returns the commands in one line each: the name and the strings, `?` for other values.
fn shown(text: &str) -> Vec<String> {
    let script = parse(text);
    assert_eq!(script.fault, None, "{text}");
    script.commands.iter().map(line).collect()
}

fn line(command: &Command) -> String {
    let word = |element: &Element| match element {
        Element::Parameter { name, value, .. } => {
            let value = value.as_ref().map(|value| value.value.as_string().unwrap_or("?"));
            value.map_or(format!("-{name}"), |value| format!("-{name}:{value}"))
        }
        Element::Argument(argument) => argument.value.as_string().unwrap_or("?").to_owned(),
    };
    command.elements.iter().map(word).collect::<Vec<_>>().join(" ")
}

fn fault(text: &str) -> Option<&'static str> {
    parse(text).fault.map(|fault| fault.code)
}

#[test]
fn words_lose_their_quotes_and_escapes() {
    assert_eq!(shown("ge`x-item 'a b' \"c\" d\"e f\"'g' `u{68}i"), ["gex-item a b c de fg hi"]);
    assert_eq!(shown("echo a`\nb"), ["echo a\nb"]);
    assert_eq!(shown("echo a `\n b"), ["echo a b"]);
    assert_eq!(shown("echo 'it''s' \"a\"\"b\""), ["echo it's a\"b"]);
}

#[test]
fn unicode_dashes_quotes_and_spaces_are_those_of_ascii() {
    assert_eq!(shown("rm \u{2013}Recurse \u{2018}a b\u{2019}\u{a0}x"), ["rm -Recurse a b x"]);
    assert_eq!(shown("rm\u{3000}\u{2015}r \u{201c}a\u{201d}"), ["rm -r a"]);
}

#[test]
fn commands_are_found_inside_everything() {
    assert_eq!(shown("a | b && c || d; e &"), ["a", "b", "c", "d", "e"]);
    assert_eq!(shown("a (b) $(c) @(d) { e } @{ x = f }"), ["a ? ? ? ? ?", "b", "c", "d", "e", "f"]);
    assert_eq!(shown("\"x $(a \"\"$(b)\"\") y\""), ["a ?", "b"]);
    assert_eq!(shown("if (a) { b } elseif (c) { d } else { e }"), ["a", "b", "c", "d", "e"]);
    assert_eq!(shown("foreach ($x in a) { b } while (c) { d }"), ["a", "b", "c", "d"]);
    assert_eq!(shown("switch (a) { b { c } default { d } }"), ["a", "c", "d"]);
    assert_eq!(shown("try { a } catch [int] { b } finally { c }"), ["a", "b", "c"]);
    assert_eq!(shown("function f($x = (a)) { begin { b } end { c } }"), ["a", "b", "c"]);
    assert_eq!(
        shown("class C { [int] $x = (a); C() : base((b)) { c } static [void] M() { d } }"),
        ["a", "b", "c", "d"]
    );
    assert_eq!(shown("$x = a; $y.z = b | c"), ["a", "b", "c"]);
    assert_eq!(shown("[x]::y((a), { b }).z{ c }"), ["a", "b", "c"]);
}

#[test]
fn modes_split_words_differently() {
    assert_eq!(shown("echo 1+1 $x+1 a=b"), ["echo 1+1 ? a=b"]);
    assert_eq!(shown("1+1; $x+1"), Vec::<String>::new());
    assert_eq!(shown("echo -a:b -c: d -e.f"), ["echo -a:b -c:d -e .f"]);
    assert_eq!(shown("git -- -a -b"), ["git -- -a -b"]);
    assert_eq!(shown("7z a"), ["7z a"]);
    assert_eq!(shown("!(a); -not (b); !c"), ["a", "b", "!c"]);
}

#[test]
fn the_rest_of_a_line_after_the_verbatim_parameter_is_one_argument() {
    assert_eq!(shown("cmd --% a 'b' $c ; d\ne"), ["cmd --% a 'b' $c ; d", "e"]);
    assert_eq!(shown("cmd --% a | b"), ["cmd --% a ", "b"]);
}

#[test]
fn here_strings_end_at_a_line_start() {
    assert_eq!(shown("echo @'\na '@\n'@ b"), ["echo a '@ b"]);
    assert_eq!(shown("echo @\"\n$(a)\n\"@; c"), ["echo ?", "a", "c"]);
    assert_eq!(fault("echo @'\na '@"), Some("unterminated_string"));
}

#[test]
fn the_text_behind_the_bracket_that_ends_an_expression_in_a_string_does_not_run() {
    assert_eq!(shown("\"$(a '(' ) ; b )\""), ["a ("]);
}

#[test]
fn names_show_whether_they_are_constant() {
    let names = |text: &str| parse(text).commands.first().map(|found| found.name().map(str::to_owned));
    assert_eq!(names("& 'a b'"), Some(Some("a b".to_owned())));
    assert_eq!(names("& $x"), Some(None));
    assert_eq!(names(". \"a$x\""), Some(None));
    assert_eq!(names("a$x"), Some(Some("a$x".to_owned())));
}

#[test]
fn a_text_that_powershell_refuses_is_not_complete() {
    for text in
        ["a |", "(a", "a && ", "'a", "if (a)", "1 = 2", "a ,b", "$x = @y", "a 1>&2", "a | 1", "class", "&"]
    {
        assert!(fault(text).is_some(), "{text}");
    }
    assert_eq!(fault("a\0"), Some("nul"));
}

#[test]
fn deep_nesting_is_refused() {
    for (open, close) in [("(", ")"), ("{", "}"), ("$(", ")"), ("@{a=", "}"), ("!", ""), ("$x=", "")] {
        let nested = |levels: usize| format!("{}a{}", open.repeat(levels), close.repeat(levels));
        assert_eq!(fault(&nested(5_000)), Some("too_deep"), "{open}");
    }
    assert_eq!(fault(&format!("{}a{}", "(".repeat(60), ")".repeat(60))), None);
}

#[test]
fn assignments_members_and_definitions_are_recorded() {
    let script = parse("$a, $b.c = 1; [x.y]::z($d); function f { }");
    let variables: Vec<_> = script.assignments.iter().map(|found| found.variable.as_deref()).collect();
    assert_eq!(variables, [Some("a"), None]);
    let called = script.members.iter().find(|member| member.arguments.is_some()).unwrap();
    assert_eq!((&called.target, called.name.as_deref()), (&Target::Type("x.y".to_owned()), Some("z")));
    assert_eq!(script.constructs[0].kind, ConstructKind::Function);
    assert_eq!(script.constructs[0].name.as_deref(), Some("f"));
    for text in
        ["#requires -Modules x", "a\n#Requires -Version 7 -Modules x\nb", "a #requires x", "#requires"]
    {
        assert_eq!(parse(text).constructs[0].kind, ConstructKind::Requires, "{text}");
    }
    for text in
        ["# requires\n##requires", "#requires -Version 7", "#Requires -PSEdition Core -RunAsAdministrator"]
    {
        assert!(parse(text).constructs.is_empty(), "{text}");
    }
}

#[test]
fn the_values_of_constant_assignments_are_recorded() {
    let script =
        parse("$p = @{ Path = 'a'; 'b' = 1, 2 }; if (1) { $s = { gci } }; $t = gci; [string]$u = 'x'");
    let values: Vec<_> =
        script.assignments.iter().map(|found| (found.is_outermost, found.value.is_some())).collect();
    assert_eq!(values, [(true, true), (false, true), (true, false), (true, false)]);
    let Some(Value::Hashtable(Some(entries))) = &script.assignments[0].value else { panic!("{script:?}") };
    let keys: Vec<&str> = entries.iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!(keys, ["Path", "b"]);
    for text in ["$p = @{ a = gci }", "$p = @{ $k = 1 }"] {
        assert!(matches!(parse(text).assignments[0].value, Some(Value::Hashtable(None))), "{text}");
    }
}

#[test]
fn spans_count_bytes_of_the_original_text() {
    let text = "é; \"ö $(a \"\"b\"\" ) $(c)\"";
    let spans: Vec<&str> =
        parse(text).commands.iter().map(|command| &text[command.span.start..command.span.end]).collect();
    assert_eq!(spans, ["é", "a \"\"b\"\"", "c"]);
}

/// Pieces from which hostile texts are made.
const PIECES: &[&str] = &[
    "$(", "\"", "'", "@\"\n", "\n\"@", "@'\n", "\n'@", "(", ")", "{", "}", "[", "]", "[a(", "@{", "$x", ".y",
    "::", "|", "&&", "&", ";", "\n", "`", "--%", "-a:", "<#", "#>", "#", ",", "=", "++", "?", "1", "class",
    "if", "a", " ", "é", "\u{2013}", "\u{201c}", ">", "2>&1", "${", "@x", ":",
];

#[test]
fn repeated_pieces_take_an_amount_of_work_that_their_length_bounds() {
    const COUNT: usize = 20_000;
    for first in PIECES {
        for second in ["", "$(", "\"", "[a({", "a "] {
            let started = std::time::Instant::now();
            let _ = parse(&format!("{first}{second}").repeat(COUNT));
            assert!(started.elapsed().as_secs() < 5, "{first:?} {second:?}");
        }
    }
}

proptest! {
    #[test]
    fn every_text_has_a_result(pieces in prop::collection::vec(prop::sample::select(PIECES), 0..40)) {
        let text = pieces.concat();
        let script = parse(&text);
        for command in &script.commands {
            let span = command.span;
            prop_assert!(span.start <= span.end && span.end <= text.len());
            prop_assert!(text.is_char_boundary(span.start) && text.is_char_boundary(span.end));
        }
    }

    #[test]
    fn every_string_has_a_result(text in any::<String>()) {
        let _ = parse(&text);
    }

    #[test]
    fn a_quoted_word_is_read_back(word in "[^\u{2018}-\u{201b}\0]*") {
        let script = parse(&format!("& 'x' '{}'", word.replace('\'', "''")));
        let Some(Element::Argument(argument)) = script.commands.first().and_then(|found| found.elements.get(1)) else {
            return Err(TestCaseError::fail("no argument"));
        };
        prop_assert_eq!(argument.value.as_string(), Some(word.as_str()));
    }
}
