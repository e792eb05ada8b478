//! The validators: each catches its attacks with its own code, and lets look-alikes
//! pass. A plain, fully understood command never trips one.

use crate::support::{codes, strict, with_rules};
use airlock_policy::Verdict;

/// Every attack is asked about, with the code among the reasons, even where a rule
/// allows every command.
fn catches_misparse(code: &str, attacks: &[&str]) {
    assert!(attacks.len() >= 5, "{code} has {} attacks", attacks.len());
    for attack in attacks {
        let decision = with_rules(attack, &["Bash"], &[], &[]);
        assert_eq!(decision.verdict, Verdict::Ask, "{code}: {attack:?}");
        assert!(codes(&decision).contains(&code), "{code}: {attack:?} gave {:?}", codes(&decision));
    }
}

/// Every attack is kept from being proven read-only, with the code.
fn keeps_from_proof(code: &str, attacks: &[&str]) {
    assert!(attacks.len() >= 5, "{code} has {} attacks", attacks.len());
    for attack in attacks {
        let decision = strict(attack);
        assert_ne!(decision.verdict, Verdict::Allow, "{code}: {attack:?}");
        assert!(codes(&decision).contains(&code), "{code}: {attack:?} gave {:?}", codes(&decision));
    }
}

fn passes(look_alikes: &[&str]) {
    assert!(look_alikes.len() >= 5);
    for command in look_alikes {
        let decision = strict(command);
        assert_eq!(decision.verdict, Verdict::Allow, "{command:?}: {:?}", decision.reasons);
    }
}

#[test]
fn incomplete_command() {
    catches_misparse(
        "incomplete_command",
        &["ls 'a", "ls \"a", "\tls", "-la", "; ls", "&& ls", "| cat", "cat <<E\nx", "echo $'a", "ls 'a\nb"],
    );
    passes(&["ls 'a'", " ls", "ls \"a\"", "cat <<E\nx\nE", "echo $'a'", "echo '\"'", "echo \"'\""]);
}

#[test]
fn obfuscated_flags() {
    catches_misparse(
        "obfuscated_flags",
        &[
            "sort -\\o f",
            "sort -'o' f g",
            "rg --p're' x",
            "git diff --out\"put\"=x",
            "ls -$'l'",
            "grep --'f'ile=x y",
        ],
    );
    passes(&[
        "grep -- '--output' f",
        "cut -d' ' -f1 f",
        "git log --author='a b'",
        "grep '-x' f",
        "awk -F':' '{print $1}' f",
        "grep \"-v\" f",
        "git log --format=\"%h\"",
    ]);
}

#[test]
fn ifs_injection() {
    catches_misparse(
        "ifs_injection",
        &["ls x$IFS-la", "cat y${IFS}f", "echo $IFS", "cat x$IFS$9f", "rg x ${IFS}y", "echo a${IFS:0:1}b"],
    );
    passes(&[
        "IFS= read -r x",
        "echo '$IFS'",
        "echo \"\\$IFS\"",
        "echo $IFSX",
        "while IFS= read -r l; do echo \"$l\"; done < f",
    ]);
}

#[test]
fn quoted_newline() {
    catches_misparse(
        "quoted_newline",
        &["echo 'a\n#b'", "echo \"a\n#b\"", "ls 'x\n # y'", "grep \"a\n\t#\" f", "echo \"a\n#\"; rm x"],
    );
    passes(&[
        "echo 'a\nb'",
        "echo 'a # b'",
        "echo \"a\nb#\"",
        "ls # x",
        "cat <<E\n# x\nE",
        "echo 'a\nb # c'",
    ]);
}

#[test]
fn carriage_return() {
    catches_misparse("carriage_return", &["ls\r", "ls\r\nrm x", "echo a\r\n", "ls \r-la", "cat f\r|cat"]);
    passes(&["printf 'a\\r\\n'", "tr -d '\\r' < f", "grep $'\\r' f", "echo '\\r'", "sed 's/\\r$//' f"]);
}

#[test]
fn control_characters() {
    catches_misparse(
        "control_characters",
        &["ls \u{1b}[31m", "echo \u{7}", "ls\u{b}x", "cat \u{7f}f", "echo 'a\u{8}b'", "ls \0"],
    );
    passes(&["echo -e '\\033[1m'", "ls\tf", "printf '\\a'", "echo $'\\e[0m'", "grep $'\\x1b' f"]);
}

#[test]
fn unicode_whitespace() {
    catches_misparse(
        "unicode_whitespace",
        &["ls\u{a0}-la", "echo x\u{200b}", "rm\u{3000}x", "ls \u{202e}f", "cat\u{2003}f", "echo \u{feff}a"],
    );
    passes(&["echo 'a\u{a0}b'", "ls é", "grep 'ü' f", "echo \"\u{3000}\"", "echo 日本"]);
}

#[test]
fn backslash_escapes() {
    catches_misparse(
        "backslash_escaped_whitespace",
        &["echo\\ x/../../bin/touch a", "ls\\ -la", "ls a\\ ;rm x", "cat x\\ |sh", "ls\\ x y"],
    );
    catches_misparse(
        "backslash_escaped_operators",
        &["echo\\;rm x", "ls\\|sh x", "echo a\\;;rm x", "cat a\\&&rm x", "ls\\>x y"],
    );
    passes(&[
        "cat my\\ file",
        "find . -exec ls {} \\;",
        "find . \\( -name a -o -name b \\)",
        "grep a\\|b f",
        "echo \\$x",
        "ls a\\ b | cat",
        "echo \\;",
    ]);
}

#[test]
fn brace_expansion() {
    catches_misparse(
        "brace_expansion",
        &[
            "echo {$x,b}{c,d}",
            "echo {a,$x}",
            "ls x{$y,z}",
            "echo {a,b}{c,$(ls)}",
            "echo {1..100000}",
            "echo {a,`ls`}",
        ],
    );
    passes(&[
        "join file{1,2}.txt",
        "echo {1..5}",
        "ls {a,b}/{c,d}",
        "echo {}",
        "echo '{a,b}'",
        "find . -exec ls {} +",
    ]);
}

#[test]
fn mid_word_hash_and_comments() {
    catches_misparse(
        "mid_word_hash",
        &["echo 'a'#b", "echo \"a\"#", "ls ''#x", "cat 'f'#; rm x", "echo a\"b\"#c"],
    );
    catches_misparse(
        "comment_quote_desync",
        &["ls # it's", "ls # \"x", "ls # 'a' b", "ls\n# `x`\nls", "echo \"it's\" # ' \nls"],
    );
    passes(&["echo a#b", "ls # comment", "echo '#'", "echo \"a #b\"", "grep '^#' f", "ls # a, b; c"]);
}

#[test]
fn malformed_token_injection() {
    catches_misparse(
        "malformed_token_injection",
        &[
            "echo \"\\\"; rm x\"",
            "echo {a; rm x",
            "echo a}; ls",
            "echo \"a\\\" | sh\"",
            "ls }x && ls",
            "echo \"\\\" & x\"",
        ],
    );
    passes(&["echo \"say \\\"hi\\\"\"", "echo '{a'", "awk '{print}' f; ls", "echo {}; ls", "echo \"}\"; ls"]);
}

#[test]
fn proc_environ_access() {
    catches_misparse(
        "proc_environ_access",
        &[
            "cat /proc/self/environ",
            "cat /proc/1/environ",
            "cat < /proc/self/environ",
            "cat /proc/$$/environ",
            "strings /proc/self/task/1/environ",
            "ls /proc/self/root/etc",
            "cat /proc/*/environ",
        ],
    );
    passes(&["grep environ f", "ls proc/environ", "echo environ", "cat environ", "ls procs"]);
}

#[test]
fn arithmetic_evaluation() {
    catches_misparse(
        "arithmetic_evaluation",
        &[
            "[[ 'a[$(rm x)]' -eq 0 ]]",
            "x='a[$(rm y)]'; echo $((x))",
            "echo $((a[1]))",
            "echo ${!x}",
            "echo ${a[x]}",
            "[[ $x -gt 3 ]]",
            "((x++))",
            "a[$(rm x)]=1",
            "for ((i=0;i<a[0];i++)); do ls; done",
            "[[ -v a[x] ]]",
        ],
    );
    keeps_from_proof(
        "arithmetic_evaluation",
        &["test -v 'a[$(rm x)]'", "[ -v 'a[x]' ]", "[ $x ]", "test \"$a\" \"$b\"", "[ -R 'a[1]' ]"],
    );
    passes(&[
        "echo $((1+2))",
        "for ((i=0;i<3;i++)); do echo $i; done",
        "i=0; echo $((i+1))",
        "[ \"$x\" -eq 1 ]",
        "[[ $# -gt 1 ]]",
        "echo ${a[1]}",
        "i=0; while [ $i -lt 3 ]; do i=$((i+1)); done",
        "[[ -v x ]]",
    ]);
}

#[test]
fn parse_incomplete() {
    catches_misparse(
        "parse_incomplete",
        &[
            "echo ((",
            "ls )",
            "if ls",
            "for x in a; do",
            "cat <<'E'; ls\nE",
            "echo {fd}>x",
            "time { ls; }",
            "case x in",
            "ls <> f",
        ],
    );
    passes(&["(ls)", "if ls; then ls; fi", "for x in a; do ls; done", "time ls", "case x in x) ls;; esac"]);
}

#[test]
fn command_substitution() {
    for attack in [
        "echo $(rm x)",
        "echo `rm x`",
        "cat <(rm x)",
        "ls >(cat)",
        "echo \"$(rm x)\"",
        "echo ${x:=a}",
        "echo $[1+1]",
        "cat <<E\n$(rm x)\nE",
        "x=$(rm y)",
        "echo ${x:-$(rm y)}",
        "echo ${x@P}",
        "for i in $(rm x); do ls; done",
    ] {
        assert_eq!(strict(attack).verdict, Verdict::Ask, "{attack:?}");
    }
    passes(&[
        "echo $(ls)",
        "echo `ls`",
        "diff <(sort a) <(sort b)",
        "x=$(git rev-parse HEAD)",
        "echo ${x:-a}",
        "echo '$(rm x)'",
    ]);
}

#[test]
fn redirections() {
    keeps_from_proof(
        "output_redirection",
        &[
            "ls > f",
            "ls >> f",
            "ls >| f",
            "ls &> f",
            "ls > null2",
            "ls >& f",
            "ls 2> err",
            "echo x 2>&1x",
            "ls > \"$x\"",
        ],
    );
    keeps_from_proof(
        "input_redirection",
        &["cat < $x", "cat < /dev/tcp/a/80", "cat < /dev/udp/a/53", "cat < \"$x\"", "cat < *", "cat < $(ls)"],
    );
    passes(&[
        "ls 2>&1",
        "ls >/dev/null",
        "ls 2>/dev/null",
        "ls &>/dev/null",
        "cat < f",
        "ls >&2",
        "cat <<< x",
        "ls 2>&-",
    ]);
}

#[test]
fn dangerous_variables() {
    keeps_from_proof(
        "dangerous_variables",
        &[
            "PATH=. ls",
            "PATH=.; ls",
            "LD_PRELOAD=x ls",
            "IFS=x",
            "GIT_DIR=x git status",
            "echo $PATH",
            "BASH_ENV=x ls",
            "PS4=x; ls",
            "PROMPT_COMMAND=x",
            "read PATH",
            "for PATH in a; do ls; done",
        ],
    );
    passes(&[
        "LC_ALL=C sort f",
        "NO_COLOR=1 ls",
        "x=1; echo $x",
        "IFS= read -r x",
        "echo $HOME",
        "TZ=UTC date",
    ]);
}

#[test]
fn jq_programs() {
    keeps_from_proof(
        "jq_system_function",
        &[
            "jq env f",
            "jq '$ENV.X' f",
            "jq -n 'input'",
            "jq '\"\\(env)\"' f",
            "jq 'import \"a\" as a; .' f",
            "jq 'debug' f",
            "jq builtins f",
        ],
    );
    passes(&[
        "jq . f",
        "jq '.env' f",
        "jq '.[] | select(.a == \"env\")' f",
        "jq '{env: 1}' f",
        "jq -r '.inputs[]' f",
    ]);
}
