//! The read-only proof: everyday commands pass, their dangerous neighbours do not.

use airlock_policy::Verdict;

use crate::support::{codes, strict};

fn allowed(commands: &[&str]) {
    for command in commands {
        let decision = strict(command);
        assert!(decision.read_only, "{command:?}: {:?}", decision.reasons);
        assert_eq!(decision.verdict, Verdict::Allow, "{command:?}: {:?}", decision.reasons);
    }
}

fn asked(commands: &[&str]) {
    for command in commands {
        let decision = strict(command);
        assert_eq!(decision.verdict, Verdict::Ask, "{command:?} gave {:?}", codes(&decision));
    }
}

#[test]
fn sed_filters_and_never_writes() {
    allowed(&[
        "sed -n 5,10p f",
        "sed -n '/a/,/b/p' f",
        "sed 's/a/b/g; s/c/d/' f",
        "sed -e 's/a/b/' -e '/x/d' f",
        "sed '$!N;s/\\n/ /' f",
        "sed -E 's|/usr|/opt|' f",
        "sed '1~2d' f",
        "sed 'y/abc/xyz/' f",
        "sed '/^#/d;/^$/d' f",
        "sed -n '$=' f",
        "sed 's/write/w/g' f",
        "sed -n '2{p;q}' f",
        "sed '1i hello' f",
        "sed 's/[^/]*$//' f",
        "sed 's/[[:space:]/]*x/y/' f",
        "sed ':a;N;$!ba;s/\\n/ /g' f",
        "sed -e ': top' -e 's/aa/a/; t top' f",
        "sed '# it is a comment; w out\ns/a/b/' f",
        "sed -n '/x/{p;b}' f",
    ]);
    asked(&[
        "sed -i s/a/b/ f",
        "sed 's/a/b/w out' f",
        "sed -n 'w out' f",
        "sed '1e id' f",
        "sed 's/a/b/e' f",
        "sed 'r x' f",
        "sed -n -f x f",
        "sed 's/[/]/x/w out' f",
        "sed 's/[/]/e;x/' f",
        "sed 's/[]/]/x/w out' f",
        "sed -ni p f",
        "sed '1i x\nw out' f",
        "sed ':a;s/x/y/;ta;w out' f",
        "sed $'1p\\nw out' f",
        "sed \"$x\" f",
        "sed 's/a/b/gw out' f",
        "sed '/x/I,/y/Mw out' f",
        "sed --in-pl s/a/b/ f",
        "sed '1!{W out\n}' f",
        "sed 'R x' f",
        "sed ':a w out' f",
        "sed 'b a w out' f",
        "sed -n 't a w out\n:a' f",
        "sed '# a comment\nw out' f",
        "sed",
    ]);
}

#[test]
fn awk_filters_and_never_runs() {
    allowed(&[
        "awk '{print $2}' f",
        "awk -F: '$3 > 100 {print $1}' f",
        "awk '{s+=$1} END {print s/NR}' f",
        "awk '/system/ {print}' f",
        "awk 'NR==1 || /foo/' f",
        "awk '{a[$1]++} END {for (k in a) print k, a[k]}' f",
        "awk '{if ($1 > 5) print $2}' f",
        "awk '!seen[$0]++' f",
        "awk 'BEGIN{x=1; if (x < 2) print \"lt\"}'",
        "awk '{print ($1 > 2)}' f",
        "awk 1 ORS=' ' f",
        "awk '{gsub(/a\\/b/,\"c\"); print}' f",
        "awk '{print \"a > b | c\"}' f",
        "awk '/[[:alpha:]\"]x/ {print}' f",
        "awk '$1 ~ /[^a-z]/ {exit 1}' f",
        "awk 'length > 80 || length($1) / 2 > 3' f",
        "awk '{n = split($0, a, /[,;]/); exit a[1] / n}' f",
    ]);
    asked(&[
        "awk 'BEGIN{system(\"id\")}'",
        "awk '{print | \"sh\"}' f",
        "awk '{print > \"x\"}' f",
        "awk '{print >> \"x\"}' f",
        "awk 'BEGIN{\"id\" | getline x}'",
        "awk '{getline x < \"f\"}' f",
        "awk -f p f",
        "gawk -i inplace 1 f",
        "awk 'BEGIN { if (x) /\"/ { system(\"id\") } }' f",
        "awk 'BEGIN{x++ /system(\"id\")/ 1}'",
        "awk '@load \"x\"; 1' f",
        "awk 'BEGIN{f=\"system\"; @f(\"id\")}'",
        "awk \"$p\" f",
        "awk '{print 1 |& \"sh\"}' f",
        "awk 'BEGIN{ARGV[1]=\"/etc/passwd\"}1' f",
        "awk '{print(1) > \"x\"}' f",
        "awk -v x=1 -E p f",
        "awk '/[/]/ {print}' f",
        "awk 'BEGIN { if (0) exit /\"/ ; system(\"id\") ; x = /\"/ }'",
        "awk 'BEGIN{ z = /[^]/[\"]/; system(\"id\"); y = /[\"]/ }'",
        "awk 'BEGIN{ z = /[[:alpha:]/[\"]/; system(\"id\"); y = /[\"]/ }'",
        "awk 'BEGIN { print length /\"/ ; system(\"id\") ; x = /\"/ }'",
        "awk 'BEGIN{SYMTAB[\"ARGC\"]=1}1' f",
        "awk 'BEGIN{printf \"a\" > \"x\"}'",
        "awk '{print $1,\n $2 > \"x\"}' f",
        "tree -R -H . f",
        "nm @opts",
        "time PATH=. ls",
        "xargs --process-slot-var=PATH ls",
        "awk '{print $1, $2 > $3}' f",
    ]);
}

#[test]
fn find_looks_and_never_acts() {
    allowed(&[
        "find . -name '*.rs' -not -path './target/*'",
        "find . \\( -name a -o -name b \\) -print0",
        "find src -newer x",
        "find . -name '*.c' -exec grep -l x {} \\;",
        "find . -type f -exec wc -l {} +",
        "find bla -name *.so",
        "find . -size +1M -printf '%p\\n'",
        "find . -name \\* -prune",
        "find -maxdepth 2 -type d",
        "x=a; find . -name '*.c' -exec grep -l \"$x\" {} \\;",
        "find . -exec grep \"a$x\" {} +",
    ]);
    asked(&[
        "find . -delete",
        "find . -exec rm {} \\;",
        "find . -exec sh -c 'rm $1' _ {} \\;",
        "find . -ok ls {} \\;",
        "find . -fprint x",
        "find . -fls x",
        "find . $x",
        "find . *",
        "find \"$x\"",
        "find . -name $x",
        "find . -files0-from x",
        "find . -execdir ./x {} +",
        "find . -del\"\"ete",
        "find . -nosuch",
        "find . -name * -print",
        "x='; -delete -exec echo'; find . -exec echo $x \\;",
        "find . -exec echo \"$x\" -exec rm {} \\;",
        "find . -exec grep \"$x\" \"$y\" {} \\;",
        "find . -exec echo \"$x\" -delete",
        "find . -exec echo * -delete \\;",
    ]);
}

#[test]
fn git_reads_and_never_changes() {
    allowed(&[
        "git status -sb",
        "git log --oneline -20 --graph",
        "git log -p -S foo -- src",
        "git diff HEAD~1 --stat",
        "git show HEAD:f",
        "git branch -vv",
        "git branch --list x",
        "git tag --contains HEAD",
        "git stash list",
        "git stash show -p",
        "git -C sub log",
        "git --no-pager diff",
        "git config --get a.b",
        "git remote -v",
        "git blame -L 1,5 f",
        "git rev-parse HEAD",
        "git ls-files | xargs wc -l",
        "git reflog",
        "git diff --name-only | xargs git diff --",
        "git grep -n x -- src",
    ]);
    asked(&[
        "git diff --output=x",
        "git show --outp=x",
        "git diff --ext-diff",
        "git log --textconv",
        "git -c a=b log",
        "git -p log",
        "git --git-dir=x status",
        "git branch x",
        "git branch -a -d x",
        "git branch --list -D x",
        "git tag x",
        "git tag -l -d x",
        "git stash",
        "git stash drop",
        "git reflog expire --all",
        "git config a.b c",
        "git config a.b --int",
        "git describe --dirty",
        "git log --remerge-diff",
        "git log --diff-merges=r",
        "git config --unset a.b",
        "git remote add x y",
        "git grep -Oless x",
        "git symbolic-ref HEAD x",
        "git cat-file --filters HEAD:x",
        "git -C /etc status",
        "git diff --no-index /etc/passwd x",
        "cd /etc && git status",
        "git $x",
        "git log $x",
        "git commit -m x",
        "git push",
        "git fsck --lost-found",
        "git alias-of-mine",
    ]);
}

#[test]
fn flags_and_operands_that_write_or_run_are_refused() {
    asked(&[
        "sort -o x f",
        "sort --outp x f",
        "sort -uo x f",
        "sort --compress-program=x f",
        "sort ?o x",
        "sort $x",
        "uniq a b",
        "uniq $x",
        "xxd a b",
        "xxd a -u",
        "tree -o x",
        "file -C -m x",
        "date -s 1",
        "date 0101",
        "date \"$x\"",
        "hostname x",
        "rg --pre x y",
        "rg --pr x y",
        "rg -z x",
        "fd -x rm",
        "fd -l",
        "diff --output=x a b",
        "iconv -o x f",
        "shuf -o x f",
        "env ls",
        "printf -v x y",
        "yq -i . f",
        "nm --plugin x f",
        "getent hosts x",
        "command ls",
        "node -e 1",
        "cargo check",
        "npm test",
        "eslint .",
        "less f",
        "bash -c ls",
        "tee f",
        "docker -H x ps",
        "docker rm x",
        "base64 -d -o x f",
        "man -P x ls",
        "read 'a[$(rm x)]'",
    ]);
    allowed(&[
        "sort -k2 -n f",
        "uniq -c f",
        "xxd f",
        "date +%s",
        "hostname",
        "rg -n x src",
        "fd x src",
        "diff -r a b",
        "env",
        "printf '%s' a",
        "command -v git",
        "node --version",
        "docker ps -a",
        "npm ls",
        "cargo tree",
        "type -a ls",
        "md5sum *",
        "kubectl get pods",
    ]);
}

#[test]
fn wrappers_loops_and_lists_are_as_harmless_as_what_they_run() {
    allowed(&[
        "timeout 5 ls",
        "time -p git log",
        "nice -n 5 ls",
        "stdbuf -oL cat f",
        "LC_ALL=C sort f",
        "ls | xargs -n1 cat",
        "for f in *.c; do cat \"$f\"; done",
        "while read -r l; do echo \"$l\"; done < f",
        "if [ -f x ]; then cat x; fi",
        "case \"$x\" in a) ls;; esac",
        "{ ls; pwd; }",
        "(cd src && ls)",
        "! test -f x",
        "[ -f x ] && cat x || echo no",
        "cat <<E\n$USER\nE",
        "echo \"$(git rev-parse HEAD)\"",
        "ls\npwd",
        "find . -type f | xargs grep x",
    ]);
    asked(&[
        "timeout 5 rm x",
        "timeout --nosuch 5 ls",
        "ls | xargs rm",
        "ls | xargs -I{} sh -c {}",
        "ls | xargs -I{} {} x",
        "ls | xargs sort",
        "for f in a; do rm $f; done",
        "while rm x; do :; done",
        "f() { ls; }; f",
        "ls() { rm x; }; ls",
        "alias ls=rm; ls",
        "xargs -a /etc/passwd echo",
        "LD_PRELOAD=x ls",
        "FOO=1 ls",
        "env LC_ALL=C ls",
        "sudo ls",
        "nohup x &",
    ]);
}

#[test]
fn paths_outside_are_asked_about_however_they_are_written() {
    asked(&[
        "cat /etc/passwd",
        "cat ../x",
        "ls ../../../etc",
        "cat ~root/x",
        "cat ~+/../x",
        "cat a/../../x",
        "cd /; ls",
        "cd ..; ls",
        "cd src; cat ../../x",
        "cat */../../etc/passwd",
        "cat $(echo /etc/passwd)",
        "echo /etc/passwd | xargs cat",
        "f=/etc/passwd; cat $f",
        "for f in /etc/shadow; do cat $f; done",
        "cat < /etc/passwd",
        "grep -f /etc/passwd x",
        "wc --files0-from=/etc/passwd",
        "cat /pro?/self/status",
        "find / -name x",
        "cat /dev/sda",
        "cat /workspace/../etc/x",
        "cat /workspacex",
        "cat /dev/fd/3",
        "pushd /etc >/dev/null; cat shadow",
        "diff --from-file=/etc/passwd x",
        "cat \"/etc/$x\"",
        "cat ../$x",
    ]);
    allowed(&[
        "cat src/../f",
        "cat /workspace/f",
        "cat ~/f",
        "cat /tmp/x",
        "cd src && cat ../f",
        "cat ./f",
        "ls /workspace",
        "cat \"$HOME/x\"",
        "git log HEAD~1..HEAD",
        "cat ...",
        "ls aux/",
        "cat a..b",
    ]);
}

#[test]
fn flags_in_one_word_are_read_as_the_program_reads_them() {
    allowed(&[
        "xxd -c 8 f",
        "xxd -c8 -l 16 f",
        "xxd -p f",
        "tree -aL 2",
        "tree -L2 -d",
        "tree -ad sub",
        "ls -lL f",
    ]);
    asked(&[
        "xxd -bc f out",
        "xxd -pc f out",
        "xxd -bs f out",
        "tree -Lo 2 out",
        "tree -aPo x out",
        "file -p f",
    ]);
}

#[test]
fn a_value_is_no_place_to_hide_a_flag() {
    allowed(&[
        "git log -U5 -p",
        "git diff -U0",
        "git log --grep -x",
        "git log --author \"$x\" -n 5",
        "git log --format=%h --since yesterday",
        "git log --pretty=format:'%h %s' -L 1,5:f",
        "git rev-list --all --count",
        "git config --get user.name",
        "grep -e --output f",
        "head -n -5 f",
        "sort -t - -k2 f",
    ]);
    asked(&[
        "git diff -U --output=x",
        "git log --unified --output=x",
        "git log --format --output=x",
        "git show --min-parents --outp=x",
        "git rev-list --all --output=x",
        "git diff -L --output=x",
        "git log -U \"$x\"",
        "git log --author --output=x",
        "git config --get --unset a.b",
        "sort -k -o f",
        "git log --format=%G?",
        "git log --pretty=format:'%h %GK'",
        "git branch --format '%(signature)'",
    ]);
}

#[test]
fn xargs_appends_where_it_may_ignore_its_mark() {
    allowed(&["ls | xargs -I{} cat {}", "ls | xargs -n1 wc -l", "ls | xargs -I{} -L1 cat x{}"]);
    asked(&[
        "echo out | xargs -I{} -L1 uniq f",
        "echo out | xargs -I{} -n2 uniq f",
        "echo out | xargs -i -l uniq f",
        "echo out | xargs -L1 -I{} uniq f",
        "x=HEAD; echo --output=o | xargs -I \"$x\" git log HEAD",
    ]);
}

#[test]
fn what_bash_itself_evaluates_is_a_number() {
    allowed(&[
        "SECONDS=0; ls; echo $SECONDS",
        "echo $RANDOM",
        "[[ -v x ]] && echo set",
        "n=1; echo $((n + 1))",
        "OPTIND=1",
        "x='a[0]'; echo \"$x\"",
        "for i in a b; do echo $i; done",
        "[ \"$x\" = 'a[0]' ]",
        "[ -n \"$x\" ]",
    ]);
    asked(&[
        "RANDOM='a[$(id)]'",
        "x='a[$(id)]'; RANDOM=$x",
        "for SECONDS in 'a[$(id)]'; do :; done",
        "echo 'a[$(id)]' | while read OPTIND; do :; done",
        "HISTCMD='a[$(id)]'",
        "SRANDOM+='a[$(id)]'",
        "x=-v; test \"$x\" 'a[$(id)]'",
        "x='a[$(id)]'; [[ -v $x ]]",
        "BASH_REMATCH=1; [[ 'a[$(id)]' =~ .* ]]; echo $((BASH_REMATCH))",
        "x=-v; [ \"$x\" 'a[$(id)]' ]",
    ]);
}

#[test]
fn a_comment_hides_nothing_from_jq() {
    allowed(&["jq .a f", "jq '.[\"#\"]' f", "jq '\"# \\(.a)\"' f"]);
    asked(&["jq '. # \"\nenv # \"' f", "jq '# \"\ninclude \"x\"; . # \"' f"]);
}
