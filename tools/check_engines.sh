#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What other engines take, checked with the engines themselves: tables in DuckDB, ClickHouse and Spark, profiles in Pyroscope,
# recordings in S3 servers, the recipes of contrib/ against Kubernetes' and Grafana's schemas. They come from PyPI, npm and Go's
# module proxy into a folder outside the tree, once; what cannot be had is skipped and named. Argument: build folder.
#
#   STORMLOG_ENGINES=DIR   that folder (default: ~/.cache/stormlog-engines)
set -euo pipefail
build=${1:-build}
root=$(cd "$(dirname "$0")/.." && pwd)
home=${STORMLOG_ENGINES:-${XDG_CACHE_HOME:-$HOME/.cache}/stormlog-engines}
mkdir -p "$home/bin"

# module                  version   what it is for
PYTHON_PACKAGES='
duckdb                    2.0.0     tables
chdb                      4.4.0     tables
pyspark                   4.3.0     tables
moto[server,s3]           5.2.5     uploads
kubernetes-validate       1.37.0    contrib
'

install_python() {
    local package version purpose
    [ -x "$home/venv/bin/python" ] || python3 -m venv "$home/venv"
    while read -r package version purpose; do
        [ -n "$package" ] || continue
        "$home/venv/bin/pip" -q install "$package==$version" >"$home/pip.log" 2>&1 ||
            echo "check-engines: no $package $version ($purpose): $(tail -n 1 "$home/pip.log")" >&2
    done <<<"$PYTHON_PACKAGES"
}

# A server of the S3 protocol that is a single program.
install_versitygw() {
    [ -x "$home/bin/versitygw" ] || GOBIN=$home/bin go install github.com/versity/versitygw/cmd/versitygw@v1.8.0
}

# Its module replaces another one by a folder that the module's archive does not have; that one is put there.
install_pyroscope() {
    local source=$home/pyroscope-src module=github.com/grafana/pyroscope version=v1.12.0 api=v1.2.0 modules
    [ -x "$home/bin/pyroscope" ] && return
    modules=$(go env GOMODCACHE)
    (cd "$home" && go mod download "$module@$version" && go mod download "$module/api@$api") || return
    rm -rf "$source"
    cp -r "$modules/$module@$version" "$source" && chmod -R u+w "$source"
    cp -r "$modules/$module/api@$api" "$source/api" && chmod -R u+w "$source/api"
    rm -f "$source/go.work" "$source/go.work.sum"
    (cd "$source" && GOWORK=off GOFLAGS=-mod=mod go build -o "$home/bin/pyroscope" ./cmd/pyroscope) || return
    rm -rf "$source"
}

# Grafana's own types; the server is in no registry that is reached.
install_grafana_schema() {
    [ -d "$home/npm/node_modules/@grafana/schema" ] && return
    mkdir -p "$home/npm" && npm install --prefix "$home/npm" --ignore-scripts --no-audit --no-fund @grafana/schema@13.2.3
}

# For Spark, and for the scripts of contrib/.
install_debian() {
    local missing=()
    command -v java >/dev/null || missing+=(openjdk-17-jre-headless)
    command -v shellcheck >/dev/null || missing+=(shellcheck)
    [ ${#missing[@]} -eq 0 ] || apt-get install -y -qq --no-install-recommends "${missing[@]}"
}

install_python
for part in versitygw pyroscope grafana_schema debian; do
    "install_$part" >"$home/$part.log" 2>&1 ||
        echo "check-engines: no $part: $(tail -n 1 "$home/$part.log")" >&2
done

export PYTHONPATH=$root/tests/lib:$root/tests/engines PYTHONDONTWRITEBYTECODE=1 STORMLOG_ENGINES=$home
failed=0
for check in "$root"/tests/engines/check_*.py; do
    echo "# $(basename "$check")"
    "$home/venv/bin/python" "$check" "$root/$build/stormlog" "$root/$build/tests/engines/make_rank" || failed=1
done
exit $failed
