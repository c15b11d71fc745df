#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Called by conda-build in a copy of the sources, with PREFIX, SP_DIR (site-packages) and PKG_CONFIG_PATH set; packaging/check.sh
# calls it the same way.
set -euo pipefail
# Warnings of conda's compiler are not ours to fail on. libdir: `stormlog run` finds the recorder's library in ../lib.
meson setup build-conda --prefix="$PREFIX" --libdir=lib -Dwerror=false -Dcmocka=disabled -Dpython=enabled -Dpython_dir="$SP_DIR"
ninja -C build-conda products
meson install -C build-conda --no-rebuild --quiet
