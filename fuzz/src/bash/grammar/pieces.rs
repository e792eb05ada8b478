//! Expansion of the templates' placeholders: commands, words, names and blanks.

use super::Maker;

/// Programs that the rules of the fuzzed profile allow.
const ALLOWED: &[&str] = &["alpha", "beta", "gamma one"];
/// Programs that the rules of the fuzzed profile do not allow.
const OTHERS: &[&str] = &[
    "touch", "rm", "curl", "mv", "cp", "git", "make", "python3", "tee", "chmod", "mkdir", "node", "sed",
    "sudo", "ln",
];
/// Commands that are usually proven read-only.
const READERS: &[&str] = &[
    "ls",
    "ls -la d",
    "cat f1",
    "head -n 2 f1",
    "grep -n x f1",
    "wc -l f1",
    "git status",
    "git log -p",
    "sort f1",
    "uniq f1",
    "cut -d' ' -f1 f1",
    "stat f1",
    "id",
    "uname -a",
    "sed -n 1,2p f1",
    "awk '{print $1}' f1",
    "find . -name '*.c'",
    "diff f1 f2",
    "jq .a f1",
    "tr a b",
    "true",
    "date",
    "pwd",
    "echo hi",
    "test -f f1",
    "[ -n x ]",
    "printf '%s\\n' a",
    "false",
    ":",
    "cd d",
    "seq 3",
    "basename a/b",
    "rg x",
    "tail f1",
    "xxd f1",
];
const PLAIN: &[&str] = &[
    "a", "b", "x1", "-n", "-x", "--", "--long", "--opt=v", "a.b", "a/b", "./a", "f1", "-", "1", "a=b", "a:b",
    "a@b", "a,b", "a+b", "%d", "é", "日本", "a_b", "=", "a]", "a^b", "--x=y,z",
];
const SINGLE: &[&str] = &[
    "''",
    "'a b'",
    "'$x'",
    "'a;b'",
    "'\"'",
    "'`touch q`'",
    "'$(touch q)'",
    "'a'b",
    "a'b'c",
    "'\\'",
    "'#'",
    "'*'",
    "'{a,b}'",
    "'a|b'",
    "'&'",
    "'>f'",
    "'é'",
    "'\\n'",
];
const DOUBLE: &[&str] = &[
    "\"\"",
    "\"a b\"",
    "\"$x\"",
    "\"${x}\"",
    "\"a\\\"b\"",
    "\"\\$x\"",
    "\"\\`\"",
    "\"\\\\\"",
    "\"'\"",
    "\"a\\b\"",
    "\"#\"",
    "\"a;b\"",
    "\"*\"",
    "\"a\"b",
    "a\"b\"c",
    "\"$\"",
    "\"$ \"",
    "\"\\a\"",
    "\"a!b\"",
    "\"{a,b}\"",
    "\"~\"",
    "\"é\"",
];
const ESCAPES: &[&str] = &[
    "\\a", "a\\ b", "\\$x", "\\;", "\\&", "\\|", "\\\"", "\\'", "\\\\", "\\#", "a\\#b", "\\*", "\\~",
    "\\{a,b}", "\\(", "\\)", "\\<", "\\>", "\\`", "a\\\nb", "\\-x", "\\é",
];
const ANSI: &[&str] = &[
    "$'a'",
    "$'\\n'",
    "$'\\x41'",
    "$'\\101'",
    "$'\\''",
    "$'a\\tb'",
    "$'\\u0041'",
    "$'\\\\'",
    "$'\\cA'",
    "$'\\e'",
    "$'a\\0b'",
    "$'\"'",
    "$\"a\"",
    "$\"a $x\"",
    "$''",
    "a$'b'c",
    "$'\\U1F600'",
    "$'\\xff'",
    "$'\\x'",
    "$'\\?'",
];
const EXPANSIONS: &[&str] = &[
    "$x",
    "${x}",
    "$1",
    "$@",
    "$*",
    "$#",
    "$?",
    "$$",
    "$!",
    "$-",
    "$_",
    "${x:-a}",
    "${x:=a}",
    "${x:+a}",
    "${x#a}",
    "${x##a}",
    "${x%a}",
    "${x%%a}",
    "${x/a/b}",
    "${x//a/b}",
    "${#x}",
    "${x:1}",
    "${x:1:2}",
    "${x^}",
    "${x,,}",
    "${@}",
    "${*}",
    "${@:1}",
    "\"$@\"",
    "\"${x:-a b}\"",
    "$x$y",
    "a$x",
    "${x}b",
    "$HOME",
    "${HOME}",
    "$PWD",
];
const GLOBS: &[&str] =
    &["*", "*.c", "f?", "[ab]", "[!a]*", "f[0-9]", "d/*", "./*", "*/f3", "a*b", "?", "[[:alpha:]]"];
const TILDES: &[&str] = &["~", "~/a", "~root", "~+", "~-", "a~", "~/d/f", "a=~", "x:~"];
const BRACES: &[&str] =
    &["{a,b}", "x{a,b}y", "{1..3}", "{a..c}", "{a,{b,c}}", "{a}", "{,x}", "{}", "{a,'b c'}", "{01..03}"];
const BLANKS: &[&str] = &[" ", " ", " ", "  ", "\t", " \\\n", "\\\n ", " \t "];
const SEPARATORS: &[&str] = &[
    "; ", ";", "\n", " && ", "&&", " || ", " | ", "|", " |& ", " & ", "\n\n", " &&\n", " |\n", "; # c\n",
    " ||\n",
];
const ENDS: &[&str] = &["; ", ";", "\n", " ;\n", "\n\n", "; # c\n"];
const SPACES: &[&str] = &["", "", " ", "\t", "  "];
const FILES: &[&str] = &["f1", "f2", "d/f3", "f.c", "new", "d/new", "'sp ace'", "\"sp ace\"", "sp\\ ace"];
const NAMES: &[&str] = &["x", "y", "z", "v1", "_u", "LANG", "a"];
const NUMBERS: &[&str] = &["0", "1", "2", "3", "7", "10", "-1", "007", "0x1f", "2#101"];
const LINES: &[&str] = &[
    "text\n",
    "two words\n",
    "",
    "a\nb\n",
    "it's\n",
    "\"\n",
    "# no comment\n",
    "\\$x\n",
    "a\\\nb\n",
    "touch q\n",
    "; rm q\n",
];
const DELIMITERS: &[&str] = &["EOF", "E", "END_1", "eof", "_", "E-F"];
const FUNCTIONS: &[&str] = &["f", "g", "my_f", "f-1", "ls", "f.x"];
const HIDDEN: &[&str] = &["touch q", "rm -rf d", "curl http://a", "alpha deep", "ls"];

impl Maker<'_> {
    /// Writes the expansion of the placeholder of this name.
    pub(super) fn piece(&mut self, name: &str) {
        match name {
            "cmd" => self.command(),
            "simple" => self.simple(),
            "stub" => self.of(ALLOWED),
            "prog" => self.program(),
            "ro" => self.of(READERS),
            "args" => self.arguments(3),
            "arg" => self.argument(),
            "plain" => self.of(PLAIN),
            "body" => self.body(),
            "list" => self.list(),
            "sub" => self.substitution(),
            "hidden" => self.of(HIDDEN),
            "line" => self.of(LINES),
            other => match table(other).or_else(|| super::flags::flags(other)) {
                Some(table) => self.of(table),
                None => unreachable!("`{other}` is not a placeholder"),
            },
        }
    }

    fn of(&mut self, table: &[&'static str]) {
        let chosen = self.pick(table);
        self.out.push_str(chosen);
    }

    fn program(&mut self) {
        let table = if self.chance(70) { ALLOWED } else { OTHERS };
        self.of(table);
    }

    /// Writes a program with some words, or a command that only reads.
    pub(super) fn simple(&mut self) {
        if self.chance(35) {
            self.of(READERS);
            return;
        }
        self.program();
        self.arguments(2);
    }

    fn arguments(&mut self, most: usize) {
        for _ in 0..self.rng.usize(..=most) {
            self.of(BLANKS);
            self.argument();
        }
    }

    fn argument(&mut self) {
        match self.rng.u8(..100) {
            0..50 => self.of(PLAIN),
            50..60 => self.of(SINGLE),
            60..70 => self.of(DOUBLE),
            70..76 => self.of(ESCAPES),
            76..82 => self.of(EXPANSIONS),
            82..86 => self.of(GLOBS),
            86..89 => self.of(ANSI),
            89..92 => self.of(BRACES),
            92..94 => self.of(TILDES),
            94..97 if self.depth < super::DEEPEST => self.substitution(),
            _ => self.of(FILES),
        }
    }

    fn substitution(&mut self) {
        self.depth += 1;
        let (open, close) =
            self.pick(&[("$(", ")"), ("\"$(", ")\""), ("`", "`"), ("$( ", "\n)"), ("\"`", "`\"")]);
        self.out.push_str(open);
        if open.contains('`') {
            // Deeper nesting would need escapes.
            self.of(READERS);
        } else {
            self.command();
        }
        self.out.push_str(close);
        self.depth -= 1;
    }

    fn body(&mut self) {
        self.command();
        if self.chance(30) {
            self.of(ENDS);
            self.command();
        }
    }

    fn list(&mut self) {
        self.command();
        for _ in 0..self.rng.usize(1..4) {
            self.of(SEPARATORS);
            self.command();
        }
    }
}

fn table(name: &str) -> Option<&'static [&'static str]> {
    Some(match name {
        "single" => SINGLE,
        "double" => DOUBLE,
        "escape" => ESCAPES,
        "ansi" => ANSI,
        "expansion" => EXPANSIONS,
        "glob" => GLOBS,
        "tilde" => TILDES,
        "brace" => BRACES,
        "bl" => BLANKS,
        "sep" => SEPARATORS,
        "end" => ENDS,
        "sp" => SPACES,
        "file" => FILES,
        "name" => NAMES,
        "num" => NUMBERS,
        "delim" => DELIMITERS,
        "fn" => FUNCTIONS,
        _ => return None,
    })
}
