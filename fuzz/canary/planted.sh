# Adds configuration to the canary tree that names a program. The program leaves a file when it runs. `overridden` adds
# settings that a read-only run overrides, so that commands still run; `naming` adds settings that withdraw the verdict.
set -eu
umask 022
cd /workspace
program=/workspace/planted-program
printf '#!/bin/sh\necho run >>/workspace/planted-was-run\ncat\n' >"$program"
chmod 755 "$program"

case $1 in
overridden)
    mkdir planted-hooks
    for hook in post-index-change reference-transaction pre-auto-gc post-checkout; do
        cp "$program" "planted-hooks/$hook"
    done
    for repository in . conflict; do
        git -C "$repository" config core.pager "$program"
        git -C "$repository" config core.editor "$program"
        git -C "$repository" config gpg.program "$program"
        git -C "$repository" config log.showSignature true
        git -C "$repository" config diff.autoRefreshIndex true
        for command in log diff show status branch tag blame grep; do
            git -C "$repository" config "pager.$command" "$program"
        done
        git -C "$repository" config core.hooksPath /workspace/planted-hooks
        git -C "$repository" config core.fsmonitor "$program"
    done
    printf 'module canary\n\ngo 1.21\n\ntoolchain go9.9.9\n' >go.mod
    ;;
naming)
    printf '* filter=planted diff=planted\n' >>.git/info/attributes
    git config diff.planted.textconv "$program"
    git config filter.planted.clean "$program"
    git config filter.planted.smudge "$program"
    mkdir -p .cargo .mvn "$HOME/.config/bat" "$HOME/.config/pip" "$HOME/.docker/cli-plugins" "$HOME/.config/go"
    printf '[build]\nrustc-wrapper = "%s"\n' "$program" >.cargo/config.toml
    printf '[toolchain]\npath = "/workspace"\n' >rust-toolchain.toml
    printf -- '-javaagent:/workspace/planted.jar\n' >.mvn/jvm.config
    printf 'node-options=--require /workspace/planted.js\nviewer=%s\n' "$program" >.npmrc
    printf '[global]\npython = %s\n' "$program" >"$HOME/.config/pip/pip.conf"
    printf '%s\n' "$program" >"$HOME/.mavenrc"
    printf 'DEFINE nroff %s\nDEFINE troff %s\nDEFINE cat %s\n' "$program" "$program" "$program" >"$HOME/.manpath"
    printf -- '--pager=%s\n' "$program" >"$HOME/.ackrc"
    printf -- '--pager=%s\n--paging=always\n' "$program" >"$HOME/.config/bat/config"
    printf 'rsync exec --version %s\nrpm exec --version %s\n' "$program" "$program" >"$HOME/.popt"
    printf '%%_dbpath %%(%s)\n' "$program" >"$HOME/.rpmmacros"
    printf 'pre-invoke=%s\nstatus-logger=%s\n' "$program" "$program" >"$HOME/.dpkg.cfg"
    printf '.shell %s\n' "$program" >"$HOME/.sqliterc"
    printf 'CC=%s\nGOROOT=/workspace\n' "$program" >"$HOME/.config/go/env"
    cp "$program" "$HOME/.docker/cli-plugins/docker-compose"
    for python in /usr/bin/python3*; do
        [ -x "$python" ] || continue
        site=$("$python" -m site --user-site) || continue
        mkdir -p "$site"
        printf 'import os; os.system("%s </dev/null")\n' "$program" >"$site/planted.pth"
    done
    ;;
esac
rm -f planted-was-run
