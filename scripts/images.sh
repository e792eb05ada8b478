#!/usr/bin/env bash
# Builds the images of deploy/Dockerfile, and prints their sizes. OUT also gets a software bill of materials for
# each image, as SPDX and as CycloneDX.
#
#   scripts/images.sh                        from source, on Debian's image
#   scripts/images.sh --programs DIR         with programs that are already built
#   scripts/images.sh --base archive         on a Debian that the script creates, from its archive (root)
#
# PODMAN names the program and its options, such as "podman --root DIR".
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib.sh

PROGRAMS=(airlock airlock-runner airlock-server)
# Two other images are based on the first, which is kept so that it is built only once.
IMAGES=(files server runner client)
SUITE=bookworm
read -ra podman <<<"${PODMAN:-podman}"

usage() {
    die "$1" "scripts/images.sh [--programs DIR] [--base IMAGE|archive] [--tag TAG] [--out DIR]"
}

work=$(mktemp -d)
trap 'remove_tree "$work"' EXIT

build() { # OPTION...
    # Uses the host's network: the build only fetches packages, and rootless installations may have no other
    # network.
    "${podman[@]}" build --quiet --network host --layers --format oci "$@" >/dev/null
}

# Makes a minimal Debian as an image. Its name depends on the options that made it.
base_from_archive() {
    local how image
    how=(--variant=minbase --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*'
        --dpkgopt='path-exclude=/usr/share/locale/*' "$SUITE")
    image=localhost/airlock-base:$SUITE-$(cksum <<<"${how[*]}" | cut -d' ' -f1)
    if ! "${podman[@]}" image exists "$image"; then
        say "making $image from Debian's archive"
        in_own_mounts mmdebstrap --quiet "${how[@]}" "$work/base.tar" >"$work/log" 2>&1 ||
            die "mmdebstrap could not make a Debian: $(tail -n 1 "$work/log")" "is its archive reachable from here?"
        "${podman[@]}" import --quiet "$work/base.tar" "$image" >/dev/null
        rm "$work/base.tar"
    fi
    base=$image
}

programs_from() { # DIR
    local program
    mkdir "$work/programs"
    for program in "${PROGRAMS[@]}"; do
        [ -f "$1/$program" ] || die "$1/$program is not there" "build it: cargo build --workspace --bins --release"
        strip -o "$work/programs/$program" "$1/$program"
    done
    printf 'FROM scratch\nCOPY %s /\n' "${PROGRAMS[*]}" >"$work/programs/Dockerfile"
    build --tag "localhost/airlock-programs:$tag" --file "$work/programs/Dockerfile" "$work/programs"
}

programs_from_source() {
    say "building the programs; some minutes"
    build --tag "localhost/airlock-programs:$tag" --file deploy/Dockerfile.programs .
}

# Writes the bill of materials of an image from its content, once for each image.
bill() { # IMAGE
    local id
    id=$("${podman[@]}" image inspect --format '{{.Id}}' "localhost/airlock-$1:$tag")
    [ "$(cat "$out/airlock-$1.id" 2>/dev/null)" != "$id" ] || return 0
    "${podman[@]}" save --quiet --format oci-archive --output "$work/image.tar" "localhost/airlock-$1:$tag" >/dev/null
    SYFT_CHECK_FOR_APP_UPDATE=false syft scan --quiet "oci-archive:$work/image.tar" \
        --select-catalogers +rust-cargo-lock-cataloger --source-name "airlock-$1" --source-version "$tag" \
        --output "spdx-json=$out/airlock-$1.spdx.json" --output "cyclonedx-json=$out/airlock-$1.cdx.json"
    rm "$work/image.tar"
    printf '%s\n' "$id" >"$out/airlock-$1.id"
}

programs=
base=docker.io/library/debian:$SUITE-slim
tag=$(sed -n 's/^appVersion: //p' helm/airlock/Chart.yaml)
out=target/images
while [ $# -gt 0 ]; do
    [ $# -gt 1 ] || usage "\`$1\` needs a value"
    case "$1" in
    --programs) programs=$2 ;;
    --base) base=$2 ;;
    --tag) tag=$2 ;;
    --out) out=$2 ;;
    *) usage "\`$1\` is no option" ;;
    esac
    shift 2
done

mkdir -p "$out"
[ "$base" != archive ] || base_from_archive
if [ -n "$programs" ]; then programs_from "$programs"; else programs_from_source; fi
for image in "${IMAGES[@]}"; do
    say "building airlock-$image:$tag"
    build --file deploy/Dockerfile --target "$image" --build-arg "BASE=$base" \
        --build-arg "PROGRAMS=localhost/airlock-programs:$tag" --tag "localhost/airlock-$image:$tag" .
    [ "$image" != files ] || continue
    bill "$image"
    printf '%s\t%s MB\t%s packages\n' "localhost/airlock-$image:$tag" \
        "$("${podman[@]}" image inspect --format '{{.Size}}' "localhost/airlock-$image:$tag" | awk '{ printf "%.0f", $1 / 1e6 }')" \
        "$(python3 -c 'import json, sys; print(sum(c["type"] == "library" for c in json.load(open(sys.argv[1]))["components"]))' "$out/airlock-$image.cdx.json")"
done
