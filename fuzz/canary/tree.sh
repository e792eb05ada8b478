# Makes the canary tree inside the sandbox, in an empty workspace: an example of everything that a command
# might read. `canary/vocabulary.toml` lists the names.
set -eu
umask 022
export GIT_AUTHOR_NAME=Ada GIT_AUTHOR_EMAIL=ada@example.org
export GIT_COMMITTER_NAME=Ada GIT_COMMITTER_EMAIL=ada@example.org
export GIT_AUTHOR_DATE='2024-05-01T10:00:00Z' GIT_COMMITTER_DATE='2024-05-01T10:00:00Z'

git init -q -b main .
git config core.logAllRefUpdates true
mkdir -p src/inner/deep data empty links odd private bin
printf '# Canary\n\nfoo bar baz\nTODO: nothing\n' >README.md
printf 'alpha\nbeta\nfoo one\nfoo two\ngamma\n\ndelta foo\n' >notes.txt
printf '#include <stdio.h>\n\nint main(void) {\n\tputs("foo"); /* TODO */\n\treturn 0;\n}\n' >src/main.c
printf 'pub fn add(a: i32, b: i32) -> i32 {\n    a + b\n}\n' >src/lib.rs
printf 'import os\n\ndef foo():\n    return "bar"  # foo\n' >src/util.py
printf '#!/bin/sh\ntouch /workspace/script-was-run\n' >src/run.sh
chmod 755 src/run.sh
printf 'deep\n' >src/inner/deep/file.txt
printf 'all:\n\ttouch made\n' >Makefile
printf '*.log\nbuild/\n' >.gitignore
printf '*.md text\n*.bin binary\n' >.gitattributes
printf 'Ada L <ada@example.org> <old@example.org>\n' >.mailmap

printf 'name,age,city\nada,36,london\nbob,25,paris\ncy,41,rome\n' >data/people.csv
printf '[{"name":"ada","age":36,"tags":["a","b"]},{"name":"bob","age":25,"tags":[]}]\n' >data/people.json
printf '{"level":"info","n":1}\n{"level":"warn","n":2}\n' >data/log.jsonl
printf 'name: canary\nlist:\n  - one\n  - two\nnested:\n  key: value\n' >data/config.yaml
printf 'name = "canary"\n[nested]\nkey = "value"\n' >data/config.toml
printf '<a><b id="1">foo</b></a>\n' >data/page.xml
seq 1 1500 >data/numbers.txt
printf 'a 1\nb 2\nc 3\n' >data/left.txt
printf 'a x\nc y\nd z\n' >data/right.txt
printf 'one\ntwo\ntwo\nthree\none\n' >data/words.txt
printf 'col1\tcol2\nfoo\tbar\n' >data/tabs.tsv
printf 'foo\r\nbar\r\n' >data/crlf.txt
printf '\0\1\2foo\377\376\0bar' >data/blob.bin
: >data/nothing
printf '00000000: 666f 6f0a                                foo.\n' >data/dump.xxd
printf 'Zm9vCg==\n' >data/foo.b64
printf 'notes.txt\0README.md\0' >data/names0
printf 'foo\nbar\n' >data/patterns
sha256sum notes.txt README.md >data/sums.sha256
md5sum notes.txt README.md >data/sums.md5
printf -- '--- a/notes.txt\n+++ b/notes.txt\n@@ -1,2 +1,2 @@\n-alpha\n+ALPHA\n beta\n' >data/change.patch
tar -cf data/some.tar notes.txt src
gzip -nc notes.txt >data/notes.gz
tar -czf data/some.tgz notes.txt
printf '{"name":"canary","version":"1.0.0","dependencies":{}}\n' >package.json
printf 'requests==2.0\n' >requirements.txt
printf '[package]\nname = "canary"\nversion = "0.1.0"\nedition = "2021"\n[dependencies]\n' >Cargo.toml
printf '# generated\nversion = 3\n\n[[package]]\nname = "canary"\nversion = "0.1.0"\n' >Cargo.lock

ln -s ../notes.txt links/to-file
ln -s ../src links/to-directory
ln -s nowhere links/dangling
ln -s loop links/loop
ln notes.txt links/hard
printf 'secret\n' >private/key
chmod 600 private/key
printf 'read only\n' >private/fixed
chmod 444 private/fixed
printf 'group\n' >private/odd-mode
chmod 2751 private/odd-mode

printf 'blank\n' >'odd/with blank.txt'
printf 'dash\n' >'odd/-rf'
printf 'dash\n' >'odd/--output=made'
printf 'dash\n' >'odd/-o'
printf 'semi\n' >'odd/a;touch made'
printf 'line\n' >$'odd/two\nlines'
printf 'star\n' >'odd/*'
printf 'dollar\n' >'odd/$(touch made)'
printf 'quote\n' >"odd/it's"
printf 'uni\n' >'odd/grün.txt'
printf 'slash\n' >'odd/back\slash'
printf 'flag\n' >'./-n'
# Names that are dangerous in a sed script, or in a script that does not quote its words.
printf 'sed\n' >'odd/x|e touch made'
printf 'sed\n' >$'odd/y\n|;e touch made\n'
printf 'sed\n' >'odd/&|w made'

git add -A
git commit -q -m 'first: a tree'
printf 'second\n' >>notes.txt
git commit -q -am 'second: foo'
git tag v1.0-light
git tag -a -m 'the first' v1.0
git checkout -q -b feature
printf 'feature\n' >feature.txt
git mv README.md READ.md
git add feature.txt
git commit -q -m 'feature: bar'
git checkout -q main
printf 'third\n' >>notes.txt
git commit -q -am 'third'
git merge -q --no-ff -m 'merge feature' feature
git gc -q
git notes add -m 'a note' HEAD
git branch old HEAD~2
git update-ref refs/remotes/origin/main HEAD~1
git remote add origin https://example.org/canary.git
git config branch.main.remote origin
git config branch.main.merge refs/heads/main
printf 'stashed\n' >>notes.txt
git stash push -q -m 'a stash'
git worktree add -q -b side side HEAD~1
printf 'side/\nconflict/\n' >>.git/info/exclude

printf 'staged\n' >staged.txt
git add staged.txt
printf 'dirty\n' >>src/util.py
git rm -q --cached Makefile
printf 'untracked\n' >untracked.txt
printf 'log\n' >ignored.log
git bisect start -q HEAD HEAD~2 >/dev/null 2>&1 || true
git checkout -q main 2>/dev/null || true

git init -q -b main conflict
cd conflict
printf 'base\n' >file
git add file
git commit -q -m base
git checkout -q -b theirs
printf 'theirs\n' >file
git commit -q -am theirs
git checkout -q main
printf 'ours\n' >file
git commit -q -am ours
git merge -q theirs >/dev/null 2>&1 || true
cd ..

# These files are only newer, so that a refresh of the index would write something.
touch -d '2024-06-01 12:00:00' src/main.c src/lib.rs data/words.txt notes.txt conflict/file
printf '[user]\n\tname = Ada\n\temail = ada@example.org\n' >"$HOME/.gitconfig"
printf 'export FROM_PROFILE=1\n' >"$HOME/.bashrc"
mkdir -p "$HOME/.config/empty"
printf 'home\n' >"$HOME/file.txt"
printf 'temporary\n' >/tmp/file.txt
# The directory for the socket of a tmux server. Without it tmux creates the directory, which the read-only
# mount refuses.
mkdir -m 700 /tmp/tmux-$(id -u)
