//! Generates programs in the languages that sed, awk, jq, yq and find accept as text. The grammars
//! include constructs that write files and start programs: the policy must refuse those, and texts
//! that it allows are run.

use super::vocabulary::{Random, part};

/// Generates a text in that language. For find, which takes several words, the text contains all of
/// them.
pub(super) fn text(random: &mut Random, language: &str) -> Option<String> {
    Some(match language {
        "sed" => sed(random),
        "awk" => awk(random),
        "jq" => jq(random, 3),
        "yq" => yq(random),
        _ => return None,
    })
}

fn sed(random: &mut Random) -> String {
    let count = random.up_to(3) + 1;
    let commands: Vec<String> = (0..count).map(|_| sed_command(random, 2)).collect();
    let joint = random.pick(&["; ", ";", "\n", " ; ", "\n\n"]);
    commands.join(joint)
}

fn sed_command(random: &mut Random, depth: usize) -> String {
    let address = sed_address(random);
    let letter = part(random, "sed command");
    let body = match letter {
        "s" => sed_substitution(random),
        "y" => format!("y{}", random.pick(&["/abc/xyz/", ",o,0,", "/\\n/ /", "/a\\/b/123/", "!a!w!"])),
        "a" | "i" | "c" => format!(
            "{letter}{}",
            random.pick(&[" foo", "\\\nfoo", "foo\\\nw made", "\\  foo", "\\", " foo; w made", "}w made"])
        ),
        "b" | "t" | "T" => format!("{letter}{}", random.pick(&["", " x", "x", " x ", " x;w made", " }"])),
        ":" => format!(":{}", random.pick(&["x", " x", "x ", "x;p", "x\nw made", "x w made"])),
        "{" if depth > 0 => {
            format!("{{{}{}}}", sed_command(random, depth - 1), random.pick(&["", ";", "\n", " "]))
        }
        "w" | "W" | "r" | "R" => {
            format!(
                "{letter}{}",
                random.pick(&[" made", "made", " /dev/stdout", " /dev/null", " notes.txt", " ", ""])
            )
        }
        "e" => format!("e{}", random.pick(&["", " touch made", "touch made", " true"])),
        "#" => format!("#{}", random.pick(&["n", "n\nw made", " comment", "\nw made", "n\np"])),
        "v" => format!("v{}", random.pick(&["", " 4.2", "\nw made"])),
        other => other.to_owned(),
    };
    format!("{address}{body}")
}

fn sed_address(random: &mut Random) -> String {
    let one = |random: &mut Random| part(random, "sed address").to_owned();
    match random.up_to(5) {
        0 | 1 => String::new(),
        2 => format!("{}{}", one(random), random.pick(&["", "!", " ", " ! ", "!!"])),
        3 => format!("{},{}", one(random), one(random)),
        _ => one(random),
    }
}

fn sed_substitution(random: &mut Random) -> String {
    let delimiter = part(random, "sed delimiter");
    let pattern = part(random, "sed pattern");
    let replacement = part(random, "sed replacement");
    let flags = part(random, "sed flags");
    format!("s{delimiter}{pattern}{delimiter}{replacement}{delimiter}{flags}")
}

fn awk(random: &mut Random) -> String {
    let count = random.up_to(2) + 1;
    let rules: Vec<String> = (0..count)
        .map(|_| {
            let pattern = part(random, "awk pattern");
            let block = random.up_to(6) > 0;
            if block { format!("{pattern}{{ {} }}", awk_statements(random, 2)) } else { pattern.to_owned() }
        })
        .collect();
    rules.join(random.pick(&["\n", "; ", " "]))
}

fn awk_statements(random: &mut Random, depth: usize) -> String {
    let count = random.up_to(2) + 1;
    let all: Vec<String> = (0..count).map(|_| awk_statement(random, depth)).collect();
    all.join(random.pick(&["; ", "\n", ";"]))
}

fn awk_statement(random: &mut Random, depth: usize) -> String {
    let value = awk_value(random, depth);
    match random.up_to(16) {
        0..=4 => format!(
            "print {value}{}",
            if random.up_to(3) == 0 { format!(", {}", awk_value(random, depth)) } else { String::new() }
        ),
        5 => format!("printf \"%s %d\\n\", {value}, NR"),
        6 => format!("printf(\"%s\\n\", {value})"),
        7 => format!("x = {value}"),
        8 => format!("s += {value}"),
        9 if depth > 0 => format!("if ({value}) {}", awk_statement(random, depth - 1)),
        10 if depth > 0 => format!("for (i = 1; i <= NF; i++) {{ {} }}", awk_statements(random, depth - 1)),
        11 if depth > 0 => format!("for (k in a) {}", awk_statement(random, depth - 1)),
        12 => part(random, "awk plain statement").to_owned(),
        13 => format!(
            "print {value} {} {}",
            random.pick(&[">", ">>", "|", "|&", ">\"made\"", "|\"touch made\"", "> (1)", ","]),
            random.pick(&[
                "\"made\"",
                "\"touch made\"",
                "x",
                "$1",
                "(\"made\")",
                "\"/dev/stdout\"",
                "\"/dev/stderr\""
            ])
        ),
        14 => part(random, "awk strange statement").to_owned(),
        _ => format!("$1 = {value}; print"),
    }
}

fn awk_value(random: &mut Random, depth: usize) -> String {
    if depth > 0 && random.up_to(3) == 0 {
        let (a, b) = (awk_value(random, depth - 1), awk_value(random, depth - 1));
        return match random.up_to(9) {
            0 => format!("({a} {b})"),
            1 => format!("{a} + {b}"),
            2 => format!("{a} / {b}"),
            3 => format!("({a} > {b})"),
            4 => format!("({a} ? {b} : 0)"),
            5 => format!("substr({a}, 1, {b})"),
            6 => format!("gensub(/o/, {a}, \"g\", {b})"),
            7 => format!("{a} ~ {b}"),
            _ => format!("length({a})"),
        };
    }
    part(random, "awk value").to_owned()
}

fn jq(random: &mut Random, depth: usize) -> String {
    if depth > 0 && random.up_to(3) > 0 {
        let (a, b) = (jq(random, depth - 1), jq(random, depth - 1));
        return match random.up_to(14) {
            0..=2 => format!("{a} | {b}"),
            3 => format!("{a}, {b}"),
            4 => format!("[{a}]"),
            5 => format!("map({a})"),
            6 => format!("select({a} == {b})"),
            7 => format!("{{a: {a}, \"b\": {b}}}"),
            8 => format!("if {a} then {b} else . end"),
            9 => format!("\"x \\({a}) y\""),
            10 => format!("({a} // {b})"),
            11 => format!("reduce .[]? as $x ({a}; . + {b})"),
            12 => format!("try {a} catch {b}"),
            _ => format!("def f: {a}; f | {b}"),
        };
    }
    part(random, "jq filter").to_owned()
}

fn yq(random: &mut Random) -> String {
    let first = part(random, "yq expression");
    match random.up_to(3) {
        0 => format!("{first} | {}", jq(random, 1)),
        _ => first.to_owned(),
    }
}

/// Generates an expression of find, quoted for bash.
pub(super) fn find(random: &mut Random) -> String {
    let count = random.up_to(4) + 1;
    let parts: Vec<String> = (0..count)
        .map(|_| match random.up_to(3) {
            0 => format!("{} {}", part(random, "find with value"), part(random, "find value")),
            1 => part(random, "find alone").to_owned(),
            _ => {
                let program = part(random, "find runs");
                part(random, "find expression").replace("PROGRAM", program)
            }
        })
        .collect();
    parts.join(" ")
}
